"""The loop that every method shares: weigh the users, aggregate their claims, until the truths stop moving."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from sottovoce.claims import Claims
from sottovoce.claims.labels import label_column
from sottovoce.discovery.state import Checkpoint, State
from sottovoce.engines import Engine, MemoryEngine, Step
from sottovoce.errors import BadParameter, ConvergenceWarning

Floats = NDArray[np.float64]
Progress = Callable[[int, float], None]  # iteration, largest move of a truth


def check_level(level: float) -> None:
    """Whether intervals can have this level."""
    if not 0 < level < 1:
        raise BadParameter(f"level={level}: a level lies between 0 and 1; 0.95 is usual")


@dataclass(frozen=True)
class UserLosses:
    """How far each user's claims lie from the truths."""

    sum: Floats
    count: NDArray[np.int64] | Floats  # a claim may count for less than one

    @property
    def mean(self) -> Floats:
        return self.sum / self.count


class TruthDiscovery(ABC):
    """Base of all methods. The constructor only stores; `fit` returns self; fitted names end in ``_``.

    Parameters
    ----------
    max_iter
        Largest number of iterations.
    tol
        Stop when no truth moves by more than this, in units of the spread (standard deviation) of its object's claims.
        0 runs ``max_iter`` iterations.

    Attributes
    ----------
    truths_, objects_ : array
        The truth of each object, and the objects' labels.
    weights_, users_ : array
        The weight of each user with which ``truths_`` were made, and the users' labels.
    effective_users_ : array
        For each object (Σw)²/Σw² over those who claim it: how many users decide, as if they had equal weights.
    n_iter_, converged_, history_ : int, bool, array
        Iterations done, whether the truths had stopped moving, and the largest move of each iteration.
    """

    name: ClassVar[str]  # by which the command line and files know the method

    truths_: Floats
    weights_: Floats
    objects_: NDArray[Any]
    users_: NDArray[Any]
    effective_users_: Floats
    claims_: NDArray[np.int64]
    n_iter_: int
    converged_: bool
    history_: Floats

    def __init__(self, *, max_iter: int = 1000, tol: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol

    @abstractmethod
    def weigh(self, losses: UserLosses) -> Floats:
        """Weights from losses: what makes the method."""

    def step(self, engine: Engine, spreads: Floats) -> Step:
        """Units in which claims are compared. Here: those of the claims, seen from the median."""
        return Step(center=engine.medians(), unit=np.ones(engine.n_objects), spread=spreads)

    def start(self, engine: Engine) -> Floats:
        """Truths before the first iteration."""
        return engine.medians()

    def counts(self, engine: Engine) -> NDArray[np.int64] | Floats:
        """How many losses each user's sum is made of."""
        return engine.claims_per_user

    def fit(
        self,
        claims: Claims | Engine,
        *,
        start: "TruthDiscovery | State | None" = None,
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Find truths and weights.

        Parameters
        ----------
        claims
            The claims, or an engine that holds them.
        start
            An earlier fit, or the state of one, to begin with: where few claims have been added since, the same answer
            takes fewer iterations.
        progress
            Called after each iteration with its number and largest move.
        checkpoint
            Takes the state of the run, also when it is interrupted.
        """
        self._check_parameters()
        engine = MemoryEngine(claims) if isinstance(claims, Claims) else claims
        self._earlier = start.state() if isinstance(start, TruthDiscovery) else start
        self._checkpoint = checkpoint
        self.objects_, self.users_ = engine.object_labels, engine.user_labels
        self.claims_ = engine.claims_per_object
        try:
            self._discover(engine, progress)
        finally:
            if checkpoint is not None:
                checkpoint.write()
        return self

    def state(self) -> State:
        """What a later fit can begin with."""
        return self._state

    def _leave(
        self,
        iteration: int,
        by_object: dict[str, Floats],
        by_user: dict[str, Floats] | None = None,
        learnt: dict[str, Any] | None = None,
    ) -> None:
        """Leave the state after an iteration."""
        self._state = State(
            self.name, self.objects_, self.users_, by_object, by_user or {}, learnt or {}, iteration
        )  # fmt: skip
        if self._checkpoint is not None:
            self._checkpoint.take(self._state)

    def _discover(self, engine: Engine, progress: Progress | None) -> None:
        # An object whose claims all agree has no spread; its truth does not move, so any unit will do.
        self._spreads = engine.spreads()
        spreads = np.where(self._spreads > 0, self._spreads, 1.0)
        step = self.step(engine, spreads)
        truths = self._first_truths(engine)
        losses = engine.score(step, truths)
        counts = self.counts(engine)
        compared = engine.comparable() > 0
        history: list[float] = []
        weights = np.ones(engine.n_users)
        while len(history) < self.max_iter and (self.tol == 0 or not history or history[-1] > self.tol):
            weights = self._usable(self.weigh(UserLosses(losses, counts)), compared)
            swept = engine.sweep(step, weights, truths)
            truths, losses = swept.truths, swept.losses
            history.append(swept.move)
            self._leave(len(history), {"truth": truths})
            if progress is not None:
                progress(len(history), history[-1])
        self.truths_, self.weights_ = truths, weights
        self._conclude(history)
        self.effective_users_, self._variance = engine.precision(truths, weights)

    def _first_truths(self, engine: Engine) -> Floats:
        truths, earlier = self.start(engine).copy(), self._earlier
        if earlier is not None:
            here, there = earlier.common_objects(engine.object_labels)
            truths[here] = earlier.by_object["truth"][there]
        return truths

    def _conclude(self, history: list[float]) -> None:
        """Keep the moves of all iterations; warn if the last one was still too large."""
        self.n_iter_, self.history_ = len(history), np.array(history)
        self.converged_ = history[-1] <= self.tol
        if not self.converged_ and self.tol > 0:
            warnings.warn(
                f"{type(self).__name__}: after {self.n_iter_} iterations a truth still moves by {history[-1]:.2g} "
                f"of its object's spread, more than tol={self.tol:g}; raise max_iter, or tol if that is near enough",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _usable(self, weights: Floats, compared: NDArray[np.bool_]) -> Floats:
        """Weights above zero for all.

        A user of whose objects nobody else speaks never disagrees; that says nothing about him, so he gets the mean
        weight (no truth depends on it). Nobody gets exactly zero, or an object only he claims would have no truth.
        """
        if not compared.all():
            weights = np.where(compared, weights, weights[compared].mean() if compared.any() else 1.0)
        largest = weights.max()
        return np.maximum(weights, largest * 1e-100) if largest > 0 else np.ones_like(weights)

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high end of an interval for each truth.

        Plug-in: each squared residual stands for the variance of its claim, Var = m/(m-1) · Σ w²(x - truth)² / (Σw)²
        with m effective users, and Student's t with m - 1 degrees of freedom. Where fewer than two users decide,
        residuals say little: there the spread of the object's claims stands for the variance of one claim, and the
        typical spread of the other objects where there is only one claim. Without any of these the interval is
        infinite. Users who err together are not seen by any such interval.
        """
        check_level(level)
        tail = (1 + level) / 2
        users, claims = self.effective_users_, self.claims_
        with np.errstate(divide="ignore", invalid="ignore"):
            own_variance = self._spreads**2 * claims / (claims - 1)
            several = users >= 2
            half = stdtrit(users - 1, tail) * np.sqrt(self._variance * users / (users - 1))
        half = np.where(several, half, np.inf)
        alone = ~several & (claims > 1)
        half[alone] = stdtrit(claims[alone] - 1, tail) * np.sqrt(own_variance[alone] / users[alone])
        if (claims == 1).any() and (claims > 1).any():
            half[claims == 1] = ndtri(tail) * np.sqrt(np.median(own_variance[claims > 1]))
        return self.truths_ - half, self.truths_ + half

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """One row an object: object, truth, low, high, claims, effective_users."""
        low, high = self.intervals(level)
        return pa.table(
            {
                "object": label_column(self.objects_),
                "truth": self.truths_,
                "low": low,
                "high": high,
                "claims": self.claims_,
                "effective_users": self.effective_users_,
            }
        )

    def to_frame(self, level: float = 0.95) -> nw.DataFrame[pa.Table]:
        """The table of `to_arrow` as a narwhals frame, with ``to_pandas()``, ``to_polars()`` and ``to_arrow()``."""
        return nw.from_native(self.to_arrow(level), eager_only=True)

    def _check_parameters(self) -> None:
        if not (isinstance(self.max_iter, int | np.integer) and self.max_iter >= 1):
            raise BadParameter(f"max_iter={self.max_iter!r}: it must be a whole number of at least 1; 200 is usual")
        if not (np.isfinite(self.tol) and self.tol >= 0):
            raise BadParameter(f"tol={self.tol!r}: it must be 0 or a positive number; 1e-6 is usual")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={entry!r}" for name, entry in vars(self).items() if name[0] != "_" != name[-1])
        return f"{type(self).__name__}({given})"
