"""Checks of the parameters of a promise, wherever they are given. Without NumPy, because devices use them."""

import math
from fractions import Fraction

from sottovoce.errors import BadParameter


def checked_epsilon(epsilon: float) -> float:
    """Refuse an ε at which no promise can be stated."""
    if not 0 <= epsilon < math.inf:
        raise BadParameter(f"epsilon {epsilon!r}: it must be 0 or a finite number above 0; 1 is typical")
    return epsilon


def check_delta(delta: float) -> None:
    """Refuse a δ at which no promise can be stated."""
    if not 0 <= delta < 1:
        raise BadParameter(f"delta {delta!r}: it must be at least 0 and below 1; 1e-5 is typical")


def check_one_of(epsilon: float | None, delta: float | None) -> None:
    """Refuse ε and δ together where only one of them may be given."""
    if epsilon is not None and delta is not None:
        raise BadParameter(f"epsilon {epsilon!r} and delta {delta!r}: one follows from the other; give one of them")


def check_protected(readings: int, unit: str) -> None:
    """Refuse an invalid number of readings, and anything that is not a unit of a promise."""
    if isinstance(readings, bool) or not isinstance(readings, int) or readings < 1:
        raise BadParameter(
            f"readings {readings!r}: it must be a whole number of at least 1; count those of one participant"
        )
    if unit not in ("reading", "participant"):
        raise BadParameter(f"unit {unit!r}: it must be 'reading' or 'participant'; choose one of them")


def check_grid(step: float | Fraction) -> None:
    """Refuse a step that cannot be that of a grid."""
    if not 0 < step < math.inf:
        raise BadParameter(f"grid {step}: a step must be a finite number above 0; a tenth of the distance is typical")


def check_range(low: float | Fraction, high: float | Fraction) -> None:
    """Refuse ends that do not make a range."""
    if not -math.inf < low < high < math.inf:
        raise BadParameter(
            f"range {float(low):g}:{float(high):g}: both ends must be finite, and the low end below the high end; "
            "correct them"
        )
