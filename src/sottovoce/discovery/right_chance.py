"""How often users are right: what is learnt of each from how often they agreed with the truths."""

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sottovoce.engines.posteriors import moments
from sottovoce.engines.threads import in_threads, usual_threads

Floats = NDArray[np.float64]

_NODES = (np.arange(64) + 0.5) / 64  # chances of being right
_LOG_NODES, _LOG_OTHERS = np.log(_NODES), np.log1p(-_NODES)
_USUAL = math.log(4)  # logarithm of the concentration that the crowd's law is pulled to
_LOW, _HIGH = (-6.0, -1.0), (6.0, 6.0)  # of the crowd's law
_MOST_USERS = 4096  # from whom the crowd's law is learnt
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
        if channel.hit <= channel.miss:  # its answers say nothing, and nobody votes against themselves
            return cls(options, channel.size, channel.size / options, channel.size / options)
        return cls(options, channel.size, channel.hit, channel.miss)

    def reported(self, right: Floats) -> Floats:
        """The chance that an answer is right of somebody who is right with this chance."""
        return right * self.hit + (1 - right) * self.miss

    def weight(self, reported: Floats) -> Floats:
        """What a vote weighs that is right with this chance; nobody votes against themselves."""
        odds = reported * (self.options - self.size) / (np.maximum(1 - reported, 1e-300) * self.size)
        return np.asarray(np.log(np.maximum(odds, 1.0)))


class RightChance:
    """Each user's chance of being right: a beta law for the crowd, learnt, and a posterior on nodes for each user.

    Where objects have different numbers of options, a user's chance rises from guessing to certainty alike in all.
    """

    def __init__(self, groups: list[Group], counts: Floats) -> None:
        self.groups, self._counts = groups, counts
        self._main = int(np.argmax(counts.sum(axis=0)))
        guess = 1 / groups[self._main].options
        above = (_NODES - guess) / (1 - guess)  # guessing
        self._right = [
            group.reported(np.clip(1 / group.options + above * (1 - 1 / group.options), _NODES[0], _NODES[-1]))
            for group in groups
        ]
        self._log_right, self._log_wrong = np.log(self._right), np.log1p(-np.array(self._right))
        self._x, self._log_concentration = 0.0, _USUAL
        self._every = max(1, len(counts) // _MOST_USERS)

    @property
    def prior(self) -> list[float]:
        """Place and concentration of the crowd's law."""
        return [self._x, self._log_concentration]

    def take(self, agreed: Floats) -> None:
        """How often users agreed with the truths, by group."""
        self._agreed, self._disagreed = agreed, np.maximum(self._counts - agreed, 0.0)
        self._moments: Floats | None = None

    def learn(self) -> None:
        """The crowd's law by maximum marginal likelihood, with a pull towards a usual one."""
        some = slice(None, None, self._every)
        logs = self._agreed[some] @ self._log_right + self._disagreed[some] @ self._log_wrong
        likely = np.exp(logs - logs.max(axis=1, keepdims=True))
        scale = len(self._agreed) / len(likely)

        def cost(law: Floats) -> float:
            x, log_concentration = float(law[0]), float(law[1])
            chances = self._law(x, log_concentration)
            pull = (log_concentration - _USUAL) ** 2 / 2 + x**2 / 8
            return pull - scale * float(np.log(np.maximum(likely @ chances, 1e-300)).sum())

        x, log_concentration = self.prior
        # Two numbers, and a cost that takes under a millisecond: a simplex needs no linear algebra, which would wait
        # for its threads longer than that.
        away = [0.7 if place < 5 else -0.7 for place in self.prior]  # inside the bounds
        simplex = np.array([(x, log_concentration), (x + away[0], log_concentration), (x, log_concentration + away[1])])
        found = minimize(
            cost, simplex[0], method="Nelder-Mead", bounds=list(zip(_LOW, _HIGH, strict=True)),
            options={"initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-3, "maxfev": 120},
        )  # fmt: skip
        self._x, self._log_concentration = float(found.x[0]), float(found.x[1])
        self._moments = None

    def _law(self, x: float, log_concentration: float) -> Floats:
        guess = 1 / self.groups[self._main].options
        mean = guess + (1 - guess) / (1 + math.exp(-x))
        a, b = mean * math.exp(log_concentration), (1 - mean) * math.exp(log_concentration)
        logs = (a - 1) * _LOG_NODES + (b - 1) * _LOG_OTHERS
        chances = np.exp(logs - logs.max())
        return np.asarray(chances / chances.sum())

    def mean(self) -> Floats:
        """The expected chance that a reported answer is right, in the main group."""
        moments = self._expected()
        return np.asarray(moments[:, 1 + 4 * self._main] / moments[:, 0])

    def weights(self) -> Floats:
        """What users' votes weigh, in the main group."""
        return self.groups[self._main].weight(self.mean())

    def votes(self) -> tuple[Floats, Floats]:
        """Users × groups: what a vote weighs if its own claim is wrong, and how much that changes if it is right.

        A claim must not count for its own user: with one agreement fewer if it is right, one disagreement fewer if not.
        """
        moments = self._expected()
        weights, slopes = [], []
        for place, group in enumerate(self.groups):
            over_right, over_wrong, odds = moments[:, 2 + 4 * place : 5 + 4 * place].T
            one_less_right = group.weight(moments[:, 0] / over_right)
            one_less_wrong = group.weight(odds / over_wrong)
            weights.append(one_less_wrong)
            slopes.append(one_less_right - one_less_wrong)
        return np.stack(weights, axis=1), np.stack(slopes, axis=1)

    def _expected(self) -> Floats:
        """For each user, sums over the nodes: of the posterior, and by group of it times r, 1/r, 1/(1-r), r/(1-r)."""
        if self._moments is None:
            law = self._law(*self.prior)
            columns = [law]
            for right in self._right:
                columns += [law * right, law / right, law / (1 - right), law * right / (1 - right)]
            factors, out = np.stack(columns, axis=1), np.empty((len(self._agreed), len(columns)))
            logs = self._log_right, self._log_wrong

            def some(first: int) -> None:
                part = slice(first, first + _USERS_AT_ONCE)
                moments(self._agreed[part], self._disagreed[part], *logs, factors, out[part])

            deque(in_threads(some, range(0, len(out), _USERS_AT_ONCE), usual_threads()), 0)
            self._moments = out
        return self._moments
