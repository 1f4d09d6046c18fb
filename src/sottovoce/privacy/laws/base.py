"""What every law is: a text form, and the kinds of claims that it perturbs.

There are two families, each in its own file: `noise` adds noise to numbers, and `answers` sometimes reports another
answer. A new law is a subclass of one of them in a new file, and one line in the registry (`sottovoce.privacy.laws`).
What it must define is abstract in the base class; everything else has a default that is safe for any law. Devices use
laws without NumPy, so methods that need it import it themselves.
"""

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from numbers import Real
from typing import ClassVar, Literal, Self

from sottovoce.errors import BadParameter

Unit = Literal["reading", "participant"]
Kind = Literal["number", "choice"]


@dataclass(frozen=True)
class Law(ABC):
    """A law by which devices perturb what they send. Its text form is its name and its parameters: ``shared:0.5``."""

    name: ClassVar[str]
    title: ClassVar[str]  # its name on the pages of operators
    words: ClassVar[str]  # what it does, for operators
    label: ClassVar[str]  # its name in figures
    example: ClassVar[str]  # an example in text form
    kinds: ClassVar[tuple[Kind, ...]]  # the kinds of claims that it can perturb
    # Whether it guarantees an ε without exception (δ = 0).
    is_pure: ClassVar[bool] = False
    # Whether all readings of a participant must be perturbed together, because they share a random draw.
    noised_together: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field in fields(self):
            number = getattr(self, field.name)
            if isinstance(number, bool) or not isinstance(number, Real) or not (0 < float(number) < math.inf):
                raise BadParameter(
                    f"{field.name} {number!r} of noise law {self.name!r}: it must be a finite number above 0; "
                    f"write {self.form()}, such as {self.example}"
                )
            # NumPy's numbers print differently; the text form must not depend on where a number came from.
            object.__setattr__(self, field.name, number if isinstance(number, int) else float(number))

    @classmethod
    def form(cls) -> str:
        """How the law is written; optional parameters are in brackets."""
        return cls.name + "".join(
            f":{field.name.upper()}" if field.default is MISSING else f"[:{field.name.upper()}]"
            for field in fields(cls)
        )

    @classmethod
    def read(cls, parts: Sequence[str]) -> Self | None:
        """The law with these parameters, as text; None if there are too many or too few of them."""
        if not sum(field.default is MISSING for field in fields(cls)) <= len(parts) <= len(fields(cls)):
            return None
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            raise BadParameter(
                f"noise law {':'.join([cls.name, *parts])!r}: its parameters must be numbers; write {cls.form()}"
            ) from None
        return cls(*numbers)

    def __str__(self) -> str:
        numbers = [(getattr(self, field.name), field.default) for field in fields(self)]
        return ":".join([self.name, *(f"{number!r}" for number, usual in numbers if number != usual)])

    def exact(self, parameter: str) -> Fraction:
        """A parameter as the decimal number in the text form, so that every device has exactly the same number."""
        return Fraction(repr(getattr(self, parameter)))
