"""Which cuts to publish next, and when to choose new ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sottovoce.comparisons.posterior import Posterior
from sottovoce.errors import BadParameter

Cuts = tuple[int, ...]  # in half grid steps: odd, so that no reading on the grid lies on a cut

# With two levels, devices draw one of five cuts, at these shares of the posterior. Answers that come late or in batches
# then still tell something new; with a single cut at the median, everybody would answer the same question.
_SHARES = (0.5, 0.25, 0.75, 0.375, 0.625)
_QUARTILE = 0.6744897501960817  # of a standard normal
_FOUR_LEVELS_FROM = 2.75  # ε
_FOUR_LEVELS_FOR_ACCURACIES_FROM = 2.0  # ε, if people answer enough tasks for their accuracies to be estimated
_TASKS_FOR_ACCURACIES = 20
_SHARE_OF_ANSWERS = 30  # cuts change after one more answer for every 30 that there are


def usual_levels(epsilon: float, readings: int = 1) -> int:
    """How many levels an answer should have: two, or four if ε allows it.

    ``readings`` is how many tasks one person answers: only four levels show how accurate people are.

    >>> usual_levels(1.0), usual_levels(4.0), usual_levels(2.0, readings=30)
    (2, 4, 4)
    """
    many = readings >= _TASKS_FOR_ACCURACIES
    return 4 if epsilon >= (_FOUR_LEVELS_FOR_ACCURACIES_FROM if many else _FOUR_LEVELS_FROM) else 2


def check_levels(levels: int) -> None:
    if levels not in (2, 4):
        raise BadParameter(f"levels {levels!r}: comparisons have 2 or 4 levels; 2 suits an ε below {_FOUR_LEVELS_FROM}")


def offers(posterior: Posterior, levels: int, grid: Fraction) -> list[Cuts]:
    """The alternatives to publish, of which each device draws one: ascending cuts, at least two half steps apart."""
    median = half_steps(posterior.median, grid)
    if levels == 2:
        return [(cut,) for cut in dict.fromkeys(half_steps(posterior.quantile(share), grid) for share in _SHARES)]
    quartiles = (posterior.quantile(0.75) - posterior.quantile(0.25)) / 2
    reach = math.hypot(quartiles, _QUARTILE * math.exp(posterior.log_spread))
    low, high = (half_steps(posterior.median + side * reach, grid) for side in (-1, 1))
    return [(min(low, median - 2), median, max(high, median + 2))]


def half_steps(place: float, grid: Fraction) -> int:
    """The nearest place halfway between two points of the grid, in half grid steps.

    >>> half_steps(12.43, Fraction("0.1"))
    249
    """
    return 2 * math.floor(Fraction(place) / grid) + 1


def places(cuts: Sequence[int], grid: Fraction) -> tuple[float, ...]:
    """Where cuts in half grid steps lie.

    >>> places((249,), Fraction("0.1"))
    (12.45,)
    """
    return tuple(float(cut * grid / 2) for cut in cuts)


@dataclass(frozen=True)
class Steps:
    """How many new answers a task needs before its cuts change: at least ``least``, and one for every 30 it has.

    Small steps find the truth sooner. Large steps hide what a single answer changed.
    """

    least: int = 1

    def due(self, answers: int, changes: int) -> bool:
        """Whether new cuts are due for a task with this many answers, after this many changes since the last cuts."""
        return changes >= max(self.least, answers / _SHARE_OF_ANSWERS)


EVERY_ANSWER = Steps(1)
