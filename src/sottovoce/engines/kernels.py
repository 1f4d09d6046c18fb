"""The inner loops, compiled by Numba and cached on disk.

NumPy can do each of these sums with bincount, at 10 to 20 times the cost: it goes through memory once for every
operation, while a kernel reads a claim, gets its object's truth and adds the loss to its user while all are in cache.

Every function takes the claims of a block object by object (offsets, users, values), arrays by object, arrays by user
(``per_user``), and ``sums`` by user, to which it adds. All release the GIL, so that threads can share the work.
Ids are converted to unsigned numbers, because Numba checks signed ones for Python's negative indexing at each access.
"""

import numpy as np
from numba import njit

# Kernels take many arrays, whose types Numba infers.
# mypy: disable-error-code="no-untyped-def,assignment"


@njit(nogil=True, cache=True)
def means(offsets, values, out):
    for n in range(len(out)):
        claimed = values[offsets[n] : offsets[n + 1]]
        # Four sums at once: a single one would wait for each addition to finish before the next.
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
def spreads(offsets, values, center, out):
    for n in range(len(out)):
        claimed = values[offsets[n] : offsets[n + 1]]
        total = 0.0
        for i in range(len(claimed)):
            total += (claimed[i] - center[n]) ** 2
        out[n] = np.sqrt(total / len(claimed))


@njit(nogil=True, cache=True)
def medians(offsets, values, out):
    for n in range(len(out)):
        out[n] = np.median(values[offsets[n] : offsets[n + 1]])


@njit(nogil=True, cache=True)
def deviations(offsets, values, center, out):
    """Median distance of an object's claims from its centre."""
    for n in range(len(out)):
        out[n] = np.median(np.abs(values[offsets[n] : offsets[n + 1]] - center[n]))


@njit(nogil=True, cache=True)
def weighted_medians(offsets, users, values, order, center, unit, weights, new, scaled, precision):
    """The smallest claim at which half of the weight is reached, in the units of the claims and of the step."""
    for n in range(len(new)):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        rank = order[offsets[n] : offsets[n + 1]]
        weight = 0.0
        for i in range(len(claimed)):
            weight += weights[np.uint64(who[np.uint64(rank[i])])]
        # Slightly less than half, so that rounding in the sum cannot move an exact half to the next claim.
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
        precision[n] = weight * unit[n] * unit[n]


@njit(nogil=True, cache=True)
def score(offsets, users, values, center, unit, truths, absolute, sums):
    """Losses at given truths, added to their users."""
    for n in range(len(center)):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        middle, scale, truth = center[n], unit[n], truths[n]
        for i in range(len(claimed)):
            residual = (claimed[i] - middle) * scale - truth
            sums[np.uint64(who[i])] += abs(residual) if absolute else residual * residual


@njit(nogil=True, cache=True)
def score_by_user(users, objects, values, scaling, truths, absolute, sums):
    """The same for claims sorted by user: all that a claim needs of its object is in one cache line.

    ``scaling`` is the center and the unit of each object. If it is None, values are already scaled, and a claim needs
    only its object's truth.
    """
    records = np.empty((len(truths) if scaling is not None else 0, 4))
    if scaling is not None:
        center, unit = scaling
        for n in range(len(truths)):
            records[n, 0], records[n, 1], records[n, 2] = center[n], unit[n], truths[n]
    for i in range(len(values)):
        n = np.uint64(objects[i])
        if scaling is None:
            residual = values[i] - truths[n]
        else:
            residual = (values[i] - records[n, 0]) * records[n, 1] - records[n, 2]
        sums[np.uint64(users[i])] += abs(residual) if absolute else residual * residual


@njit(nogil=True, cache=True)
def precision(offsets, users, values, truths, weights, effective, variance):
    for n in range(len(truths)):
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
def weighted_squares(offsets, users, values, truths, factor, out):
    """For each object, the sum over its claims of the user's factor times the squared residual."""
    for n in range(len(out)):
        total = 0.0
        for i in range(offsets[n], offsets[n + 1]):
            total += factor[np.uint64(users[i])] * (values[i] - truths[n]) ** 2
        out[n] = total


@njit(nogil=True, cache=True)
def object_sums(offsets, users, factor, out):
    """For each object, the sum over its claims of the user's factor."""
    for n in range(len(out)):
        total = 0.0
        for i in range(offsets[n], offsets[n + 1]):
            total += factor[np.uint64(users[i])]
        out[n] = total


@njit(nogil=True, cache=True)
def effective_users(offsets, users, weights, out):
    """For each object, (Σw)²/Σw² over its claims; NaN if all weights are 0."""
    for n in range(len(out)):
        total = squares = 0.0
        for i in range(offsets[n], offsets[n + 1]):
            w = weights[np.uint64(users[i])]
            total += w
            squares += w * w
        out[n] = total * total / squares if squares > 0 else np.nan


@njit(nogil=True, cache=True)
def user_sums(offsets, users, factor, sums):
    """For each user, the sum over their claims of the object's factor."""
    for n in range(len(factor)):
        for i in range(offsets[n], offsets[n + 1]):
            sums[np.uint64(users[i])] += factor[n]


@njit(nogil=True, cache=True)
def largest_move(moved, truths, spread):
    """The largest move of any truth, in units of its object's spread."""
    move = 0.0
    for n in range(len(moved)):
        move = max(move, abs(moved[n] - truths[n]) / spread[n])
    return move
