"""Means over an exponential distribution, by quadrature."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

Floats = NDArray[np.float64]


def exponential_nodes(rate: float, cells: int = 60, order: int = 8) -> tuple[Floats, Floats]:
    """Nodes and weights for means over Exponential(rate), on a logarithmic scale."""
    nodes, weights = roots_legendre(order)
    low, high = math.log(1e-14), math.log(50.0)
    places = low + (np.arange(cells)[:, None] + (nodes + 1) / 2).ravel() / cells * (high - low)
    values = np.exp(places)
    chances = np.tile(weights / 2, cells) * (high - low) / cells * values * np.exp(-values)
    return values / rate, chances
