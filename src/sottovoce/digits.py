"""Figures for people: how many digits are worth showing, and how many things there are."""

import math


def decimals_for(uncertainty: float) -> int | None:
    """As many decimals as make the last two digits lie within the uncertainty; None where there is none to go by."""
    if not (0 < uncertainty < math.inf):
        return None
    return max(0, min(12, 1 - math.floor(math.log10(uncertainty))))


def counted(count: int, thing: str) -> str:
    """A number of things, in words.

    >>> counted(1, "claim"), counted(1200, "claim")
    ('1 claim', '1,200 claims')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"
