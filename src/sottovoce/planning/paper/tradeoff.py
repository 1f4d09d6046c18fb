"""Theorem 4.9: the noise levels (c = λ1/λ2) that keep both promises, privacy and utility."""

import math
from dataclasses import dataclass

from scipy.optimize import brentq, minimize_scalar

from sottovoce.planning.paper.checks import check
from sottovoce.planning.paper.pairs import corrected_pair_mean
from sottovoce.planning.paper.sensitivity import corrected_lowest_level, printed_lowest_level
from sottovoce.planning.paper.utility import printed_highest_level

_LEAST_ROOT = 1e-6  # of a noise level; far below it nothing changes any more


@dataclass(frozen=True)
class Levels:
    """Noise levels (c) from ``low`` to ``high``, both allowed."""

    low: float
    high: float


def printed_levels(
    alpha: float,
    beta: float,
    participants: int,
    error_rate: float,
    epsilon: float,
    delta: float,
    b: float = 3.0,
    eta: float = 0.95,
) -> Levels | None:
    """Noise levels as printed in Theorem 4.9: γ_s²/(2·λ1·ε·ln(1/(1−δ))) ≤ c ≤ C; None if there are none.

    The condition α > α_{λ1,c} of Theorem 4.3 is not part of it.
    """
    low = printed_lowest_level(error_rate, epsilon, delta, b, eta)
    high = printed_highest_level(alpha, beta, participants, error_rate)
    return Levels(low, high) if low <= high else None


def useful_levels(alpha: float, beta: float, participants: int, error_rate: float) -> Levels | None:
    """Noise levels at which `corrected_beta` is at most β; None if there are none.

    They are an interval: as c rises, the bound falls a little (noise makes users more alike) and then rises for good.
    Where it starts below β, ``low`` is 0.
    """
    check(alpha=alpha, beta=beta, participants=participants, error_rate=error_rate)
    factor = math.sqrt(2 / math.pi)
    # Everything depends on α·√λ1 alone, and is smooth in the root of the level.
    error = alpha * math.sqrt(error_rate)

    def room(root: float) -> float:
        return error - factor * corrected_pair_mean(1.0, root**2, participants).mean

    def bound(root: float) -> float:
        return 2 / math.pi * corrected_pair_mean(1.0, root**2, participants).variance / room(root) ** 2

    def excess(root: float) -> float:  # of the same sign as bound − β, and finite where there is no room
        return 2 / math.pi * corrected_pair_mean(1.0, root**2, participants).variance - beta * room(root) ** 2

    if room(_LEAST_ROOT) <= 0:
        return None
    # E[M] exceeds the mean √(π·c/4) of the noise alone, so there is no room left at c = 2·λ1·α².
    edge = brentq(room, _LEAST_ROOT, math.sqrt(2) * error)
    best = minimize_scalar(bound, bounds=(_LEAST_ROOT, edge * (1 - 1e-9)), method="bounded").x
    if bound(best) > beta:
        return None
    high = brentq(excess, best, edge) ** 2
    low = brentq(excess, _LEAST_ROOT, best) ** 2 if bound(_LEAST_ROOT) > beta else 0.0
    return Levels(low, high)


def corrected_levels(
    alpha: float,
    beta: float,
    participants: int,
    error_rate: float,
    epsilon: float,
    delta: float,
    b: float = 3.0,
    eta: float = 0.95,
) -> Levels | None:
    """Noise levels as corrected: from γ_s²/(2ℓ(ε + ℓ)), ℓ = ln(1/(1−δ)), to the largest with `corrected_beta` ≤ β."""
    private = corrected_lowest_level(epsilon, delta, b, eta)
    useful = useful_levels(alpha, beta, participants, error_rate)
    if useful is None or private > useful.high:
        return None
    return Levels(max(private, useful.low), useful.high)
