"""Accu and AccuSim."""

import numpy as np
from numpy.typing import NDArray

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.choices import TOLERANCE, ChoiceEstimate, ChoiceInput, ChoiceIteration
from sottovoce.discovery.iteration import Floats, Knowledge, UserLosses
from sottovoce.discovery.similarity import Similarity, Support, check_similarity
from sottovoce.engines import Poll
from sottovoce.errors import BadParameter

_LEAST = 1e-3  # accuracies stay this far from 0 and 1: their logarithms must be finite


class AccuSim(TruthDiscovery):
    """Accu: the probability of each answer from its users' accuracies; AccuSim: similar answers support each other.

    C = Σ ln(n A / (1 - A)),  C* = C + ρ Σ C' · similarity,  P = exp C* / (Σ exp C* + unseen),  A = mean P

    with n false answers per object, equally probable, and ``unseen`` the number of options that nobody chose. Starts at
    A = 0.8. Without a similarity, this is Accu, with one pass over the claims per iteration. Copying between users is
    not detected. X. L. Dong, L. Berti-Equille, D. Srivastava, PVLDB 2(1), 2009, doi:10.14778/1687627.1687690

    Parameters
    ----------
    similarity
        Similarity of two answers, from 0 to 1: a function of both, "string" to compare their texts, or None.
    influence
        ρ: how much similar answers support each other.
    accuracy
        Accuracy of all users before the first iteration.

    Examples
    --------
    >>> import sottovoce as sv
    >>> answers = ["Rome", "Roma", "Paris", "Paris"]
    >>> claims = sv.Claims.from_arrays(list("abcd"), ["capital"] * 4, answers)
    >>> fit = sv.AccuSim(similarity=lambda one, other: one[:3] == other[:3]).fit(claims)
    >>> fit.truths_.tolist()
    ['Paris']
    """

    name = "accusim"
    title = "AccuSim"
    words = "people are weighted by the share of their answers that are probably right."
    kinds = ("choice",)
    takes_known = True

    def __init__(
        self,
        *,
        similarity: Similarity = None,
        influence: float = 0.5,
        accuracy: float = 0.8,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.similarity = similarity
        self.influence = influence
        self.accuracy = accuracy

    def weigh(self, losses: UserLosses) -> Floats:
        """Log odds of being right, from losses that are probabilities of being wrong."""
        return _log_odds(1 - losses.mean)

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        return _AccuracyIteration(given, self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_similarity(self.similarity)
        for name, most in (("accuracy", 1 - _LEAST), ("influence", 1.0)):
            if not 0 < getattr(self, name) <= most:
                raise BadParameter(
                    f"{name}={getattr(self, name)!r}: it must be above 0 and at most {most:g}; leave it out for the "
                    "default"
                )


def _log_odds(accuracy: Floats) -> Floats:
    accuracy = np.clip(accuracy, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(accuracy / (1 - accuracy)))


class _AccuracyIteration(ChoiceIteration):
    def __init__(self, given: ChoiceInput, method: AccuSim) -> None:
        self._given, self._engine, self._method = given, given.engine, method
        answers = given.answers
        self._support = Support(answers, method.similarity) if method.similarity else None
        kinds: NDArray[np.int64] = np.unique(answers.counts)
        self._false = np.log(np.maximum(kinds - 1, 1))  # ln n, by number of options
        self._groups = np.searchsorted(kinds, answers.counts) if len(kinds) > 1 else None
        self._unseen = (answers.counts - np.diff(answers.offsets)).astype(np.float64)
        self._accuracy = np.full(given.engine.n_users, method.accuracy)
        if given.earlier is not None and "accuracy" in given.earlier.by_user:
            here, there = given.earlier.common_users(given.engine.user_labels)
            self._accuracy[here] = given.earlier.by_user["accuracy"][there]
        self._polled = given.nothing_polled(len(kinds))

    def advance(self) -> float:
        votes = _log_odds(self._accuracy)[:, None] + self._false
        known = self._given.known
        poll = Poll(votes, None, self._groups, True, None, self._unseen, known)
        if self._support:  # others' votes are needed before the softmax
            scores = self._scores(votes)
            prior = self._method.influence * self._support.added(scores)
            poll = Poll(votes, None, self._groups, True, prior, self._unseen, known)
        self._polled = self._engine.poll(poll, self._polled)
        self._accuracy = self._polled.agreed.sum(axis=1) / (self._given.counts * self._given.answers.size)
        move = self._polled.move
        self.settled = self._method.tol > 0 and move <= self._method.tol * TOLERANCE
        return move

    def _scores(self, votes: Floats) -> Floats:
        columns = [self._engine.tally(column) for column in np.ascontiguousarray(votes.T)]
        if self._groups is None:
            return columns[0]
        group = np.repeat(self._groups, np.diff(self._given.answers.offsets))
        return np.array(columns)[group, np.arange(len(group))]

    def knowledge(self) -> Knowledge:
        return Knowledge({}, {"accuracy": self._accuracy})

    def estimate(self) -> ChoiceEstimate:
        return ChoiceEstimate(self._polled.chances, np.maximum(_log_odds(self._accuracy), 0.0))
