"""Inner loops of an iteration over a block, whose claims are in the order of users.

They do what `kernels` and `aware` do object by object, to the last bit: for each object claims come in the order of
users here too, and for each user in that of objects. Sums by object are kept for the whole block, and no truth is known
before its last claim; so the claims are gone through twice.
"""

import numpy as np
from numba import njit

from sottovoce.engines.aware import looked_up, trusted

# mypy: disable-error-code="no-untyped-def,assignment"


@njit(nogil=True, cache=True)
def score(users, objects, values, center, unit, absolute, truths, losses):
    """Losses at given truths."""
    for i in range(len(values)):
        n = np.uint64(objects[i])
        residual = (values[i] - center[n]) * unit[n] - truths[n]
        losses[np.uint64(users[i])] += abs(residual) if absolute else residual * residual


@njit(nogil=True, cache=True)
def sweep_means(
    users, objects, values, weights, center, unit, prior_weight, prior_mean, new, losses
):  # fmt: skip
    """Weighted means, and squared losses added to their users."""
    truth, weight = np.full(len(new), prior_weight * prior_mean), np.full(len(new), prior_weight)
    for i in range(len(values)):
        n = np.uint64(objects[i])
        w = weights[np.uint64(users[i])]
        truth[n] += w * ((values[i] - center[n]) * unit[n])
        weight[n] += w
    for n in range(len(new)):
        truth[n] /= weight[n]
        new[n] = center[n] + truth[n] / unit[n]
    score(users, objects, values, center, unit, False, truth, losses)


@njit(nogil=True, cache=True)
def sweep_normal(
    users, objects, values, weights, center, unit, known, tail, old, new, precision, misfit, sums, counts
):  # fmt: skip
    """Truths, their precision, each object's mean weighted square, and the squares and counts added to their users."""
    before = (old - center) * unit
    truth, weight, uncertain, claims = np.zeros(len(new)), np.zeros(len(new)), np.empty(len(new)), np.zeros(len(new))
    bounded = np.empty(len(values))
    for i in range(len(values)):
        n = np.uint64(objects[i])
        w = weights[np.uint64(users[i])]
        value = (values[i] - center[n]) * unit[n]
        kept, bounded[i] = trusted(w * (value - before[n]) ** 2, tail)
        w *= kept
        truth[n] += w * value
        weight[n] += w
    for n in range(len(new)):
        truth[n] = before[n] if known[n] else truth[n] / weight[n]
        uncertain[n] = 0.0 if known[n] else 1 / weight[n]
        new[n] = center[n] + truth[n] / unit[n]
        precision[n] = weight[n] * unit[n] * unit[n]
        misfit[n] = 0.0
    for i in range(len(values)):
        n, user = np.uint64(objects[i]), np.uint64(users[i])
        residual = (values[i] - center[n]) * unit[n] - truth[n]
        loss = bounded[i] * residual * residual + uncertain[n]
        sums[user] += loss
        counts[user] += 1
        misfit[n] += weights[user] * loss
        claims[n] += 1
    misfit /= claims


@njit(nogil=True, cache=True)
def sweep_fresh(
    users, objects, values, cells, places, information, table, inliers, step, center, known, old, new,
    precision, sums, counts,
):  # fmt: skip
    """The same with weights looked up."""
    before = old - center
    truth, weight, uncertain = np.zeros(len(new)), np.zeros(len(new)), np.empty(len(new))
    share = np.empty(len(values))
    precision[:] = 0.0
    for i in range(len(values)):
        n, user = np.uint64(objects[i]), np.uint64(users[i])
        distance = values[i] - center[n] - before[n]
        w, share[i] = looked_up(table, inliers, cells[user], places[user], abs(distance) / step)
        truth[n] += w * distance
        weight[n] += w
        precision[n] += information[user]
    for n in range(len(new)):
        told = precision[n]
        truth[n] = before[n] if known[n] else before[n] + 2 * truth[n] / (weight[n] + told)
        uncertain[n] = 0.0 if known[n] else 1 / told
        new[n] = center[n] + truth[n]
    for i in range(len(values)):
        n, user = np.uint64(objects[i]), np.uint64(users[i])
        residual = values[i] - center[n] - truth[n]
        sums[user] += share[i] * (residual * residual + uncertain[n])
        counts[user] += share[i]
