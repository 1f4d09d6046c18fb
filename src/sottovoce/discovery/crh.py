"""Conflict resolution on heterogeneous data."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.iteration import Floats, UserLosses
from sottovoce.engines import Engine, Step
from sottovoce.errors import BadParameter

# A user who never errs would have infinite weight, so a loss is at least this share of the total, for a weight of 27.6.
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
        Divide losses by the "sum" over all users, or by the "max" (which, with absolute loss, is the method called PM).
    decay
        For claims that come in rounds, as in a pack: the loss for an object that was last claimed n rounds ago is
        multiplied by decay to the power of n, so that users are judged by their recent claims (I-CRH, TKDE 2016).

    For choices, a claim's loss is 1 if it differs from the truth, otherwise 0; ``loss`` and ``decay`` have no effect.

    Examples
    --------
    >>> import sottovoce as sv
    >>> claims = sv.Claims.from_matrix([[10.0, 21.0], [10.2, 20.8], [14.0, 30.0]])
    >>> fit = sv.CRH().fit(claims)
    >>> bool(fit.weights_[2] < fit.weights_[0])
    True
    """

    name = "crh"
    kinds = ("number", "choice")
    title = "CRH"
    words = "people far from the crowd count less."

    def __init__(
        self,
        *,
        loss: Literal["squared", "absolute"] = "squared",
        total: Literal["mean", "sum"] = "mean",
        normalise: Literal["sum", "max"] = "sum",
        decay: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.loss = loss
        self.total = total
        self.normalise = normalise
        self.decay = decay

    def step(self, engine: Engine, spreads: Floats) -> Step:
        # A loss counts less in a larger unit; weighted means and medians are the same in any unit.
        if self.loss == "absolute":
            return Step(engine.medians(), self._shares(engine) / spreads, spreads, average="median")
        return Step(engine.medians(), np.sqrt(self._shares(engine) / spreads), spreads)

    def counts(self, engine: Engine) -> NDArray[np.int64] | Floats:
        return engine.claims_per_user if self.decay == 1 else engine.user_sums(self._shares(engine))

    def _shares(self, engine: Engine) -> Floats:
        """The factor by which a loss counts, by object."""
        return np.maximum(self.decay ** engine.object_ages.astype(np.float64), _LEAST_SHARE)

    def weigh(self, losses: UserLosses) -> Floats:
        per_user = losses.mean if self.total == "mean" else losses.sum
        reference = per_user.sum() if self.normalise == "sum" else per_user.max()
        if reference == 0:
            return np.ones_like(per_user)
        # In one new array: with 10⁶ users, allocating another one would take longer than computing its entries.
        share: Floats = np.divide(per_user, reference, out=None if per_user is losses.sum else per_user)
        weights = np.log(np.maximum(share, _LEAST_SHARE, out=share), out=share)
        return np.negative(weights, out=weights)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0 < self.decay <= 1:
            raise BadParameter(
                f"decay={self.decay!r}: it must be above 0 and at most 1; with 1, all rounds count the same"
            )
        for name, known in (
            ("loss", ("squared", "absolute")),
            ("total", ("mean", "sum")),
            ("normalise", ("sum", "max")),
        ):
            if getattr(self, name) not in known:
                raise BadParameter(f"{name}={getattr(self, name)!r}: it must be one of {known}; choose one of them")
