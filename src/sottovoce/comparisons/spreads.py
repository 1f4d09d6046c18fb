"""How far readings lie from the truth: a prior for the spread of each task, estimated from all tasks together.

A task's own answers say little about its spread, because good cuts lie where the spread hardly matters. Tasks of one
campaign are measured by the same people in the same way, so the answers about one task help with the others.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Logarithms of spreads, relative to the operator's guess.
FINE: Floats = (np.arange(12) - 5.5) * np.float64(0.45)
COARSE: Floats = (np.arange(4) - 1.5) * np.float64(1.35)
_GUESS_DEVIATION = 1.0  # of the logarithm: a guess is right within a factor of e
_LEAST_TASKS = 3  # with fewer, no common spread is estimated
_MEANS, _DEVIATIONS = (grid.ravel() for grid in np.meshgrid(np.linspace(FINE[0], FINE[-1], 45), [0.1, 0.2, 0.4, 0.8]))


@dataclass(frozen=True)
class SpreadPrior:
    """A mixture of normal laws of ln(spread / guess)."""

    means: Floats
    deviations: Floats
    shares: Floats

    @classmethod
    def estimated(cls, evidence: Iterable[Floats]) -> "SpreadPrior":
        """The prior for the spread of such tasks, given the evidence of three tasks or more; with fewer, the guess."""
        table = np.array(list(evidence))
        if len(table) < _LEAST_TASKS:
            return GUESSED
        chances = table @ _candidates().T
        log_shares = np.log(np.maximum(chances, 1e-300)).sum(axis=0) - (_MEANS / _GUESS_DEVIATION) ** 2 / 2
        shares = np.exp(log_shares - log_shares.max())
        return cls(_MEANS, _DEVIATIONS, shares / shares.sum())

    @cached_property
    def fine(self) -> Floats:
        """The prior on the nodes of `FINE`."""
        return np.asarray(self.shares @ _hats(self.means, self.deviations, FINE))

    @cached_property
    def coarse(self) -> Floats:
        """The prior on the nodes of `COARSE`."""
        return np.asarray(self.shares @ _hats(self.means, self.deviations, COARSE))


# The prior before there are answers about several tasks.
GUESSED = SpreadPrior(np.zeros(1), np.full(1, _GUESS_DEVIATION), np.ones(1))


@cache
def _candidates() -> Floats:
    return _hats(_MEANS, _DEVIATIONS, FINE)


def _hats(means: Floats, deviations: Floats, nodes: Floats) -> Floats:
    """Mass of each normal law at each node, shared linearly between the two nodes beside it."""
    points = np.linspace(-3.0, 3.0, 25)
    chances = np.exp(-(points**2) / 2)
    chances /= chances.sum()
    step = nodes[1] - nodes[0]
    places = (means[:, None] + deviations[:, None] * points - nodes[0]) / step
    distances = np.abs(np.clip(places, 0, len(nodes) - 1)[:, :, None] - np.arange(len(nodes)))
    return np.asarray((np.maximum(1 - distances, 0) * chances[:, None]).sum(axis=1))
