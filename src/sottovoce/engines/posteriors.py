"""Sums over users' posteriors on nodes, compiled: a table of users × nodes would not fit into the cache."""

import numpy as np
from numba import njit

# mypy: disable-error-code="no-untyped-def"


@njit(nogil=True, cache=True)
def moments(agreed, disagreed, log_right, log_wrong, factors, out):
    """For each user, Σ likelihood · factor over the nodes, for each column of factors; likelihoods up to a constant.

    The likelihood is that of agreeing and disagreeing this often, in each group.
    """
    groups, nodes = log_right.shape
    likely = np.empty(nodes)
    for user in range(len(out)):
        largest = -np.inf
        for node in range(nodes):
            total = 0.0
            for group in range(groups):
                total += agreed[user, group] * log_right[group, node] + disagreed[user, group] * log_wrong[group, node]
            likely[node] = total
            largest = max(largest, total)
        for column in range(factors.shape[1]):
            out[user, column] = 0.0
        for node in range(nodes):
            if likely[node] > largest - 60:  # the rest is below rounding
                share = np.exp(likely[node] - largest)
                for column in range(factors.shape[1]):
                    out[user, column] += share * factors[node, column]
