"""Rounding exact numbers up to doubles and whole numbers, without NumPy."""

import math
from fractions import Fraction


def rounded_up(exact: Fraction) -> float:
    """The smallest double that is not below the number; infinite beyond the largest.

    >>> rounded_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    try:
        rounded = float(exact)
    except OverflowError:
        return math.inf
    return rounded if rounded >= exact else math.nextafter(rounded, math.inf)


def root_rounded_up(number: Fraction) -> int:
    """The smallest whole number whose square is at least ``number``."""
    root = math.isqrt(math.ceil(number))
    return root if root * root >= number else root + 1
