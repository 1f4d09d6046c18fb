"""How much one participant contributes to a truth: the Fisher information (I) of their noisy reading.

With S participants whose qualities are known, the mean absolute error of a truth is √(2/π) / √(S·I). An estimator that
has to estimate the qualities comes close to it.
"""

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from sottovoce.privacy.exponential import exponential_nodes
from sottovoce.privacy.laws import NoiseLaw

Option = TypeVar("Option")


def predicted_error(law: NoiseLaw, error_rate: float, participants: int, readings: int | None = None) -> float:
    """Mean absolute error of the truth of a task that everybody reads once, from the information."""
    return math.sqrt(2 / math.pi / (participants * information(law, error_rate, readings)))


def participants_for(law: NoiseLaw, error_rate: float, error: float, readings: int | None = None) -> int:
    """How many participants are needed to reach an error, from the information."""
    return math.ceil(2 / math.pi / (error**2 * information(law, error_rate, readings)))


def information(law: NoiseLaw, error_rate: float, readings: int | None = None) -> float:
    """Information of one reading, averaged over participants whose error variance is Exponential(``error_rate`` = λ1).

    If each participant sends a single reading (``readings=1``), nobody can estimate the variance of its noise.

    >>> from sottovoce.privacy.laws import SharedVariance
    >>> round(information(SharedVariance(rate=0.5), error_rate=1.0), 6)  # λ1·λ2·ln(λ1/λ2)/(λ1 - λ2)
    0.693147
    """
    variances, chances = exponential_nodes(error_rate)
    return float(chances @ (law.information_of_one if readings == 1 else law.information)(variances))


def by_error(
    options: Iterable[Option], error: Callable[[Option], float], delta: Callable[[Option], float]
) -> list[Option]:
    """Options by their error; of those within half a per cent of the smallest one, the smallest δ first."""
    options = list(options)
    almost = 1.005 * min(map(error, options), default=0.0)
    return sorted(options, key=lambda option: (max(error(option), almost), delta(option), error(option)))
