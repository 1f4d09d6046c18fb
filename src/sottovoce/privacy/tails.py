"""The exact probability that noise on the integers exceeds a size, for tests of drawn noise."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Numbers = NDArray[np.float64]

# Above this variance (in grid steps) a sum over integers is the integral with two corrections, to 1e-7.
_WIDE = 16.0


def beyond_laplace(sizes: Numbers, scale: Fraction) -> Numbers:
    """P(noise > size) of discrete Laplace noise.

    >>> beyond_laplace(np.array([0.0]), Fraction(1)).round(4).tolist()
    [0.2689]
    """
    ratio = math.exp(-1 / scale)
    return np.asarray(ratio ** (sizes + 1) / (1 + ratio))


def beyond_normals(sizes: Numbers, variances: Numbers, chances: Numbers) -> Numbers:
    """P(noise > size) of discrete normals, whose variance is drawn with these probabilities."""
    wide = variances >= _WIDE
    beyond = np.array([chances[wide] @ _beyond_wide(float(size), variances[wide]) for size in sizes])
    return np.asarray(beyond + chances[~wide] @ _beyond_narrow(sizes, variances[~wide]))


def _beyond_wide(bound: float, variances: Numbers) -> Numbers:
    """P(noise > bound) of wide normals, by the midpoint rule of Euler and Maclaurin."""
    x = (bound + 0.5) / np.sqrt(variances)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    corrections = x / 24 / variances - 7 * (x**3 - 3 * x) / 5760 / variances**2
    return np.asarray(ndtr(-x) - density * corrections)


def _beyond_narrow(bounds: Numbers, variances: Numbers) -> Numbers:
    """P(noise > bound) of narrow normals, term by term: one row per variance."""
    reach = math.ceil(math.sqrt(2 * _WIDE * 45))
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * variances[:, None]))
    tails = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1] / weights.sum(axis=1, keepdims=True)
    tails = np.hstack([tails, np.zeros((len(variances), 1))])
    return tails[:, np.minimum(bounds + reach + 1, 2 * reach + 1).astype(np.intp)]
