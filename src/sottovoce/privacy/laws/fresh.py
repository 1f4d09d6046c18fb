"""A new variance for every reading: Laplace noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from sottovoce.privacy.exact import root_rounded_up
from sottovoce.privacy.grid_noise import LaplaceOnGrid
from sottovoce.privacy.laws.noise import NoiseLaw, log_odds
from sottovoce.privacy.sampler import SCALE_DENOMINATOR

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.privacy.least_noise import Search
    from sottovoce.privacy.normal_laplace import NormalLaplace
    from sottovoce.privacy.profiles import Profile


@dataclass(frozen=True)
class FreshVariance(NoiseLaw):
    """A new variance from Exponential(``rate``) for every reading: Laplace noise of scale 1/√(2·rate).

    >>> FreshVariance(rate=0.5).scale
    1.0
    """

    rate: float
    name: ClassVar[str] = "fresh"
    title: ClassVar[str] = "Fresh noise"
    words: ClassVar[str] = "new noise is drawn for every reading"
    label: ClassVar[str] = "fresh variance"
    example: ClassVar[str] = "fresh:0.5"
    powers: ClassVar[Mapping[str, int]] = {"rate": -2}
    is_pure: ClassVar[bool] = True

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise."""
        return 1 / math.sqrt(2 * self.rate)

    @property
    def mean_variance(self) -> float:
        return 1 / self.rate

    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        return values + rng.laplace(0.0, self.scale, len(values))

    def on_grid(self, grid: Fraction) -> LaplaceOnGrid:
        squared = 1 / (2 * self.exact("rate") * grid * grid)
        steps = squared * SCALE_DENOMINATOR * SCALE_DENOMINATOR
        return LaplaceOnGrid(Fraction(root_rounded_up(steps), SCALE_DENOMINATOR))

    def profile(self, distance: float, readings: int, moved: int) -> "Profile":
        from sottovoce.privacy.profiles import LaplaceProfile, PureProfile
        from sottovoce.privacy.radial import MOST_READINGS

        step = distance / self.scale
        return LaplaceProfile(step, moved) if moved <= MOST_READINGS else PureProfile(step * moved)

    def least_epsilon(self, distance: float, moved: int, grid: float, delta: float) -> float:
        share = distance / (1 / math.sqrt(2 * self.rate) + grid / SCALE_DENOMINATOR)
        return moved * share if delta == 0 else log_odds(delta) + max(share, moved * (share / 2 - math.log(4 / 3)))

    def chance_of_no_noise(self, grid: float) -> float:
        return math.tanh(1 / (2 * (1 / (grid * math.sqrt(2 * self.rate)) + 1 / SCALE_DENOMINATOR)))

    @classmethod
    def least(cls, search: "Search") -> Self:
        pure = (search.epsilon / (search.moved * search.distance)) ** 2 / 2
        if not 0 < pure < math.inf:
            raise search.impossible()
        return cls(pure if search.delta == 0 else search.largest(cls, pure))

    def information(self, variances: "NDArray[np.float64]") -> "NDArray[np.float64]":
        import numpy as np

        from sottovoce.privacy.normal_laplace import laplace_information

        return np.array([laplace_information(variance, self.scale) for variance in variances.tolist()])

    def reading_noise(self) -> "NormalLaplace":
        from sottovoce.privacy.normal_laplace import NormalLaplace

        return NormalLaplace(self.scale)
