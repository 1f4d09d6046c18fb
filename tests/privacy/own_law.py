"""A noise law from outside the project: two-sided geometric noise, as the difference of two geometric draws.

Everything about it is in this file. It promises ε = distance/scale without exception, as Laplace noise does, and has
its own bounds; the defaults that hold for any law do the rest.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sottovoce.privacy.exact import rounded_up
from sottovoce.privacy.grid_noise import GridNoise
from sottovoce.privacy.laws import NoiseLaw
from sottovoce.privacy.profiles import PureProfile
from sottovoce.privacy.sampler import geometric


@dataclass(frozen=True)
class DifferenceOnGrid(GridNoise):
    """K - K', both geometric: P(k) ∝ exp(-|k|/``scale``)."""

    scale: Fraction

    @property
    def variance(self):
        return 2 * self.scale**2

    def draw(self, count, stream):
        parts = self.scale.as_integer_ratio()
        return [geometric(stream, *parts) - geometric(stream, *parts) for _ in range(count)]

    def pure_epsilon(self, steps, moved):
        return rounded_up(moved * steps / self.scale)

    def profile(self, steps, moved):
        return PureProfile(self.pure_epsilon(steps, moved))

    def beyond(self, sizes):
        ratio = math.exp(-1 / self.scale)
        return ratio ** (sizes + 1) / (1 + ratio)


@dataclass(frozen=True)
class TwoSided(NoiseLaw):
    """Two-sided geometric noise of this ``scale``."""

    scale: float
    name: ClassVar[str] = "twosided"
    title: ClassVar[str] = "Two-sided"
    words: ClassVar[str] = "the difference of two draws"
    label: ClassVar[str] = "two-sided geometric"
    example: ClassVar[str] = "twosided:1.0"
    powers: ClassVar[Mapping[str, int]] = {"scale": 1}
    is_pure: ClassVar[bool] = True

    @property
    def mean_variance(self):
        return 2 * self.scale**2

    def simulate(self, values, users, rng):
        return values + rng.exponential(self.scale, len(values)) - rng.exponential(self.scale, len(values))

    def on_grid(self, grid):
        return DifferenceOnGrid(self.exact("scale") / grid)

    def profile(self, distance, readings, moved):
        return PureProfile(moved * distance / self.scale)

    def least_epsilon(self, distance, moved, grid, delta):
        # That no noise is above 0 has a probability of at least 2^-moved, and e^-loss times that after a move.
        left = 1 - 2**moved * delta
        return moved * distance / self.scale + math.log(left) if left > 0 else 0.0

    def chance_of_no_noise(self, grid):
        return math.tanh(grid / (2 * self.scale))
