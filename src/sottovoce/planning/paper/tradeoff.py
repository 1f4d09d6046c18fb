"""Theorem 4.9: the noise levels (c = λ1/λ2) that keep both guarantees, privacy and utility."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from sottovoce.planning.paper.checks import check
from sottovoce.planning.paper.pairs import corrected_pair_mean
from sottovoce.planning.paper.sensitivity import corrected_lowest_level, printed_lowest_level
from sottovoce.planning.paper.utility import (
    corrected_least_alpha,
    printed_alpha,
    printed_highest_level,
    printed_least_alpha,
)

_LEAST_ROOT = 1e-6  # of a noise level; far below it nothing changes any more


@dataclass(frozen=True)
class Levels:
    """Noise levels (c) from ``low`` to ``high``, without those strictly within the ``gaps``."""

    low: float
    high: float
    gaps: "tuple[Levels, ...]" = ()


@dataclass(frozen=True)
class Frontier:
    """Where the bounds of Theorem 4.9 meet: the noise level (c) that privacy requires, and the least error (α) there.

    With None, the theorem as printed cannot guarantee any error there.
    """

    level: float
    alpha: float | None


def _printed_edges(alpha: float, error_rate: float) -> list[float]:
    """Noise levels at which α = α_{λ1,c} as printed, and c = 1, in ascending order: roots of a quartic in √c."""
    error = alpha * math.sqrt(error_rate / 8)
    part = 1 / math.sqrt(2)
    roots = np.roots([part, part - error, part - error, error - 0.75, error - 0.75])
    real = roots[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots.real))].real
    return sorted([1.0, *(real[real > 0] ** 2).tolist()])


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


@dataclass(frozen=True)
class TradeOffTheorem:
    """Theorem 4.9 for one campaign: for which noise levels (c) its guarantees hold.

    Utility: noise moves an aggregate of ``participants`` users, whose error variances have the rate ``error_rate``
    (λ1), too far with a chance of at most ``beta``. Privacy: one reading that moves by Δ_s, computed from ``b`` and
    ``eta`` as in `sensitivity_factor`, is protected with ``epsilon`` and ``delta``.
    """

    beta: float
    participants: int
    error_rate: float
    epsilon: float
    delta: float
    b: float = 3.0
    eta: float = 0.95

    @property
    def printed_lowest(self) -> float:
        """γ_s²/(2·λ1·ε·ℓ), ℓ = ln(1/(1−δ)), the level from which on the printed bound on privacy holds."""
        return printed_lowest_level(self.error_rate, self.epsilon, self.delta, self.b, self.eta)

    @property
    def corrected_lowest(self) -> float:
        """γ_s²/(2ℓ(ε + ℓ)), the level from which on the corrected bound on privacy holds."""
        return corrected_lowest_level(self.epsilon, self.delta, self.b, self.eta)

    def printed_levels(self, alpha: float) -> Levels | None:
        """Noise levels as printed: `printed_lowest` ≤ c ≤ C with α > α_{λ1,c}. None if there are none.

        The last condition is Theorem 4.3's. Since the printed α_{λ1,c} is infinite at c = 1 and grows like √c, it
        shortens the interval, and removes a piece of one that contains c = 1.

        >>> levels = TradeOffTheorem(0.05, 150, 2, epsilon=1, delta=0.1).printed_levels(20)
        >>> round(levels.low), round(levels.high)
        (128, 196)
        """
        low = self.printed_lowest
        high = printed_highest_level(alpha, self.beta, self.participants, self.error_rate)
        inner = [level for level in _printed_edges(alpha, self.error_rate) if low < level < high]
        edges = [low, *inner, high]
        pieces = [
            (start, end)
            for start, end in pairwise(edges)
            if start < end and printed_alpha(self.error_rate, (start + end) / 2) < alpha
        ]
        if not pieces:
            return None
        gaps = tuple(Levels(end, start) for (_, end), (start, _) in pairwise(pieces) if end < start)
        return Levels(pieces[0][0], pieces[-1][1], gaps)

    def corrected_levels(self, alpha: float) -> Levels | None:
        """Noise levels as corrected: from `corrected_lowest` to the largest with `corrected_beta` ≤ β."""
        private = self.corrected_lowest
        useful = useful_levels(alpha, self.beta, self.participants, self.error_rate)
        if useful is None or private > useful.high:
            return None
        return Levels(max(private, useful.low), useful.high)

    def printed_frontier(self) -> Frontier:
        """Where the printed bounds meet: `printed_lowest` = C, and the least α that this C and α > α_{λ1,c} allow."""
        level = self.printed_lowest
        alpha = printed_least_alpha(self.beta, self.participants, self.error_rate, level)
        return Frontier(level, alpha if math.isfinite(alpha) else None)

    def corrected_frontier(self) -> Frontier:
        """Where the corrected bounds meet: `corrected_lowest`, and the α at which `corrected_beta` is β there.

        >>> TradeOffTheorem(0.05, 150, 2, epsilon=1, delta=0.1).corrected_frontier().alpha < 20
        True
        """
        level = self.corrected_lowest
        return Frontier(level, corrected_least_alpha(self.beta, self.participants, self.error_rate, level))
