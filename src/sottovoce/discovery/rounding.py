"""Rounding makes accurate users agree with each other, and err together.

A user who reads 12.4 m and reports whole metres is 0.4 m off, and so is every other accurate user: their claims show no
scatter. With errors of deviation σ before rounding to multiples of h, the error in common has a deviation of at most
h/√12 · exp(-2π²σ²/h²), for a truth that lies anywhere between two multiples: the first term of the Fourier series of
the sawtooth is damped by that much, the others by more.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sottovoce.engines import Engine

Floats = NDArray[np.float64]

_SAMPLE = 20_000
_FEWEST = 3  # equal differences between claims that are needed to see a step
_OFTEN = 0.1  # share of the differences that are one step
_STRAY = 0.1  # share of neighbours whose difference may not be a multiple of the step: some users do not round
_EQUAL, _NEAR = 1e-6, 1e-3  # differences count as equal: relative to each other; as shares of a step
_FEW = 2  # steps: the largest usual difference between neighbours


def rounding_step(engine: Engine) -> float:
    """The step of which claims are multiples, up to a common offset; 0 if there is none, or one too small to matter.

    It is the most frequent difference between neighbouring claims about the same object. If most neighbours differ by
    more than a step or two, errors are larger than steps, or the figures are exact and some are wrong.
    """
    objects, _, values = engine.sample(np.zeros(engine.n_objects), _SAMPLE)
    order = np.lexsort((values, objects))
    neighbours = np.diff(values[order])[np.diff(objects[order]) == 0]
    apart = np.sort(neighbours[neighbours > 0])
    if not len(apart):
        return 0.0
    groups = np.cumsum(np.append(0, np.diff(apart) > _EQUAL * apart[1:]))
    sizes = np.bincount(groups)
    step = float(apart[np.searchsorted(groups, sizes.argmax())])
    steps = apart / step
    stray = np.abs(steps - np.maximum(np.round(steps), 1)) > _NEAR
    often = sizes.max() >= max(_FEWEST, _OFTEN * len(apart))
    whole = stray.sum() <= _STRAY * len(neighbours)
    return step if often and whole and np.median(steps) <= _FEW + _NEAR else 0.0


def shared_variance(step: float, variance: Floats) -> Floats:
    """Variance of the error that claims share because they are rounded to ``step``; ``variance`` includes rounding."""
    if step == 0:
        return np.zeros(len(variance))
    own = np.maximum(variance / step**2 - 1 / 12, 0.0)
    return np.asarray(step**2 / 12 * np.exp(-((2 * math.pi) ** 2) * own))
