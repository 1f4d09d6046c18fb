"""The error that a crowd has in common, estimated from objects whose truth is known.

The scatter of claims does not show an error that everybody makes; known truths do. For a known object g, the crowd's
estimate is off by e_g = bias + the object's own error + sampling error; the last two have the variances τ² and V_g.
Bias and τ² are estimated by the method of DerSimonian and Laird, as in meta-analyses of trials
(doi:10.1016/0197-2456(86)90046-2).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_KNOWN = 3  # fewer show no spread


@dataclass(frozen=True)
class CommonBias:
    """By how much the crowd's estimates are off, in the units of the errors from which this was estimated."""

    shift: float  # to be subtracted from the estimates
    variance: float  # what remains uncertain after that: of the shift, and from object to object
    freedom: float  # degrees of freedom of that variance

    @classmethod
    def learn(cls, errors: Floats, variances: Floats) -> "CommonBias | None":
        """The bias, from the errors on known objects and their sampling variances; None if there are too few."""
        many = len(errors)
        if many < LEAST_KNOWN or not np.isfinite(variances).all():
            return None
        weights = 1 / np.maximum(variances, 1e-12 * max(float(np.mean(errors**2)), 1e-300))
        middle = float(np.average(errors, weights=weights))
        excess = float((weights * (errors - middle) ** 2).sum()) - (many - 1)
        between = max(0.0, excess / float(weights.sum() - (weights**2).sum() / weights.sum()))
        weights = 1 / (1 / weights + between)
        bias, doubt = float(np.average(errors, weights=weights)), float(1 / weights.sum())
        # A bias no larger than its own uncertainty is not corrected; the clearer a bias, the more of it is corrected.
        kept = max(0.0, 1 - doubt / bias**2) if bias else 0.0
        # A bias that the other objects do not confirm is not corrected either: a few gross errors may have a mean
        # although most objects show no bias.
        others = (bias * weights.sum() - weights * errors) / (weights.sum() - weights)
        if np.abs(errors - kept * others).sum() >= np.abs(errors).sum():
            return cls(0.0, between + doubt + kept * bias**2, many - 1.0)
        return cls(kept * bias, between + doubt + (1 - kept) * kept * bias**2, many - 1.0)

    def widened(self, variance: Floats, freedom: Floats | float, unit: Floats) -> tuple[Floats, Floats]:
        """Variances of truths with the remaining uncertainty of the bias, and degrees of freedom (Satterthwaite)."""
        added = self.variance / unit**2
        with np.errstate(invalid="ignore", divide="ignore"):
            joint = (variance + added) ** 2 / (variance**2 / freedom + added**2 / self.freedom)
        return variance + added, np.where(np.isfinite(joint), joint, self.freedom)
