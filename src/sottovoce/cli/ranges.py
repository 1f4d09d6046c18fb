"""Ranges and grids of numbers on the command line."""

from typing import TYPE_CHECKING

from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from fractions import Fraction


def parse_range(text: str) -> "tuple[Fraction, Fraction]":
    """A range as people write it, LO:HI."""
    from sottovoce.privacy.sampler import exact_number

    low, _, high = text.partition(":")
    try:
        return exact_number(low), exact_number(high)
    except BadParameter:
        raise BadParameter(
            f"range {text!r}: it must be a low and a high end, LO:HI, both finite numbers; for example 0:100"
        ) from None


def parse_step(text: str) -> "Fraction":
    """The step of a grid, exactly as people write it."""
    from sottovoce.privacy.sampler import exact_number

    try:
        return exact_number(text)
    except BadParameter:
        raise BadParameter(
            f"grid {text!r}: a step must be a finite number above 0; write 0.1, for example, or leave --grid out"
        ) from None
