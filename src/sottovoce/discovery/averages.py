"""The plain averages that are shown beside every result."""

import numpy as np

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.iteration import Estimate, FitInput, Floats, Iteration, Knowledge, UserLosses
from sottovoce.engines import Engine


class _AverageIteration(Iteration):
    """The first iteration is the last: there are no weights to estimate."""

    def __init__(self, engine: Engine, truths: Floats, variance: Floats) -> None:
        self._engine, self._truths, self._variance = engine, truths, variance

    def advance(self) -> float:
        self.settled = True
        return 0.0

    def knowledge(self) -> Knowledge:
        return Knowledge({"truth": self._truths})

    def estimate(self) -> Estimate:
        engine = self._engine
        effective_users = engine.claims_per_object.astype(np.float64)
        return Estimate(self._truths, np.ones(engine.n_users), effective_users, self._variance)


class _Average(TruthDiscovery):
    """Every user counts the same."""

    plain = True
    # Variance of the average, divided by that of a mean of normal errors.
    _excess_variance = 1.0

    def weigh(self, losses: UserLosses) -> Floats:
        return np.ones_like(losses.sum)

    def begin(self, given: FitInput) -> Iteration:
        engine = given.engine
        variance = self._excess_variance * given.deviations**2 / engine.claims_per_object
        return _AverageIteration(engine, self.start(engine), variance)


class Mean(_Average):
    """Mean of each object's claims.

    >>> import sottovoce as sv
    >>> sv.Mean().fit(sv.Claims.from_matrix([[1.0], [2.0], [6.0]])).truths_.tolist()
    [3.0]
    """

    name = "mean"
    title = "mean"
    words = "all count equally."

    def start(self, engine: Engine) -> Floats:
        return engine.means()


class Median(_Average):
    """Median of each object's claims.

    Its intervals assume normal errors, for which a median has π/2 times the variance of a mean.

    >>> import sottovoce as sv
    >>> sv.Median().fit(sv.Claims.from_matrix([[1.0], [2.0], [6.0]])).truths_.tolist()
    [2.0]
    """

    name = "median"
    title = "median"
    words = "all count equally; gross errors have little effect."
    _excess_variance = np.pi / 2
