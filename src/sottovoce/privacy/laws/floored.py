"""One variance per participant that is never below a floor."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from sottovoce.privacy.grid_noise import NormalOnGrid
from sottovoce.privacy.laws.drawn import DrawnVariance
from sottovoce.privacy.laws.gaussian import Gaussian

if TYPE_CHECKING:
    from sottovoce.privacy.least_noise import Search
    from sottovoce.privacy.profiles import Profile


@dataclass(frozen=True)
class FlooredVariance(DrawnVariance):
    """Like the shared law, but no user's variance is below ``floor``: floor + Exponential(``rate``)."""

    floor: float
    rate: float
    name: ClassVar[str] = "floored"
    title: ClassVar[str] = "Floored variance"
    words: ClassVar[str] = "each device draws at random how much noise to add, but never less than a minimum"
    label: ClassVar[str] = "floored variance"
    example: ClassVar[str] = "floored:0.5:1.0"
    powers: ClassVar[Mapping[str, int]] = {"floor": 2, "rate": -2}
    planned_for_any_number: ClassVar[bool] = True

    @property
    def lowest(self) -> float:
        return self.floor

    def on_grid(self, grid: Fraction) -> NormalOnGrid:
        return self._on_grid(self.exact("floor"), grid)

    def profile(self, distance: float, readings: int, moved: int) -> "Profile":
        from sottovoce.privacy.profiles import BoundedProfile
        from sottovoce.privacy.radial import MOST_READINGS, RadialProfile

        any_number = self.profile_of_any_number(distance, moved)
        if readings > MOST_READINGS:
            return any_number
        length = distance * math.sqrt(moved)
        return BoundedProfile(
            RadialProfile(readings, length * math.sqrt(self.rate), self.floor * self.rate), any_number
        )

    def profile_of_any_number(self, distance: float, moved: int) -> "Profile":
        from sottovoce.privacy.profiles import FlooredAnyNumber

        return FlooredAnyNumber(distance * math.sqrt(moved), self.floor, self.rate)

    @classmethod
    def least(cls, search: "Search") -> Self:
        """The exponential part gets as much variance on average as constant normal noise would need; the floor is then
        as low as the promise allows for any number of readings."""
        rate = Gaussian.least_inverse(search) ** 2
        return cls(1 / search.largest(lambda small: cls(1 / small, rate), rate), rate)
