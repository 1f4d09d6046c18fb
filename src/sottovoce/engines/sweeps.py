"""A sweep over the claims: the weight of each claim, its object's truth, and what it adds to its user's losses.

There are three kinds of sweep, and Numba compiles each separately, without the branches of the other two:

- ``tail`` is None: a claim counts with its user's weight, and its squared residual is its user's loss.
- ``tail`` is a pair: a claim counts less if it is far off (Student's t; the first entry is 1/degrees of freedom). If
  the second entry is true, a claim that is too far off loses all its weight, but still counts for its user; otherwise
  its square counts for its user as much as the claim does for the truth.
- ``lookup`` is a pair: a claim's weight is looked up in a table by its size and by its user's own variance; the second
  entry is the number of the table's columns per unit of size.

``per_user`` holds each user's weight or, with a lookup, their position in it and the information in one of their
claims. ``sums`` holds each user's loss and, beside it, a count if there is a lookup, otherwise the variances of their
objects' truths.

All of it is in this file, because Numba recompiles a function when its own file has changed, and would not notice a
change in another file.
"""

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def,assignment"

# Squared sizes of a residual, in its user's deviations. Between DOUBT and GROSS, it loses its weight for the truth. It
# still counts for its user: in full up to BOUND; beyond SLIP, as another kind of error, only as much as ACCIDENT.
DOUBT, GROSS = 16.0, 64.0
BOUND, SLIP, ACCIDENT = 1600.0, 40_000.0, 4.0

# Columns of a record; those of the second row reuse the columns that are no longer needed.
TOTAL, WEIGHT, CENTER, UNIT, BEFORE, INFORMATION = range(6)
TRUTH, VARIANCE, MISFIT = TOTAL, WEIGHT, INFORMATION


@njit(nogil=True, cache=True)
def sweep_by_object(
    offsets, users, values, center, unit, old, known, prior_weight, prior_mean, tail, lookup,
    per_user, sums, new, precision, misfit,
):  # fmt: skip
    """Truths and their precision, losses added to their users, and each object's weighted loss if requested."""
    longest = 0
    if tail is not None:
        for n in range(len(new)):
            longest = max(longest, offsets[n + 1] - offsets[n])
    shares = np.empty(longest)
    for n in range(len(new)):
        claimed = values[offsets[n] : offsets[n + 1]]
        who = users[offsets[n] : offsets[n + 1]]
        middle, scale = center[n], unit[n]
        before, is_known = 0.0, False
        if tail is not None:
            before, is_known = (old[n] - middle) * scale, known[n]
        total, weight, information = prior_weight * prior_mean, prior_weight, 0.0
        for i in range(len(claimed)):
            user = np.uint64(who[i])
            w, value, share = weighed(per_user, user, (claimed[i] - middle) * scale, before, tail, lookup)
            if tail is not None:
                shares[i] = share
            total += w * value
            weight += w
            if lookup is not None:
                information += per_user[user, 1] * share  # a gross error has none
        truth, variance = settled(total, weight, information, before, is_known, lookup)
        new[n] = middle + truth / scale
        precision[n] = (weight if lookup is None else information) * scale * scale
        weighted = 0.0
        for i in range(len(claimed)):
            residual = (claimed[i] - middle) * scale - truth
            if tail is None:
                lose(per_user, sums, np.uint64(who[i]), residual, 1.0, 0.0, tail, lookup)
            else:
                loss = lose(per_user, sums, np.uint64(who[i]), residual, shares[i], variance, tail, lookup)
                if misfit is not None:
                    weighted += loss
        if misfit is not None:
            misfit[n] = weighted


@njit(nogil=True, cache=True)
def sweep_by_user(
    users, objects, values, scaling, center, unit, old, known, prior_weight, prior_mean, tail, lookup,
    per_user, sums, new, precision, misfit,
):  # fmt: skip
    """The same, to the last bit, for claims sorted by user.

    Here too, each object's claims come in the order of users, and each user's in the order of objects. No truth is
    known before the block's last claim, so there are two passes over the claims. All that a claim needs of its object
    is stored in one record, so each claim fetches one cache line for it.

    ``scaling`` is None if values are already scaled by their object's center and unit.
    """
    columns = 2 if scaling is None else 4
    records = np.empty((len(new), columns if tail is None else 6))
    for n in range(len(new)):
        records[n, TOTAL], records[n, WEIGHT] = prior_weight * prior_mean, prior_weight
        if scaling is not None:
            records[n, CENTER], records[n, UNIT] = center[n], unit[n]
        if tail is not None:
            records[n, BEFORE], records[n, INFORMATION] = (old[n] - center[n]) * unit[n], 0.0
    shares = np.empty(0 if tail is None else len(values))
    for i in range(len(values)):
        n, user = np.uint64(objects[i]), np.uint64(users[i])
        value = values[i] if scaling is None else (values[i] - records[n, CENTER]) * records[n, UNIT]
        if tail is None:
            weight, value, _ = weighed(per_user, user, value, 0.0, tail, lookup)
        else:
            weight, value, shares[i] = weighed(per_user, user, value, records[n, BEFORE], tail, lookup)
        records[n, TOTAL] += weight * value
        records[n, WEIGHT] += weight
        if lookup is not None:
            records[n, INFORMATION] += per_user[user, 1] * shares[i]  # a gross error has none
    for n in range(len(new)):
        total, weight, before, information = records[n, TOTAL], records[n, WEIGHT], 0.0, 0.0
        is_known = False
        if tail is not None:
            before, information, is_known = records[n, BEFORE], records[n, INFORMATION], known[n]
        truth, variance = settled(total, weight, information, before, is_known, lookup)
        new[n] = center[n] + truth / unit[n]
        precision[n] = (weight if lookup is None else information) * unit[n] * unit[n]
        records[n, TRUTH], records[n, VARIANCE] = truth, variance
        if misfit is not None:
            records[n, MISFIT] = 0.0
    for i in range(len(values)):
        n, user = np.uint64(objects[i]), np.uint64(users[i])
        value = values[i] if scaling is None else (values[i] - records[n, CENTER]) * records[n, UNIT]
        residual = value - records[n, TRUTH]
        if tail is None:
            lose(per_user, sums, user, residual, 1.0, 0.0, tail, lookup)
        else:
            loss = lose(per_user, sums, user, residual, shares[i], records[n, VARIANCE], tail, lookup)
            if misfit is not None:
                records[n, MISFIT] += loss
    if misfit is not None:
        misfit[:] = records[:, MISFIT]


@njit(nogil=True, cache=True)
def weighed(per_user, user, value, before, tail, lookup):
    """Weight of a claim, the value to average with it, and the share of its square that counts for its user."""
    if lookup is not None:
        table, columns_per_unit = lookup
        weight, share = looked_up(table, per_user[user, 0], abs(value - before) * columns_per_unit)
        return weight, value - before, share
    if tail is None:
        return per_user[user, 0], value, 1.0
    weight = per_user[user, 0]
    kept, share = trusted(weight * (value - before) ** 2, tail[0], tail[1])
    return weight * kept, value, share


@njit(nogil=True, cache=True)
def settled(total, weight, information, before, known, lookup):
    """The truth of an object and its variance.

    With a lookup, a truth's step lies between plain reweighting, which is slow if noise has a sharp peak, and Fisher
    scoring (score over information), which may overshoot.
    """
    if known:
        return before, 0.0
    if lookup is not None:
        return before + 2 * total / (weight + information), 1 / information
    return total / weight, 1 / weight


@njit(nogil=True, cache=True)
def lose(per_user, sums, user, residual, share, variance, tail, lookup):
    """Add a claim's loss to its user; return the weighted loss."""
    if lookup is not None:
        sums[user, 0] += share * (residual * residual + variance)
        sums[user, 1] += share
        return 0.0
    if tail is None:
        sums[user, 0] += residual * residual
        return 0.0
    loss = share * residual * residual
    sums[user, 0] += loss
    sums[user, 1] += share * variance
    return per_user[user, 0] * (loss + share * variance)


@njit(nogil=True, cache=True, inline="always")
def trusted(far, tail, rejects):
    """The share of a claim's weight that counts for the truth, and the share of its square that counts for its user."""
    if not rejects:
        share = (1 + tail) / (1 + tail * far)
        # Beyond its maximum, the pull stays constant. If it fell again, truths would move to where claims are densest:
        # with skewed errors, that is neither the median nor the mean; with two opinions, it is one of the opinions.
        return share if tail * far <= 1 else (1 + tail) / (2 * np.sqrt(tail * far)), share
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


@njit(nogil=True, cache=True, inline="always")
def looked_up(table, position, size):
    """Weight of a claim of this size, in columns of the table, and the probability that it is not a gross error.

    ``position`` is the row of the user's own variance, not necessarily a whole number. A weight is the pull divided by
    the size. Under Laplace noise, the pull is almost constant, so two claims on either side of a truth cancel out as
    they should. With weights interpolated between two columns they would not, and the truth would creep along.
    """
    last_column = table.shape[1] - 2.0
    beyond = 1.0
    size = max(size, 1e-9)
    if size > last_column:  # far out, weights fall with the square of the size
        beyond = (last_column / size) ** 2
        size = last_column
    column, row = np.int64(size), np.int64(position)  # converting to unsigned and back would take longer
    f, g = size - column, position - row
    # Bilinear interpolation, of pull and probability with the same four shares.
    low, high = np.uint64(row), np.uint64(row) + np.uint64(1)
    left, right = np.uint64(column), np.uint64(column) + np.uint64(1)
    low_right, high_right = f * (1 - g), f * g
    low_left, high_left = 1 - g - low_right, g - high_right
    pull = (low_left * table[low, left, 0] + low_right * table[low, right, 0]) + (
        high_left * table[high, left, 0] + high_right * table[high, right, 0]
    )
    inlier = (low_left * table[low, left, 1] + low_right * table[low, right, 1]) + (
        high_left * table[high, left, 1] + high_right * table[high, right, 1]
    )
    return pull / size * beyond, inlier * beyond
