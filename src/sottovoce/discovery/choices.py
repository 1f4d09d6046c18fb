"""One fit to choices while it runs: its input, the iteration that most methods share, and its result.

Arrays by option have an entry for each option of each object, object by object.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims.answers import Answers, shown_options
from sottovoce.claims.labels import to_numpy
from sottovoce.discovery.iteration import Floats, IterationOf, Knowledge, UserLosses, Weigh, usable
from sottovoce.discovery.state import State
from sottovoce.engines import Engine, Poll, Polled, votes
from sottovoce.engines.votes import KNOWN_ELSEWHERE, NOT_KNOWN
from sottovoce.errors import BadParameter

# Which answer is most probable is clear long before chances stop moving, so they need not settle as precisely as
# numbers.
TOLERANCE = 1000.0


class Ragged:
    """An array for each object, of different lengths: slices of one long array."""

    def __init__(self, entries: NDArray[Any], offsets: NDArray[np.int64]) -> None:
        self.entries, self.offsets = entries, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, n: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, n: slice) -> list[NDArray[Any]]: ...
    def __getitem__(self, n: int | slice) -> NDArray[Any] | list[NDArray[Any]]:
        if isinstance(n, slice):
            return [self[place] for place in range(*n.indices(len(self)))]
        place = range(len(self))[n]
        return self.entries[self.offsets[place] : self.offsets[place + 1]]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[n] for n in range(len(self)))

    def __repr__(self) -> str:
        more = ", …" if len(self) > 3 else ""
        return f"[{', '.join(str(entry.tolist()) for entry in self[:3])}{more}]"


@dataclass(frozen=True, eq=False)
class ChoiceInput:
    """The input of a fit to choices."""

    engine: Engine
    earlier: State | None  # of a fit to continue from
    known: NDArray[np.int64] | None  # for each object the option known to be true; -1: none; -2: one that nobody chose
    known_labels: Mapping[int, Any]  # these truths, by the number of their object

    @classmethod
    def of(cls, engine: Engine, earlier: State | None, known: Mapping[Any, Any]) -> "ChoiceInput":
        """``known`` gives truths by the label of their object."""
        if not known:
            return cls(engine, earlier, None, {})
        answers = engine.answers
        places = np.full(engine.n_objects, NOT_KNOWN, np.int64)
        place_of = {label: place for place, label in enumerate(engine.object_labels.tolist())}
        labels: dict[int, Any] = {}
        for label, truth in known.items():
            n = place_of.get(label)
            if n is None:
                raise BadParameter(
                    f"known truth {truth!r} of {label!r}: there are no claims about this object; leave it out"
                )
            options = [str(option) for option in answers.of_object(n)]  # as text: files have no other labels
            if str(truth) not in options and len(options) >= answers.counts[n] and answers.declared:
                raise BadParameter(
                    f"known truth {truth!r} of {label!r}: it is not among its options ({shown_options(options)}); "
                    "correct it, or leave it out"
                )
            places[n] = options.index(str(truth)) if str(truth) in options else KNOWN_ELSEWHERE
            labels[n] = truth
        return cls(engine, earlier, places, labels)

    @property
    def answers(self) -> Answers:
        return self.engine.answers

    @property
    def counts(self) -> NDArray[np.int64]:
        """Claims of each user."""
        return self.engine.claims_per_user

    @cached_property
    def plain_votes(self) -> Floats:
        """How many users chose each option."""
        return self.engine.tally(np.ones(self.engine.n_users))

    def nothing_polled(self, groups: int = 1) -> Polled:
        """The start of the first iteration, before there are chances."""
        return Polled(np.zeros(self.answers.n_cells), np.zeros((self.engine.n_users, groups)))

    def pinned(self, chances: Floats) -> Floats:
        """Chances in which the known truths are certain."""
        if self.known is not None:
            offsets = self.answers.offsets
            for n in np.flatnonzero(self.known != NOT_KNOWN):
                chances[offsets[n] : offsets[n + 1]] = 0.0
                if self.known[n] != KNOWN_ELSEWHERE:
                    chances[offsets[n] + self.known[n]] = 1.0
        return chances

    def earlier_weights(self) -> Floats | None:
        """Weights of users from an earlier fit; their mean for new users."""
        if self.earlier is None or "weight" not in self.earlier.by_user:
            return None
        here, there = self.earlier.common_users(self.engine.user_labels)
        if not len(here):
            return None
        earlier = self.earlier.by_user["weight"][there]
        weights = np.full(self.engine.n_users, earlier.mean())
        weights[here] = earlier
        return weights

    def shares(self, weights: Floats | None = None) -> Floats:
        """The share of each option in the votes about its object."""
        counted = self.plain_votes if weights is None else self.engine.tally(weights)
        return self.pinned(normalised(counted, self.answers.offsets))


@dataclass(frozen=True, eq=False)
class ChoiceEstimate:
    """The result of a fit to choices."""

    chances: Floats  # of each option
    weights: Floats  # of each user
    power: Floats | None = None  # the exponent of each object's chances as shown to people


class ChoiceIteration(IterationOf[ChoiceEstimate]):
    """The state of one fit to choices, which moves the chances of the options."""


class VoteIteration(ChoiceIteration):
    """Weigh users by how often they disagree with the truths, then let them vote; each object has a single truth."""

    def __init__(self, given: ChoiceInput, weigh: Weigh, tol: float) -> None:
        self._given, self._engine, self._weigh, self._tol = given, given.engine, weigh, tol * TOLERANCE
        self._compared = self._engine.comparable() > 0
        self._counts = given.counts.astype(np.float64)
        earlier = given.earlier_weights()
        self._weights = np.ones(self._engine.n_users) if earlier is None else earlier
        self._polled = given.nothing_polled()
        self._vote()

    def _vote(self) -> None:
        self._polled = self._engine.poll(Poll(self._weights, known=self._given.known), self._polled)

    def advance(self) -> float:
        losses = UserLosses(np.maximum(self._counts - self._polled.agreed[:, 0], 0.0), self._counts)
        self._weights = usable(self._weigh(losses), self._compared)
        self._vote()
        self.settled = self._tol > 0 and self._polled.move <= self._tol
        return self._polled.move

    def knowledge(self) -> Knowledge:
        return Knowledge({}, {"weight": self._weights})

    def estimate(self) -> ChoiceEstimate:
        return ChoiceEstimate(self._given.shares(self._weights), self._weights)


def normalised(scores: Floats, offsets: NDArray[np.int64]) -> Floats:
    """Each object's scores divided by their sum; equal shares if the sum is 0."""
    cells = np.diff(offsets)
    total = np.add.reduceat(scores, offsets[:-1])
    empty = total <= 0
    scores = np.where(np.repeat(empty, cells), 1.0, scores)
    return np.asarray(scores / np.repeat(np.where(empty, cells, total), cells))


def tempered(chances: Floats, answers: Answers, power: Floats) -> Floats:
    """Chances raised to the power of their object; they still add up to 1."""
    cells = np.diff(answers.offsets)
    rest = 1 - np.add.reduceat(chances, answers.offsets[:-1])  # of options that nobody chose
    unseen = np.maximum(answers.counts - cells, 0)
    flat = chances ** np.repeat(power, cells)
    other = unseen * (np.maximum(rest, 0) / np.maximum(unseen, 1)) ** power
    total = np.add.reduceat(flat, answers.offsets[:-1]) + other
    return np.asarray(flat / np.repeat(np.where(total > 0, total, 1.0), cells))


def winners(chances: Floats, offsets: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Each option's share in the truth, 1 divided among an object's winners; and the first winner of each object."""
    shares, first = np.empty(len(chances)), np.empty(len(offsets) - 1, np.int64)
    votes.winners(offsets, chances, shares, first)
    return shares, first


def runners_up(chances: Floats, offsets: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each object's second most probable option; -1 if nobody chose another one."""
    others = chances.copy()
    others[offsets[:-1] + first] = -1.0
    largest = np.maximum.reduceat(others, offsets[:-1])
    cells = np.diff(offsets)
    wins = np.flatnonzero(others == np.repeat(largest, cells))
    objects = np.searchsorted(offsets, wins, "right") - 1
    places = np.full(len(cells), -1, np.int64)
    unique, at = np.unique(objects, return_index=True)
    places[unique] = wins[at] - offsets[unique]
    places[largest <= 0] = -1
    return places


def labels_at(answers: Answers, places: NDArray[np.int64]) -> NDArray[Any]:
    """The label of one option per object, by its place; None if the place is -1."""
    labels = to_numpy(answers.labels)
    at = np.maximum(places, 0)
    found = labels[answers.ids_of(np.arange(len(places)), at)]
    if (places < 0).any():
        found = found.astype(object)
        found[places < 0] = None
    return np.asarray(found)
