"""Sums over users' posteriors on nodes, compiled: a table of users × nodes would not fit into the cache.

Users are processed in groups, and the innermost loop goes over a group, so that the processor computes several users at
once. The order of the additions for each user is fixed, and with it every bit of the result.
"""

import math

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def"

_AT_ONCE = 64  # users whose sums stay in the core's cache
_LEAST_MASS = 1e-300
_LEAST = -700.0  # smaller logarithms are replaced by this: the number is still normal, and far below rounding
# ln 2 in two parts; a whole number times the first part needs no rounding
_LN2_HIGH, _LN2_LOW, _LOG2_E = 0.693145751953125, 1.42860682030941723212e-6, 1 / math.log(2)
_SERIES = tuple(1 / math.factorial(power) for power in range(11))


@njit(nogil=True, cache=True, fastmath={"contract"})
def moments(agreed, disagreed, log_right, log_wrong, factors, out):
    """For each user, Σ likelihood · factor over the nodes, for each column of factors; likelihoods up to a constant.

    The likelihood is that of agreeing and disagreeing this often, in each group.
    """
    (groups, nodes), columns = log_right.shape, factors.shape[1]
    right, wrong, sums = np.zeros((groups, _AT_ONCE)), np.zeros((groups, _AT_ONCE)), np.empty((columns, _AT_ONCE))
    likely, largest = np.empty((nodes, _AT_ONCE)), np.empty(_AT_ONCE)
    for first in range(0, len(out), _AT_ONCE):
        many = _copy_counts(agreed, disagreed, first, right, wrong)
        _likelihoods(right, wrong, log_right, log_wrong, likely, largest)
        sums[:] = 0.0
        for node in range(nodes):
            for column in range(columns):
                factor = factors[node, column]
                for user in range(_AT_ONCE):
                    sums[column, user] += likely[node, user] * factor
        for user in range(many):
            for column in range(columns):
                out[first + user, column] = sums[column, user]


@njit(nogil=True, cache=True, fastmath={"contract"})
def likelihoods(agreed, disagreed, log_right, log_wrong):
    """The likelihoods themselves, nodes × users."""
    groups, nodes = log_right.shape
    right, wrong = np.zeros((groups, _AT_ONCE)), np.zeros((groups, _AT_ONCE))
    likely, largest, out = np.empty((nodes, _AT_ONCE)), np.empty(_AT_ONCE), np.empty((nodes, len(agreed)))
    for first in range(0, len(agreed), _AT_ONCE):
        many = _copy_counts(agreed, disagreed, first, right, wrong)
        _likelihoods(right, wrong, log_right, log_wrong, likely, largest)
        out[:, first : first + many] = likely[:, :many]
    return out


@njit(nogil=True, cache=True)
def crowd_law(rise, concentration, guess, log_nodes, log_others):
    """A beta law on the nodes, with its two first and three second derivatives.

    Its mean lies at ``rise`` between guessing and certainty. The derivatives are with respect to the log odds of
    ``rise`` and the logarithm of the concentration.
    """
    nodes, mean, largest = len(log_nodes), guess + (1 - guess) * rise, -np.inf
    out = np.empty((6, nodes))
    law, one, other = out[0], out[1], out[2]  # of the logarithm, at first
    for node in range(nodes):
        one[node] = concentration * (1 - guess) * rise * (1 - rise) * (log_nodes[node] - log_others[node])
        other[node] = concentration * (mean * log_nodes[node] + (1 - mean) * log_others[node])
        law[node] = other[node] - log_nodes[node] - log_others[node]
        largest = max(largest, law[node])
    total = 0.0
    for node in range(nodes):
        law[node] = np.exp(law[node] - largest)
        total += law[node]
    expected = np.zeros(5)
    for node in range(nodes):
        law[node] /= total
        expected[0] += law[node] * one[node]
        expected[1] += law[node] * other[node]
    for node in range(nodes):
        by_one, by_other = one[node], other[node]
        one[node], other[node] = by_one - expected[0], by_other - expected[1]
        out[3, node] = one[node] ** 2 + (1 - 2 * rise) * by_one
        out[4, node] = one[node] * other[node] + by_one
        out[5, node] = other[node] ** 2 + by_other
        for place in range(3):
            expected[2 + place] += law[node] * out[3 + place, node]
    for node in range(nodes):
        one[node] *= law[node]
        other[node] *= law[node]
        for place in range(3):
            out[3 + place, node] = law[node] * (out[3 + place, node] - expected[2 + place])
    return out


@njit(nogil=True, cache=True, fastmath={"contract"})
def evidence(laws, likely):
    """Sums over users of the logarithm of Σ likelihood · law over the nodes and, if they are given, of its derivatives.

    The first row of ``laws`` is the law, the others are its derivatives, as in `crowd_law`.
    """
    sums, masses = np.zeros(6), np.zeros((len(laws), likely.shape[1]))
    for node in range(len(likely)):
        for row in range(len(laws)):
            factor = laws[row, node]
            for user in range(likely.shape[1]):
                masses[row, user] += likely[node, user] * factor
    for user in range(likely.shape[1]):
        mass = max(masses[0, user], _LEAST_MASS)
        sums[0] += np.log(mass)
        if len(laws) > 1:
            one, other = masses[1, user] / mass, masses[2, user] / mass
            sums[1] += one
            sums[2] += other
            sums[3] += masses[3, user] / mass - one * one
            sums[4] += masses[4, user] / mass - one * other
            sums[5] += masses[5, user] / mass - other * other
    return sums


@njit(nogil=True, cache=True, inline="always")
def _copy_counts(agreed, disagreed, first, right, wrong):
    """Copy the counts of the next users, by group; returns how many there are."""
    many = min(_AT_ONCE, len(agreed) - first)
    for group in range(len(right)):
        for user in range(many):
            right[group, user], wrong[group, user] = agreed[first + user, group], disagreed[first + user, group]
    return many


@njit(nogil=True, cache=True, fastmath={"contract"}, inline="always")
def _likelihoods(right, wrong, log_right, log_wrong, likely, largest):
    """Likelihoods, nodes × users; the largest of each user is 1."""
    largest[:] = -np.inf
    for node in range(len(likely)):
        for group in range(len(right)):
            one, other = log_right[group, node], log_wrong[group, node]
            for user in range(_AT_ONCE):
                log = right[group, user] * one + wrong[group, user] * other
                likely[node, user] = log if group == 0 else likely[node, user] + log
        for user in range(_AT_ONCE):
            largest[user] = likely[node, user] if likely[node, user] > largest[user] else largest[user]
    for node in range(len(likely)):
        for user in range(_AT_ONCE):
            likely[node, user] = _exponential(likely[node, user] - largest[user])


@njit(nogil=True, cache=True, fastmath={"contract"}, inline="always")
def _exponential(log):
    """The exponential of a number up to 0: 2^n · e^r, where r is small enough for a short series.

    The library's function takes one number at a time; a loop around this one takes several.
    """
    log = max(log, _LEAST)
    n = np.floor(log * _LOG2_E + 0.5)
    r = (log - n * _LN2_HIGH) - n * _LN2_LOW
    total = _SERIES[10]
    for power in range(9, -1, -1):
        total = total * r + _SERIES[power]
    return total * np.int64((np.int64(n) + 1023) << 52).view(np.float64)
