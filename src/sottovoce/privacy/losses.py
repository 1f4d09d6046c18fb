"""Privacy losses and their chances: what mechanisms reveal, in a form that can be compared and added up.

As a function of e^ε, δ is convex. So straight lines between a few of its values are nowhere below it, and neither is
the convex hull of values that are slightly too large. They are the profile of a mechanism with few privacy losses,
which reveals at least as much as the real one, whatever else is revealed (Doroshenko et al. 2022, "Connect the dots";
Zhu et al. 2022 on dominating pairs). The same is true of the largest of several profiles: its mechanism reveals at
least as much as any of them, so it may represent a reading that may be of any of several kinds. All laws here are
symmetric: a loss of -x is e^-x times as likely as one of x. Losses of independent mechanisms add up, so their sum is a
convolution; all its terms are positive, and the rarest keep their digits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce.privacy.profiles import Profile

Floats = NDArray[np.float64]

_LEVELS = 2048  # of a sum of losses; more are halved
_FINE_LEVELS = 256  # of the positive losses of one reading of several kinds
MOST_DOTS = 250  # values of δ, where losses are in the hundreds: they are in effect rounded up to the next
LARGEST_LOSS = 1e7  # a larger one promises nothing
_SMALLEST_LOSS = 1e-100  # a smaller one cannot be divided into levels
_ROUNDING = 1e-12  # more than the rounding errors of any one loss
_SLACK = 1 + 1e-9  # more than those of the products and sums of positive terms
_LEAST = 1e-300  # whatever is too small for a double
_ORDERS = 2.0 ** np.arange(-6, 13)  # of the moments that a rough ε comes from


class ProfileAtOnce(Profile, Protocol):
    """A profile that also gives δ at many ε at once, rising from 0; each δ may be too large by about ``negligible``."""

    def deltas(self, epsilons: Sequence[float], negligible: float) -> Sequence[float]: ...


class NoLosses(Exception):
    """The losses are too large, or too small, to be divided into levels."""


@dataclass(frozen=True)
class Losses:
    """A loss of ``top`` - i·``spacing`` has the chance ``chances[i]``, and an infinite one the chance ``lost``."""

    top: float
    spacing: float
    chances: Floats
    lost: float

    @property
    def values(self) -> Floats:
        """The losses, rounded up."""
        steps = self.spacing * np.arange(float(len(self.chances)))
        return np.asarray(self.top - steps + _ROUNDING * (abs(self.top) + steps))

    def deltas(self, epsilons: Floats) -> Floats:
        """An upper bound on δ at each ε."""
        larger = self.values > epsilons.min()
        gains = -np.expm1(np.minimum(epsilons[:, None] - self.values[larger], 0.0))
        return np.asarray((gains @ self.chances[larger] + self.lost) * _SLACK + _LEAST)

    def epsilon(self, delta: float) -> float:
        """An upper bound on the smallest ε with at most this δ; infinite if there is none."""
        low, high = 0.0, max(float(self.values[0]), 0.0)
        if self._delta(low) <= delta:
            return low
        if not self._delta(high) <= delta:
            return math.inf
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self._delta(middle) <= delta else (middle, high)
        return high

    def _delta(self, epsilon: float) -> float:
        return float(self.deltas(np.array([epsilon]))[0])

    def rough_epsilon(self, times: int, delta: float) -> float:
        """Roughly the ε of this many readings with these losses, from a few of their moments."""
        values, orders = self.values, _ORDERS[:, None] / max(self.top, _SMALLEST_LOSS)
        moments = np.exp(np.minimum(orders * (values - self.top), 0.0)) @ self.chances
        logs = np.log(np.maximum(moments, _LEAST)) + orders[:, 0] * self.top
        return float(np.min((times * logs - math.log(delta)) / orders[:, 0]))

    def _exceeds(self, other: "Losses") -> bool:
        """Whether δ is nowhere below that of the other. Both are lines in e^ε between the losses."""
        corners = np.concatenate([[0.0], self.values, other.values])
        corners = corners[corners >= 0]
        return bool((self.deltas(corners) >= other.deltas(corners)).all())

    def times(self, count: int, negligible: float) -> "Losses":
        """The losses of this many such readings; sums of total probability at most ``negligible`` may be lost."""
        total, one = self, self
        added = 1
        for bit in bin(count)[3:]:
            total, added = total._plus(total), 2 * added
            if bit == "1":
                total, added = total._plus(one), added + 1
            total = total._trimmed(negligible * added / (32 * count))
            while len(total.chances) > _LEVELS:
                total, one = total._halved(), one._halved()
        return total

    def within(self, low: float, high: float) -> "Losses":
        """The same losses from ``low`` to ``high``: larger ones count as infinite, smaller ones as about ``low``."""
        first = math.floor(max(0.0, (self.top - high) / self.spacing))
        after = math.ceil((self.top - low) / self.spacing) + 1
        chances = self.chances[first:after].copy()
        if not len(chances):
            return self
        chances[-1] += self.chances[after:].sum()
        lost = self.lost + float(self.chances[:first].sum())
        return Losses(self.top - first * self.spacing, self.spacing, chances * _SLACK, lost * _SLACK)

    def plus(self, other: "Losses", negligible: float) -> "Losses":
        """The sum of two independent losses; sums of total probability at most ``negligible`` may be lost."""
        spacing = math.hypot(self._width, other._width) / _LEVELS * 1.5 or 1.0  # fewer than `_LEVELS` levels in all
        one, two = (_in_steps(law.values, law.chances, law.lost, spacing) for law in (self, other))
        return one._plus(two)._trimmed(negligible)

    @property
    def _width(self) -> float:
        return self.spacing * (len(self.chances) - 1)

    def _plus(self, other: "Losses") -> "Losses":
        """The sum of both, which have the same spacing."""
        chances = np.convolve(self.chances, other.chances)
        others = float(other.chances.sum()) + other.lost
        lost = self.lost * others + float(self.chances.sum()) * other.lost
        return Losses(self.top + other.top, self.spacing, chances * _SLACK, lost * _SLACK)

    def _trimmed(self, most: float) -> "Losses":
        """The same without the losses at both ends that have at most this chance, which count as infinite."""
        first = int(np.searchsorted(np.cumsum(self.chances), most))
        last = len(self.chances) - int(np.searchsorted(np.cumsum(self.chances[::-1]), most))
        if first >= last:
            return self
        cut = float(self.chances[:first].sum() + self.chances[last:].sum())
        top = self.top - first * self.spacing
        return Losses(top, self.spacing, self.chances[first:last], (self.lost + cut) * _SLACK)

    def _halved(self) -> "Losses":
        """Half as many levels: a loss between two is divided between both, so that the chances before and after a move
        stay the same.
        """
        up, odd = 1 / (1 + math.exp(-self.spacing)), self.chances[1::2]
        halved = np.zeros(len(odd) + 1)
        halved[: len(self.chances[::2])] += self.chances[::2]
        halved[:-1] += odd * up
        halved[1:] += odd * (1 - up)
        return Losses(self.top, 2 * self.spacing, halved * _SLACK, self.lost)


def losses_of(profile: ProfileAtOnce, dots: int, negligible: float) -> Losses:
    """Losses that reveal no less than a mechanism with this profile; rare ones with this chance may be lost."""
    top = _largest_loss(profile, negligible)
    if not top:
        return Losses(0.0, 1.0, np.array([_SLACK]), profile.delta(0.0) * _SLACK)
    dots = max(dots, math.ceil(min(top, MOST_DOTS)))
    ends = [top * (place / dots) for place in range(dots + 1)]  # the last is the top itself
    return connected(profile, ends, ends[1], negligible)


def connected(profile: ProfileAtOnce, ends: Sequence[float], spacing: float, negligible: float) -> Losses:
    """Losses that reveal no less than a mechanism with this profile, from its δ at these ε, the first of which is 0."""
    pure = math.inf if profile.pure_epsilon is None else profile.pure_epsilon
    if pure < ends[-1]:
        ends = [*(end for end in ends if end < pure), pure]
    return _connected(np.array(ends), np.array(profile.deltas(ends, negligible)), spacing)


def worst_of(one: Losses, other: Losses) -> Losses:
    """Losses that reveal no less than either of the two."""
    top = max(float(one.values[0]), float(other.values[0]))
    if not top:
        return one if one.lost >= other.lost else other
    ends = top * (np.arange(_FINE_LEVELS + 1.0) / _FINE_LEVELS)
    deltas = one.deltas(ends), other.deltas(ends)
    for law, less, is_larger in ((one, other, deltas[0] >= deltas[1]), (other, one, deltas[1] >= deltas[0])):
        if is_larger.all() and law._exceeds(less):
            return law
    return _connected(ends, np.maximum(*deltas), top / _FINE_LEVELS)


def _largest_loss(profile: Profile, negligible: float) -> float:
    """About where δ is negligible; 0 where it is negligible everywhere."""
    if profile.delta(0.0) <= negligible:
        return 0.0
    most = LARGEST_LOSS if profile.pure_epsilon is None else min(LARGEST_LOSS, profile.pure_epsilon)
    top = min(most, 1.0)
    while top < most and profile.delta(top) > negligible:
        top = min(2 * top, most)
    if top >= LARGEST_LOSS:
        raise NoLosses
    while top > _SMALLEST_LOSS and profile.delta(top / 2) <= negligible:
        top /= 2
    low = top / 2
    for _ in range(3):
        middle = (low + top) / 2
        low, top = (low, middle) if profile.delta(middle) <= negligible else (middle, top)
    if top <= _SMALLEST_LOSS:
        raise NoLosses
    return top


def _connected(ends: Floats, deltas: Floats, spacing: float) -> Losses:
    """Losses whose profile is at least as large as these δ at these ε, from 0 on."""
    kept: list[int] = []
    for place in range(len(ends) - 1, -1, -1):
        while len(kept) > 1 and _chance(ends, deltas, place, kept[-1], kept[-2]) <= 0:
            kept.pop()  # above the line between its neighbours
        kept.append(place)
    between = [_chance(ends, deltas, *three) for three in zip(kept[2:], kept[1:], kept, strict=False)]
    last = (deltas[kept[1]] - deltas[kept[0]]) / -math.expm1(ends[kept[1]] - ends[kept[0]])
    losses, chances = ends[kept[:-1]], np.maximum([last, *between], 0.0)
    lost = float(deltas[kept[0]])
    # Rounding may have made the profile too small: the chances are raised by as much as is missing.
    profile = -np.expm1(np.minimum(ends[kept][:, None] - losses, 0.0)) @ chances + lost
    short = max(1.0, float(np.max(deltas[kept] / np.maximum(profile, _LEAST)))) * _SLACK
    chances, lost = chances * short, lost * short
    # The same losses with the sign reversed are less likely; the remaining chance, rounded up, has a loss of 0.
    mirrored = chances * np.exp(-losses)
    rest = max(0.0, 1 - float(chances.sum()) - float(mirrored.sum()) - lost) * _SLACK
    return _in_steps(
        np.concatenate([losses, [0.0], -losses[::-1]]), np.concatenate([chances, [rest], mirrored[::-1]]), lost, spacing
    )


def _chance(ends: Floats, deltas: Floats, before: int, here: int, after: int) -> float:
    """The chance of a loss where two lines meet: the change of their slopes, times e^loss."""
    up_to, from_here = (1 / -math.expm1(ends[one] - ends[other]) for one, other in ((before, here), (here, after)))
    # 1/(e^x - 1) is computed as 1/(1 - e^-x) - 1, which cannot overflow
    return float((deltas[before] - deltas[here]) * up_to - (deltas[here] - deltas[after]) * (from_here - 1))


def _in_steps(values: Floats, chances: Floats, lost: float, spacing: float) -> Losses:
    """A loss between two steps is divided between both, so that the chances before and after a move stay the same."""
    top = float(values[0])
    places = np.maximum((top - values) / spacing, 0.0)
    above = np.floor(places)
    up = np.expm1(-(above + 1 - places) * spacing) / math.expm1(-spacing)
    stepped = np.zeros(int(above.max()) + 2)
    np.add.at(stepped, above.astype(np.int64), chances * up)
    np.add.at(stepped, above.astype(np.int64) + 1, chances * np.maximum(1 - up, 0.0))
    return Losses(top, spacing, stepped * _SLACK, lost)
