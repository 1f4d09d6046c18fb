"""The pure ε of fresh noise on a grid: one exact division, without NumPy, for devices and for everybody else."""

import math
from fractions import Fraction

from sottovoce.privacy.laws import FreshVariance
from sottovoce.privacy.sampler import GridLaw


def pure_epsilon_on_grid(law: FreshVariance, distance: Fraction, grid: Fraction, moved: int) -> float:
    """ε for ``moved`` readings that all move by the distance, rounded up to a double; infinite beyond the largest.

    >>> pure_epsilon_on_grid(FreshVariance(0.5), Fraction(1), Fraction(1, 10), 3)
    3.0
    """
    scale = GridLaw.of(law, grid).scale
    assert scale is not None
    return rounded_up(moved * math.ceil(distance / grid) / scale)


def rounded_up(exact: Fraction) -> float:
    """The smallest double that is not below the number."""
    try:
        rounded = float(exact)
    except OverflowError:
        return math.inf
    return rounded if rounded >= exact else math.nextafter(rounded, math.inf)
