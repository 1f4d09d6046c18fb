"""What independent mechanisms promise together, from what each of them promises: an upper bound, close to the exact ε.

As a function of e^ε, δ is convex. So straight lines between a few of its values are nowhere below it, nor are those
below the values that are too large to be convex. They are the profile of a mechanism with few privacy losses, which
reveals at least as much as the real one, whatever else is revealed (Doroshenko et al. 2022, "Connect the dots"; Zhu et
al. 2022 on dominating pairs). All laws here are symmetric: a loss of -x is e^-x times as likely as one of x. Losses of
independent mechanisms add up, so their sum is a convolution; all its terms are positive, and the rarest keep their
digits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LEVELS, _MOST_LEVELS = 1024, 8192  # of losses: up to the ε that is known to hold, and of all that are counted
# Values of δ that are connected: of one part, the second times √ln(1/δ), which costs about 1/2000 of its ε, but not
# fewer than the first; of all parts; and of each of very many.
_USUAL_DOTS, _DOTS, _ALL_DOTS, _FEWEST_DOTS = 96, 18, 2400, 24
_CUT = 1e-4  # share of δ for the losses that are too large to be counted
_LARGEST_LOSS, _SHORTEST = 1e7, 2.0**-30  # more promises nothing, and a smaller share of ε does not matter
_HAIR = 1e-12  # more than the rounding errors of any one loss
_SLACK = 1 + 1e-9  # more than those of the products and sums of positive terms
_LEAST = 1e-300  # whatever is too small for a double
_SMALLEST_DELTA, _SMALLEST_EPSILON = 1e-280, 1e-100  # less leaves nothing to divide


class Composable(Protocol):
    """A guarantee for this many readings."""

    @property
    def readings(self) -> int: ...

    @property
    def pure_epsilon(self) -> float | None: ...

    def delta(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class _Losses:
    """A loss of ``top`` - i·spacing has the chance ``chances[i]``, and one beyond all of them the chance ``lost``."""

    top: float
    chances: Floats
    lost: float


def composed_epsilon(parts: Sequence[Composable], delta: float, enough: float) -> float:
    """The smallest ε that holds for all parts together, or slightly more, never less; ``enough`` is known to hold."""
    if not (_SMALLEST_EPSILON < enough < math.inf and delta >= _SMALLEST_DELTA):
        return enough
    tops = [_largest_loss(part, _CUT * delta / len(parts), enough) for part in parts]
    # A loss that the others cannot make up for may as well be infinite.
    tops = [min(top, enough + 2 * (sum(tops) - top)) for top in tops]
    if sum(tops) > _LARGEST_LOSS:
        return enough
    spacing = max(enough / _LEVELS, sum(tops) / _MOST_LEVELS)
    dots = max(_USUAL_DOTS, math.ceil(_DOTS * math.sqrt(-math.log(delta))))
    dots = max(_FEWEST_DOTS, min(dots, _ALL_DOTS // len(parts)))
    whole = _Losses(0.0, np.ones(1), 0.0)
    for part, top in zip(parts, tops, strict=True):
        losses = _losses_of(part, top, spacing, dots)
        before, more = float(whole.chances.sum()), float(losses.chances.sum()) + losses.lost
        chances = np.convolve(whole.chances, losses.chances)
        whole = _Losses(whole.top + losses.top, chances, whole.lost * more + before * losses.lost)
    steps = spacing * np.arange(float(len(whole.chances)))
    all_losses = whole.top - steps + _HAIR * (whole.top + steps)

    def keeps(epsilon: float) -> bool:
        gains = -np.expm1(np.minimum(epsilon - all_losses, 0.0))
        return (float((whole.chances * gains).sum()) + whole.lost) * _SLACK + _LEAST <= delta

    if keeps(0.0):
        return 0.0
    low, high = 0.0, enough
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _largest_loss(part: Composable, cut: float, start: float) -> float:
    """Where δ is at most ``cut``, for which losses beyond count; 0 where the whole part does not matter."""
    if part.delta(0.0) <= cut:
        return 0.0
    pure = math.inf if part.pure_epsilon is None else part.pure_epsilon
    top = min(pure, start)
    while top < pure and part.delta(top) > cut:
        top = min(1.25 * top, pure)
        if top > _LARGEST_LOSS:
            break
    while top > start / _LEVELS and part.delta(top / 2) <= cut:
        top /= 2
    return max(top, start * _SHORTEST)


def _losses_of(part: Composable, top: float, spacing: float, dots: int) -> _Losses:
    """Losses that reveal no less than the part."""
    if not top:
        return _Losses(0.0, np.array([_SLACK]), part.delta(0.0) * _SLACK)
    if part.readings < dots:  # losses of equal readings are often at equal parts of the largest
        dots = part.readings * math.ceil(dots / part.readings)
    ends = top * np.arange(dots + 1.0) / dots
    losses, chances, lost = _connected(ends, np.array([part.delta(float(end)) for end in ends]))
    # The same losses with the sign reversed are less likely; what is left, and never less, has none.
    mirrored = chances * np.exp(-losses)
    rest = max(0.0, 1 - float(chances.sum()) - float(mirrored.sum()) - lost) * _SLACK
    losses, chances = np.concatenate([losses, [0.0], -losses]), np.concatenate([chances, [rest], mirrored])
    return _Losses(top, _in_steps(losses, chances, top, spacing), lost)


def _connected(ends: Floats, deltas: Floats) -> tuple[Floats, Floats, float]:
    """Positive losses whose profile is at least as large as these δ: their chances, and that of an infinite one."""
    kept: list[int] = []
    for place in range(len(ends) - 1, -1, -1):
        while len(kept) > 1 and _chance(ends, deltas, place, kept[-1], kept[-2]) <= 0:
            kept.pop()  # above the line between its neighbours
        kept.append(place)
    between = [_chance(ends, deltas, *three) for three in zip(kept[2:], kept[1:], kept, strict=False)]
    last = (deltas[kept[1]] - deltas[kept[0]]) / -math.expm1(ends[kept[1]] - ends[kept[0]])
    losses, chances = ends[kept[:-1]], np.maximum([last, *between], 0.0)
    lost = float(deltas[kept[0]])
    # Whatever was rounded: they are made as large as they have to be.
    profile = -np.expm1(np.minimum(ends[kept][:, None] - losses, 0.0)) @ chances + lost
    short = float(np.max(deltas[kept] / np.maximum(profile, _LEAST)))
    return losses, chances * max(short, 1.0) * _SLACK, lost * max(short, 1.0) * _SLACK


def _chance(ends: Floats, deltas: Floats, before: int, here: int, after: int) -> float:
    """Of a loss where two lines meet: the change of their slopes, times e^loss."""
    up_to, from_here = (1 / -math.expm1(ends[one] - ends[other]) for one, other in ((before, here), (here, after)))
    # 1/(e^x - 1) is 1/(1 - e^-x) - 1, and has no overflow
    return float((deltas[before] - deltas[here]) * up_to - (deltas[here] - deltas[after]) * (from_here - 1))


def _in_steps(losses: Floats, chances: Floats, top: float, spacing: float) -> Floats:
    """What lies between two steps goes to both, such that the chances before and after a move remain."""
    places = np.maximum((top - losses) / spacing, 0.0)
    above = np.floor(places)
    up = np.expm1(-(above + 1 - places) * spacing) / np.expm1(-spacing)
    stepped = np.zeros(int(above.max()) + 2)
    np.add.at(stepped, above.astype(np.int64), chances * up)
    np.add.at(stepped, above.astype(np.int64) + 1, chances * np.maximum(1 - up, 0.0))
    return stepped * _SLACK
