"""Comparisons: measurements with a promise that covers the whole range.

Instead of adding noise to a reading, a device says whether it lies above a public cut, and now and then says the
opposite. Any two readings are then equally well protected, however far apart they are.
"""

from sottovoce.comparisons.estimator import ByComparison
from sottovoce.comparisons.table import Comparisons

__all__ = ["ByComparison", "Comparisons"]
