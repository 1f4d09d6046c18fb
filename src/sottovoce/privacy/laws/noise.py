"""Laws that add noise to numbers."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws.base import Kind, Law, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.privacy.grid_noise import GridNoise
    from sottovoce.privacy.guarantee import Guarantee
    from sottovoce.privacy.least_noise import Search
    from sottovoce.privacy.profiles import Profile

_LARGEST_SIZE = 1e100
_ROUND = 1e-13  # a number within this relative distance of a round one is taken to be that one


class ReadingNoise(Protocol):
    """What the noise-aware estimator needs to weigh every reading separately.

    A reading's error is the user's own normal error plus the noise; ``scale`` is the length scale of the noise's tail.
    """

    @property
    def scale(self) -> float: ...

    @property
    def variance(self) -> float: ...

    def score_and_density(
        self, sizes: "NDArray[np.float64]", variance: float
    ) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """Derivative of the log density, and density, at these errors (0 or more) of a user with this variance."""

    def weight_of_squares(self, variance: float) -> float:
        """The squared mean of a squared reading, over the square's variance: ½ if normal, less with heavier tails."""


@dataclass(frozen=True)
class NoiseLaw(Law):
    """A law of noise on numbers."""

    kinds: ClassVar[tuple[Kind, ...]] = ("number",)
    # The power of length with which each parameter grows. Where it is negative, a smaller parameter means more noise.
    powers: ClassVar[Mapping[str, int]]
    # Whether noise is planned for any number of readings rather than for the requested number.
    planned_for_any_number: ClassVar[bool] = False

    @classmethod
    def one(cls) -> Self:
        """The law with all parameters 1."""
        return cls(*(1.0 for _ in fields(cls)))

    def scaled(self, length: float) -> Self:
        """The same law for distances this many times as large."""
        try:
            parameters = [getattr(self, field.name) * length ** self.powers[field.name] for field in fields(self)]
        except OverflowError:
            parameters = [math.inf]
        if not all(0 < parameter < math.inf for parameter in parameters):
            raise BadParameter(
                f"distance or grid {length:g}: the noise {self.name!r} for it would have a parameter too large or too "
                "small to compute with; choose a unit in which readings are neither huge nor tiny"
            )
        return type(self)(*parameters)

    def shortened(self, digits: int) -> Self:
        """The law with this many digits per parameter, rounded towards more noise."""
        return type(self)(
            *(_digits(getattr(self, field.name), self.powers[field.name] > 0, digits) for field in fields(self))
        )

    # Noise

    @property
    @abstractmethod
    def mean_variance(self) -> float:
        """Expected variance of the noise on one reading."""

    def check_size(self) -> None:
        """Refuse noise whose squares overflow or vanish: readings with it could not be analysed."""
        size = math.sqrt(self.mean_variance)
        if not 1 / _LARGEST_SIZE <= size <= _LARGEST_SIZE:
            raise BadParameter(
                f"noise law {self}: the size of its noise is {size:g}, and must lie between {1 / _LARGEST_SIZE:g} and "
                f"{_LARGEST_SIZE:g}; choose a unit that suits the readings"
            )

    @abstractmethod
    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        """Values with noise, for experiments only; ``users`` gives the user of each value.

        Devices never use this: floating-point noise leaks. They draw `on_grid`.
        """

    @abstractmethod
    def on_grid(self, grid: Fraction) -> "GridNoise":
        """What the exact sampler draws, in steps of this grid."""

    # What the law guarantees

    def guarantee(
        self, distance: float = 1.0, readings: int = 30, unit: Unit = "reading", grid: float | None = None
    ) -> "Guarantee":
        """What the law guarantees for readings up to ``distance`` apart; see `sottovoce.privacy.guarantee`."""
        from sottovoce.privacy.guarantee import Guarantee

        return Guarantee(self, distance, readings, unit, grid)

    @abstractmethod
    def profile(self, distance: float, readings: int, moved: int) -> "Profile":
        """δ(ε) for continuous noise on ``readings`` readings, ``moved`` of which move by the distance."""

    def profile_of_any_number(self, distance: float, moved: int) -> "Profile":
        """The same, valid for any number of readings."""
        return self.profile(distance, moved, moved)

    def paper_delta(self, length: float, epsilon: float) -> float | None:
        """δ by the paper's theorem as printed, for a move of this Euclidean length; None where it does not apply."""
        return None

    @abstractmethod
    def least_epsilon(self, distance: float, moved: int, grid: float, delta: float) -> float:
        """A lower bound on the true ε at this δ, by a formula short enough to check by hand.

        It shares no code with the profiles: where the two disagree, one of them is wrong, and devices send nothing.
        """

    @abstractmethod
    def chance_of_no_noise(self, grid: float) -> float:
        """A lower bound on the probability that a reading is sent unchanged, by an equally short formula."""

    # From a promise to a law

    @classmethod
    def granted(cls, delta: float) -> float:
        """The δ that the law may use: a law whose guarantee holds without exception needs none."""
        return 0.0 if cls.is_pure else delta

    @classmethod
    def least(cls, search: "Search") -> Self:
        """The law of this kind with the least noise that keeps a promise."""
        return cls.one().scaled(1 / cls.least_inverse(search))

    @classmethod
    def least_inverse(cls, search: "Search") -> float:
        """1 divided by the length by which the law with all parameters 1 must be scaled for the least noise."""
        return search.largest(lambda inverse: cls.one().scaled(1 / inverse), min(search.epsilon, 1.0) / search.length)

    # What the law requires of a manifest

    @classmethod
    def takes_grids(cls, unit: Unit, grids: int) -> bool:
        """Whether tasks on this many grids can have this noise: those handled together need the same grid."""
        return grids <= 1 or (unit == "reading" and not cls.noised_together)

    # What an analyst can make of readings with this noise

    def information(self, variances: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Fisher information about the truth from readings whose own errors have these variances.

        It is at least 1 over the variance of error and noise together, the default here.
        """
        return 1 / (variances + self.mean_variance)

    def information_of_one(self, variances: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """The same if each participant sends a single reading: nobody can estimate the variance of its noise."""
        return self.information(variances)

    def known_variances(self, shape: tuple[int, ...], rng: "np.random.Generator") -> "NDArray[np.float64] | None":
        """Random variances of normal noise, for an oracle that uses them; None where noise has no such variances."""
        return None

    @property
    def constant_variance(self) -> float:
        """The part of the noise's variance that is the same for all readings of everybody."""
        return self.mean_variance

    @property
    def drawn_rate(self) -> float | None:
        """The rate of the exponential variance that each user draws once, on top of the constant one, if any."""
        return None

    def reading_noise(self) -> ReadingNoise | None:
        """What weighing every reading separately needs; None where noise is treated as normal, with its variance."""
        return None


def log_odds(delta: float) -> float:
    """The logarithm of ½ - δ, which several simple lower bounds on ε begin with."""
    return math.log(0.5 - delta) if delta < 0.5 else -math.inf


def _digits(number: float, upwards: bool, digits: int) -> float:
    near = float(f"{number:.{digits}g}")
    if math.isclose(near, number, rel_tol=_ROUND):
        return near
    side = ROUND_CEILING if upwards else ROUND_FLOOR
    return float(Context(prec=digits, rounding=side).create_decimal(Decimal(number)))
