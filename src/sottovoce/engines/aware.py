"""Inner loops of the noise-aware estimator: like the others, but each reading has a weight of its own.

Where the noise is normal given its variance, a reading counts with its user's weight, less if it lies far off
(Student's t with ``tail`` = 1/degrees of freedom). Where it is fresh, its weight is looked up in a table by its size
and by its user's own variance.
"""

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def"

# Squared sizes of a residual, in its user's deviations. Between DOUBT and GROSS it loses its weight for the truth. It
# still tells of its user: up to BOUND in full, beyond SLIP, as a slip of another kind, no more than ACCIDENT.
DOUBT, GROSS = 16.0, 64.0
BOUND, SLIP, ACCIDENT = 1600.0, 40_000.0, 4.0


@njit(nogil=True, cache=True, inline="always")
def trusted(far, tail):
    """Which share of a reading's weight counts for the truth, and which of its square for its user."""
    kept = bounded = 1.0
    if far > DOUBT:
        trust = max((GROSS - far) / (GROSS - DOUBT), 1e-9)
        kept = trust * trust
        if far > BOUND:
            trust = max((SLIP - far) / (SLIP - BOUND), 0.0)
            bounded = (ACCIDENT + (BOUND - ACCIDENT) * trust) / far
    if tail > 0:
        kept *= (1 + tail) / (1 + tail * far)
    return kept, bounded


@njit(nogil=True, cache=True)
def sweep_normal(
    first, last, offsets, users, values, weights, center, unit, spread, known, tail, old, new,
    precision, misfit, sums, counts,
):  # fmt: skip
    """Truths, their precision, each object's mean weighted square, and the squares and counts added to their users."""
    move = 0.0
    longest = 0
    for n in range(first, last):
        longest = max(longest, offsets[n + 1] - offsets[n])
    bounded = np.ones(longest)
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        middle, scale = center[n], unit[n]
        before = (old[n] - middle) * scale
        total = weight = 0.0
        for i in range(len(claimed)):
            w = weights[np.uint64(who[i])]
            value = (claimed[i] - middle) * scale
            far = w * (value - before) ** 2
            kept, bounded[i] = trusted(far, tail)
            w *= kept
            total += w * value
            weight += w
        truth = before if known[n] else total / weight
        uncertain = 0.0 if known[n] else 1 / weight
        new[n] = middle + truth / scale
        precision[n] = weight * scale * scale
        move = max(move, abs(new[n] - old[n]) / spread[n])
        square = 0.0
        for i in range(len(claimed)):
            user = np.uint64(who[i])
            residual = (claimed[i] - middle) * scale - truth
            loss = bounded[i] * residual * residual + uncertain
            sums[user] += loss
            counts[user] += 1
            square += weights[user] * loss
        misfit[n] = square / len(claimed)
    return move


@njit(nogil=True, cache=True, inline="always")
def _between(table, row, column, f, g):
    """Bilinear interpolation."""
    one = np.uint64(1)
    low = table[row, column] * (1 - f) + table[row, column + one] * f
    high = table[row + one, column] * (1 - f) + table[row + one, column + one] * f
    return low * (1 - g) + high * g


@njit(nogil=True, cache=True, inline="always")
def looked_up(table, inliers, cell, place, size):
    """Weight of a reading of this size, in steps of the table, and the share of it that is no gross error."""
    last_column = table.shape[1] - 2.0
    beyond = 1.0
    if size > last_column:  # far out, weights fall with the square of the size
        beyond = (last_column / size) ** 2
        size = last_column
    column = np.uint64(size)
    f, row = size - column, np.uint64(cell)
    return (
        _between(table, row, column, f, place) * beyond,
        _between(inliers, row, column, f, place) * beyond,
    )


@njit(nogil=True, cache=True)
def sweep_fresh(
    first, last, offsets, users, values, cells, places, information, table, inliers, step, center,
    spread, known, old, new, precision, sums, counts,
):  # fmt: skip
    """The same with weights looked up: ``cells`` and ``places`` say where a user's own variance lies in the table.

    A truth's step lies between plain reweighting, which creeps where noise has a sharp peak, and Fisher's scoring (pull
    over information), which may leap over it.
    """
    move = 0.0
    longest = 0
    for n in range(first, last):
        longest = max(longest, offsets[n + 1] - offsets[n])
    share = np.ones(longest)
    for n in range(first, last):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        middle = center[n]
        before = old[n] - middle
        total = weight = told = 0.0
        for i in range(len(claimed)):
            user = np.uint64(who[i])
            value = claimed[i] - middle
            w, share[i] = looked_up(table, inliers, cells[user], places[user], abs(value - before) / step)
            total += w * (value - before)
            weight += w
            told += information[user]
        truth = before if known[n] else before + 2 * total / (weight + told)
        uncertain = 0.0 if known[n] else 1 / told
        new[n] = middle + truth
        precision[n] = told
        move = max(move, abs(new[n] - old[n]) / spread[n])
        for i in range(len(claimed)):
            user = np.uint64(who[i])
            residual = claimed[i] - middle - truth
            sums[user] += share[i] * (residual * residual + uncertain)
            counts[user] += share[i]
    return move


@njit(nogil=True, cache=True)
def weighted_squares(first, last, offsets, users, values, truths, factor, out):
    """For each object the sum over its claims of the user's factor times the squared residual."""
    for n in range(first, last):
        total = 0.0
        for i in range(offsets[n], offsets[n + 1]):
            total += factor[np.uint64(users[i])] * (values[i] - truths[n]) ** 2
        out[n] = total
