"""Noise laws: how devices disturb a reading before it leaves.

`simulate` is fast NumPy noise for experiments. Devices never use it: floating-point noise leaks; they use the exact
sampler.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

from sottovoce.errors import BadParameter

if TYPE_CHECKING:  # devices use the laws without NumPy
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class NoiseLaw(ABC):
    """A law of noise. Its text form, as on the command line, is its name and its parameters: ``shared:0.5``."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for field in fields(self):
            number = getattr(self, field.name)
            if isinstance(number, bool) or not isinstance(number, int | float) or not (0 < number < math.inf):
                raise BadParameter(
                    f"{field.name} {number!r} of noise law {self.name!r}: it must be a positive number; "
                    f"write {self._form()}, such as {self._example()}"
                )

    @classmethod
    def _form(cls) -> str:
        return ":".join([cls.name, *(field.name.upper() for field in fields(cls))])

    @classmethod
    def _example(cls) -> str:
        return ":".join([cls.name, *("0.5" for _ in fields(cls))])

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{getattr(self, field.name)!r}" for field in fields(self))])

    @property
    @abstractmethod
    def mean_variance(self) -> float:
        """Expected variance of the noise on one reading."""

    @abstractmethod
    def simulate(
        self, values: "NDArray[np.float64]", users: "NDArray[np.int32]", rng: "np.random.Generator"
    ) -> "NDArray[np.float64]":
        """Values with noise, for experiments only; ``users`` says whose value each is."""


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


_LAWS: dict[str, type[NoiseLaw]] = {law.name: law for law in (SharedVariance,)}


def parse_law(text: str) -> NoiseLaw:
    """Read a noise law from its text form.

    >>> parse_law("shared:0.5")
    SharedVariance(rate=0.5)
    """
    name, *numbers = text.strip().split(":")
    forms = ", ".join(law._form() for law in _LAWS.values())
    law = _LAWS.get(name)
    if law is None or len(numbers) != len(fields(law)):
        raise BadParameter(f"noise law {text!r}: it must be one of {forms}; for example shared:0.5")
    try:
        parameters = [float(number) for number in numbers]
    except ValueError:
        raise BadParameter(f"noise law {text!r}: its parameters must be numbers; write {law._form()}") from None
    return law(*parameters)
