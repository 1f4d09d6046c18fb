"""Dawid and Skene's model of users with habits."""

import numpy as np

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.choices import ChoiceEstimate, ChoiceInput, ChoiceIteration
from sottovoce.discovery.iteration import Floats, Knowledge, UserLosses
from sottovoce.errors import BadParameter

_LEAST = 1e-10  # probability of an answer: what a user has not done yet is not impossible
# Of objects' chances, in the mean: a few objects go on moving for hundreds of iterations, and need not rest.
_TOLERANCE = 100.0
_MOST_TABLE = 1 << 31  # bytes of a table of users × truths × answers


class DawidSkene(TruthDiscovery):
    """Dawid and Skene: each user has a probability of each answer for each truth; expectation–maximisation.

    P(truth) ∝ share(truth) · Π over the claims of habits_k(truth, answer)
    habits_k(truth, answer) = Σ P(truth) over the claims of user k with this answer, divided by the row's sum

    Starts at vote shares; one pass over the claims per iteration, for each of the options; stops when chances move by
    less than 1e-4 in the mean. All objects must share their options. With few claims per user the habits fit chance:
    NoiseAware shrinks them.
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
    words = "everybody has their own habits of mistaking one answer for another, which are learnt."
    kinds = ("choice",)
    needs_one_list = True
    takes_known = True

    def weigh(self, losses: UserLosses) -> Floats:
        """The share of a user's answers that are right."""
        return 1 - losses.mean

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        answers, users = given.answers, given.engine.n_users
        if not answers.shared or answers.size > 1:
            raise BadParameter(
                "DawidSkene: these objects have different options, or claims name several: habits need one list of "
                "options for all, and one answer per claim; use NoiseAware"
            )
        if 8 * users * len(answers.labels) ** 2 > _MOST_TABLE:
            raise BadParameter(
                f"DawidSkene: {users:,} users with {len(answers.labels)} options: their habits would take more than "
                "2 GiB; use NoiseAware"
            )
        return _HabitIteration(given, self.tol)


class _HabitIteration(ChoiceIteration):
    def __init__(self, given: ChoiceInput, tol: float) -> None:
        self._given, self._engine, self._tol = given, given.engine, tol * _TOLERANCE
        self._options = len(given.answers.labels)
        self._chances = given.shares(given.earlier_weights())
        nothing = np.zeros((given.engine.n_users, self._options**2))
        self._counts = given.engine.confuse(nothing, np.zeros(self._options), self._chances, mix=1.0).agreed

    def advance(self) -> float:
        table = self._counts.reshape(-1, self._options, self._options)
        table = np.maximum(table, _LEAST)  # so a row of which nothing is known is flat
        habits = table / table.sum(axis=2, keepdims=True)
        shares = self._chances.reshape(-1, self._options).mean(axis=0)
        prior, before = np.log(np.maximum(shares, _LEAST)), self._chances
        polled = self._engine.confuse(np.log(habits).reshape(self._counts.shape), prior, before, self._given.known)
        self._chances, self._counts = polled.chances, polled.agreed
        move = float(np.abs(self._chances - before).sum()) / (2 * self._engine.n_objects)
        self.settled = self._tol > 0 and move <= self._tol
        return move

    def _right(self) -> Floats:
        table = self._counts.reshape(-1, self._options, self._options)
        return np.asarray(table.trace(axis1=1, axis2=2) / self._given.counts)

    def knowledge(self) -> Knowledge:
        return Knowledge({}, {"weight": self._right()})

    def estimate(self) -> ChoiceEstimate:
        return ChoiceEstimate(self._chances, self._right())
