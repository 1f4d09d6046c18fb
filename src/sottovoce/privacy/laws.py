"""Noise laws: how devices disturb a reading before it leaves.

`simulate` is fast NumPy noise for experiments. Devices never use it: floating-point noise leaks; they use the exact
sampler (`sottovoce.privacy.sampler`).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, ClassVar, Literal

from sottovoce.errors import BadParameter

if TYPE_CHECKING:  # devices use the laws without NumPy
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.privacy.guarantee import Guarantee

Unit = Literal["reading", "participant"]
_LARGEST_SIZE = 1e100


@dataclass(frozen=True)
class NoiseLaw(ABC):
    """A law of noise. Its text form, as on the command line, is its name and its parameters: ``shared:0.5``."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for field in fields(self):
            number = getattr(self, field.name)
            if isinstance(number, bool) or not isinstance(number, Real) or not (0 < float(number) < math.inf):
                raise BadParameter(
                    f"{field.name} {number!r} of noise law {self.name!r}: it must be a positive number; "
                    f"write {self.form()}, such as {self.name}{':0.5' * len(fields(self))}"
                )
            # NumPy's numbers print differently; the text form must not depend on where a number came from.
            object.__setattr__(self, field.name, number if isinstance(number, int) else float(number))

    @classmethod
    def form(cls) -> str:
        """How the law is written."""
        return ":".join([cls.name, *(field.name.upper() for field in fields(cls))])

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{getattr(self, field.name)!r}" for field in fields(self))])

    def exact(self, parameter: str) -> Fraction:
        """A parameter as the decimal number in the text form: what another device reads is what this one has."""
        return Fraction(repr(getattr(self, parameter)))

    @property
    @abstractmethod
    def mean_variance(self) -> float:
        """Expected variance of the noise on one reading."""

    def check_size(self) -> None:
        """Refuse noise whose squares are no numbers: readings that carry it could not be analysed."""
        size = math.sqrt(self.mean_variance)
        if not 1 / _LARGEST_SIZE <= size <= _LARGEST_SIZE:
            raise BadParameter(
                f"noise law {self}: its noise is of the size {size:g}, and must lie between {1 / _LARGEST_SIZE:g} and "
                f"{_LARGEST_SIZE:g}; choose a unit that suits the readings"
            )

    @abstractmethod
    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        """Values with noise, for experiments only; ``users`` says whose value each is."""

    def guarantee(
        self, distance: float = 1.0, readings: int = 30, unit: Unit = "reading", grid: float | None = None
    ) -> "Guarantee":
        """What the law promises for readings up to ``distance`` apart; see `sottovoce.privacy.guarantee`."""
        from sottovoce.privacy.guarantee import Guarantee

        return Guarantee(self, distance, readings, unit, grid)


@dataclass(frozen=True)
class SharedVariance(NoiseLaw):
    """The paper's law: each user draws one variance from Exponential(``rate`` = λ2) for all his readings.

    >>> str(SharedVariance(rate=0.5))
    'shared:0.5'
    """

    rate: float
    name: ClassVar[str] = "shared"

    @property
    def mean_variance(self) -> float:
        return 1 / self.rate

    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        variances = rng.exponential(1 / self.rate, int(users.max()) + 1)
        return values + rng.standard_normal(len(values)) * variances[users] ** 0.5


@dataclass(frozen=True)
class FreshVariance(NoiseLaw):
    """A new variance from Exponential(``rate``) for every reading: Laplace noise of scale 1/√(2·rate).

    >>> FreshVariance(rate=0.5).scale
    1.0
    """

    rate: float
    name: ClassVar[str] = "fresh"

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


@dataclass(frozen=True)
class FlooredVariance(NoiseLaw):
    """Like the shared law, but no user's variance is below ``floor``: floor + Exponential(``rate``)."""

    floor: float
    rate: float
    name: ClassVar[str] = "floored"

    @property
    def mean_variance(self) -> float:
        return self.floor + 1 / self.rate

    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        variances = self.floor + rng.exponential(1 / self.rate, int(users.max()) + 1)
        return values + rng.standard_normal(len(values)) * variances[users] ** 0.5


@dataclass(frozen=True)
class Gaussian(NoiseLaw):
    """The same normal noise for everybody, with standard deviation ``sigma``."""

    sigma: float
    name: ClassVar[str] = "gaussian"

    @property
    def mean_variance(self) -> float:
        return self.sigma * self.sigma  # as a power it would raise where it is infinite

    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        return values + rng.standard_normal(len(values)) * self.sigma


LAWS: dict[str, type[NoiseLaw]] = {law.name: law for law in (SharedVariance, FreshVariance, FlooredVariance, Gaussian)}


def parse_law(text: str) -> NoiseLaw:
    """Read a noise law from its text form.

    >>> parse_law("shared:0.5")
    SharedVariance(rate=0.5)
    >>> parse_law("floored:10.2:0.07")
    FlooredVariance(floor=10.2, rate=0.07)
    """
    name, *numbers = text.strip().split(":")
    law = LAWS.get(name)
    if law is None or len(numbers) != len(fields(law)):
        forms = ", ".join(known.form() for known in LAWS.values())
        raise BadParameter(f"noise law {text!r}: it must be one of {forms}; for example shared:0.5")
    try:
        parameters = [float(number) for number in numbers]
    except ValueError:
        raise BadParameter(f"noise law {text!r}: its parameters must be numbers; write {law.form()}") from None
    return law(*parameters)
