"""Whether truths are as certain as the model of errors says, and more certain than plain means.

A truth is where the pulls ψ of its claims cancel out. Its variance is Σψ²/(Σψ')², whatever the law of errors, and
1/Σψ' if the model is right (H. White, Econometrica 50 (1982), doi:10.2307/1912526). A few claims about one object do
not show the difference, but all claims together do: where users are of two kinds, for example, no gamma prior describes
them, and the weights that follow from it are less certain than they seem.

The pulls also show how a truth and the plain mean of the same claims vary together. Where errors have lighter tails
than normal ones, or all users are equally accurate, weights only follow chance, and the mean varies less.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEVERAL = 5  # claims about an object: fewer leave too little of their scatter
_CLEAR = 2.0  # standard errors by which a variance is too large, before it becomes smaller, or a mean varies less
_LEAST, _MOST = 0.7, 3.0  # times the model's variance
_LEAST_CURVATURE = 0.2  # of the sum of weights


@dataclass(frozen=True)
class Pulls:
    """What the pulls of claims say about truths."""

    factor: float = 1.0  # by how much variances of truths are too small, or clearly too large
    mean_share: float = 0.0  # of the plain mean in the combination that varies least, as far as it is clear

    @classmethod
    def of(
        cls, residuals: Floats, weights: Floats, spreads: Floats, tail: float, shares: Floats, assumed: float
    ) -> "Pulls":
        """From a sample of claims.

        ``residuals`` are in the units in which ``weights`` (of their users) and ``spreads`` (the weights' own
        variances) are meant; ``shares`` are what a usual claim has in its truth, and ``assumed`` the truths' variances
        times their sums of weights.
        """
        if len(residuals) < SEVERAL:
            return cls()
        far = tail * weights * residuals**2
        kept = weights * (1 + tail) / np.where(far <= 1, 1 + far, 2 * np.sqrt(far))
        curvature = kept * np.maximum((1 - far) / (1 + far), 0) - spreads * residuals**2 * kept / weights
        bend = max(float(curvature.sum() / kept.sum()), _LEAST_CURVATURE)
        # A truth lies nearer to its claims than they err.
        mean = residuals / np.sqrt(1 - shares)
        ours = kept * mean / (bend * float(kept.mean()))
        scatter = ours**2
        if not scatter.any():
            return cls()
        factor = float(scatter.mean()) * float(kept.mean()) / assumed
        if factor < 1:
            factor = min(1.0, factor * (1 + _CLEAR * _chance(scatter) / float(scatter.mean())))
        gain, apart = ours * (ours - mean), float(((ours - mean) ** 2).mean())
        clear = float(gain.mean()) - _CLEAR * _chance(gain)
        return cls(min(max(factor, _LEAST), _MOST), min(clear / apart, 1.0) if clear > 0 else 0.0)


def _chance(values: Floats) -> float:
    """Standard error of their mean."""
    return float(values.std()) / math.sqrt(len(values))
