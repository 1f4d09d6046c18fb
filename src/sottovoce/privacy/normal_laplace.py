"""A reading with fresh noise: a normal error and Laplace noise together."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

Floats = NDArray[np.float64]

_MOSTLY_NORMAL = 1e8  # variance over squared scale


def normal_laplace(x: Floats, variance: float, scale: float) -> tuple[Floats, Floats]:
    """Score (derivative of the log density) and density for x ≥ 0.

    The density is e^{-x²/2v} (erfcx(a) + erfcx(c)) / (4·scale) with a, c = (v/scale ± x)/√(2v). For c < 0 erfcx grows
    like e^{c²}; there 2e^{c²} - erfcx(-c) is taken together with the factor in front. Where the error dwarfs the noise
    the two differ by less than a double can hold, and the law is normal but for 1 in 10¹⁵.
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
