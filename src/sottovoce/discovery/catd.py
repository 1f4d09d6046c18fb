"""Confidence-aware truth discovery."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.choices import ChoiceInput, ChoiceIteration, VoteIteration
from sottovoce.discovery.iteration import Floats, UserLosses, Weigh
from sottovoce.engines import Engine
from sottovoce.errors import BadParameter

# If the truths follow one user, their residuals shrink for ever; below this share of the mean they are rounding errors.
_LEAST_SHARE = 1e-28
_LEAST_ERRORS = 1e-9  # of a user's choices: a user who never errs would have infinite weight


class CATD(TruthDiscovery):
    """Confidence-aware truth discovery: users with few claims count less, as their quality is less certain.

    w_k = χ²quantile(significance / 2, N_k) / Σ (x - truth)²,  N_k = claims of user k

    This is the lower quantile: the upper end of a confidence interval for the user's precision would favour users with
    few claims. Starts at the median; one pass over the claims per iteration. The truths can end up following a single
    user: look at ``effective_users_``.
    Q. Li et al., VLDB 2014 (PVLDB 8(4)), doi:10.14778/2735496.2735505

    Examples
    --------
    >>> import sottovoce as sv
    >>> claims = sv.Claims.from_matrix([[10.0, 21.0], [10.2, 20.8], [14.0, 30.0]])
    >>> [round(float(truth), 1) for truth in sv.CATD().fit(claims).truths_]
    [10.0, 21.0]
    """

    name = "catd"
    kinds = ("number", "choice")
    title = "CATD"
    words = "people are weighted by their estimated precision, less if they have few claims."

    def __init__(self, *, significance: float = 0.05, max_iter: int = 1000, tol: float = 1e-6) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.significance = significance

    def weigh(self, losses: UserLosses) -> Floats:
        return self._weights(losses, self._quantiles(np.asarray(losses.count, np.int64)))

    def weigher(self, engine: Engine) -> Weigh:
        quantiles = self._quantiles(engine.claims_per_user)  # the same in all iterations
        return lambda losses: self._weights(losses, quantiles)

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        quantiles = self._quantiles(given.counts)
        return VoteIteration(given, lambda losses: quantiles / np.maximum(losses.sum, _LEAST_ERRORS), self.tol)

    def _weights(self, losses: UserLosses, quantiles: Floats) -> Floats:
        least = losses.sum.mean() * _LEAST_SHARE
        if least == 0:
            return np.ones_like(losses.sum)
        weights: Floats = quantiles / np.maximum(losses.sum, least)
        return weights

    def _quantiles(self, counts: NDArray[np.int64]) -> Floats:
        # Many users have the same number of claims, and so the same quantile.
        quantiles = np.zeros(int(counts.max()) + 1)
        distinct = np.flatnonzero(np.bincount(counts))
        quantiles[distinct] = 2 * gammaincinv(distinct / 2, self.significance / 2)
        return np.asarray(quantiles[counts])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0 < self.significance < 1:
            raise BadParameter(f"significance={self.significance!r}: it must be above 0 and below 1; 0.05 is typical")
