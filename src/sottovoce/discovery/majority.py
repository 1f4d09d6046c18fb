"""The plain vote that is shown beside every result of choices."""

import numpy as np

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.choices import ChoiceEstimate, ChoiceInput, ChoiceIteration
from sottovoce.discovery.iteration import Floats, Knowledge, UserLosses


class _MajorityIteration(ChoiceIteration):
    """The first iteration is the last: there are no weights to estimate."""

    def __init__(self, given: ChoiceInput) -> None:
        self._shares, self._users = given.shares(), given.engine.n_users

    def advance(self) -> float:
        self.settled = True
        return 0.0

    def knowledge(self) -> Knowledge:
        return Knowledge({}, {"weight": np.ones(self._users)})

    def estimate(self) -> ChoiceEstimate:
        return ChoiceEstimate(self._shares, np.ones(self._users))


class Majority(TruthDiscovery):
    """The answer that most users give; an answer's chance is its share of the votes.

    >>> import sottovoce as sv
    >>> claims = sv.Claims.from_arrays(["ann", "bob", "eve"], ["path"] * 3, ["dry", "dry", "muddy"])
    >>> fit = sv.Majority().fit(claims)
    >>> fit.truths_.tolist(), fit.chances_[0].round(2).tolist()
    (['dry'], [0.67, 0.33])
    """

    name = "majority"
    title = "majority"
    words = "all count equally."
    kinds = ("choice",)
    plain = True

    def weigh(self, losses: UserLosses) -> Floats:
        return np.ones_like(losses.sum)

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        return _MajorityIteration(given)
