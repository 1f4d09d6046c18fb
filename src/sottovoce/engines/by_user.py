"""Inner loops over a block whose claims are sorted by user.

Their results equal those of the functions of the same name in `kernels`, which go object by object, to the last bit:
here too each object's claims come in the order of users, and each user's in the order of objects. No truth is known
before the block's last claim, so there are two passes over the claims, with one record per object in between:
everything that a claim needs of its object is stored together, so each claim fetches one cache line for it.
"""

import numpy as np
from numba import njit

from sottovoce.engines.aware import lose, settled, weighed

# mypy: disable-error-code="no-untyped-def,assignment"

# Columns of a record; those of the second row reuse the columns that are no longer needed.
CENTER, UNIT, TOTAL, WEIGHT, BEFORE, INFORMATION, CLAIMS = range(7)
TRUTH, VARIANCE, MISFIT = TOTAL, WEIGHT, INFORMATION


@njit(nogil=True, cache=True)
def score(users, objects, values, center, unit, truths, absolute, sums):
    """Losses at given truths, added to their users."""
    records = np.empty((len(center), 4))
    for n in range(len(center)):
        records[n, CENTER], records[n, UNIT], records[n, TRUTH] = center[n], unit[n], truths[n]
    for i in range(len(values)):
        n = np.uint64(objects[i])
        residual = (values[i] - records[n, CENTER]) * records[n, UNIT] - records[n, TRUTH]
        sums[np.uint64(users[i])] += abs(residual) if absolute else residual * residual


@njit(nogil=True, cache=True)
def sweep(
    users, objects, values, center, unit, old, known, prior_weight, prior_mean, tail, lookup,
    per_user, sums, new, precision, misfit,
):  # fmt: skip
    records = np.empty((len(new), 4 if tail is None else 8))
    for n in range(len(new)):
        records[n, CENTER], records[n, UNIT] = center[n], unit[n]
        records[n, TOTAL], records[n, WEIGHT] = prior_weight * prior_mean, prior_weight
        if tail is not None:
            records[n, BEFORE] = (old[n] - center[n]) * unit[n]
            records[n, INFORMATION] = records[n, CLAIMS] = 0.0
    shares = np.empty(0 if tail is None else len(values))
    for i in range(len(values)):
        n, user = np.uint64(objects[i]), np.uint64(users[i])
        value = (values[i] - records[n, CENTER]) * records[n, UNIT]
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
        residual = (values[i] - records[n, CENTER]) * records[n, UNIT] - records[n, TRUTH]
        if tail is None:
            lose(per_user, sums, user, residual, 1.0, 0.0, tail, lookup)
        else:
            loss = lose(per_user, sums, user, residual, shares[i], records[n, VARIANCE], tail, lookup)
            if misfit is not None:
                records[n, MISFIT] += loss
                records[n, CLAIMS] += 1
    if misfit is not None:
        for n in range(len(new)):
            misfit[n] = records[n, MISFIT] / records[n, CLAIMS]
