"""How often each user is right, estimated from how often they agreed with the truths."""

import itertools
import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.discovery.newton import least
from sottovoce.engines.posteriors import crowd_law, evidence, likelihoods, moments
from sottovoce.engines.threads import in_threads, usual_threads

Floats = NDArray[np.float64]

_NODES = (np.arange(64) + 0.5) / 64  # chances of being right
_LOG_NODES, _LOG_OTHERS = np.log(_NODES), np.log1p(-_NODES)
# The crowd's law: where between guessing (-∞) and certainty (∞) its mean lies, and the logarithm of its concentration.
_USUAL, _PULLS = np.array([0.0, math.log(4)]), np.array([0.25, 1.0])  # what it is shrunk towards, and how strongly
_BOUNDS = np.array([-6.0, -1.0]), np.array([6.0, 6.0])
_STARTS = np.array(list(itertools.product((-2.0, 0.0, 2.0), (0.0, 1.5, 3.0))))
_NO_GAIN = 1e-4  # in the logarithm of the likelihood
_MOST_USERS = 2048  # from whom the crowd's law is estimated
_USERS_AT_ONCE = 4096  # by one thread


@dataclass(frozen=True)
class Group:
    """Objects with this many options, and what a reported answer says about a true one."""

    options: int
    size: int = 1  # options in one answer
    hit: float = 1.0  # the chance that an answer names the user's own choice
    miss: float = 0.0  # the chance that it names any other option

    @classmethod
    def of(cls, options: int, law: Any) -> "Group":
        if law is None:
            return cls(options)
        channel = law.channel(options)
        if channel.hit <= channel.miss:  # answers that say nothing, or the opposite, get no weight
            return cls(options, channel.size, channel.size / options, channel.size / options)
        return cls(options, channel.size, channel.hit, channel.miss)

    def reported(self, right: Floats) -> Floats:
        """The chance that a reported answer is right, if its user is right with the chance ``right``."""
        return right * self.hit + (1 - right) * self.miss

    def weight(self, reported: Floats) -> Floats:
        """The weight of a vote that is right with this chance; it is never negative."""
        odds = reported * (self.options - self.size) / (np.maximum(1 - reported, 1e-300) * self.size)
        return np.asarray(np.log(np.maximum(odds, 1.0)))


class RightChance:
    """Each user's chance of being right: an estimated beta law for the crowd, and a posterior on nodes for each user.

    If objects have different numbers of options, a user is at the same point between guessing and certainty for all.
    """

    def __init__(self, groups: list[Group], counts: Floats) -> None:
        self.groups, self._counts = groups, counts
        self._main = int(np.argmax(counts.sum(axis=0)))
        self._guess = 1 / groups[self._main].options
        above = (_NODES - self._guess) / (1 - self._guess)  # share of the way from guessing to certainty
        self._right = [
            group.reported(np.clip(1 / group.options + above * (1 - 1 / group.options), _NODES[0], _NODES[-1]))
            for group in groups
        ]
        self._log_right, self._log_wrong = np.log(self._right), np.log1p(-np.array(self._right))
        self._numbers = _USUAL
        self._agreed, self._disagreed = np.full_like(counts, np.nan), counts
        self._moments = np.empty((len(counts), 1 + 3 * len(groups)))
        self._changed = np.ones(len(counts), bool)  # users whose moments must be computed again

    @property
    def prior(self) -> list[float]:
        """The two numbers of the crowd's law."""
        return [float(number) for number in self._numbers]

    def update(self, agreed: Floats) -> None:
        """Set how often users agreed with the truths, by group."""
        self._changed |= (agreed != self._agreed).any(axis=1)
        self._agreed, self._disagreed = agreed, np.maximum(self._counts - agreed, 0.0)

    def learn(self) -> None:
        """Estimate the crowd's law by maximum marginal likelihood, shrunk towards a typical one."""
        every = slice(None, None, -(-len(self._agreed) // _MOST_USERS))
        likely = likelihoods(self._agreed[every], self._disagreed[every], self._log_right, self._log_wrong)
        scale = len(self._agreed) / likely.shape[1]

        def cost(numbers: Floats) -> tuple[float, Floats, Floats]:
            log, one, other, twice, mixed, twice_other = scale * evidence(self._law(numbers), likely)
            away = numbers - _USUAL
            curvature = np.array([[twice, mixed], [mixed, twice_other]])
            return float(_PULLS @ away**2) / 2 - log, _PULLS * away - (one, other), np.diag(_PULLS) - curvature

        if self._numbers is _USUAL:  # nothing is estimated yet, and there may be several maxima
            logs = scale * np.array([evidence(self._law(start)[:1], likely)[0] for start in _STARTS])
            self._numbers = _STARTS[np.argmin(((_STARTS - _USUAL) ** 2 @ _PULLS) / 2 - logs)]
        self._numbers = least(cost, self._numbers, *_BOUNDS, _NO_GAIN)
        self._changed[:] = True

    def _law(self, numbers: Floats) -> Floats:
        """The crowd's distribution at the nodes, and its derivatives with respect to its two parameters."""
        rise, concentration = 1 / (1 + math.exp(-numbers[0])), math.exp(numbers[1])
        return np.asarray(crowd_law(rise, concentration, self._guess, _LOG_NODES, _LOG_OTHERS))

    def mean(self) -> Floats:
        """The expected chance that a reported answer is right, in the main group."""
        moments = self._expected()
        return np.asarray(moments[:, 1 + 3 * self._main] / moments[:, 0])

    def weights(self) -> Floats:
        """The weights of users' votes, in the main group."""
        return self.groups[self._main].weight(self.mean())

    def votes(self) -> tuple[Floats, Floats]:
        """Users × groups: the weight of a vote if its own claim is wrong, and how much that changes if it is right.

        A claim must not support itself: if it is right, its user is judged with one agreement fewer, otherwise with one
        disagreement fewer.
        """
        moments = self._expected()
        weights, slopes = [], []
        for place, group in enumerate(self.groups):
            over_right, odds = moments[:, 2 + 3 * place : 4 + 3 * place].T
            one_less_right = group.weight(moments[:, 0] / over_right)
            one_less_wrong = group.weight(odds / (moments[:, 0] + odds))  # 1/(1-r) = 1 + r/(1-r)
            weights.append(one_less_wrong)
            slopes.append(one_less_right - one_less_wrong)
        return np.stack(weights, axis=1), np.stack(slopes, axis=1)

    def _expected(self) -> Floats:
        """For each user, sums over the nodes: of the posterior p and, by group, of p·r, p/r and p·r/(1-r).

        They are recomputed only for users for whom something has changed.
        """
        changed = np.flatnonzero(self._changed)
        if len(changed):
            law = self._law(self._numbers)[0]
            columns = [law]
            for right in self._right:
                columns += [law * right, law / right, law * right / (1 - right)]
            factors, logs = np.stack(columns, axis=1), (self._log_right, self._log_wrong)

            def some(first: int) -> None:
                users = changed[first : first + _USERS_AT_ONCE]
                sums = np.empty((len(users), len(columns)))
                moments(self._agreed[users], self._disagreed[users], *logs, factors, sums)
                self._moments[users] = sums

            deque(in_threads(some, range(0, len(changed), _USERS_AT_ONCE), usual_threads()), 0)
            self._changed[:] = False
        return self._moments
