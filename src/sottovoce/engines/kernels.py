"""The inner loops, compiled by Numba and kept on disk.

NumPy can do each of these sums with bincount, at 10 to 20 times the cost: it walks through memory once for every
operation, where a kernel reads a claim, gets its object's truth and adds the loss to its user while all are in cache.

Every function takes a range of objects (or users) and releases the GIL, so that threads can share the work.
Sums by user are added to what is there: the caller clears them, and can let several ranges or blocks add to the same.
Ids are turned into unsigned numbers, because Numba checks signed ones for Python's negative indexing at each access.
"""

import numpy as np
from numba import njit

# Kernels take many arrays, and their types are Numba's to infer.
# mypy: disable-error-code="no-untyped-def"


@njit(nogil=True, cache=True)
def means(first, last, offsets, values, out):
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        # Four sums at once: one alone would wait for each addition to finish before the next.
        a = b = c = d = 0.0
        whole = len(claimed) // 4 * 4
        for i in range(0, whole, 4):
            a += claimed[i]
            b += claimed[i + 1]
            c += claimed[i + 2]
            d += claimed[i + 3]
        for i in range(whole, len(claimed)):
            a += claimed[i]
        out[n] = (a + b + c + d) / len(claimed)


@njit(nogil=True, cache=True)
def spreads(first, last, offsets, values, center, out):
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        total = 0.0
        for i in range(len(claimed)):
            total += (claimed[i] - center[n]) ** 2
        out[n] = np.sqrt(total / len(claimed))


@njit(nogil=True, cache=True)
def medians(first, last, offsets, values, out):
    for n in range(first, last):
        out[n] = np.median(values[offsets[n] : offsets[n + 1]])


@njit(nogil=True, cache=True)
def deviations(first, last, offsets, values, center, out):
    """Median distance of an object's claims from its centre."""
    for n in range(first, last):
        out[n] = np.median(np.abs(values[offsets[n] : offsets[n + 1]] - center[n]))


@njit(nogil=True, cache=True)
def order_by_value(first, last, offsets, values, order):
    """Positions of each object's claims from the smallest value to the largest."""
    for n in range(first, last):
        order[offsets[n] : offsets[n + 1]] = np.argsort(values[offsets[n] : offsets[n + 1]], kind="mergesort")


@njit(nogil=True, cache=True)
def sweep_means(
    first, last, offsets, users, values, weights, center, unit, spread, prior_weight, prior_mean, old, new, losses
):
    """Weighted means, and squared losses added to their users. Returns the largest move."""
    move = 0.0
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        middle, scale = center[n], unit[n]
        total, weight = prior_weight * prior_mean, prior_weight
        for i in range(len(claimed)):
            w = weights[np.uint64(who[i])]
            total += w * ((claimed[i] - middle) * scale)
            weight += w
        truth = total / weight
        new[n] = middle + truth / scale
        move = max(move, abs(new[n] - old[n]) / spread[n])
        for i in range(len(claimed)):
            residual = (claimed[i] - middle) * scale - truth
            losses[np.uint64(who[i])] += residual * residual
    return move


@njit(nogil=True, cache=True)
def weighted_means(
    first, last, offsets, users, values, weights, center, unit, spread, prior_weight, prior_mean, old, new, scaled
):
    """Weighted means in the claims' units (``new``) and in the step's (``scaled``). Returns the largest move."""
    move = 0.0
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        middle, scale = center[n], unit[n]
        total, weight = prior_weight * prior_mean, prior_weight
        for i in range(len(claimed)):
            w = weights[np.uint64(who[i])]
            total += w * ((claimed[i] - middle) * scale)
            weight += w
        scaled[n] = total / weight
        new[n] = middle + scaled[n] / scale
        move = max(move, abs(new[n] - old[n]) / spread[n])
    return move


@njit(nogil=True, cache=True)
def weighted_medians(first, last, offsets, users, values, order, weights, center, unit, spread, old, new, scaled):
    """The smallest claim at which half of the weight is reached; otherwise like `weighted_means`."""
    move = 0.0
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        rank = order[offsets[n] : offsets[n + 1]]
        weight = 0.0
        for i in range(len(claimed)):
            weight += weights[np.uint64(who[np.uint64(rank[i])])]
        # A hair less than half, so that rounding in the sum cannot move an exact half to the next claim.
        half = weight / 2 * (1 - 1e-12)
        below = 0.0
        place = np.uint64(0)
        for i in range(len(claimed)):
            place = np.uint64(rank[i])
            below += weights[np.uint64(who[place])]
            if below >= half:
                break
        new[n] = claimed[place]
        scaled[n] = (claimed[place] - center[n]) * unit[n]
        move = max(move, abs(new[n] - old[n]) / spread[n])
    return move


@njit(nogil=True, cache=True)
def score_objects(first, last, offsets, users, values, center, unit, absolute, truths, losses):
    """Losses at given truths, object by object."""
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        middle, scale, truth = center[n], unit[n], truths[n]
        for i in range(len(claimed)):
            residual = (claimed[i] - middle) * scale - truth
            losses[np.uint64(who[i])] += abs(residual) if absolute else residual * residual


@njit(nogil=True, cache=True)
def score_users(first, last, user_offsets, objects, scaled, absolute, truths, losses):
    """Losses at given truths, user by user, from claims that are already centred and scaled."""
    for k in range(first, last):
        what = objects[user_offsets[k] : user_offsets[k + 1]]
        claimed = scaled[user_offsets[k] : user_offsets[k + 1]]
        total = 0.0
        for i in range(len(claimed)):
            residual = claimed[i] - truths[np.uint64(what[i])]
            total += abs(residual) if absolute else residual * residual
        losses[k] = total


@njit(nogil=True, cache=True)
def transpose(first, last, offsets, users, values, center, unit, cursor, objects, scaled):
    """Claims sorted by user, centred and scaled; ``cursor`` holds each user's next place and is used up."""
    for n in range(first, last):
        for i in range(offsets[n], offsets[n + 1]):
            user = np.uint64(users[i])
            place = np.uint64(cursor[user])
            cursor[user] += 1
            objects[place] = n
            scaled[place] = (values[i] - center[n]) * unit[n]


@njit(nogil=True, cache=True)
def precision(first, last, offsets, users, values, weights, truths, effective, variance):
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        largest = 0.0
        for i in range(len(claimed)):
            largest = max(largest, weights[np.uint64(who[i])])
        total = squares = spread = 0.0
        for i in range(len(claimed)):
            w = weights[np.uint64(who[i])] / largest  # squares of tiny weights would vanish
            total += w
            squares += w * w
            spread += (w * (claimed[i] - truths[n])) ** 2
        effective[n] = total * total / squares
        variance[n] = spread / (total * total)


@njit(nogil=True, cache=True)
def object_sums(first, last, offsets, users, factor, out):
    """For each object the sum over its claims of the user's factor."""
    for n in range(first, last):
        total = 0.0
        for i in range(offsets[n], offsets[n + 1]):
            total += factor[np.uint64(users[i])]
        out[n] = total


@njit(nogil=True, cache=True)
def user_sums(first, last, offsets, users, factor, sums):
    """For each user the sum over his claims of the object's factor."""
    for n in range(first, last):
        for i in range(offsets[n], offsets[n + 1]):
            sums[np.uint64(users[i])] += factor[n]
