"""The inner loops over the grid of truths × spreads, compiled by Numba and kept on disk.

Log likelihoods are summed as whole numbers, in units of 1/UNITS: whole numbers add up to the same in any order, and an
answer that is withdrawn can be subtracted without a trace. So a posterior depends on which answers there are and on
nothing else, to the last bit.
"""

import math

import numpy as np
from numba import njit
from scipy.special import ndtr

# Kernels take many arrays, and their types are Numba's to infer.
# mypy: disable-error-code="no-untyped-def"

UNITS = float(1 << 36)
LEAST_LOG = -64.0  # no answer is taken as less likely than e^-64: a million of them fit into 63 bits


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
    """Add ``count`` answers that say: the reading is above ``low`` and below ``high``.

    ``floor`` is the chance of a level that is not the right one, ``gain`` how much the right one has on top of it.
    Truths are taken to lie anywhere within their cell, which widens the spread where cells are coarse.
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
    """The posterior of the truth (sums to 1), and the evidence for each spread (the largest is 1) without its prior."""
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
    """Where this share of the posterior lies below; within a cell its density is linear."""
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
    """The first and the last cell that hold the posterior, but for this share on either side."""
    first, left = 0, tail
    while first < len(by_truth) - 1 and by_truth[first] < left:
        left -= by_truth[first]
        first += 1
    last, left = len(by_truth) - 1, tail
    while last > first and by_truth[last] < left:
        left -= by_truth[last]
        last -= 1
    return first, last
