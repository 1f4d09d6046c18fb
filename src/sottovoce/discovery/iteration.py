"""One fit while it runs: its input, its state from one iteration to the next, and its result.

All of this is created for every fit, so a method object holds only its parameters and its last result.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.discovery.state import State
from sottovoce.engines import Engine, Step
from sottovoce.errors import BadParameter

Floats = NDArray[np.float64]
Result = TypeVar("Result")

_LEAST_COUNT = float(np.finfo(np.float64).tiny)
# Python makes numbers of these, or parts of them, too.
_NOT_NUMBERS = (str, bytes, bytearray, bool, np.bool_, np.complexfloating)


@dataclass(frozen=True)
class UserLosses:
    """How far each user's claims are from the truths."""

    sum: Floats
    count: NDArray[np.int64] | Floats  # a claim may count for less than one

    @property
    def mean(self) -> Floats:
        counts = np.maximum(self.count, _LEAST_COUNT)  # a user without claims has no loss
        return np.divide(self.sum, counts, out=counts)  # in place, which is faster with many users


Weigh = Callable[[UserLosses], Floats]


@dataclass(frozen=True, eq=False)
class FitInput:
    """The input of a fit."""

    engine: Engine
    deviations: Floats  # standard deviation of each object's claims; 0 where they all agree
    earlier: State | None  # of a fit to continue from
    known: NDArray[np.bool_]  # objects whose truth is given
    known_truths: Floats  # these truths, in the order of the objects

    @classmethod
    def of(cls, engine: Engine, earlier: State | None, known: Mapping[Any, float]) -> "FitInput":
        """``known`` gives truths by the label of their object."""
        truths = np.full(engine.n_objects, np.nan)
        if known:
            place_of = {label: place for place, label in enumerate(engine.object_labels.tolist())}
            for label, truth in known.items():
                number = _finite(truth)
                if label not in place_of or number is None:
                    raise BadParameter(
                        f"known truth {truth!r} of {label!r}: it must be a finite number for an object with claims; "
                        "leave other truths out"
                    )
                truths[place_of[label]] = number
        is_known = ~np.isnan(truths)
        return cls(engine, engine.spreads(), earlier, is_known, truths[is_known])

    @property
    def spreads(self) -> Floats:
        """Units in which moves of truths are measured.

        An object whose claims all agree has no spread; its truth does not move, so any unit will do.
        """
        return np.where(self.deviations > 0, self.deviations, 1.0)

    def first_truths(self, start: Floats) -> Floats:
        """Truths to begin with: known truths if there are any, else those of an earlier fit, else ``start``."""
        truths = start.copy()
        if self.earlier is not None:
            here, there = self.earlier.common_objects(self.engine.object_labels)
            truths[here] = self.earlier.by_object["truth"][there]
        truths[self.known] = self.known_truths
        return truths


def _finite(given: Any) -> float | None:
    """A finite number as a float; None for anything else."""
    if isinstance(given, _NOT_NUMBERS):
        return None
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What an iteration has estimated, for a later fit to begin with."""

    by_object: dict[str, Floats]
    by_user: dict[str, Floats] = field(default_factory=dict)
    learnt: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of a fit."""

    truths: Floats
    weights: Floats
    effective_users: Floats
    variance: Floats  # of each truth
    freedom: Floats | None = None  # degrees of freedom of that variance, if the method gives them


class IterationOf(ABC, Generic[Result]):
    """The state of one fit, to claims of any kind."""

    settled = False  # whether another iteration would change nothing

    @abstractmethod
    def advance(self) -> float:
        """Run one iteration; returns the largest move of an estimate, in the unit of the tolerance."""

    @abstractmethod
    def knowledge(self) -> Knowledge:
        """What has been estimated after the last iteration, for a later fit."""

    @abstractmethod
    def estimate(self) -> Result:
        """The result after the last iteration."""


class Iteration(IterationOf[Estimate]):
    """The state of one fit to numbers: truths move in units of their object's spread."""


class LossIteration(Iteration):
    """Weigh the users by their losses, then aggregate their claims, as most methods do."""

    def __init__(
        self,
        given: FitInput,
        step: Step,
        start: Floats,
        counts: NDArray[np.int64] | Floats,
        weigh: Weigh,
        tol: float,
    ) -> None:
        self._engine, self._step, self._weigh, self._tol = given.engine, step, weigh, tol
        self._counts = np.asarray(counts, np.float64)  # converted once, not in each iteration
        self._truths = given.first_truths(start)
        self._losses = self._engine.score(step, self._truths)
        self._compared = self._engine.comparable() > 0
        self._weights = np.ones(self._engine.n_users)

    def advance(self) -> float:
        self._weights = usable(self._weigh(UserLosses(self._losses, self._counts)), self._compared)
        swept = self._engine.sweep(self._step, self._weights, self._truths)
        self._truths, self._losses = swept.truths, swept.losses
        self.settled = self._tol > 0 and not swept.move > self._tol
        return swept.move

    def knowledge(self) -> Knowledge:
        return Knowledge({"truth": self._truths})

    def estimate(self) -> Estimate:
        return Estimate(self._truths, self._weights, *self._engine.precision(self._truths, self._weights))


def usable(weights: Floats, compared: NDArray[np.bool_]) -> Floats:
    """Weights above zero for all.

    A user whose objects have no other claims never disagrees with anybody. That says nothing about their quality, so
    they get the mean weight (no truth depends on it). No weight is exactly zero; otherwise an object with a claim by
    this user only would have no truth.
    """
    weights = np.asarray(weights, np.float64)
    if weights.shape != compared.shape:
        raise BadParameter(
            f"weigh returned weights of shape {weights.shape} for {len(compared):,} users: a method returns one weight "
            "per user; compute them from losses.sum or losses.mean without leaving out any user"
        )
    if not compared.all():
        weights = np.where(compared, weights, weights[compared].mean() if compared.any() else 1.0)
    largest, smallest = weights.max(), weights.min()
    if not (np.isfinite(largest) and smallest >= 0):  # also if one of them is NaN
        place = int(np.argmax(~(np.isfinite(weights) & (weights >= 0))))
        raise BadParameter(
            f"weigh returned the weight {weights[place]} for a user: a weight must be a finite number, 0 or more; "
            "check for users whose loss is 0, and for divisions by zero"
        )
    if smallest >= largest * 1e-100 > 0:
        return weights
    return np.maximum(weights, largest * 1e-100) if largest > 0 else np.ones_like(weights)
