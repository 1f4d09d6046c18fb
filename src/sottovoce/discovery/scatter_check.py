"""Whether truths are as certain as the model of errors says, and more certain than plain means.

A truth is where the pulls ψ of its claims cancel out. Its variance is Σψ²/(Σψ')², whatever the law of errors, and
1/Σψ' if the model is right (H. White, Econometrica 50 (1982), doi:10.2307/1912526). A few claims about one object do
not show the difference, but all claims together do: if users are of two kinds, for example, and the prior has one, the
weights that follow from it are less certain than they seem.

The pulls also show how a truth and other averages of the same claims vary together. If errors have lighter tails than
normal ones, or all users are equally accurate, weights only follow chance, and the plain mean varies less. If the law
of errors has a sharp peak, like the double exponential one, the median varies less: each claim pulls it to its side by
1/(2f), where f is the density of errors at zero.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEVERAL = 5  # claims about an object: fewer leave too little of their scatter
_CLEAR = 2.0  # standard errors by which another average varies less, before it counts
_DOUBT = 0.5  # standard errors by which a variance is too large, before it becomes smaller
_LEAST, _MOST = 0.7, 3.0  # times the model's variance
_LEAST_CURVATURE = 0.2  # of the sum of weights
_NEAR, _FEWEST_NEAR = 0.2, 10  # deviations from the truth, and claims within them that are needed for a density
# A median varies more than in the limit of many claims: its variance is larger by this over the square root of their
# number, if errors are double exponential.
_OF_FEW = 0.8


@dataclass(frozen=True)
class Pulls:
    """What the pulls of claims say about truths."""

    factor: float = 1.0  # by which variances of truths must be multiplied
    mean_share: float = 0.0  # of the plain mean in the combination with the least variance, if clearly above 0
    median_share: float = 0.0  # of the weighted median, if that is better than the mean

    @classmethod
    def of(
        cls, residuals: Floats, weights: Floats, spreads: Floats, followed: Floats, tail: float, shares: Floats,
        assumed: float, medians: bool,
    ) -> "Pulls":  # fmt: skip
        """Estimate from a sample of claims.

        ``residuals`` are in the unit in which their users' ``weights`` are inverse variances. ``spreads`` are the
        variances of the weights, and ``followed`` is the part of them by which weights follow the claims themselves:
        less if errors are repetitions. ``shares`` are the shares that a typical claim has in its truth, and ``assumed``
        is the truths' variance times their sums of weights. ``medians`` says whether to consider weighted medians.
        """
        if len(residuals) < SEVERAL:
            return cls()
        far = tail * weights * residuals**2
        kept = weights * (1 + tail) / np.where(far <= 1, 1 + far, 2 * np.sqrt(far))

        def curvature(spreads: Floats) -> float:
            each = kept * np.maximum((1 - far) / (1 + far), 0) - spreads * residuals**2 * kept / weights
            return max(float(each.sum() / kept.sum()), _LEAST_CURVATURE)

        # Claims lie nearer to the estimated truth than to the real one.
        mean = residuals / np.sqrt(1 - shares)
        pulls = kept * mean / float(kept.mean())
        scatter = (pulls / curvature(spreads)) ** 2
        if not scatter.any():
            return cls()
        factor = float(scatter.mean()) * float(kept.mean()) / assumed
        if factor < 1:
            factor = min(1.0, factor * (1 + _DOUBT * _standard_error(scatter) / float(scatter.mean())))
        factor = min(max(factor, _LEAST), _MOST)
        ours = pulls / curvature(followed)
        mean_share, by_mean = _combined(ours, mean)
        median = _pulls_of_median(mean, weights, shares) if medians else None
        median_share, by_median = (0.0, 0.0) if median is None else _combined(ours, median)
        return cls(factor, mean_share) if by_median <= by_mean else cls(factor, 0.0, median_share)


def _pulls_of_median(errors: Floats, weights: Floats, shares: Floats) -> Floats | None:
    """What each claim adds to the weighted median; None if too few claims are near it to estimate their density."""
    near = int((np.abs(errors) * np.sqrt(weights) < _NEAR).sum())
    if near < _FEWEST_NEAR:
        return None
    density = near / (2 * _NEAR * len(errors)) * float((weights**1.5).mean())
    return np.asarray(np.sign(errors) * weights / (2 * density) * np.sqrt(1 + _OF_FEW * np.sqrt(shares)))


def _combined(ours: Floats, other: Floats) -> tuple[float, float]:
    """Share of another average in the combination with the least variance (a lower bound), and the variance saved."""
    gain, apart = ours * (ours - other), float(((ours - other) ** 2).mean())
    clear = max(float(gain.mean()) - _CLEAR * _standard_error(gain), 0.0)
    share = min(clear / apart, 1.0) if clear else 0.0
    return share, share * (2 * clear - share * apart)


def _standard_error(values: Floats) -> float:
    """The standard error of the mean."""
    return float(values.std()) / math.sqrt(len(values))
