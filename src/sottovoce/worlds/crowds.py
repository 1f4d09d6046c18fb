"""Crowds whose errors differ from the estimators' model, and imitations of published sets of claims.

They show what an estimator does with data for which it was not tuned.
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.errors import BadParameter
from sottovoce.worlds.seeds import generator
from sottovoce.worlds.world import World

Floats = NDArray[np.float64]
Errors = Literal["normal", "heavy-tailed", "skewed", "two kinds", "once"]
_CLAIMS_PER_USER = 8  # where there are enough objects
_SKEW = 0.8  # standard deviation of the logarithm of a skewed error


def crowd(
    objects: int,
    claims: int,
    errors: Errors = "normal",
    *,
    centre: Literal["median", "mean"] = "median",
    seed: int | np.random.Generator = 0,
) -> World:
    """A crowd with the same number of claims about each object, whose errors have a median, or a mean, of zero.

    ``errors`` are normal, heavy-tailed (Student's t with 2.5 degrees of freedom) or skewed (log-normal), each with a
    variance of the user's own; or users are of two kinds, one with errors one fifteenth as large as the other's; or
    each user claims once.

    >>> crowd(4, 3, "skewed", seed=1).claims
    Claims(12 claims, 3 users, 4 objects)
    """
    if errors not in get_args(Errors):
        raise BadParameter(f"errors={errors!r}: they must be one of {', '.join(get_args(Errors))}; choose one of them")
    rng = generator(seed)
    users = claims * objects if errors == "once" else max(claims, -(-claims * objects // _CLAIMS_PER_USER))
    truths = rng.uniform(0, 10, objects)
    places, who = np.repeat(np.arange(objects), claims), _claimants(objects, claims, users, errors == "once", rng)
    deviations = np.sqrt(rng.exponential(1, users))
    if errors == "two kinds":
        deviations = np.where(rng.permutation(users) < users / 2, 0.2, 3.0)
    residuals = _draw(errors, centre, len(who), rng) * deviations[who]
    found = Claims.from_arrays(who, places, truths[places] + residuals)
    return World(found, truths[found.object_labels], deviations[found.user_labels] ** 2)


def _claimants(objects: int, claims: int, users: int, once: bool, rng: np.random.Generator) -> NDArray[np.intp]:
    """The users of each object's claims, all different; all users have about equally many claims."""
    if once:
        return np.arange(users)
    start = rng.permutation(np.arange(objects)) * claims
    return np.concatenate([(first + np.arange(claims)) % users for first in start])


def _draw(errors: Errors, centre: str, many: int, rng: np.random.Generator) -> Floats:
    if errors == "heavy-tailed":
        return rng.standard_t(2.5, many)
    if errors == "skewed":
        middle = 1.0 if centre == "median" else np.exp(_SKEW**2 / 2)
        return np.asarray((rng.lognormal(0, _SKEW, many) - middle) / _SKEW)
    return rng.standard_normal(many)


def _sparse(users: int, counts: NDArray[np.int64], rng: np.random.Generator) -> tuple[NDArray[np.intp], ...]:
    """Users and objects of claims, this many about each object; a few users make many claims, most only a few."""
    busy = rng.pareto(1.0, users) + 0.2
    chances = busy / busy.sum()
    who = [rng.choice(users, min(count, users), replace=False, p=chances) for count in counts]
    return np.concatenate(who), np.repeat(np.arange(len(counts)), [len(few) for few in who])


def populations(rng: np.random.Generator) -> World:
    """Populations of cities, edited by many: most repeat the figure of this census or an older one; some mistype it."""
    objects, users = 1100, 900
    truths: Floats = np.exp(rng.normal(9, 2, objects)).round()
    older = np.round(truths * np.exp(rng.normal(-0.03, 0.06, objects)))
    who, what = _sparse(users, 1 + rng.geometric(0.45, objects), rng)
    careless = rng.beta(1, 3, users)[who]
    kind = rng.random(len(who))
    values = np.where(kind < careless, older[what], truths[what])
    own = kind < 0.35 * careless
    values = np.where(own, np.round(truths[what] * np.exp(rng.normal(0, 0.2, len(who)))), values)
    slip = kind < 0.03 * careless
    values = np.where(slip, values * 10, values)
    return _world(who, what, values, truths)


def ratings(rng: np.random.Generator) -> World:
    """Ratings from 0 to 100 by ten people each; the truth is the mean of all opinions, and many ratings are 0."""
    objects, users = 200, 60
    merit = rng.uniform(-1.2, 1.0, objects)
    who = np.concatenate([rng.choice(users, 10, replace=False) for _ in range(objects)])
    what = np.repeat(np.arange(objects), 10)
    strict, wild = rng.normal(0, 0.15, users), np.exp(rng.normal(-0.6, 0.3, users))

    def rated(n: NDArray[np.intp], s: NDArray[np.intp]) -> Floats:
        opinion = merit[n] + strict[s] + rng.standard_normal(len(n)) * wild[s]
        return np.asarray(np.clip(np.round(opinion * 10) * 10, 0, 100))

    values = rated(what, who)
    everybody = np.tile(np.arange(users), 20)
    truths = np.array([rated(np.full(len(everybody), n), everybody).mean() for n in range(objects)])
    return _world(who, what, values, truths)


def dots(rng: np.random.Generator) -> World:
    """Dots counted in pictures at a glance: people err by a factor, some wildly, more often to the low side."""
    objects, users = 30, 300
    truths: Floats = np.exp(rng.uniform(np.log(50), np.log(1500), objects)).round()
    what = np.tile(np.arange(objects), users)
    who = np.repeat(np.arange(users), objects)
    keep = rng.random(len(who)) < 0.4
    who, what = who[keep], what[keep]
    careful = np.exp(rng.normal(-1.2, 0.7, users))
    errors = rng.standard_t(3, len(who)) * careful[who] - 0.1 * careful[who]
    values = np.round(truths[what] * np.exp(np.clip(errors, -4, 4)))
    guess = rng.random(len(who)) < 0.02
    return _world(who, what, np.where(guess, rng.integers(1, 9999, len(who)), values), truths)


def hallways(rng: np.random.Generator) -> World:
    """Hallways measured in steps, by people who misjudge the length of their steps."""
    objects, users = 129, 247
    truths: Floats = rng.integers(4, 13, objects).astype(np.float64) * 0.9
    who, what = _sparse(users, rng.integers(4, 11, objects), rng)
    stride = np.exp(rng.normal(0.05, 0.15, users))
    lapse = np.where(rng.random(len(who)) < 0.1, rng.uniform(0.5, 2.0, len(who)), 1.0)
    values: Floats = np.maximum(truths[what] * stride[who] * lapse + rng.normal(0, 0.3, len(who)), 0.5)
    return _world(who, what, values.round(2), truths)


def prices(rng: np.random.Generator) -> World:
    """Prices guessed by a crowd whose errors have a common part: mostly too low, with a long upper tail."""
    objects, users = 36, 400
    truths = np.exp(rng.uniform(np.log(200), np.log(1500), objects))
    common = np.exp(rng.normal(-0.1, 0.3, objects))
    who = np.concatenate([rng.choice(users, 70, replace=False) for _ in range(objects)])
    what = np.repeat(np.arange(objects), 70)
    values = truths[what] * common[what] * np.exp(rng.normal(0, 0.2, users)[who] + rng.normal(0, 0.5, len(who)))
    return _world(who, what, np.round(values / 25) * 25, truths)


def any_claims(seed: int) -> Claims:
    """A few users and objects of any scale, with errors of any kind, to find inputs that an estimator cannot handle.

    >>> any_claims(1)
    Claims(10 claims, 4 users, 5 objects)
    """
    rng = generator((seed, 77))
    users, objects = rng.integers(2, 13), rng.integers(1, 9)
    scale = np.exp(rng.normal(0, rng.choice([0, 1, 4]), objects))
    errors = (
        rng.standard_normal((users, objects)),
        rng.standard_cauchy((users, objects)),
        rng.lognormal(0, 1, (users, objects)),
        rng.integers(-2, 3, (users, objects)).astype(float),
    )[seed % 4] * np.exp(rng.normal(0, rng.choice([0.0, 1.0]), users))[:, None]
    matrix = (rng.uniform(0, 10, objects) + errors) * scale
    matrix[rng.random(matrix.shape) > 0.7] = np.nan
    matrix[0, 0] = 1.0
    return Claims.from_matrix(matrix)


def any_crowd(seed: int) -> Claims:
    """The claims of a crowd of any size and any kind of errors, or a resample of an imitation; see `any_claims`.

    >>> any_crowd(1)
    Claims(670 claims, 84 users, 67 objects)
    """
    rng = generator((seed, 79))
    if seed % 2:
        errors = get_args(Errors)[rng.integers(len(get_args(Errors)))]
        return crowd(int(rng.integers(4, 120)), int(rng.integers(2, 40)), errors, seed=rng).claims
    return resampled([*IMITATIONS.values()][seed // 2 % len(IMITATIONS)](rng).claims, rng)


def resampled(claims: Claims, rng: np.random.Generator) -> Claims:
    """The same number of users, drawn with replacement, with all their claims; a user drawn twice counts as two."""
    drawn = rng.integers(0, claims.n_users, claims.n_users)
    order, ends = np.argsort(claims.users, kind="stable"), np.cumsum(claims.claims_per_user)
    rows = [order[ends[user] - claims.claims_per_user[user] : ends[user]] for user in drawn]
    who, places = np.repeat(np.arange(len(drawn)), [len(few) for few in rows]), np.concatenate(rows)
    return Claims.from_arrays(who, claims.objects[places], claims.values[places])


def _world(who: NDArray[np.intp], what: NDArray[np.intp], values: Floats, truths: Floats) -> World:
    claims = Claims.from_arrays(who, what, values)
    errors = claims.values - truths[claims.object_labels][claims.objects]
    claimed = claims.claims_per_user
    squares = np.bincount(claims.users, errors**2, len(claimed)) / claimed
    return World(claims, truths[claims.object_labels], squares)


IMITATIONS: dict[str, Callable[[np.random.Generator], World]] = {
    "populations": populations,
    "ratings": ratings,
    "dots": dots,
    "hallways": hallways,
    "prices": prices,
}
