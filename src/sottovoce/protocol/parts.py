"""The parts of a campaign: tasks that one law protects in the same way, so that one figure holds for all of them.

Numbers with noise and answers in cells have a class each, with the same interface. `sottovoce.protocol.promise`
combines the parts of a manifest; no other code needs to know which family a law belongs to.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from sottovoce.privacy.laws import AnswerLaw, NoiseLaw, Unit, parse_answer_law, parse_noise_law

if TYPE_CHECKING:
    from sottovoce.privacy.answers import AnswerGuarantee
    from sottovoce.privacy.guarantee import Guarantee

_KEPT = 256  # guarantees in the cache: manifests are checked, shown and opened one by one
_WIDEST_NOISE = 2**50  # in grid steps: a reading with its noise stays far inside 63 bits


@dataclass(frozen=True)
class Part(ABC):
    """Tasks under the same law."""

    noise: str

    @property
    @abstractmethod
    def law(self) -> NoiseLaw | AnswerLaw:
        """The law, from its text form."""

    @property
    @abstractmethod
    def protected_distance(self) -> str | None:
        """The distance up to which values are protected; None where any two values are."""

    @property
    @abstractmethod
    def reach(self) -> Fraction:
        """Of parts under one law, the one with the largest reach promises least."""

    @property
    def cells(self) -> int | None:
        """The number of possible answers; None for noisy numbers, which have no bounds."""
        return None

    @property
    def cells_reported(self) -> int:
        """How many of these answers a device reports."""
        return 1

    @abstractmethod
    def check(self) -> None:
        """Refuse what the law cannot protect."""

    @property
    def is_pure(self) -> bool:
        """Whether the law promises a pure ε, without exceptions."""
        return self.law.is_pure

    @property
    def noised_together(self) -> bool:
        """Whether all readings of a participant share what is drawn."""
        return self.law.noised_together

    @abstractmethod
    def pure_epsilon(self, moved: int) -> float | None:
        """The pure ε if this many readings change, rounded up to a double; None where there is none."""

    @abstractmethod
    def guarantee(self, readings: int, unit: Unit) -> "Guarantee | AnswerGuarantee":
        """The exact guarantee, for this many readings of the part. It may load NumPy."""

    @abstractmethod
    def least_epsilon(self, readings: int, moved: int, delta: float) -> float:
        """A simple lower bound on the ε of any true promise at this δ."""

    @abstractmethod
    def chance_unchanged(self) -> float:
        """A simple lower bound on the probability that a reading is sent as it is."""

    @abstractmethod
    def most_unchanged(self, epsilon: float, delta: float) -> float:
        """The largest probability of an unchanged reading that a promise allows."""


@dataclass(frozen=True)
class NoisyNumbers(Part):
    """Numbers on one grid, with noise; protected up to one distance."""

    distance: str
    grid: str

    def __str__(self) -> str:
        return f"noise {self.noise} on grid {self.grid}"

    @cached_property
    def law(self) -> NoiseLaw:
        return parse_noise_law(self.noise)

    def check(self) -> None:
        if Fraction(self.distance) <= 0:
            raise ValueError(f"distance {self.distance} must be positive")
        if not math.sqrt(self.law.mean_variance) / float(self.grid) <= _WIDEST_NOISE:
            raise ValueError(f"noise {self.noise} is too wide for the grid: over 2^50 steps")

    @property
    def protected_distance(self) -> str:
        return self.distance

    @cached_property
    def steps(self) -> int:
        """The distance in steps of the grid, rounded up."""
        return math.ceil(Fraction(self.distance) / Fraction(self.grid))

    @property
    def reach(self) -> Fraction:
        return self.steps * Fraction(self.grid)

    def pure_epsilon(self, moved: int) -> float | None:
        if not self.law.is_pure:
            return None
        epsilon = self.law.on_grid(Fraction(self.grid)).pure_epsilon(self.steps, moved)
        return math.inf if epsilon is None else epsilon

    def guarantee(self, readings: int, unit: Unit) -> "Guarantee":
        return _guarantee_on_grid(self, readings, unit)

    def least_epsilon(self, readings: int, moved: int, delta: float) -> float:
        return self.law.least_epsilon(float(self.distance), moved, float(self.grid), delta)

    def chance_unchanged(self) -> float:
        return self.law.chance_of_no_noise(float(self.grid))

    def most_unchanged(self, epsilon: float, delta: float) -> float:
        return _most_unchanged(2 * self.steps, 1, epsilon, delta)


@dataclass(frozen=True)
class PerturbedAnswers(Part):
    """Answers out of a number of cells: choices, or the levels of a comparison. Protected whatever the answer is."""

    number: int  # of cells

    def __str__(self) -> str:
        return f"noise {self.noise} on {self.number} answers"

    @property
    def cells(self) -> int:
        return self.number

    @property
    def cells_reported(self) -> int:
        return self.law.cells_reported

    @cached_property
    def law(self) -> AnswerLaw:
        return parse_answer_law(self.noise)

    def check(self) -> None:
        self.law.check_cells(self.cells)

    @property
    def protected_distance(self) -> None:
        return None

    @property
    def reach(self) -> Fraction:
        """An answer out of fewer cells reveals more at the same ε: with many, some reports say nothing about it."""
        return Fraction(1, self.cells)

    def pure_epsilon(self, moved: int) -> float | None:
        return self.guarantee(moved, "participant").pure_epsilon

    def guarantee(self, readings: int, unit: Unit) -> "AnswerGuarantee":
        return self.law.guarantee(self.cells, readings, unit)

    def least_epsilon(self, readings: int, moved: int, delta: float) -> float:
        return self.law.least_epsilon(self.cells, readings, moved, delta)

    def chance_unchanged(self) -> float:
        return self.law.chance_of_truth(self.cells)

    def most_unchanged(self, epsilon: float, delta: float) -> float:
        return _most_unchanged(self.cells - 1, self.law.cells_reported, epsilon, delta)


@lru_cache(_KEPT)
def _guarantee_on_grid(part: NoisyNumbers, readings: int, unit: Unit) -> "Guarantee":
    from sottovoce.privacy.guarantee import quiet_guarantee

    # A coarse grid costs privacy, and these figures show the cost: the operator was warned when planning.
    return quiet_guarantee(part.law, float(part.distance), readings, unit, float(part.grid))


def _most_unchanged(others: int, reported: int, epsilon: float, delta: float) -> float:
    """How often the true value may be among those reported, if this many others must be hard to tell from it.

    Each of the others is reported with a probability of at least (p - δ)·exp(-ε), and all of these add up to
    ``reported``.
    """
    weight = others * math.exp(-epsilon)
    return min(1.0, (reported + weight * delta) / (1 + weight))
