"""A reading with fresh noise: a normal error and Laplace noise together."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, roots_legendre

Floats = NDArray[np.float64]

_MOSTLY_NORMAL = 1e8  # variance over squared scale


def normal_laplace(x: Floats, variance: float, scale: float) -> tuple[Floats, Floats]:
    """Score (derivative of the log density) and density for x ≥ 0.

    The density is e^{-x²/2v} (erfcx(a) + erfcx(c)) / (4·scale) with a, c = (v/scale ± x)/√(2v). For c < 0 erfcx grows
    like e^{c²}; there 2e^{c²} - erfcx(-c) is combined with the factor in front. Where the error is far larger than the
    noise, the two differ by less than a double can hold, and the law is normal up to 1 in 10¹⁵.
    """
    if variance > _MOSTLY_NORMAL * scale**2:
        whole = variance + 2 * scale**2
        return -x / whole, np.exp(-(x**2) / (2 * whole)) / math.sqrt(2 * math.pi * whole)
    root = math.sqrt(2 * variance)
    a, c = (variance / scale + x) / root, (variance / scale - x) / root
    front = np.exp(-(x**2) / (2 * variance))
    right = front * erfcx(a)
    # e^{c²} e^{-x²/2v} = e^{v/2b² - x/b}, which is at most 1 where c < 0
    tail = 2 * np.exp(np.minimum(variance / (2 * scale**2) - x / scale, 0))
    left = np.where(c >= 0, 0.0, tail) + np.sign(c) * front * erfcx(np.abs(c))
    both = right + left
    # Where the density vanishes in floating point, the score is that of the Laplace tail.
    score = np.where(both > 0, (right - left) / np.where(both > 0, both, 1.0), -1.0) / scale
    return score, both / (4 * scale)


def laplace_information(variance: float, scale: float) -> float:
    """Fisher information about the centre of Normal(0, ``variance``) + Laplace(``scale``)."""
    deviation = math.sqrt(variance)
    # Dense around the peak, where the density bends within a deviation, and out to where it vanishes.
    reach = 40 * scale + 12 * deviation
    edges = np.unique(np.concatenate([np.linspace(0, min(12 * deviation, reach), 25), np.linspace(0, reach, 41)]))
    nodes, weights = roots_legendre(12)
    sizes = np.diff(edges)
    x = (edges[:-1, None] + sizes[:, None] * (nodes + 1) / 2).ravel()
    score, density = normal_laplace(x, variance, scale)
    return float(2 * (sizes[:, None] * weights / 2).ravel() @ (score**2 * density))


@dataclass(frozen=True)
class NormalLaplace:
    """Readings with fresh noise, for the noise-aware estimator, which weighs them one by one."""

    scale: float

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        return 2 * self.scale**2

    def score_and_density(self, sizes: Floats, variance: float) -> tuple[Floats, Floats]:
        """Score and density of errors of these sizes, by a user whose own error has this variance."""
        return normal_laplace(sizes, variance, self.scale)

    def weight_of_squares(self, variance: float) -> float:
        """The square of such a reading varies more than that of a normal one, so its weight is below ½."""
        b2 = self.scale**2
        return (variance + 2 * b2) ** 2 / (2 * variance**2 + 8 * variance * b2 + 20 * b2**2)
