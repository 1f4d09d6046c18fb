"""Whether truths are as certain as the model of errors says: the sandwich estimate of their variance, beside its own.

A truth is where the pulls ψ of its claims cancel out. Its variance is Σψ²/(Σψ')², whatever the law of errors, and
1/Σψ' if the model is right (H. White, Econometrica 50 (1982), doi:10.2307/1912526). A few claims about one object do
not show the difference, but all claims together do: where users are of two kinds, for example, no gamma prior describes
them, and the weights that follow from it are less certain than they seem.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEVERAL = 5  # claims about an object: fewer leave too little of their scatter
_CLEAR = 2.0  # standard errors by which a variance is too large, before it becomes smaller
_LEAST, _MOST = 0.7, 3.0  # times the model's variance
_LEAST_CURVATURE = 0.2  # of the sum of weights


def variance_factor(
    residuals: Floats, weights: Floats, spreads: Floats, tail: float, shares: Floats, assumed: float
) -> float:
    """By how much variances of truths are too small, or clearly too large.

    ``residuals`` are of a sample of claims, in the units in which ``weights`` (of their users) and ``spreads`` (the
    weights' own variances) are meant; ``shares`` are what a usual claim has in its truth, and ``assumed`` the truths'
    variances times their sums of weights.
    """
    if len(residuals) < SEVERAL:
        return 1.0
    squares = weights * residuals**2
    far = tail * squares
    kept = weights * (1 + tail) / np.where(far <= 1, 1 + far, 2 * np.sqrt(far))
    # A truth lies nearer to its claims than they err.
    scatter = kept**2 * residuals**2 / (1 - shares)
    curvature = kept * np.maximum((1 - far) / (1 + far), 0) - spreads * residuals**2 * kept / weights
    total = float(kept.sum())
    if not scatter.any():
        return 1.0
    bend = max(float(curvature.sum()) / total, _LEAST_CURVATURE)
    factor = float(scatter.sum()) / total / bend**2 / assumed
    chance = float(scatter.std() / scatter.mean()) / math.sqrt(len(scatter))
    if factor < 1:
        factor = min(1.0, factor * (1 + _CLEAR * chance))
    return min(max(factor, _LEAST), _MOST)
