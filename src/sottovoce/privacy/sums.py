"""δ(ε) of several readings with too little noise for the sum of their noises to be a discrete normal.

Let S be the sum of n discrete normals of variance v, all moved by m steps. The privacy loss is L(S) = m(nm - 2S)/2v,
and δ(ε) the mean of g(S) = (1 - e^{ε - L(S)})₊, which falls with S.

Close variances share one sum. For v between v₁ and v₂, losses are at most those of v₁. The likelihood ratio of two
discrete normals rises with |k|, so a larger v makes |S| stochastically larger: sums of symmetric unimodal variables
keep that order (Birnbaum 1948, on peakedness). Hence P(S ≤ t) is at most that of v₁ for t ≥ 0, and that of v₂ for
t < 0. As g falls in steps, δ is at most the mean of g(max(S, 0)) under v₁ plus that of (g(S) - g(0))₊ under v₂.

The law of S is computed by a Fourier transform. It is tilted by e^{-θS} so that S mostly lies where losses begin to
exceed ε; rare sums are then precise too. What wraps around the end of the transform only makes the bound larger. For
many ε at once, the law is put together from stretches, each with its own tilt.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from sottovoce.privacy.corners import Corners
from sottovoce.privacy.normal import LEAST, gain, total_weight

Floats = NDArray[np.float64]

_ROUNDING = 2.0**-48  # relative error of an argument, after a dozen roundings
_SLACK = 1 + 1e-9  # relative error of products and sums of positive terms
_CUT = 50.0  # what has less than e^-50 of the probability of the rest is bounded, not summed
_PLAIN = 0.4  # above this variance the mean of a discrete normal is within 1/100 of its centre
_ROWS = 128  # at once
_DIGITS = 1e4  # a chance that is this many times its largest error is precise


def sum_delta(epsilon: float, steps: int, readings: int, smallest: Floats, largest: Floats) -> Floats:
    """An upper bound on δ for each variance from ``smallest`` to ``largest``; arrays of pairs, in ascending order."""
    deltas = [
        _sum_delta(epsilon, float(steps * readings), readings, smallest[rows], largest[rows])
        for rows in (slice(first, first + _ROWS) for first in range(0, len(smallest), _ROWS))
    ]
    return np.concatenate([np.empty(0), *deltas])


def _sum_delta(epsilon: float, shift: float, readings: int, smallest: Floats, largest: Floats) -> Floats:
    together = smallest[:, None] * readings
    height = epsilon * together[:, 0] / shift
    last = np.ceil(shift / 2 - height + _ROUNDING * (shift + height)) - 1  # whose loss exceeds ε
    at_zero = gain(epsilon, shift, np.zeros(1), together)
    below = _sums_below(np.minimum(last, -1.0), readings, largest)
    gains = gain(epsilon, shift, below.sums, together) - at_zero + 2 * _ROUNDING * (at_zero > 0)
    total = (below.chances * np.maximum(gains, 0.0)).sum(axis=1) + below.rest
    many = last >= 0
    if many.any():
        below = _sums_below(np.zeros(many.sum()), readings, smallest[many])
        gains = gain(epsilon, shift, -below.sums, together[many])  # sums are symmetric
        total[many] += at_zero[many, 0] * (1 + below.chances[:, 0]) / 2
        total[many] += (below.chances * gains)[:, 1:].sum(axis=1) + below.rest
    return np.asarray(np.minimum(total, 1.0) * _SLACK + LEAST)


def add_sums(
    corners: Corners, steps: int, readings: int, smallest: Floats, largest: Floats, chances: Floats, negligible: float
) -> None:
    """Add the losses of groups of variances with these chances, in ascending order.

    At most a ``negligible`` part of each group counts as an infinite loss.

    As for a single ε: sums below 0 are those of a group's largest variance, sums from 0 on those of its smallest.
    """
    for first in range(0, len(smallest), _ROWS):
        rows = slice(first, first + _ROWS)
        _add_sums(corners, float(steps * readings), readings, smallest[rows], largest[rows], chances[rows], negligible)


def _add_sums(
    corners: Corners, shift: float, readings: int, smallest: Floats, largest: Floats, chances: Floats, negligible: float
) -> None:
    def add(sums: Floats, shares: Floats) -> None:
        corners.add(shift * (shift - 2 * sums) / (2 * readings * smallest[:, None]), chances[:, None] * shares)

    below = _sums_below(np.zeros(len(chances)), readings, smallest)
    add(-below.sums[:, 1:], below.chances[:, 1:])  # sums are symmetric
    add(1 - below.sums[:, -1:], below.rest[:, None])
    not_above = (1 + below.chances[:, :1]) / 2
    # Sums below 0, under the largest variance of each group, in stretches that have digits to spare.
    below = _sums_below(np.full(len(chances), -1.0), readings, largest)
    while below.all.max() > negligible:
        ends = below.sums[:, :1] - below.precise[:, None]
        shares = np.where(below.sums > ends, below.chances, 0.0)[:, : below.precise.max()]
        add(below.sums[:, : shares.shape[1]], shares)
        not_above -= shares.sum(axis=1, keepdims=True)
        below = _sums_below(ends[:, 0], readings, largest)
    corners.add_infinite(float(chances @ below.all))
    add(np.zeros((len(chances), 1)), np.maximum(not_above, 0.0))


class _Below(NamedTuple):
    """Sums of noises from the first (0 or less) downwards; a row for each variance."""

    sums: Floats
    chances: Floats  # upper bounds on their probabilities
    all: Floats  # an upper bound on the probability of all of them together
    rest: Floats  # and of all further ones
    precise: NDArray[np.int64]  # how many of the chances have at least four digits


def _sums_below(first: Floats, readings: int, variance: Floats) -> _Below:
    n, v, place = readings, variance[:, None], first[:, None]
    around = np.arange(-math.ceil(math.sqrt(4 * _CUT * variance[-1])) - 1.0, 0)
    around = np.concatenate([around, [0.0], -around[::-1]])
    low, high = place / n - 0.5, np.minimum(place / n + 0.5, 0.0)
    # Any centre is valid. The best one puts the mean at the first sum, which is that sum itself unless the noise is
    # less than a step wide; then this many halvings come close enough.
    if variance[0] > _PLAIN:
        high = place / n
    for _ in range(0 if variance[0] > _PLAIN else math.ceil(math.log2(5 * math.sqrt(n) / variance[0] + 1))):
        centre = (low + high) / 2
        k, weights, _ = _normal_around(centre, v, around)
        above = (k * weights).sum(axis=1, keepdims=True) > place / n * weights.sum(axis=1, keepdims=True)
        low, high = np.where(above, low, centre), np.where(above, centre, high)
    centre = high
    k, weights, largest = _normal_around(centre, v, around)
    weight = weights.sum(axis=1, keepdims=True)
    tilt = -centre / v
    # log of E[e^{-tilt·S}] e^{tilt·first}, moved up by more than the rounding of all exponents
    parts = np.square(centre) / (2 * v), np.log(weight) + largest - np.log(total_weight(v)), tilt * place / n
    log = n * (sum(parts) + _ROUNDING * (sum(map(np.abs, parts)) - largest + 4 * _CUT))
    # Discrete normals are subgaussian: P(S ≤ t) ≤ e^{-t²/2nv}.
    reach = math.ceil(math.sqrt(2 * n * float((variance * (_CUT + np.clip(-log[:, 0], 0, 750))).max()))) + 1
    length = next_fast_len(max(2 * reach, len(around)), real=True)
    one = np.zeros((len(first), length))
    base = k[:, :1] - around[0]
    one[:, around.astype(np.int64)] = weights / weight
    summed = irfft(power(rfft(one), n), length)
    down = np.arange(float(reach))
    places = (place - n * base - down).astype(np.int64) % length
    # The error of a transform of length N is at most a few times log2(N) roundings of its norm (Higham 2002, theorem
    # 24.2), which is at most 1; the n-th power multiplies the error by n. That is far more than the
    # probability of what is not `around`.
    error = n * 20 * (math.log2(length) + 1) * 2.0**-53
    tilted = np.maximum(np.take_along_axis(summed, places, axis=1), 0.0)
    rough = np.append(tilted < _DIGITS * error, np.ones((len(first), 1), bool), axis=1)
    chances = (tilted + error) * np.exp(log - tilt * down * (1 - _ROUNDING))
    rest = np.exp(-np.square(first - reach) / (2 * n * variance) * (1 - _ROUNDING))
    # P(S ≤ t) ≤ E[e^{tilt·(t - S)}]
    return _Below(place - down, chances, np.exp(log[:, 0]), rest, np.maximum(rough.argmax(axis=1), 1))


def _normal_around(centre: Floats, variance: Floats, around: Floats) -> tuple[Floats, Floats, Floats]:
    """Steps around a centre, their weights in a discrete normal as shares of the largest, and the log of that."""
    k = np.round(centre) + around
    exponents = -np.square(k - centre) / (2 * variance)
    largest = exponents.max(axis=1, keepdims=True)
    return k, np.exp(exponents - largest), largest


def power(numbers: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """A power by repeated squaring: five times as fast as NumPy's own for complex numbers."""
    power = numbers
    for bit in bin(exponent)[3:]:
        power = power * power * numbers if bit == "1" else power * power
    return power
