"""Answer a few tasks, not all: at the level of a participant, all answers share one budget of ε.

A device that answers m of n tasks, drawn without looking at its readings, splits a promise into m parts instead of n.
Each task then has fewer answers, but each is more informative: what the crowd learns about a task grows with m·I(m),
where I(m) is the Fisher information of one answer whose noise keeps the promise for m of them.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sottovoce.errors import BadParameter

_STEP = 1.25  # between the numbers that are tried; the best one is broad


@dataclass(frozen=True)
class Answering:
    """How many of its tasks a device should answer; ``gain`` is the error with all, over the error with these."""

    answer: int
    gain: float


def best_answering(information: Callable[[int], float], tasks: int, tried: Iterable[int] | None = None) -> Answering:
    """How many tasks to answer, where ``information(m)`` is that of one answer if m tasks are answered.

    ``tried`` are the numbers to compare with all tasks, if each comparison takes long.

    >>> best_answering(lambda m: math.tanh(1.0 / m / 2) ** 2, 30).answer  # comparisons with two levels, ε = 1
    1
    """
    totals = {}
    for count in candidates(tasks) if tried is None else sorted({*tried, tasks}):
        try:
            totals[count] = count * information(count)
        except BadParameter:  # no such noise keeps the promise
            continue
    if tasks not in totals:
        raise BadParameter(f"tasks {tasks}: no noise keeps the promise for all of them; ask for a larger epsilon")
    # Among equally good numbers, the largest: everybody answers as much as is useful.
    best = max(totals, key=lambda count: (totals[count] * (1 + 1e-9 * (count == tasks)), count))
    return Answering(best, math.sqrt(totals[best] / totals[tasks]))


def candidates(tasks: int) -> list[int]:
    """All small numbers, then increasingly sparse ones, and the number of all tasks."""
    found, count = [], 1
    while count < tasks:
        found.append(count)
        count = max(count + 1, math.floor(count * _STEP))
    return [*found, tasks]
