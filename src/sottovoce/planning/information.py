"""How much one participant tells about a truth: the Fisher information of his noisy reading.

With S participants whose qualities are known, the mean absolute error of a truth is √(2/π) / √(S·I). An estimator that
has to learn the qualities comes near it.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import FlooredVariance, FreshVariance, Gaussian, NoiseLaw, SharedVariance
from sottovoce.privacy.normal_laplace import normal_laplace

Floats = NDArray[np.float64]


def predicted_error(law: NoiseLaw, error_rate: float, participants: int) -> float:
    """Mean absolute error of a truth that everybody reads once, by information."""
    return math.sqrt(2 / math.pi / (participants * information(law, error_rate)))


def participants_for(law: NoiseLaw, error_rate: float, error: float) -> int:
    """How many participants an error asks for, by information."""
    return math.ceil(2 / math.pi / (error**2 * information(law, error_rate)))


def information(law: NoiseLaw, error_rate: float) -> float:
    """Information of one reading, averaged over participants whose error variance is Exponential(``error_rate`` = λ1).

    >>> from sottovoce.privacy.laws import SharedVariance
    >>> round(information(SharedVariance(rate=0.5), error_rate=1.0), 6)  # λ1·λ2·ln(λ1/λ2)/(λ1 - λ2)
    0.693147
    """
    variances, chances = _exponential_nodes(error_rate)
    if isinstance(law, FreshVariance):
        return float(sum(chance * laplace_information(variance, law.scale)
                         for variance, chance in zip(variances, chances, strict=True)))  # fmt: skip
    if isinstance(law, Gaussian):
        return float(chances @ (1 / (variances + law.sigma**2)))
    if isinstance(law, SharedVariance | FlooredVariance):
        floor = law.floor if isinstance(law, FlooredVariance) else 0.0
        extra, extra_chances = _exponential_nodes(law.rate)
        return float(chances @ (1 / (variances[:, None] + floor + extra)) @ extra_chances)
    raise BadParameter(f"noise law {law}: its information is not known; use one of the four laws")


def laplace_information(variance: float, scale: float) -> float:
    """Fisher information about the centre of Normal(0, ``variance``) + Laplace(``scale``)."""
    deviation = math.sqrt(variance)
    # Dense around the peak, where the density bends within a deviation, and out to where nothing is left.
    reach = 40 * scale + 12 * deviation
    edges = np.unique(np.concatenate([np.linspace(0, min(12 * deviation, reach), 25), np.linspace(0, reach, 41)]))
    nodes, weights = roots_legendre(12)
    sizes = np.diff(edges)
    x = (edges[:-1, None] + sizes[:, None] * (nodes + 1) / 2).ravel()
    score, density = normal_laplace(x, variance, scale)
    return float(2 * (sizes[:, None] * weights / 2).ravel() @ (score**2 * density))


def _exponential_nodes(rate: float, cells: int = 60, order: int = 8) -> tuple[Floats, Floats]:
    """Values and chances that stand for Exponential(rate), on a logarithmic scale."""
    nodes, weights = roots_legendre(order)
    low, high = math.log(1e-14), math.log(50.0)
    places = low + (np.arange(cells)[:, None] + (nodes + 1) / 2).ravel() / cells * (high - low)
    values = np.exp(places)
    chances = np.tile(weights / 2, cells) * (high - low) / cells * values * np.exp(-values)
    return values / rate, chances
