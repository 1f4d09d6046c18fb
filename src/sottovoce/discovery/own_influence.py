"""What users' claims do to their own weights: where errors are skewed, this pulls a weighted mean to one side.

A user's weight follows from their errors, this claim's error included: a claim near the others counts more because it
is near, one far off less. Symmetric errors cancel out; skewed ones do not, and a mean is then off to the same side
about all objects. With weights from users' other claims it would not be, at the price of more random error. So such
weights are tried, and what they change about all objects together is corrected, as far as it exceeds random error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_CLAIMS = 4000  # enough to learn one number


@dataclass(frozen=True)
class OwnInfluence:
    """By how much truths are off because claims influence their own weights, in deviations of each truth."""

    shift: float  # to be added
    variance: float  # of the shift
    own: float  # variance of the part that differs from object to object, times the number of claims

    @classmethod
    def learn(cls, pulls: Floats) -> "OwnInfluence":
        """Learn from ``pulls``: the changes of truths by single claims, times the number of claims about their
        object.
        """
        if not len(pulls):
            return cls(0.0, 0.0, 0.0)
        mean, variance = float(pulls.mean()), float(pulls.var())
        of_the_mean = variance / len(pulls)
        kept = max(0.0, 1 - of_the_mean / mean**2) if mean else 0.0
        return cls(kept * mean, kept**2 * of_the_mean, kept * variance)

    def corrected(self, truths: Floats, variance: Floats, claims: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Truths and their variances with the correction, and what remains uncertain of it."""
        return truths + self.shift * np.sqrt(variance), variance * (1 + self.variance + self.own / claims)
