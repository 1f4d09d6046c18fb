"""Truth discovery in plain NumPy, straight from the formulas on a users × objects matrix with NaN for no claim.

Slow and simple on purpose: the engines and methods are compared with it.
"""

import numpy as np
from scipy.stats import chi2


def iterate(matrix, truths, weigh, aggregate, iterations):
    for _ in range(iterations):
        weights = weigh(truths)
        truths = aggregate(weights)
    return truths, weights


def weighted_mean(matrix, weights):
    present = ~np.isnan(matrix)
    return np.nansum(weights[:, None] * matrix, axis=0) / (weights[:, None] * present).sum(axis=0)


def weighted_median(matrix, weights):
    truths = []
    for column in matrix.T:
        present = ~np.isnan(column)
        values, shares = column[present], weights[present]
        order = np.argsort(values)
        cumulative = np.cumsum(shares[order])
        truths.append(values[order][np.searchsorted(cumulative, cumulative[-1] / 2 * (1 - 1e-12))])
    return np.array(truths)


def spread(matrix):
    spreads = np.nanstd(matrix, axis=0)
    return np.where(spreads > 0, spreads, 1.0)


def crh(matrix, iterations, loss="squared", total="mean", normalise="sum"):
    scale = spread(matrix)
    collect = np.nanmean if total == "mean" else np.nansum

    def weigh(truths):
        distance = (matrix - truths) ** 2 if loss == "squared" else np.abs(matrix - truths)
        losses = collect(distance / scale, axis=1)
        return -np.log(losses / (losses.sum() if normalise == "sum" else losses.max()))

    def aggregate(weights):
        weights = np.maximum(weights, weights.max() * 1e-100)
        return weighted_mean(matrix, weights) if loss == "squared" else weighted_median(matrix, weights)

    return iterate(matrix, np.nanmedian(matrix, axis=0), weigh, aggregate, iterations)


def gtm(matrix, iterations, alpha=10, beta=10, mean=0.0, variance=1.0):
    middle, scale = np.nanmedian(matrix, axis=0), spread(matrix)
    z = (matrix - middle) / scale
    present = ~np.isnan(z)

    def weigh(mu):
        sigma2 = (2 * beta + np.nansum((z - mu) ** 2, axis=1)) / (2 * (alpha + 1) + present.sum(axis=1))
        return 1 / sigma2

    def aggregate(weights):
        total = mean / variance + np.nansum(weights[:, None] * z, axis=0)
        return total / (1 / variance + (weights[:, None] * present).sum(axis=0))

    mu, weights = iterate(z, np.zeros(matrix.shape[1]), weigh, aggregate, iterations)
    return middle + scale * mu, weights


def catd(matrix, iterations):
    counts = (~np.isnan(matrix)).sum(axis=1)

    def weigh(truths):
        return chi2.ppf(0.025, counts) / np.nansum((matrix - truths) ** 2, axis=1)

    start = np.nanmedian(matrix, axis=0)
    return iterate(matrix, start, weigh, lambda weights: weighted_mean(matrix, weights), iterations)


def lfcn(matrix, iterations):
    def weigh(truths):
        return 1 / (np.nanmean((matrix - truths) ** 2, axis=1) + 1e-9)

    start = np.nanmean(matrix, axis=0)
    return iterate(matrix, start, weigh, lambda weights: weighted_mean(matrix, weights), iterations)
