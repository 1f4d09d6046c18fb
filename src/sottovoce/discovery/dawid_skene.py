"""Dawid and Skene's model of users with habits."""

import numpy as np

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.choices import ChoiceEstimate, ChoiceInput, ChoiceIteration
from sottovoce.discovery.iteration import Floats, Knowledge, UserLosses
from sottovoce.engines import Polled
from sottovoce.errors import BadParameter

_LEAST = 1e-10  # probability of an answer: what a user has never answered is still possible
# For the average move of chances: a few objects go on moving for hundreds of iterations, which does not matter.
_TOLERANCE = 100.0
_MOST_TABLE = 1 << 31  # bytes of a table of users × truths × answers


class DawidSkene(TruthDiscovery):
    """Dawid and Skene: each user has a probability of each answer for each truth; expectation–maximisation.

    P(truth) ∝ share(truth) · Π over the claims of habits_k(truth, answer)
    habits_k(truth, answer) = Σ P(truth) over the claims of user k with this answer, divided by the row's sum

    Starts at vote shares; one pass over the claims per iteration, in time proportional to claims × options; stops when
    chances move by at most 100 times ``tol`` on average. All objects must share their options. With few claims per
    user, the habits overfit; NoiseAware shrinks them.
    A. P. Dawid and A. M. Skene, Applied Statistics 28 (1979), doi:10.2307/2346806

    Examples
    --------
    >>> import sottovoce as sv
    >>> answers = ["yes", "yes", "no", "no", "no", "yes"]
    >>> claims = sv.Claims.from_arrays(list("abcabc"), ["path"] * 3 + ["road"] * 3, answers)
    >>> sv.DawidSkene().fit(claims).truths_.tolist()
    ['yes', 'no']
    """

    name = "dawid-skene"
    title = "Dawid–Skene"
    words = "estimates how often each person mistakes one answer for another."
    kinds = ("choice",)
    needs_one_list = True
    takes_known = True

    def weigh(self, losses: UserLosses) -> Floats:
        """The share of a user's answers that are right."""
        return 1 - losses.mean

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        answers, users = given.answers, given.engine.n_users
        if not answers.one_list:
            raise BadParameter(
                "DawidSkene: the objects have different options, or claims name several, but this method needs the "
                "same options for all objects, and one answer per claim; use NoiseAware"
            )
        if 8 * users * len(answers.labels) ** 2 > _MOST_TABLE:
            raise BadParameter(
                f"DawidSkene: the confusion matrices of {users:,} users with {len(answers.labels)} options would take "
                "more than 2 GiB; use NoiseAware"
            )
        return _HabitIteration(given, self.tol)


class _HabitIteration(ChoiceIteration):
    def __init__(self, given: ChoiceInput, tol: float) -> None:
        self._given, self._engine, self._tol = given, given.engine, tol * _TOLERANCE
        self._options = len(given.answers.labels)
        chances = given.shares(given.earlier_weights())
        self._polled = Polled(chances, given.engine.agree_by_truth(chances))

    def advance(self) -> float:
        before = self._polled
        table = np.maximum(self._table(), _LEAST)  # so that a row without answers is flat
        habits = table / table.sum(axis=2, keepdims=True)
        shares = before.chances.reshape(-1, self._options).mean(axis=0)
        prior = np.log(np.maximum(shares, _LEAST))
        rows = np.log(habits).reshape(before.agreed.shape)
        self._polled = self._engine.confuse(rows, prior, before, self._given.known)
        move = float(np.abs(self._polled.chances - before.chances).sum()) / (2 * self._engine.n_objects)
        self.settled = self._tol > 0 and move <= self._tol
        return move

    def _table(self) -> Floats:
        """How often each user gave each answer to each truth."""
        return self._polled.agreed.reshape(-1, self._options, self._options)

    def _right(self) -> Floats:
        return np.asarray(self._table().trace(axis1=1, axis2=2) / self._given.counts)

    def knowledge(self) -> Knowledge:
        return Knowledge({}, {"weight": self._right()})

    def estimate(self) -> ChoiceEstimate:
        return ChoiceEstimate(self._polled.chances, self._right())
