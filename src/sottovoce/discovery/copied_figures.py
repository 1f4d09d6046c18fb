"""Who is right if claims mostly coincide, like figures that many have copied: users vote.

A claim is right with a chance p, which its user's claims show; otherwise it is one of the wrong figures in circulation.
Two users who are wrong agree with a chance c. The evidence for a figure is the sum of ln(1 + p/(1 − p)/c) over the
users who claim it, as in Accu (Dong, Berti-Equille and Srivastava, PVLDB 2 (2009), doi:10.14778/1687627.1687690) with
1/c false figures. How far off a claim is does not count: being nearly right about villages says nothing about capitals.
"""

import numpy as np
from numpy.typing import NDArray

from sottovoce.engines import Engine

Floats = NDArray[np.float64]

MOST_CLAIMS = 200_000  # in a sample: enough to judge the users who decide much
MOST_ROUNDS = 10
_LIKE_OTHERS = 4  # claims: a user with fewer is judged mostly by the other users
_EQUAL = 1e-9  # of an object's spread: figures that differ by rounding are the same
_SAMPLE = 20_000
_OFTEN = 0.3  # share of claims that agree with the others about their object
_BEYOND_CHANCE = 6.0  # times as many as would agree by chance: copies show 25 and more, rounded measurements up to 4
_SAME_STEP = 1e-6  # relative difference up to which two distances from the median are the same step


def claims_coincide(engine: Engine) -> bool:
    """Whether claims are mostly exact repetitions, as from web sources; their peak must not be taken for heavy tails.

    Claims that nobody copied may coincide for two reasons. Some figures are popular everywhere, such as a rating of 0:
    these are at the medians of other objects too. And measurements are rounded: then claims one step off are about as
    frequent as those at the median, and the step is the same for many objects.
    """
    medians = engine.medians()
    objects, _, residuals = engine.sample(medians, _SAMPLE)
    claims = engine.claims_per_object[objects]
    objects, residuals, claims = objects[claims > 1], residuals[claims > 1], claims[claims > 1]
    if not len(objects):
        return False
    own = np.where(claims % 2 == 1, 1 / claims, 0.0)  # of an odd number of claims, one is the median itself
    agree = float(((residuals == 0) - own).sum() / (1 - own).sum())
    others = [np.roll(objects, len(objects) * part // 8) for part in range(1, 8)]
    values = medians[objects] + residuals
    elsewhere = np.concatenate([(values == medians[other])[other != objects] for other in others])
    popular = float(elsewhere.mean()) if len(elsewhere) else 0.0
    off = np.sort(np.abs(residuals[residuals != 0]))
    steps = np.cumsum(np.append(0, np.diff(off) > _SAME_STEP * off[1:])) if len(off) else np.zeros(0, np.int64)
    rounded = float(np.bincount(steps).max() / 2 / len(residuals)) if len(off) else 0.0
    return agree > max(_OFTEN, _BEYOND_CHANCE * (popular + rounded))


def votes(objects: NDArray[np.intp], users: NDArray[np.int32], residuals: Floats, n_users: int) -> Floats:
    """How much each user's vote counts. ``residuals`` are those of a sample of claims, in spreads of their objects."""
    right = np.abs(residuals) <= _EQUAL
    usual = (right.sum() + 1) / (len(right) + 2)
    claims, hits = np.bincount(users, minlength=n_users), np.bincount(users, right, n_users)
    chances = (hits + _LIKE_OTHERS * usual) / (claims + _LIKE_OTHERS)
    return np.asarray(np.log1p(chances / (1 - chances) / _agreement(objects[~right], residuals[~right])))


def _agreement(objects: NDArray[np.intp], residuals: Floats) -> float:
    """How often two wrong claims about an object are equal; about a half if there are hardly any."""
    order = np.lexsort((residuals, objects))
    objects, residuals = objects[order], residuals[order]
    differs = np.diff(objects) != 0
    pairs = _pairs(np.cumsum(np.append(0, differs)))
    same = _pairs(np.cumsum(np.append(0, differs | (np.diff(residuals) > _EQUAL))))
    return (same + 1) / (pairs + 2)


def _pairs(groups: NDArray[np.int64]) -> float:
    sizes = np.bincount(groups).astype(np.float64)
    return float((sizes * (sizes - 1)).sum() / 2)
