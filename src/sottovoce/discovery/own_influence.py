"""How claims influence their own weights: if errors are skewed, this pulls a weighted mean to one side.

A user's weight follows from the errors of all their claims, including the claim that is weighted: a claim near the
others counts more because it is near, and a claim far off counts less. Symmetric errors cancel out. Skewed errors do
not, and a mean is then off to the same side for all objects. Weights from users' other claims would avoid this, at the
price of more random error. So such weights are tried, and the change that they make to all objects together is applied
as a correction, as far as it exceeds random error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_CLAIMS = 4000  # enough to estimate one number


@dataclass(frozen=True)
class OwnInfluence:
    """By how much truths are off because claims influence their own weights, in deviations of each truth."""

    shift: float  # to be added
    variance: float  # of the shift
    own: float  # variance of the part that differs from object to object, times the number of claims

    @classmethod
    def learn(cls, pulls: Floats) -> "OwnInfluence":
        """Estimate from ``pulls``: the changes of truths by single claims, times the object's number of claims."""
        if not len(pulls):
            return cls(0.0, 0.0, 0.0)
        mean, variance = float(pulls.mean()), float(pulls.var())
        of_the_mean = variance / len(pulls)
        kept = max(0.0, 1 - of_the_mean / mean**2) if mean else 0.0
        return cls(kept * mean, kept**2 * of_the_mean, kept * variance)

    def corrected(self, truths: Floats, variance: Floats, claims: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Truths with the correction, and variances with its remaining uncertainty."""
        return truths + self.shift * np.sqrt(variance), variance * (1 + self.variance + self.own / claims)
