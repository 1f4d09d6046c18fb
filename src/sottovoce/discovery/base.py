"""The loop that all methods share: weigh the users and aggregate their claims until the truths stop moving."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from inspect import signature
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from sottovoce.claims import Claims
from sottovoce.claims.answers import Answers, Choices
from sottovoce.claims.kinds import Kind
from sottovoce.claims.labels import to_numpy
from sottovoce.claims.reading import same_kind_of_frame
from sottovoce.claims.table import Duplicates
from sottovoce.digits import counted
from sottovoce.discovery.choices import (
    TOLERANCE,
    ChoiceEstimate,
    ChoiceInput,
    ChoiceIteration,
    Ragged,
    VoteIteration,
    labels_at,
    runners_up,
    tempered,
    winners,
)
from sottovoce.discovery.iteration import (
    FitInput,
    Floats,
    Iteration,
    LossIteration,
    UserLosses,
    Weigh,
)
from sottovoce.discovery.schema import Estimates, Place
from sottovoce.discovery.state import Checkpoint, State
from sottovoce.engines import Engine, Step, engine_of
from sottovoce.errors import BadParameter, ConvergenceWarning, NotFitted, warn
from sottovoce.progress import Progress


def check_level(level: float) -> None:
    """Check that intervals can have this level."""
    if not 0 < level < 1:
        raise BadParameter(f"level={level}: a level must be above 0 and below 1; 0.95 is typical")


class TruthDiscovery(ABC):
    """Base of all methods. The constructor only stores parameters; `fit` returns self; fitted names end in ``_``.

    Parameters
    ----------
    max_iter
        Maximum number of iterations.
    tol
        Stop when no truth moves by more than this, in units of the spread (standard deviation) of its object's claims;
        for choices, when no answer's chance moves by more than 1000 times this. 0 runs ``max_iter`` iterations.

    Attributes
    ----------
    truths_, objects_ : array
        The truth of each object, and the objects' labels.
    chances_, answers_ : sequence of arrays
        For choices: the chance of each answer to each object, and the answers' labels.
    weights_, users_ : array
        The weight of each user from which ``truths_`` were computed, and the users' labels.
    effective_users_ : array
        For each object, (Σw)²/Σw² over the users with a claim about it: how many equally weighted users its truth rests
        on.
    claims_ : array
        Number of claims about each object.
    kind_ : str
        Whether the claims are numbers ("number") or choices ("choice").
    n_iter_, converged_, history_ : int, bool, array
        Iterations done, whether the truths had stopped moving, and the largest move of each iteration.
    """

    name: ClassVar[str]  # on the command line, in the API and in files
    title: ClassVar[str]  # its name within a sentence
    words: ClassVar[str]  # how it works, for people, as the rest of a sentence that begins with its title
    kinds: ClassVar[tuple[str, ...]] = ("number",)  # of claims that it works with
    plain: ClassVar[bool] = False  # an average, shown beside every other method
    needs_one_list: ClassVar[bool] = False  # whether all objects must have the same options, and claims name one
    takes_known: ClassVar[bool] = False  # whether it can use truths that are known beforehand

    kind_: Kind
    truths_: NDArray[Any]
    chances_: Ragged
    weights_: Floats
    objects_: NDArray[Any]
    users_: NDArray[Any]
    effective_users_: Floats
    claims_: NDArray[np.int64]
    n_iter_: int
    converged_: bool
    history_: Floats
    _state: State
    _deviations: Floats  # of each object's claims; 0 where they all agree
    _variance: Floats  # of each truth
    _freedom: Floats | None  # its degrees of freedom
    _options: Answers
    _power: Floats | None  # the exponent of each object's chances as shown to people

    def __init__(self, *, max_iter: int = 1000, tol: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol

    @abstractmethod
    def weigh(self, losses: UserLosses) -> Floats:
        """Weights from losses: what defines the method."""

    def step(self, engine: Engine, spreads: Floats) -> Step:
        """The units in which claims are compared: by default, those of the claims, relative to the median."""
        return Step(center=engine.medians(), unit=np.ones(engine.n_objects), spread=spreads)

    def start(self, engine: Engine) -> Floats:
        """Truths before the first iteration."""
        return engine.medians()

    def counts(self, engine: Engine) -> NDArray[np.int64] | Floats:
        """How many losses are in each user's sum."""
        return engine.claims_per_user

    def weigher(self, engine: Engine) -> Weigh:
        """The function that weighs users in one fit: `weigh`, or one that precomputes what it needs."""
        return self.weigh

    def begin(self, given: FitInput) -> Iteration:
        """The state of a new fit, whose iterations the loop runs: by default, weights from losses, then truths."""
        engine = given.engine
        step, start = self.step(engine, given.spreads), self.start(engine)
        return LossIteration(given, step, start, self.counts(engine), self.weigher(engine), self.tol)

    @classmethod
    def uses_known(cls, kind: Kind) -> bool:
        """Whether truths that are known beforehand help with claims of a kind."""
        return cls.takes_known or (kind == "choice" and not cls.plain)

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        """The state of a new fit to choices: by default, weights from 0–1 losses, then truths by weighted votes."""
        return VoteIteration(given, self.weigher(given.engine), self.tol)

    def fit(
        self,
        claims: Any,
        *,
        start: "TruthDiscovery | State | None" = None,
        known: Mapping[Any, Any] | None = None,
        progress: Progress[int, float] | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Estimate truths and weights.

        Parameters
        ----------
        claims
            The claims; a pack of them (held in memory if it fits); an engine that holds them; or a data frame with the
            columns user, object and value (`fit_truths` takes other names).
        start
            An earlier fit, or its state, to begin with: if few claims have been added since, the same result takes
            fewer iterations. If two results are about equally likely, the fit may end at the other one, which seldom
            differs by more than a few hundredths of its interval.
        known
            Truths that are known beforehand, by the label of their object. They are kept, and show how accurate the
            users are. Not every method can use them.
        progress
            Called after each iteration with its number and the largest move of a truth.
        checkpoint
            Saves the state of the run, even if it is interrupted.
        """
        self._check_parameters()
        engine = engine_of(Claims.from_frame(claims) if hasattr(claims, "columns") else claims)
        self._check_kind(engine.kind)
        if known and not self.uses_known(engine.kind):
            raise BadParameter(
                f"known with {counted(len(known), 'truth')}: {type(self).__name__} cannot use known truths for "
                f"{engine.kind}s; leave them out, or use NoiseAware"
            )
        earlier = start.state() if isinstance(start, TruthDiscovery) else start
        choices = ChoiceInput.of(engine, earlier, known or {}) if engine.kind == "choice" else None
        numbers = FitInput.of(engine, earlier, known or {}) if choices is None else None
        iteration = self.begin_choices(choices) if choices else self.begin(numbers) if numbers else None
        assert iteration is not None
        history: list[float] = []
        try:
            while len(history) < self.max_iter and not iteration.settled:
                history.append(iteration.advance())
                if checkpoint is not None:
                    checkpoint.take(self._state_after(len(history), iteration, engine))
                if progress is not None:
                    progress(len(history), history[-1])
        finally:
            if checkpoint is not None:
                checkpoint.write()
        state = self._state = self._state_after(len(history), iteration, engine)
        self.kind_ = engine.kind
        self.objects_, self.users_, self.claims_ = state.objects, state.users, engine.claims_per_object
        estimate = iteration.estimate()
        if isinstance(estimate, ChoiceEstimate):
            assert choices is not None
            self._set_choices(choices, estimate)
        else:
            assert numbers is not None
            self.truths_, self.effective_users_ = estimate.truths, estimate.effective_users
            self._deviations = numbers.deviations
            self._variance, self._freedom = estimate.variance, estimate.freedom
        self.weights_ = estimate.weights
        moves, times = (
            ("a truth still moves by {:.2g} of its object's spread", 1.0)
            if choices is None
            else ("the last move is still {:.2g}", TOLERANCE)
        )
        self.n_iter_, self.history_, self.converged_ = len(history), np.array(history), history[-1] <= self.tol * times
        if not self.converged_ and self.tol > 0:
            warn(
                f"{type(self).__name__}: after {counted(self.n_iter_, 'iteration')} {moves.format(history[-1])}, more "
                f"than {f'{times:g} times ' if times != 1 else ''}tol={self.tol:g}; raise max_iter, or tol if that is "
                "close enough",
                ConvergenceWarning,
            )
        return self

    def _set_choices(self, given: ChoiceInput, estimate: ChoiceEstimate) -> None:
        """Truths are the most probable answers, or the first of those that are equally probable."""
        engine, answers = given.engine, given.answers
        self._options, self.chances_ = answers, Ragged(estimate.chances, answers.offsets)
        self._power = estimate.power
        _, first = winners(estimate.chances, answers.offsets)
        truths = labels_at(answers, first)
        self._known = given.known_labels
        for n, label in given.known_labels.items():
            if str(truths[n]) != str(label):  # an option that nobody chose
                truths = truths.astype(object)
                truths[n] = label
        self.truths_ = truths
        weights = estimate.weights / max(float(estimate.weights.max()), 1e-300)
        effective = engine.effective_users(weights)
        self.effective_users_ = np.where(np.isnan(effective), self.claims_, effective)

    @property
    def answers_(self) -> Ragged:
        """The labels of the answers to each object, in the order of ``chances_``."""
        return Ragged(to_numpy(self._options.labels)[self._options.cell_labels], self._options.offsets)

    def _shown(self) -> Floats:
        """Chances as they are shown to people."""
        chances = self.chances_.entries
        return chances if self._power is None else tempered(chances, self._options, self._power)

    def shown_chances(self) -> tuple[Floats, NDArray[Any]]:
        """As shown to people: the chance of each truth, and the second most probable answer (None if there is none)."""
        offsets = self._options.offsets
        _, first = winners(self.chances_.entries, offsets)
        second = runners_up(self.chances_.entries, offsets, first)
        chances = self._shown()[offsets[:-1] + first]
        chances[list(self._known)] = 1.0
        return chances, labels_at(self._options, second)

    @property
    def known_places(self) -> list[int]:
        """Positions in ``objects_`` of the objects whose truth was known beforehand; for choices only."""
        return list(self._known)

    def chances_by_answer(self) -> list[dict[str, float]]:
        """As shown to people: the chance of each answer to each object."""
        names = [str(label) for label in to_numpy(self._options.labels).tolist()]
        shown, ids, offsets = self._shown().tolist(), self._options.cell_labels.tolist(), self._options.offsets.tolist()
        chances = [{names[ids[cell]]: shown[cell] for cell in range(first, last)} for first, last in pairwise(offsets)]
        for n, label in self._known.items():
            chances[n][str(label)] = 1.0
        return chances

    def _check_kind(self, kind: Kind) -> None:
        if kind in self.kinds:
            return
        from sottovoce.discovery.registry import methods_for

        others = [method.__name__ for method in methods_for(kind).values()]
        raise BadParameter(
            f"{type(self).__name__}: it works with {' and '.join(f'{one}s' for one in self.kinds)}, but these claims "
            f"are {kind}s; use one of {', '.join(others)}"
        )

    def fit_truths(
        self,
        frame: Any,
        *,
        user: str = "user",
        object: str = "object",
        value: str = "value",
        duplicates: Duplicates = "error",
        skip_bad: bool = False,
        level: float = 0.95,
        kind: Kind | None = None,
        choices: Choices | None = None,
    ) -> Any:
        """Fit a data frame of claims; return the truths as the same kind of frame: pandas, polars, pyarrow or duckdb.

        ``user``, ``object`` and ``value`` name the columns; ``duplicates``, ``skip_bad``, ``kind`` and ``choices`` are
        those of `Claims.from_frame`. The columns are those of `to_frame`, with intervals of this level; the fitted
        attributes are set as by `fit`.

        >>> import pyarrow as pa, sottovoce as sv
        >>> heights = pa.table({"user": ["ann", "bob", "eve"], "object": ["hall"] * 3, "value": [3.0, 3.0, 9.0]})
        >>> sv.Median().fit_truths(heights).column_names
        ['object', 'truth', 'low', 'high', 'claims', 'effective_users']
        """
        check_level(level)
        claims = Claims.from_frame(
            frame, user=user, object=object, value=value, duplicates=duplicates, skip_bad=skip_bad, kind=kind,
            choices=choices,
        )  # fmt: skip
        self.fit(claims)
        return same_kind_of_frame(self.to_arrow(level), frame)

    def state(self) -> State:
        """The state of the fit, with which a later fit can begin."""
        return self._state

    def _state_after(self, iteration: int, fit: Iteration | ChoiceIteration, engine: Engine) -> State:
        knowledge = fit.knowledge()
        return State(
            self.name, engine.object_labels, engine.user_labels,
            knowledge.by_object, knowledge.by_user, knowledge.learnt, iteration,
        )  # fmt: skip

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high end of an interval for each truth.

        Plug-in: each squared residual stands for the variance of its claim, Var = m/(m-1) · Σ w²(x - truth)² / (Σw)²
        with m effective users, and Student's t with m - 1 degrees of freedom. If fewer than two users decide, residuals
        say little: then the spread of the object's claims stands for the variance of one claim, or, if there is only
        one claim, the typical spread of the other objects. Without either, the interval is infinite. These intervals
        do not account for users who err together.
        """
        check_level(level)
        self._check_intervals()
        tail = (1 + level) / 2
        users, claims = self.effective_users_, self.claims_
        with np.errstate(divide="ignore", invalid="ignore"):
            own_variance = self._deviations**2 * claims / (claims - 1)
            several = users >= 2
            half = stdtrit(users - 1, tail) * np.sqrt(self._variance * users / (users - 1))
        half = np.where(several, half, np.inf)
        dominated = ~several & (claims > 1)
        half[dominated] = stdtrit(claims[dominated] - 1, tail) * np.sqrt(own_variance[dominated] / users[dominated])
        if (claims == 1).any() and (claims > 1).any():
            half[claims == 1] = ndtri(tail) * np.sqrt(np.median(own_variance[claims > 1]))
        return self.truths_ - half, self.truths_ + half

    def _check_intervals(self) -> None:
        if self.kind_ == "choice":
            raise BadParameter("intervals of choices: an answer has a chance, not an interval; see chances_")

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """One row per object: object, truth, low and high (for choices: chance), claims, effective_users."""
        return Estimates(self, level).table(Place.FRAME)

    def to_frame(self, level: float = 0.95) -> nw.DataFrame[pa.Table]:
        """The table of `to_arrow` as a narwhals frame, with ``to_pandas()``, ``to_polars()`` and ``to_arrow()``."""
        return nw.from_native(self.to_arrow(level), eager_only=True)

    def plot(self, level: float = 0.95) -> Any:
        """A matplotlib figure of the truths with their intervals or chances, and of the users' weights."""
        from sottovoce.discovery.pictures import picture

        return picture(Estimates(self, level))

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the truths, once there are any."""
        if "truths_" not in self.__dict__:
            return None
        from sottovoce.discovery.pictures import notebook_html

        return notebook_html(self)

    def _check_parameters(self) -> None:
        if not (isinstance(self.max_iter, int | np.integer) and self.max_iter >= 1):
            raise BadParameter(f"max_iter={self.max_iter!r}: it must be a whole number of at least 1; 1000 is typical")
        if not (np.isfinite(self.tol) and self.tol >= 0):
            raise BadParameter(f"tol={self.tol!r}: it must be a finite number, 0 or more; 1e-6 is typical")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as in scikit-learn; ``deep`` has no effect, as no parameter has parameters."""
        return {name: getattr(self, name) for name in self.parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name. The next fit checks them; the results of the last fit do not change."""
        known = self.parameters()
        for name in params:
            if name not in known:
                raise BadParameter(
                    f"{name}={params[name]!r}: {type(self).__name__} has only the parameters {', '.join(known)}; "
                    "use these"
                )
        for name, entry in params.items():
            setattr(self, name, entry)
        return self

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Names of the constructor's parameters."""
        return tuple(signature(cls).parameters)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={entry!r}" for name, entry in self.get_params().items())
        return f"{type(self).__name__}({parameters})"

    if not TYPE_CHECKING:  # a type checker would otherwise accept every misspelt attribute

        def __getattr__(self, name: str) -> Any:
            if name in _FITTED and "truths_" in self.__dict__:
                raise AttributeError(
                    f"{name}: a fit to {self.kind_}s has none, only a fit to claims of the other kind; see truths_"
                )
            if name in _FITTED:
                raise NotFitted(f"{self!r}: this method is not fitted yet; call fit(claims) first")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


# Attributes that only a fit sets, and the property that needs one.
_FITTED = frozenset(name for name in TruthDiscovery.__annotations__ if not hasattr(TruthDiscovery, name)) - {
    "name", "title", "words",
} | {"answers_"}  # fmt: skip
