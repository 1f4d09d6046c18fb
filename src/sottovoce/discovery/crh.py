"""Conflict resolution on heterogeneous data."""

from typing import Literal

import numpy as np

from sottovoce.discovery.base import Floats, TruthDiscovery, UserLosses
from sottovoce.engines import Engine, Step
from sottovoce.errors import BadParameter

# A user who never errs would have infinite weight; this share of the total loss, weight 27.6, is the least.
_LEAST_SHARE = 1e-12


class CRH(TruthDiscovery):
    """Conflict resolution on heterogeneous data: users far from the crowd count less.

    w_k = -log(L_k / Σ L),  L_k = mean over the claims of user k of (x - truth)² / std(object)

    Starts at the median; one pass over the claims per iteration.
    Q. Li et al., SIGMOD 2014, doi:10.1145/2588555.2610509

    Parameters
    ----------
    loss
        "squared", with weighted means; or "absolute", |x - truth| / std(object), with weighted medians.
    total
        "mean" loss per claim, which is fair to users with many claims; or the "sum", as printed for dense data.
    normalise
        By the "sum" of all users' losses, or by the "max" (with absolute loss, this is called PM).

    Examples
    --------
    >>> import sottovoce as sv
    >>> claims = sv.Claims.from_matrix([[10.0, 21.0], [10.2, 20.8], [14.0, 30.0]])
    >>> fit = sv.CRH().fit(claims)
    >>> bool(fit.weights_[2] < fit.weights_[0])
    True
    """

    name = "crh"

    def __init__(
        self,
        *,
        loss: Literal["squared", "absolute"] = "squared",
        total: Literal["mean", "sum"] = "mean",
        normalise: Literal["sum", "max"] = "sum",
        max_iter: int = 200,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.loss = loss
        self.total = total
        self.normalise = normalise

    def step(self, engine: Engine, spreads: Floats) -> Step:
        if self.loss == "absolute":
            return Step(engine.medians(), 1 / spreads, spreads, average="median")
        return Step(engine.medians(), 1 / np.sqrt(spreads), spreads)

    def weigh(self, losses: UserLosses) -> Floats:
        per_user = losses.mean if self.total == "mean" else losses.sum
        reference = per_user.sum() if self.normalise == "sum" else per_user.max()
        if reference == 0:
            return np.ones_like(per_user)
        share: Floats = per_user / reference
        weights = np.log(np.maximum(share, _LEAST_SHARE, out=share), out=share)
        return np.negative(weights, out=weights)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, known in (
            ("loss", ("squared", "absolute")),
            ("total", ("mean", "sum")),
            ("normalise", ("sum", "max")),
        ):
            if getattr(self, name) not in known:
                raise BadParameter(f"{name}={getattr(self, name)!r}: it must be one of {known}; choose one of them")
