"""Weights of readings whose noise is drawn afresh for each: by distance from the truth, and by user."""

import math

import numpy as np
from numpy.typing import NDArray

from sottovoce.engines import Lookup
from sottovoce.privacy.laws import ReadingNoise

Floats = NDArray[np.float64]

_GROSS = 0.01  # share of gross errors allowed for
_LEAST_INLIER = 1e-12  # probability: even if all claims are gross errors, the variance of a truth is finite
_ROWS, _COLUMNS = 40, 600


class ReadingLookup:
    """Weights and information of readings that are weighed one by one, by the variance of their users' errors."""

    def __init__(self, noise: ReadingNoise, typical: float) -> None:
        # Without any error of the user's own, the peak of Laplace noise is a kink, and iterations would not settle.
        least = max(1e-5 * typical, (0.05 * noise.scale) ** 2)
        most = max(1e4 * typical, noise.scale**2)  # the second if claims agree better than such noise allows
        self._logs = np.linspace(math.log(least), math.log(most), _ROWS)
        widest = 25 * noise.scale + 6 * math.sqrt(typical)
        sizes = np.linspace(0, widest, _COLUMNS)
        step = float(sizes[1])
        pulls, inliers, information = [], [], []
        for variance in np.exp(self._logs):
            score, density = noise.score_and_density(sizes, variance)
            # Gross errors: Cauchy, three times as wide as the expected errors.
            gamma = 3 * math.sqrt(variance + noise.variance)
            gross = _GROSS * gamma / math.pi / (gamma**2 + sizes**2)
            total = (1 - _GROSS) * density + gross
            slope = (1 - _GROSS) * density * score - gross * 2 * sizes / (gamma**2 + sizes**2)
            pulls.append(-slope / (step * total))
            inliers.append(np.maximum((1 - _GROSS) * density / total, _LEAST_INLIER))
            information.append(_fisher_information(variance, noise))
        self.rows = Lookup(np.array(pulls), np.array(inliers), step)
        self._information = np.array(information)

    def places(self, own: Floats) -> tuple[Floats, Floats]:
        """Positions among the rows, and information, of users with these variances."""
        places = np.clip((np.log(own) - self._logs[0]) / (self._logs[1] - self._logs[0]), 0, _ROWS - 1.000001)
        return places, self.information(own)

    def information(self, own: Floats) -> Floats:
        return np.asarray(np.exp(np.interp(np.log(own), self._logs, np.log(self._information))))


def _fisher_information(variance: float, noise: ReadingNoise) -> float:
    """Information of one reading about the truth: the mean of the squared score.

    The sum reaches as far as the law does, which is farther than the lookup if the user's errors are large.
    """
    sizes = np.linspace(0, 25 * noise.scale + 8 * math.sqrt(variance), 2000)
    score, density = noise.score_and_density(sizes, variance)
    return 2 * float(np.trapezoid(score**2 * density, sizes))
