"""Numbers for people to read: how many decimals are worth showing, levels in percent, and counts with their noun."""

import math


def decimals_for(uncertainty: float) -> int | None:
    """The number of decimals that show the uncertainty to two digits; None if the uncertainty is unknown."""
    if not (0 < uncertainty < math.inf):
        return None
    return max(0, min(12, 1 - math.floor(math.log10(uncertainty))))


def as_percent(share: float) -> str:
    """A share in percent, with as many decimals as it needs.

    >>> as_percent(0.07), as_percent(0.995), as_percent(0.9999999)
    ('7%', '99.5%', '99.99999%')
    """
    return f"{100 * share:.12g}%"


def counted(count: int, thing: str, things: str | None = None) -> str:
    """A number of things, in words; ``things`` is the plural if it is irregular.

    >>> counted(1, "claim"), counted(1200, "claim"), counted(2, "person", "people")
    ('1 claim', '1,200 claims', '2 people')
    """
    return f"{count:,} {thing if count == 1 else things or f'{thing}s'}"
