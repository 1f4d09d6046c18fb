"""Normal noise with the same spread for everybody."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sottovoce.privacy.grid_noise import NormalOnGrid
from sottovoce.privacy.laws.noise import NoiseLaw, log_odds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.privacy.profiles import Profile


@dataclass(frozen=True)
class Gaussian(NoiseLaw):
    """Normal noise with the same standard deviation ``sigma`` for everybody."""

    sigma: float
    name: ClassVar[str] = "gaussian"
    title: ClassVar[str] = "Gaussian noise"
    words: ClassVar[str] = "noise from the same normal distribution for everybody"
    label: ClassVar[str] = "constant (Gaussian)"
    example: ClassVar[str] = "gaussian:1.0"
    powers: ClassVar[Mapping[str, int]] = {"sigma": 1}

    @property
    def mean_variance(self) -> float:
        return self.sigma * self.sigma  # the power operator would raise on overflow

    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        return values + rng.standard_normal(len(values)) * self.sigma

    def on_grid(self, grid: Fraction) -> NormalOnGrid:
        return NormalOnGrid((self.exact("sigma") / grid) ** 2)

    def profile(self, distance: float, readings: int, moved: int) -> "Profile":
        from sottovoce.privacy.profiles import GaussianProfile

        return GaussianProfile(distance * math.sqrt(moved) / self.sigma)

    def least_epsilon(self, distance: float, moved: int, grid: float, delta: float) -> float:
        return log_odds(delta) + moved * (distance / self.sigma) * (distance / self.sigma) / 2

    def chance_of_no_noise(self, grid: float) -> float:
        return 1 / (1 + math.sqrt(2 * math.pi) * self.sigma / grid)

    def known_variances(self, shape: tuple[int, ...], rng: "np.random.Generator") -> "NDArray[np.float64]":
        import numpy as np

        return np.full(shape, self.mean_variance)
