"""Ranges of numbers on the command line."""

from typing import TYPE_CHECKING

from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from fractions import Fraction


def parse_range(text: str) -> "tuple[Fraction, Fraction]":
    """A range as people write it, LO:HI."""
    from sottovoce.privacy.sampler import exact_number

    low, mark, high = text.partition(":")
    if not mark:
        raise BadParameter(f"range {text!r}: it must have a low and a high end, LO:HI; for example 0:100")
    return exact_number(low), exact_number(high)
