"""The Gaussian truth model."""

import numpy as np

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.iteration import Floats, UserLosses
from sottovoce.engines import Engine, Step
from sottovoce.errors import BadParameter


class GTM(TruthDiscovery):
    """Gaussian truth model: truths and users' variances have priors; expectation–maximisation estimates both.

    With z = (x - median(object)) / std(object), truth μ in the same units, and N_k claims of user k:

    σ_k² = (2β + Σ (z - μ)²) / (2(α + 1) + N_k),   w_k = 1/σ_k²,
    μ = (μ0/σ0² + Σ w_k z) / (1/σ0² + Σ w_k)

    Starts at μ = 0, the median; one pass over the claims per iteration.
    B. Zhao and J. Han, QDB 2012.

    Parameters
    ----------
    alpha, beta
        Shape and scale of the inverse gamma prior of the users' variances.
    prior_mean, prior_variance
        Prior of the truths (μ0, σ0²), in units of an object's spread, relative to its median.

    Examples
    --------
    >>> import sottovoce as sv
    >>> claims = sv.Claims.from_matrix([[10.0, 21.0], [10.2, 20.8], [14.0, 30.0]])
    >>> [round(float(truth), 1) for truth in sv.GTM().fit(claims).truths_]
    [11.0, 22.9]
    """

    name = "gtm"
    title = "GTM"
    words = "people are weighted by their estimated precision, and nobody is assumed to be perfect."

    def __init__(
        self,
        *,
        alpha: float = 10.0,
        beta: float = 10.0,
        prior_mean: float = 0.0,
        prior_variance: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.alpha = alpha
        self.beta = beta
        self.prior_mean = prior_mean
        self.prior_variance = prior_variance

    def step(self, engine: Engine, spreads: Floats) -> Step:
        return Step(
            engine.medians(), 1 / spreads, spreads, prior_weight=1 / self.prior_variance, prior_mean=self.prior_mean
        )

    def weigh(self, losses: UserLosses) -> Floats:
        return (2 * (self.alpha + 1) + losses.count) / (2 * self.beta + losses.sum)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("alpha", "beta", "prior_variance"):
            entry = getattr(self, name)
            if not (np.isfinite(entry) and entry > 0):
                raise BadParameter(
                    f"{name}={entry!r}: it must be a finite number above 0; leave it out for the default"
                )
        if not np.isfinite(self.prior_mean):
            raise BadParameter(f"prior_mean={self.prior_mean!r}: it must be a finite number; 0 is the median")
