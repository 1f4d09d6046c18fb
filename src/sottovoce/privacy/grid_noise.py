"""Noise on the integers: what the exact sampler draws, in steps of a task's grid, and what that guarantees.

Drawing needs integers only. Figures need NumPy, which is imported when they are requested: devices draw without it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.privacy.exact import rounded_up
from sottovoce.privacy.sampler import VARIANCE_STEPS, ByteStream, discrete_gaussian, discrete_laplace, geometric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.privacy.profiles import Profile


class GridNoise(ABC):
    """Symmetric noise in whole steps."""

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """Its mean variance, in squared steps."""

    @property
    def sizes_go_together(self) -> bool:
        """Whether the noises of one participant are large or small together."""
        return False

    @abstractmethod
    def draw(self, count: int, stream: ByteStream) -> list[int]:
        """Noise for all readings of one participant on this grid."""

    def pure_epsilon(self, steps: int, moved: int) -> float | None:
        """The ε at δ = 0 for ``moved`` readings that all move by ``steps``, rounded up; None if there is none.

        Devices call this, so it must not need NumPy.
        """
        return None

    @abstractmethod
    def profile(self, steps: int, moved: int) -> "Profile":
        """δ(ε) for the same move: an upper bound for all parameters and any number of readings."""

    @abstractmethod
    def beyond(self, sizes: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """P(noise > size) for whole sizes from 0 up, for tests of drawn noise."""


@dataclass(frozen=True)
class LaplaceOnGrid(GridNoise):
    """Discrete Laplace noise: P(k) ∝ exp(-|k|/``scale``)."""

    scale: Fraction

    @property
    def variance(self) -> Fraction:
        return 2 * self.scale**2

    def draw(self, count: int, stream: ByteStream) -> list[int]:
        return [discrete_laplace(stream, *self.scale.as_integer_ratio()) for _ in range(count)]

    def pure_epsilon(self, steps: int, moved: int) -> float:
        return rounded_up(moved * steps / self.scale)

    def profile(self, steps: int, moved: int) -> "Profile":
        from sottovoce.privacy.lattice import LatticeLaplaceProfile

        return LatticeLaplaceProfile(self.scale, steps, moved)

    def beyond(self, sizes: "NDArray[np.float64]") -> "NDArray[np.float64]":
        from sottovoce.privacy.tails import beyond_laplace

        return beyond_laplace(sizes, self.scale)


@dataclass(frozen=True)
class NormalOnGrid(GridNoise):
    """Discrete normal noise with variance ``floor`` + (K + 1)·``quantum``, K geometric and drawn once per participant.

    If ``quantum`` is 0, the variance is ``floor``.
    """

    floor: Fraction
    quantum: Fraction = Fraction(0)

    @property
    def variance(self) -> Fraction:
        return self.floor + VARIANCE_STEPS * self.quantum

    @property
    def sizes_go_together(self) -> bool:
        return bool(self.quantum)

    def draw(self, count: int, stream: ByteStream) -> list[int]:
        variance = self.floor
        if self.quantum:
            variance += (geometric(stream, VARIANCE_STEPS, 1) + 1) * self.quantum
        return [discrete_gaussian(stream, *variance.as_integer_ratio()) for _ in range(count)]

    def profile(self, steps: int, moved: int) -> "Profile":
        from sottovoce.privacy.lattice import LatticeGaussianProfile

        return LatticeGaussianProfile(self, steps, moved)

    def beyond(self, sizes: "NDArray[np.float64]") -> "NDArray[np.float64]":
        from sottovoce.privacy.lattice import drawn_variances
        from sottovoce.privacy.tails import beyond_normals

        return beyond_normals(sizes, *drawn_variances(self))
