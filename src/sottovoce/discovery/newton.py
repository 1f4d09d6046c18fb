"""Newton's method for the few parameters of a distribution, with safeguards.

A library's optimiser would first have to estimate the curvature, step by step, and its linear algebra would spend more
time waiting for threads than computing.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Cost = Callable[[Floats], tuple[float, Floats, Floats]]  # value, slope and curvature at a point

_MOST_STEPS = 50
_FARTHEST = 2.0  # length of a step
_LEAST_CURVATURE = 1e-9


def least(cost: Cost, start: Floats, low: Floats, high: Floats, gain: float) -> Floats:
    """A point within bounds from which no step promises more than ``gain``.

    Steps lead downhill even where the curvature is negative, and become shorter until the cost decreases.
    """
    place, (value, slope, curvature) = start, cost(start)
    for _ in range(_MOST_STEPS):
        if not (np.isfinite(slope).all() and np.isfinite(curvature).all()):  # too large to compute a step from
            break
        free = ((place > low) | (slope < 0)) & ((place < high) | (slope > 0))
        sizes, ways = np.linalg.eigh(np.where(np.outer(free, free), curvature, np.eye(len(place))))
        step = -ways @ ((ways.T @ (slope * free)) / np.maximum(np.abs(sizes), _LEAST_CURVATURE))
        if -float(slope @ step) / 2 <= gain:
            break
        step *= min(1.0, _FARTHEST / float(np.linalg.norm(step)))
        while True:
            ahead = np.clip(place + step, low, high)
            next_cost = cost(ahead)
            if next_cost[0] < value:
                break
            step = step / 4
            if -float(slope @ step) <= gain:
                return place
        place, (value, slope, curvature) = ahead, next_cost
    return place
