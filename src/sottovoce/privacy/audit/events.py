"""Events that tell two inputs of numbers apart: sets of outputs, each given by a feature of a release."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.privacy.audit.result import epsilon_bound
from sottovoce.privacy.conformity import Numbers

_THRESHOLDS = 200  # per feature
_POINTS = 40  # single values tried per feature


@dataclass(frozen=True)
class Event:
    """A set of outputs, given by a feature of them; ``favours`` is the input under which it is more likely."""

    feature: str
    relation: str  # ≤, > or =
    bound: float
    favours: int

    def holds(self, outputs: Numbers, shift: int) -> NDArray[np.bool_]:
        compare = {"=": np.equal, "≤": np.less_equal, ">": np.greater}[self.relation]
        return np.asarray(compare(_FEATURES[self.feature](outputs, shift), self.bound))

    def __str__(self) -> str:
        return f"{self.feature} {self.relation} {self.bound:g}"


def _others(outputs: Numbers) -> Numbers:
    """Root mean square of the readings that did not change; the quarter keeps it from being zero."""
    return np.asarray(np.sqrt((outputs[:, 1:] ** 2).mean(axis=1) + 0.25))


# The changed reading on its own, then compared with the readings that did not change, which reveals a shared variance
# or noise that is used twice.
_SINGLE: dict[str, Callable[[Numbers, int], Numbers]] = {
    "changed reading": lambda outputs, shift: outputs[:, 0],
    "distance from the first input": lambda outputs, shift: np.abs(outputs[:, 0]),
    "distance from the second input": lambda outputs, shift: np.abs(outputs[:, 0] - shift),
    "changed reading modulo 2": lambda outputs, shift: outputs[:, 0] % 2,
    "fraction of a grid step": lambda outputs, shift: outputs[:, 0] % 1,
}
_BESIDE: dict[str, Callable[[Numbers, int], Numbers]] = {
    "log-likelihood ratio, by the spread of the others": lambda outputs, shift: (
        (outputs[:, 0] - shift / 2) * shift / _others(outputs) ** 2
    ),
    "distance from the first input over the spread of the others": lambda outputs, shift: (
        np.abs(outputs[:, 0]) / _others(outputs)
    ),
    "distance from the second input over the spread of the others": lambda outputs, shift: (
        np.abs(outputs[:, 0] - shift) / _others(outputs)
    ),
    "changed reading minus the mean of the others": lambda outputs, shift: outputs[:, 0] - outputs[:, 1:].mean(axis=1),
    "changed reading minus the next": lambda outputs, shift: outputs[:, 0] - outputs[:, 1],
    "changed reading minus the last": lambda outputs, shift: outputs[:, 0] - outputs[:, -1],
}
_FEATURES = _SINGLE | _BESIDE


def most_telling(sides: tuple[Numbers, Numbers], shift: int, delta: float) -> Event:
    """The event with the largest lower bound on ε for these draws."""
    best, best_bound = Event("changed reading", ">", shift / 2, 1), -math.inf
    for feature, compute in (_FEATURES if sides[0].shape[1] > 1 else _SINGLE).items():
        values = (compute(sides[0], shift), compute(sides[1], shift))
        for relation, bounds, counts in _candidates(values):
            for favours in (0, 1):
                bound_on_epsilon = epsilon_bound(
                    counts[favours], counts[1 - favours], len(values[favours]), len(values[1 - favours]), delta
                )
                place = int(np.argmax(bound_on_epsilon))
                if bound_on_epsilon[place] > best_bound:
                    best, best_bound = (
                        Event(feature, relation, float(bounds[place]), favours),
                        float(bound_on_epsilon[place]),
                    )
    return best


def _candidates(values: tuple[Numbers, Numbers]) -> Iterator[tuple[str, Numbers, list[NDArray[np.intp]]]]:
    """Events of one feature: below a threshold, above it, and at a single value (the ends among them)."""
    pooled = np.concatenate(values)
    thresholds = np.unique(np.quantile(pooled, np.linspace(0, 1, _THRESHOLDS), method="inverted_cdf"))
    below = [np.searchsorted(np.sort(side), thresholds, side="right") for side in values]
    yield "≤", thresholds, below
    yield ">", thresholds, [len(side) - count for side, count in zip(values, below, strict=True)]
    points, often = np.unique(pooled, return_counts=True)
    chosen = np.union1d(points[np.argsort(-often, kind="stable")[:_POINTS]], points[[0, -1]])
    yield "=", chosen, [(side[:, None] == chosen).sum(axis=0) for side in values]
