"""The paper's law: one variance per participant."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from sottovoce.privacy.grid_noise import NormalOnGrid
from sottovoce.privacy.laws.drawn import DrawnVariance

if TYPE_CHECKING:
    from sottovoce.privacy.least_noise import Search
    from sottovoce.privacy.profiles import Profile


@dataclass(frozen=True)
class SharedVariance(DrawnVariance):
    """The paper's law: each user draws one variance from Exponential(``rate`` = λ2) for all their readings.

    >>> str(SharedVariance(rate=0.5))
    'shared:0.5'
    """

    rate: float
    name: ClassVar[str] = "shared"
    title: ClassVar[str] = "Shared variance"
    words: ClassVar[str] = "each device draws at random how much noise to add, once for all its readings"
    label: ClassVar[str] = "shared variance (paper)"
    example: ClassVar[str] = "shared:0.5"
    powers: ClassVar[Mapping[str, int]] = {"rate": -2}

    @property
    def lowest(self) -> float:
        return 0.0

    def on_grid(self, grid: Fraction) -> NormalOnGrid:
        return self._on_grid(Fraction(0), grid)

    def profile(self, distance: float, readings: int, moved: int) -> "Profile":
        from sottovoce.privacy.profiles import BoundedProfile, LaplaceProfile
        from sottovoce.privacy.radial import MOST_READINGS, RadialProfile

        one = LaplaceProfile(distance * math.sqrt(2 * self.rate), 1)
        if readings == 1:
            return one
        any_number = self.profile_of_any_number(distance, moved)
        if readings > MOST_READINGS:
            return any_number
        exact = RadialProfile(readings, distance * math.sqrt(moved) * math.sqrt(self.rate))
        return BoundedProfile(exact, any_number, one)  # a single reading under one variance reveals least

    def profile_of_any_number(self, distance: float, moved: int) -> "Profile":
        from sottovoce.privacy.profiles import SharedAnyNumber

        length = distance * math.sqrt(moved)
        return SharedAnyNumber(self.rate * length * length)

    def paper_delta(self, length: float, epsilon: float) -> float | None:
        return -math.expm1(-self.rate * length**2 / (2 * epsilon)) if epsilon > 0 else None

    @classmethod
    def least(cls, search: "Search") -> Self:
        loss = -math.log1p(-search.delta)
        # Valid for any number of readings with continuous noise, so it is a safe start for the search.
        return cls(search.largest(cls, 2 * loss * (search.epsilon + loss) / search.length**2))
