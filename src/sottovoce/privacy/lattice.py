"""Profiles of the noise that the exact sampler draws: upper bounds on sums over whole grid steps.

The continuous closed forms are not upper bounds for noise on a coarse grid. Here δ(ε) is summed over the integers and,
where a variance is drawn, over its own discrete law. The server is then assumed to know the variance, which makes the
figure valid for any number of readings. Whatever is left out or rounded is bounded and added, so that no figure is
below the exact one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len
from scipy.optimize import minimize_scalar

from sottovoce.errors import BadParameter
from sottovoce.privacy.corners import Corners
from sottovoce.privacy.exact import rounded_up
from sottovoce.privacy.grid_noise import NormalOnGrid
from sottovoce.privacy.normal import LEAST, concentrated_delta, smooth_delta, summed_delta
from sottovoce.privacy.sampler import VARIANCE_STEPS
from sottovoce.privacy.sums import add_sums, power, sum_delta

Floats = NDArray[np.float64]

_ROUNDING = 2.0**-48  # relative error of an argument, after a dozen roundings
_MOST_EPSILON = 1e9  # beyond any meaningful promise
_LARGEST_LOSS = 1e7  # of fresh noise: a larger one promises nothing, and is not summed
# The number of different losses under fresh noise: at most for all readings together, and at least for each.
_MOST_LOSSES, _FEWEST_LOSSES = 1 << 17, 128
_TAIL, _LAST = 45.0, 745.0  # variances with a probability of e^-45 together are grouped; no double holds e^-745
# Variances (in squared steps, of all readings together) up to which δ is summed term by term: if many are possible,
# and if there is only one.
_NARROW, _NARROW_SINGLE = 50.0, 1e5
_NARROW_IF_RARE, _RARE = 4.0, 10.0
# Where the loss changes by more than ½ per step, only large shifts are smooth enough.
_STEEP, _LARGE_SHIFT = 0.5, 1000.0
_LARGEST_SHIFT = 1e4  # a shift of this many deviations has no ε below 10 million: δ is 1
# Above this variance the sum of several discrete normals is itself one, up to a factor close to 1.
_SMOOTH = 1.0
# Variances whose relative difference is at most this count as one: narrow, rough, and rare ones. Between wide ones that
# far apart, δ is interpolated.
_GROUP, _GROUP_OF_SUMS, _GROUP_OF_RARE, _LEVEL = 1e-3, 3e-3, 3e-2, 2e-3
# Sums are left out beyond this many deviations, and where they are below this share of all, or this small.
_CERTAIN, _NEGLIGIBLE, _TINY = 6.0, 1e-9, 1e-300
_SUM_EFFORT = 0.8  # effort of the sum for one group of variances, for few readings
_MOST_KEPT = 4_000_000  # numbers in rows of δ: 32 megabytes


def drawn_variances(law: NormalOnGrid) -> tuple[Floats, Floats]:
    """The variances (in squared grid steps) that the sampler may draw, except the rarest, and their probabilities."""
    if not law.quantum:
        return np.array([_as_double(law.floor)]), np.ones(1)
    drawn = np.arange(_TAIL * VARIANCE_STEPS)
    chances = -math.expm1(-1 / VARIANCE_STEPS) * np.exp(-drawn / VARIANCE_STEPS)
    return _as_double(law.floor) + (drawn + 1) * _as_double(law.quantum), chances


def _rarest(law: NormalOnGrid) -> tuple[Floats, Floats, Floats]:
    """Variances beyond these, up to where a double cannot hold their probability, in groups.

    The smallest variance of each group, the largest, and the probability of the group.
    """
    if not law.quantum:
        return np.empty(0), np.empty(0), np.empty(0)
    ends = np.floor(np.exp(np.arange(0, math.log(_LAST / _TAIL), _GROUP_OF_RARE)) * (_TAIL * VARIANCE_STEPS))
    ends = np.append(ends, _LAST * VARIANCE_STEPS)
    first, after = ends[:-1], ends[1:]
    chances = np.exp(-first / VARIANCE_STEPS) * -np.expm1((first - after) / VARIANCE_STEPS)
    floor, quantum = _as_double(law.floor), _as_double(law.quantum)
    return floor + (first + 1) * quantum, floor + after * quantum, chances


def _as_double(variance: Fraction) -> float:
    if variance > 10**200:
        raise BadParameter("noise: it must be less than 1e100 grid steps wide; choose a coarser grid, or less noise")
    return float(variance)


@dataclass(frozen=True)
class LatticeLaplaceProfile:
    """Discrete Laplace noise on ``readings`` readings that all move by ``steps`` grid steps."""

    scale: Fraction
    steps: int
    readings: int

    @property
    def pure_epsilon(self) -> float:
        return rounded_up(self.readings * self.steps / self.scale)

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.pure_epsilon:
            return 0.0
        if self.pure_epsilon > _LARGEST_LOSS:
            return 1.0
        if self.readings == 1:
            return self._one_reading(epsilon)
        return self._together(epsilon)

    def _one_reading(self, epsilon: float) -> float:
        """P(K ≤ κ) - e^ε P(K ≤ κ - steps), where κ is the last step whose loss (steps - 2κ)/scale exceeds ε."""
        last = math.ceil((self.steps - Fraction(epsilon) * self.scale) / 2) - 1
        ratio = math.exp(-1 / self.scale)
        beyond = math.exp(-(last + 1) / self.scale) + math.exp(Fraction(epsilon) - (self.steps - last) / self.scale)
        return 1 - beyond / (1 + ratio) + 1e-15

    @cached_property
    def _levels(self) -> tuple[Floats, float, float]:
        """Probabilities of the evenly spaced privacy losses of one reading, the largest loss, and the spacing.

        The loss is (steps - 2j)/scale with j = 0 … steps; noise below 0 counts as 0, and noise above ``steps`` as
        ``steps``. If there are too many losses, only every w-th is kept, and those between two that are kept are
        divided between them so that the probabilities before and after the move stay the same. Merging the parts
        would undo this, so they reveal no less.
        """
        h, m = float(1 / self.scale), self.steps
        w = -(-m // max(_MOST_LOSSES // self.readings, _FEWEST_LOSSES))
        cells = -(-m // w)
        left = m - w * (cells - 1)  # steps of the last cell
        chances = np.zeros(cells + 1)
        chances[0] = 1.0
        # Of a cell's steps j = wi - d, d = 0 … w - 1, the share (1 - e^{-2dh})/(1 - e^{-2wh}) goes to the larger loss.
        whole = -math.expm1(-w * h) * np.exp(-h - w * h * np.arange(cells - 1.0))
        up = math.expm1(-(w - 1) * h) / math.expm1(-2 * w * h)
        chances[:-2] += whole * up
        chances[1:-1] += whole * (1 - up)
        chances[-2] += -math.expm1(-(left - 1) * h) * math.exp(-h - w * h * (cells - 1))
        up = math.expm1(-2 * (w - left) * h) / math.expm1(-2 * w * h)
        chances[-2:] += math.exp(-m * h) * np.array([up, 1 - up])
        # Doubles below 1e-300 lose digits and are slow; a larger value is on the safe side.
        return np.maximum(chances / (1 + math.exp(-h)), 1e-300), m * h, 2 * w * h

    def _together(self, epsilon: float) -> float:
        """Sums of losses are convolutions, computed by Fourier transform.

        The losses are tilted by e^{c·loss}, so that rare large ones keep their digits. The largest possible error of
        the transform is added.
        """
        n, (one, top, spacing) = self.readings, self._levels
        place = np.arange(float(len(one)))

        def log_moment(c: float) -> float:
            """The log moment of the loss minus its largest value. Any tilt and factor will do, so this may be rough."""
            return float(np.log((one * np.exp(np.maximum(-c * spacing * place, -300.0))).sum()))

        def excess(log: float) -> float:
            return n * log_moment(math.exp(log)) + math.exp(log) * (n * top - epsilon)

        ends = math.log(1e-3 / (1 + top)), math.log(40 / spacing)
        tilt = math.exp(minimize_scalar(excess, bounds=ends, method="bounded", options={"xatol": 1e-3}).x)
        moment = log_moment(tilt)
        last = math.floor((n * top - epsilon) / spacing * (1 + _ROUNDING)) + 1
        # Losses far below ε wrap around and count as large ones: tilted, they are too rare to matter (Hoeffding 1963).
        enough = last + 1 + math.ceil(4.5 * math.sqrt(n) * len(one))
        length = next_fast_len(min(n * (len(one) - 1) + 1, max(enough, len(one))), real=True)
        transformed = np.fft.rfft(one * np.exp(-tilt * spacing * place - moment), length)
        summed = np.fft.irfft(power(transformed, n), length)[: min(last, n * (len(one) - 1)) + 1]
        # The error of a transform of length N is at most a few log2(N) roundings of its norm (Higham 2002, theorem
        # 24.2), which is at most 1; the n-th power multiplies the error by n.
        error = n * 20 * (math.log2(length) + 1) * 2.0**-53
        place = np.arange(float(len(summed)))
        exponents = n * moment + tilt * spacing * place
        exponents += _ROUNDING * (abs(n * moment) + tilt * spacing * place)
        chances = (np.maximum(summed, 0.0) + error) * np.exp(np.minimum(exponents, 700.0))
        losses = n * top * (1 + _ROUNDING) - spacing * place
        return float((chances * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum()) * (1 + 1e-8) + LEAST


@dataclass(frozen=True)
class LatticeGaussianProfile:
    """Discrete normal noise on ``readings`` readings that all move by ``steps``; the sampler draws its variance."""

    law: NormalOnGrid
    steps: int
    readings: int
    pure_epsilon: None = None

    def delta(self, epsilon: float) -> float:
        epsilon = min(epsilon, _MOST_EPSILON)  # a smaller ε has a larger δ
        total = self._parts.hopeless + self._wide_delta(epsilon)
        total += self._narrow_delta(epsilon, total)
        total *= self._not_quite_normal
        total += self._rough_delta(epsilon, total)
        return total * (1 + 1e-10) + LEAST

    def deltas(self, epsilons: Sequence[float], negligible: float) -> Floats:
        """An upper bound on δ at each of these ε, which rise from 0; it may be too large by about ``negligible``.

        To save time, all variances that are not wide are summed once, not for each ε.
        """
        corners, shift = Corners(epsilons), float(self.steps * self.readings)
        corners.add_infinite(self._parts.hopeless)
        smallest, largest, chances = self._summed
        revealed = shift / np.sqrt(smallest * self.readings)
        certain = revealed / 2 - epsilons[-1] / revealed > _CERTAIN
        corners.add_infinite(float(chances[certain].sum()))
        # Hardly any loss under these variances exceeds the first ε above 0, so all may count as equal to it.
        most = concentrated_delta(epsilons[1], shift, smallest * self.readings)
        small = ~certain & (most <= negligible)
        corners.add_infinite(float(chances[small] @ most[small]))
        corners.add(np.full(small.sum(), epsilons[1]), chances[small])
        left = ~certain & ~small
        add_sums(corners, self.steps, self.readings, smallest[left], largest[left], chances[left], negligible)
        wide = np.array([self._wide_delta(epsilon) for epsilon in epsilons])
        return np.minimum((corners.deltas() + wide * self._not_quite_normal) * (1 + 1e-10), 1.0)

    @cached_property
    def _summed(self) -> tuple[Floats, ...]:
        """Groups of variances of one reading that are not wide, in ascending order."""
        smallest, largest, chances = self._parts.narrow
        narrow = _grouped(smallest / self.readings, largest / self.readings, chances, _GROUP_OF_SUMS)
        groups = _joined(self._parts.rough, narrow)
        order = np.argsort(groups[0])
        return tuple(column[order] for column in groups)

    def effort(self, epsilons: int, negligible: float) -> float:
        """Roughly how long `deltas` takes, mostly for sums of noises; 1 is one pass over a few thousand numbers."""
        stretches = 1 + math.sqrt(-math.log(negligible)) / 4
        return epsilons + len(self._summed[0]) * _SUM_EFFORT * stretches * (1 + math.sqrt(self.readings) / 20)

    def _wide_delta(self, epsilon: float) -> float:
        """The contribution of the wide variances to δ.

        With R = s²/V (how much is revealed), the integral is the same for all numbers of readings, and the error is
        larger for fewer readings with less noise. So one row of δ serves all numbers up to √2 times the smallest.

        The integral is Φ(a) - e^ε Φ(a - √R), with a = √R/2 - ε/√R. Its slope in ln R is √R φ(a)/2, which rises as long
        as R²/4 ≤ R + ε²: up to there, interpolating between the levels on either side gives an upper bound.
        """
        lowest, raised, divided = self._parts.wide
        if not self.law.quantum:
            variances = drawn_variances(self.law)[0][: len(raised)] * self.readings
            return float(raised @ sum(smooth_delta(epsilon, float(self.steps * self.readings), variances)))
        first, deltas, errors = _rows.at(epsilon, float(self.steps * _fewer(self.readings)), lowest)
        convex = math.floor(math.log(2 * (1 + math.sqrt(1 + epsilon**2))) / _LEVEL) - 1  # the last such level
        chances = np.where(np.arange(lowest, lowest + len(raised)) <= convex, divided, raised)[first - lowest :]
        uncertain, certain = np.split(chances, [len(deltas)])
        total = float(uncertain @ deltas[: len(uncertain)]) + float(certain.sum())
        uncertain = raised[first - lowest :][: len(errors)]
        return total + float(uncertain @ errors[: len(uncertain)]) + LEAST

    def _narrow_delta(self, epsilon: float, others: float) -> float:
        """The contribution of the narrow variances; ``others`` is that of the wide ones."""
        smallest, largest, chances = self._parts.narrow
        shift = float(self.steps * self.readings)

        def summed(left: NDArray[np.bool_]) -> Floats:
            return np.minimum(summed_delta(epsilon, shift, smallest[left], largest[left]), 1.0)

        return self._worthwhile(epsilon, smallest, largest, chances, others, summed)

    def _rough_delta(self, epsilon: float, others: float) -> float:
        """The contribution of the rough variances; ``others`` is that of all others."""
        smallest, largest, chances = self._parts.rough

        def summed(left: NDArray[np.bool_]) -> Floats:
            return sum_delta(epsilon, self.steps, self.readings, smallest[left], largest[left])

        together = smallest * self.readings, largest * self.readings
        return self._worthwhile(epsilon, *together, chances, others, summed)

    def _worthwhile(
        self,
        epsilon: float,
        smallest: Floats,
        largest: Floats,
        chances: Floats,
        others: float,
        summed: Callable[[NDArray[np.bool_]], Floats],
    ) -> float:
        """The contribution of these variances (of all readings together), summed only where that is worthwhile.

        It is not where δ is almost 1, or negligible compared with that of the ``others``.
        """
        if not len(chances):
            return 0.0
        shift = float(self.steps * self.readings)
        most = np.minimum(concentrated_delta(epsilon, shift, smallest), 1.0)
        left = shift / 2 - epsilon * smallest / shift < _CERTAIN * np.sqrt(largest)
        while True:
            parts = most * chances
            worthwhile = left & (parts > max(_NEGLIGIBLE * (others + float(parts.sum())), _TINY))
            if not worthwhile.any():
                return float(parts.sum())
            most[worthwhile] = summed(worthwhile)
            left &= ~worthwhile

    @cached_property
    def _parts(self) -> "_Parts":
        """The variances, divided by how their δ is bounded, in ascending order."""
        single, chances = drawn_variances(self.law)
        together = single * self.readings
        shift = float(self.steps * self.readings)
        hopeless = shift > _LARGEST_SHIFT * np.sqrt(together)
        rough = ~hopeless & (self.readings > 1) & (single < _SMOOTH)
        narrow = together < (_NARROW if len(together) > 1 else _NARROW_SINGLE)
        narrow |= (shift > _STEEP * together) & (shift < _LARGE_SHIFT)
        # Large variances are rare and reveal less than the others: a looser bound on them changes nothing.
        rare = chances < math.exp(-_RARE) / VARIANCE_STEPS
        narrow &= (together < _NARROW_IF_RARE) | ~rare
        narrow &= ~hopeless & ~rough
        wide = ~hopeless & ~rough & ~narrow
        far, farthest, far_chances = _rarest(self.law)
        far_together = far * self.readings
        far_hopeless = shift > _LARGEST_SHIFT * np.sqrt(far_together)
        far_rough = ~far_hopeless & ((far_together < _NARROW_IF_RARE) | (self.readings > 1) & (far < _SMOOTH))
        far_wide = ~far_hopeless & ~far_rough

        def grouped(variances: Floats, some: NDArray[np.bool_], close: float) -> tuple[Floats, ...]:
            kinds = (some & ~rare, close), (some & rare, _GROUP_OF_RARE)
            return _joined(
                *(_grouped(variances[which], variances[which], chances[which], share) for which, share in kinds)
            )

        return _Parts(
            hopeless=float(chances[hopeless].sum() + far_chances[far_hopeless].sum()),
            narrow=grouped(together, narrow, _GROUP),
            wide=self._revealed(
                np.append(single[wide], far[far_wide]), np.append(chances[wide], far_chances[far_wide])
            ),
            rough=_joined(
                grouped(single, rough, _GROUP_OF_SUMS), (far[far_rough], farthest[far_rough], far_chances[far_rough])
            ),
        )

    def _revealed(self, variances: Floats, chances: Floats) -> tuple[int, Floats, Floats]:
        """The lowest level of R that this law can have, and the chances of all levels from there on.

        These come first with R rounded up, then divided between the levels above and below by the distance from either.
        """
        if not len(variances) or not self.law.quantum:
            return 0, chances, chances
        largest = self.law.floor + _LAST * VARIANCE_STEPS * self.law.quantum

        def level(readings: float, variance: Floats | float) -> Floats:
            return np.asarray((2 * math.log(self.steps) + np.log(readings / variance)) / _LEVEL)

        lowest = math.ceil(level(_fewer(self.readings), largest)) - 1
        levels = level(self.readings, variances) - lowest
        above = np.ceil(levels).astype(np.int64)
        raised = np.bincount(above, chances)
        below = (above - levels) * chances
        divided = raised - np.bincount(above, below) + np.bincount(above - 1, below, len(raised))
        return lowest, np.asarray(raised, np.float64), np.maximum(divided, 0.0)

    @cached_property
    def _not_quite_normal(self) -> float:
        """The largest ratio of the probabilities of a sum of discrete normals to those of one discrete normal.

        The sum of i + 1 of them differs from that of i and one more by a theta function of variance v·i/(i+1), which is
        constant up to ±2e^{-2π²v·i/(i+1)}, slightly more with its further terms.
        """
        i = np.arange(1.0, self.readings)
        wobble = 2.001 * np.exp(-2 * math.pi**2 * _SMOOTH * i / (i + 1))
        return math.exp(float((np.log1p(wobble) - np.log1p(-wobble)).sum()))


@dataclass(frozen=True)
class _Parts:
    hopeless: float  # their probability
    wide: tuple[int, Floats, Floats]  # the lowest level of R, and the chances of all levels, in two ways
    # Groups of variances: the smallest of each, the largest, and the probability of the group.
    narrow: tuple[Floats, ...]  # of all readings together
    rough: tuple[Floats, ...]  # of one reading


def _fewer(readings: int) -> int:
    """The largest power of √2, rounded down, that is at most this many."""
    power = math.floor(2 * math.log2(readings) + 1e-9)
    return math.isqrt(2**power)


class _Rows:
    """A cache of rows of δ, which similar numbers of readings share. It is emptied when it has grown too large."""

    def __init__(self) -> None:
        self._kept: dict[tuple[float, float, int], tuple[int, Floats, Floats]] = {}
        self._numbers = 0

    def at(self, epsilon: float, shift: float, lowest: int) -> tuple[int, Floats, Floats]:
        """The first level of R whose δ is not negligible, and the δ of all up to where it is 1, with their errors."""
        row = self._kept.get((epsilon, shift, lowest))
        if row is None:
            if self._numbers > _MOST_KEPT:
                self._kept, self._numbers = {}, 0
            row = self._kept[epsilon, shift, lowest] = _row(epsilon, shift, lowest)
            self._numbers += 2 * len(row[1]) + 100
        return row


_rows = _Rows()


def _row(epsilon: float, shift: float, lowest: int) -> tuple[int, Floats, Floats]:
    # From a = -40 to where δ is 1 to within a billionth, with a = √R/2 - ε/√R
    least = 2 * epsilon / (40 + math.sqrt(1600 + 2 * epsilon))
    most = _CERTAIN + math.sqrt(_CERTAIN**2 + 2 * epsilon)
    first = max(lowest, math.floor(2 * math.log(max(least, 1e-300)) / _LEVEL))
    sure = max(first, math.ceil(2 * math.log(most) / _LEVEL))
    levels = np.arange(first, sure, dtype=np.float64)[::-1]  # variances rise
    with np.errstate(over="ignore"):
        variances = np.square(shift * np.exp(-levels * (_LEVEL / 2) - _ROUNDING * (1 + abs(levels))))
    deltas, errors = smooth_delta(epsilon, shift, variances)
    return first, np.minimum(deltas, 1.0)[::-1], np.minimum(errors, 1.0)[::-1]


def _joined(*parts: tuple[Floats, ...]) -> tuple[Floats, ...]:
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _grouped(smallest: Floats, largest: Floats, chances: Floats, share: float) -> tuple[Floats, Floats, Floats]:
    """Groups of neighbours: the smallest of each group, the largest, and their probability."""
    if not len(chances):
        return smallest, largest, chances
    first = np.flatnonzero(np.diff(np.floor(np.log(smallest) / share), prepend=-np.inf))
    last = np.append(first[1:], len(chances)) - 1
    return smallest[first], largest[last], np.add.reduceat(chances, first)
