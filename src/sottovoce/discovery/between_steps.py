"""Whether truths lie on the steps to which claims are rounded, as counts do, or anywhere between, as lengths do.

Claims about a count are the count itself or a few steps off, in the same proportions for all objects, and their median
is right. Claims about a length are divided between the steps on either side of it, in proportions that differ from
object to object, and their mean shows where the length lies. Both models are fitted to the claims about all objects:
errors are a mixture of normal and one-sided exponential ones, with shares that are estimated (EM), and truths are
spread evenly over the steps, or over everything between them. The likelihoods show which model is right.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from sottovoce.engines import Engine

Floats = NDArray[np.float64]

_SAMPLE = 20_000
_MOST_OBJECTS = 500  # enough to estimate a dozen shares
_REACH = 8  # steps from an object's median claim; claims farther off are errors of another kind
_PARTS = 8  # places in a step
_NORMAL = np.array([0.05, 0.2, 0.4, 0.7, 1.2, 2.0, 4.0])[:, None, None]  # deviations, in steps
_ONE_SIDED = np.array([0.7, 2.0])[:, None, None]  # means, in steps
_ROUNDS = 100
_LEAST_CLAIMS = 0.1  # added to the claims with errors of each kind, so that no share is 0
_LEAST_CHANCE = 1e-9  # of any claim, whatever the kind of its error
_LEAST_ERROR = 0.01  # steps
_OFTEN = 0.3  # share of right claims; with fewer, errors are larger than steps, and a mean is as good


@dataclass(frozen=True, eq=False)
class _Places:
    """Where truths may lie, in steps from the middle claim of their object."""

    places: Floats
    chances: Floats  # objects × places
    evidence: float  # log likelihood

    @classmethod
    def learn(cls, counts: Floats, parts: int) -> "_Places":
        """Fit to numbers of claims, objects × steps; truths lie at one of ``parts`` places in a step."""
        places = (np.arange((_REACH + 1) * parts) + 0.5) / parts - (_REACH + 1) / 2
        off = np.arange(-_REACH, _REACH + 1)[:, None] - places
        kinds = _below(off + 0.5) - _below(off - 0.5) + _LEAST_CHANCE
        shares = np.full(len(kinds), 1 / len(kinds))
        for _ in range(_ROUNDS):
            mixture = np.tensordot(shares, kinds, 1)
            logs = counts @ np.log(mixture)
            highest = logs.max(axis=1, keepdims=True)
            chances = np.exp(logs - highest)
            totals = chances.sum(axis=1, keepdims=True)
            chances /= totals
            shares = shares * (kinds * (counts.T @ chances / mixture)).sum(axis=(1, 2)) + _LEAST_CLAIMS
            shares /= shares.sum()
        return cls(places, chances, float((highest + np.log(totals / len(places))).sum()))

    def error(self, truths: Floats) -> float:
        """The mean absolute error to be expected of truths."""
        return float((self.chances * np.abs(self.places - truths[:, None])).sum(axis=1).mean()) + _LEAST_ERROR


class StepEvidence:
    """What rounded claims say about where truths lie."""

    def __init__(self, engine: Engine, step: float) -> None:
        objects, _, values = engine.sample(np.zeros(engine.n_objects), _SAMPLE)
        order = np.lexsort((values, objects))
        self._objects, first, claims = np.unique(objects[order], return_index=True, return_counts=True)
        self._step, self._middle = step, values[order][first + claims // 2]
        rows = np.repeat(np.arange(len(first)), claims)
        steps = np.round((values[order] - self._middle[rows]) / step)
        near = np.abs(steps) <= _REACH
        counts = np.zeros((len(first), 2 * _REACH + 1))
        np.add.at(counts, (rows[near], steps[near].astype(np.intp) + _REACH), 1.0)
        several = counts.sum(axis=1)
        chosen = np.flatnonzero(several >= min(2, several.max()))  # a single claim says nothing
        chosen = chosen[:: -(-len(chosen) // _MOST_OBJECTS)]
        self._objects, self._middle, counts = self._objects[chosen], self._middle[chosen], counts[chosen]
        self._on, self._between = _Places.learn(counts, 1), _Places.learn(counts, _PARTS)
        self.between = float(expit(self._between.evidence - self._on.evidence))  # chance that truths lie between
        at_places = counts[:, _REACH // 2 : -(_REACH // 2)]
        self._right = float((self._on.chances * at_places).sum() / counts.sum())  # share of right claims, if on steps

    def prefer(self, voted: Floats, averaged: Floats) -> bool:
        """Whether users' votes are likely to be nearer to the truth than averages, by the logarithm of the error."""
        voted, averaged = ((truths[self._objects] - self._middle) / self._step for truths in (voted, averaged))
        gain = (1 - self.between) * math.log(self._on.error(averaged) / self._on.error(voted))
        gain += self.between * math.log(self._between.error(averaged) / self._between.error(voted))
        return self._right > _OFTEN and gain > 0


def _below(off: Floats) -> Floats:
    """Chance of an error below this, by kind."""
    above = -np.expm1(-np.maximum(off, 0) / _ONE_SIDED)
    return np.concatenate((ndtr(off / _NORMAL), above, np.exp(np.minimum(off, 0) / _ONE_SIDED)))
