"""What the shared and the floored law have in common: a variance that each participant draws once."""

import math
from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from sottovoce.privacy.grid_noise import NormalOnGrid
from sottovoce.privacy.laws.noise import NoiseLaw, log_odds
from sottovoce.privacy.sampler import VARIANCE_STEPS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class DrawnVariance(NoiseLaw):
    """Normal noise; a participant's variance is ``lowest`` + Exponential(``rate``), the same for all their readings."""

    rate: float
    noised_together: ClassVar[bool] = True

    @property
    @abstractmethod
    def lowest(self) -> float:
        """The smallest possible variance."""

    @property
    def mean_variance(self) -> float:
        return self.lowest + 1 / self.rate

    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        variances = self.known_variances((int(users.max()) + 1,), rng)
        return values + rng.standard_normal(len(values)) * variances[users] ** 0.5

    def known_variances(self, shape: tuple[int, ...], rng: "np.random.Generator") -> "NDArray[np.float64]":
        return self.lowest + rng.exponential(1 / self.rate, shape)

    def _on_grid(self, lowest: Fraction, grid: Fraction) -> NormalOnGrid:
        return NormalOnGrid(lowest / grid**2, 1 / (self.exact("rate") * grid**2 * VARIANCE_STEPS))

    def least_epsilon(self, distance: float, moved: int, grid: float, delta: float) -> float:
        mean = 1 / self.rate
        lowest = self.lowest + mean / VARIANCE_STEPS
        half_square = moved * distance * distance / 2
        root = math.sqrt(lowest * lowest + 4 * half_square * mean)
        return log_odds(delta) - math.log(2) + 2 * half_square / (lowest + root)

    def chance_of_no_noise(self, grid: float) -> float:
        return 1 / (1 + math.sqrt(2 * math.pi * (self.lowest + 1.001 / self.rate)) / grid)

    def information(self, variances: "NDArray[np.float64]") -> "NDArray[np.float64]":
        from sottovoce.privacy.exponential import exponential_nodes

        drawn, chances = exponential_nodes(self.rate)
        return (1 / (variances[:, None] + self.lowest + drawn)) @ chances

    def information_of_one(self, variances: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Over all variances that may be drawn, this is Laplace noise beside normal noise of the lowest variance."""
        from sottovoce.privacy.laws.fresh import FreshVariance

        return FreshVariance(self.rate).information(variances + self.lowest)

    @property
    def constant_variance(self) -> float:
        return self.lowest

    @property
    def drawn_rate(self) -> float:
        return self.rate
