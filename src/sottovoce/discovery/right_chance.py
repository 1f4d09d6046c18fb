"""How often users are right: what is learnt of each from how often they agreed with the truths."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]

_NODES = (np.arange(64) + 0.5) / 64  # chances of being right
_USUAL = math.log(4)  # logarithm of the concentration that the crowd's law is pulled to
_MOST_USERS = 4096  # from whom the crowd's law is learnt


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
        self._x, self._log_concentration = 0.0, _USUAL
        self._every = max(1, len(counts) // _MOST_USERS)

    @property
    def prior(self) -> list[float]:
        """Place and concentration of the crowd's law."""
        return [self._x, self._log_concentration]

    def take(self, agreed: Floats) -> None:
        """How often users agreed with the truths, by group."""
        disagreed = np.maximum(self._counts - agreed, 0.0)
        logs = np.zeros((len(agreed), len(_NODES)))
        for group, right in enumerate(self._right):
            logs += agreed[:, group, None] * np.log(right) + disagreed[:, group, None] * np.log1p(-right)
        self._likely = np.exp(logs - logs.max(axis=1, keepdims=True))

    def learn(self) -> None:
        """The crowd's law by maximum marginal likelihood, with a pull towards a usual one."""
        likely = self._likely[:: self._every]
        scale = len(self._likely) / len(likely)

        def cost(law: Floats) -> float:
            x, log_concentration = float(law[0]), float(law[1])
            chances = self._law(x, log_concentration)
            pull = (log_concentration - _USUAL) ** 2 / 2 + x**2 / 8
            return pull - scale * float(np.log(np.maximum(likely @ chances, 1e-300)).sum())

        found = minimize(
            cost, np.array(self.prior), method="L-BFGS-B", bounds=((-6.0, 6.0), (-1.0, 6.0)), options={"maxiter": 30}
        )
        self._x, self._log_concentration = float(found.x[0]), float(found.x[1])

    def _law(self, x: float, log_concentration: float) -> Floats:
        guess = 1 / self.groups[self._main].options
        mean = guess + (1 - guess) / (1 + math.exp(-x))
        a, b = mean * math.exp(log_concentration), (1 - mean) * math.exp(log_concentration)
        logs = (a - 1) * np.log(_NODES) + (b - 1) * np.log1p(-_NODES)
        chances = np.exp(logs - logs.max())
        return np.asarray(chances / chances.sum())

    def mean(self) -> Floats:
        """The expected chance that a reported answer is right, in the main group."""
        law, right = self._law(*self.prior), self._right[self._main]
        return np.asarray(self._likely @ (law * right) / (self._likely @ law))

    def weights(self) -> Floats:
        """What users' votes weigh, in the main group."""
        return self.groups[self._main].weight(self.mean())

    def votes(self) -> tuple[Floats, Floats]:
        """Users × groups: what a vote weighs if its own claim is wrong, and how much that changes if it is right.

        A claim must not count for its own user: with one agreement fewer if it is right, one disagreement fewer if not.
        """
        law = self._law(*self.prior)
        weights, slopes = [], []
        for group, right in zip(self.groups, self._right, strict=True):
            wrong = 1 - right
            moments = self._likely @ np.stack([law, law / right, law / wrong, law * right / wrong], axis=1)
            one_less_right = group.weight(moments[:, 0] / moments[:, 1])
            one_less_wrong = group.weight(moments[:, 3] / moments[:, 2])
            weights.append(one_less_wrong)
            slopes.append(one_less_right - one_less_wrong)
        return np.stack(weights, axis=1), np.stack(slopes, axis=1)
