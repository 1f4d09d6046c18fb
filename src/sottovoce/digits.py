"""How many digits of a figure are worth showing."""

import math


def decimals_for(uncertainty: float) -> int | None:
    """As many decimals as make the last two digits lie within the uncertainty; None where there is none to go by."""
    if not (0 < uncertainty < math.inf):
        return None
    return max(0, min(12, 1 - math.floor(math.log10(uncertainty))))
