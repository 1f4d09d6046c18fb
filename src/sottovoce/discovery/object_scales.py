"""Scales of objects: a crowd may err by metres about one object and by millimetres about another."""

import math

import numpy as np
from numpy.typing import NDArray

from sottovoce.discovery.own_offsets import kurtosis_within
from sottovoce.discovery.state import Common
from sottovoce.engines import Engine
from sottovoce.engines.sweeps import BOUND

Floats = NDArray[np.float64]

NORMAL_DEVIATION = 1.4826  # standard deviation over median deviation of a normal law
_SAMPLE = 20_000
_SEVERAL = 4  # claims that an object needs to show a kurtosis: the squares of fewer depend on each other
_LEAST_VARIANCE = 1e-150  # dividing by its square does not overflow


class ObjectScales:
    """Scales of objects, as far as they differ by more than chance (empirical Bayes on their logarithms).

    ``doubt`` is the variance of the logarithm of each scale. Chance is what claims of one scale would show: the
    logarithm of a mean of m squares with kurtosis κ has a variance of about (κ - 1)/m. Heavy tails alone make objects
    look different, and must not be taken for scales.
    """

    doubt: Floats

    def __init__(self, engine: Engine, typical: float, coincide: bool) -> None:
        # If claims coincide, an object about which all agree is not an easy one; it has the scale of the others.
        self._least = math.inf if coincide else _SEVERAL
        self._claims = engine.claims_per_object
        objects, _, residuals = engine.sample(engine.medians(), _SAMPLE)
        robust = (engine.deviations() * NORMAL_DEVIATION) ** 2
        self._middle = math.log(typical)
        # One extra claim of the typical scale is added: an object whose claims all agree has a small scale, not none.
        logs = np.log((self._claims * robust + typical) / (self._claims + 1))
        self._logs = self._shrunk(logs, objects, np.minimum(residuals**2 / typical, BOUND))

    @property
    def unit(self) -> Floats:
        return np.asarray(np.exp(-self._logs / 2))

    @property
    def logs(self) -> Floats:
        """Logarithms of the scales, over the typical one."""
        return self._logs - self._middle

    def begin_with(self, earlier: Floats, common: Common) -> None:
        here, there = common
        self._logs[here] = earlier[there] + self._middle

    def learn(self, misfit: Floats, objects: NDArray[np.intp], squares: Floats) -> Floats:
        """Units from each object's mean square in its present unit, and a sample of squares of readings."""
        misfit = (self._claims * misfit + 1) / (self._claims + 1)
        self._logs = self._shrunk(self._logs + np.log(misfit), objects, np.minimum(squares, BOUND))
        return self.unit

    def _shrunk(self, logs: Floats, objects: NDArray[np.intp], squares: Floats) -> Floats:
        several = self._claims[objects] >= self._least
        if several.any():
            kurtosis = kurtosis_within(objects[several], squares[several], len(self._claims))
        else:
            kurtosis = float(np.mean(squares**2)) / max(float(np.mean(squares)) ** 2, 1e-300)
        chance = max(kurtosis - 1, 2.0) / self._claims
        weights = 1 / (1 + chance)
        middle = float(np.average(logs, weights=weights))
        beyond = max(0.0, float(np.average((logs - middle) ** 2 - chance, weights=weights)))
        self.doubt = beyond * chance / (beyond + chance)
        # The middle does not move: what all objects have in common belongs to the users.
        return np.asarray(self._middle + (logs - middle) * beyond / (beyond + chance))


def typical_variance(engine: Engine, spreads: Floats) -> float:
    """Variance of claims about a typical object, unaffected by gross errors if most claims are free of them."""
    for deviations in (engine.deviations() * NORMAL_DEVIATION, spreads):
        if (deviations > 0).any():
            return max(float(np.median(deviations[deviations > 0]) ** 2), _LEAST_VARIANCE)
    return 1.0
