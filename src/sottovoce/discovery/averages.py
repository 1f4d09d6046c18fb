"""The plain averages that stand beside every result."""

import numpy as np

from sottovoce.discovery.base import Floats, Progress, TruthDiscovery, UserLosses
from sottovoce.engines import Engine


class _Average(TruthDiscovery):
    """One pass, and every user counts the same."""

    # Variance of the average over that of a mean of normal errors.
    _excess_variance = 1.0

    def weigh(self, losses: UserLosses) -> Floats:
        return np.ones_like(losses.sum)

    def _discover(self, engine: Engine, progress: Progress | None) -> None:
        self.truths_ = self.start(engine)
        self._leave(1, {"truth": self.truths_})
        self.weights_ = np.ones(engine.n_users)
        self.n_iter_, self.converged_, self.history_ = 1, True, np.zeros(1)
        self.effective_users_ = self.claims_.astype(np.float64)
        self._spreads = engine.spreads()
        self._variance = self._excess_variance * self._spreads**2 / self.claims_


class Mean(_Average):
    """Mean of each object's claims.

    >>> import sottovoce as sv
    >>> sv.Mean().fit(sv.Claims.from_matrix([[1.0], [2.0], [6.0]])).truths_.tolist()
    [3.0]
    """

    name = "mean"

    def start(self, engine: Engine) -> Floats:
        return engine.means()


class Median(_Average):
    """Median of each object's claims.

    Its intervals take the errors for normal, where a median has π/2 times the variance of a mean.

    >>> import sottovoce as sv
    >>> sv.Median().fit(sv.Claims.from_matrix([[1.0], [2.0], [6.0]])).truths_.tolist()
    [2.0]
    """

    name = "median"
    _excess_variance = np.pi / 2
