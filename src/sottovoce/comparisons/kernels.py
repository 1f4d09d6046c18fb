"""The inner loops over the grid of truths × spreads, compiled by Numba and cached on disk.

Log likelihoods are summed as whole numbers, in units of 1/UNITS: the sum of whole numbers is the same in any order, and
a withdrawn answer can be subtracted exactly. So a posterior depends only on the answers themselves, to the last bit.
"""

import math

import numpy as np
from numba import njit
from scipy.special import ndtr

# Kernels take many arrays, whose types Numba infers.
# mypy: disable-error-code="no-untyped-def"

UNITS = float(1 << 36)
LEAST_LOG = -64.0  # no answer counts as less likely than e^-64, so the sum over a million answers fits into 63 bits


# The normal distribution function on a grid of 1/256; between its points it is interpolated, within 5e-7.
_PER_UNIT = 256.0
_REACH = 8.0
_BELOW = ndtr(np.arange(-_REACH * _PER_UNIT, _REACH * _PER_UNIT + 1) / _PER_UNIT)


@njit(nogil=True, cache=True)
def below(distance):
    """The chance that a standard normal error is below this."""
    if distance <= -_REACH:
        return 0.0
    if distance >= _REACH:
        return 1.0
    place = (distance + _REACH) * _PER_UNIT
    cell = np.uint64(place)
    return _BELOW[cell] + (place - cell) * (_BELOW[cell + np.uint64(1)] - _BELOW[cell])


@njit(nogil=True, cache=True)
def add_answers(sums, start, step, log_spreads, low, high, floor, gain, count):
    """Add ``count`` answers that place the reading above ``low`` and below ``high``.

    ``floor`` is the chance of each wrong level, ``gain`` how much more likely the right one is. A truth may lie
    anywhere within its cell, which widens the spread where cells are coarse.
    """
    for j in range(len(log_spreads)):
        spread = math.hypot(math.exp(log_spreads[j]), step / math.sqrt(12.0))
        for i in range(sums.shape[1]):
            truth = start + (i + 0.5) * step
            between = below((high - truth) / spread) - below((low - truth) / spread)
            log_chance = max(LEAST_LOG, math.log(max(floor + gain * between, 1e-300)))
            sums[j, i] += count * np.int64(math.floor(log_chance * UNITS + 0.5))


@njit(nogil=True, cache=True)
def normalise(sums, weights, by_truth, by_spread):
    """The posterior of the truth (it sums to 1), and the evidence for each spread without its prior (at most 1)."""
    top = sums[0, 0]
    for j in range(sums.shape[0]):
        for i in range(sums.shape[1]):
            top = max(top, sums[j, i])
    by_truth[:] = 0.0
    for j in range(sums.shape[0]):
        total = 0.0
        for i in range(sums.shape[1]):
            behind = (sums[j, i] - top) / UNITS
            if behind < LEAST_LOG:
                continue
            chance = math.exp(behind)
            total += chance
            by_truth[i] += weights[j] * chance
        by_spread[j] = total
    by_truth /= by_truth.sum()
    by_spread /= by_spread.max()


@njit(nogil=True, cache=True)
def quantile(by_truth, start, step, share):
    """The point below which this share of the posterior lies; within a cell, the density is linear."""
    left, last = share, len(by_truth) - 1
    for i in range(last + 1):
        chance = by_truth[i]
        if left <= chance and chance > 0:
            slope = (by_truth[min(i + 1, last)] - by_truth[max(i - 1, 0)]) / 2
            slope = min(max(slope, -2 * chance), 2 * chance)
            # The part u of the cell holds chance·u + slope·(u² - u)/2.
            first = chance - slope / 2
            divisor = first + math.sqrt(max(first * first + 2 * slope * left, 0.0))
            return start + (i + (min(1.0, 2 * left / divisor) if divisor > 0 else 0.0)) * step
        left -= chance
    return start + (last + 1) * step


@njit(nogil=True, cache=True)
def core(by_truth, tail):
    """The first and the last cell of the posterior, leaving out at most the share ``tail`` on either side."""
    first, left = 0, tail
    while first < len(by_truth) - 1 and by_truth[first] < left:
        left -= by_truth[first]
        first += 1
    last, left = len(by_truth) - 1, tail
    while last > first and by_truth[last] < left:
        left -= by_truth[last]
        last -= 1
    return first, last
