"""Turns a reading into the answer to a comparison: exactly, in whole numbers, and without NumPy, for devices.

Public cuts divide the number line into levels. A device finds the level of its reading and reports it under a law for
answers, which sometimes sends another level. Cuts lie halfway between points of the grid, so no reading is on a cut.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sottovoce.digits import counted
from sottovoce.errors import BadParameter
from sottovoce.privacy.sampler import ByteStream, reported_cells

if TYPE_CHECKING:
    from sottovoce.privacy.laws import AnswerLaw

_LARGEST_CUT = 1 << 53  # whole numbers up to here are exact in every language


def check_cuts(cuts: Sequence[object], levels: int) -> tuple[int, ...]:
    """Refuse cuts that a device must not answer: too many or too few, on the grid, or not in ascending order."""
    checked: list[int] = []
    if len(cuts) != levels - 1:
        needed = counted(levels - 1, "cut")
        raise BadParameter(f"cuts {list(cuts)!r}: {levels} levels need {needed}; fetch the cuts again")
    for cut in cuts:
        if isinstance(cut, bool) or not isinstance(cut, int) or abs(cut) > _LARGEST_CUT or cut % 2 == 0:
            raise BadParameter(
                f"cut {cut!r}: it must be an odd whole number of half grid steps, up to 2^53; fetch the cuts again"
            )
        if checked and cut - checked[-1] < 2:
            raise BadParameter(
                f"cuts {list(cuts)!r}: each must be at least 2 above the one before it; fetch the cuts again"
            )
        checked.append(cut)
    return tuple(checked)


def level_of(steps: int, cuts: Sequence[int]) -> int:
    """The number of cuts below a reading, which is in grid steps.

    >>> level_of(124, (247, 249, 251))
    1
    """
    return sum(cut < 2 * steps for cut in cuts)


def compare(law: "AnswerLaw", comparisons: Sequence[tuple[int, Sequence[int]]], stream: ByteStream) -> list[int]:
    """The level that a device sends for each of its readings; these are in grid steps, each with its cuts."""
    cells = [(level_of(steps, cuts), len(cuts) + 1) for steps, cuts in comparisons]
    return [level for (level,) in reported_cells(law, cells, stream)]
