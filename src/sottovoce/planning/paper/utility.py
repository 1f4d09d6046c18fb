"""Definition 4.2, Theorem 4.3, Lemma 4.4 and Appendices A and B: how far noise may move the aggregates."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sottovoce.errors import BadParameter
from sottovoce.planning.paper.checks import check
from sottovoce.planning.paper.pairs import corrected_pair_distance, corrected_pair_mean


@dataclass(frozen=True)
class WeightedMean:
    """What Lemma 4.4 is about: a weighted mean beside the plain one."""

    weighted: float
    plain: float
    decreasing: bool
    """Whether a larger value never has a larger weight, as the lemma requires."""

    @property
    def holds(self) -> bool:
        """Whether the weighted mean is at most the plain one (up to rounding)."""
        return self.weighted <= self.plain + 1e-12 * max(1.0, abs(self.plain))


def weigh_values(values: ArrayLike, weights: ArrayLike) -> WeightedMean:
    """Check Lemma 4.4 on given values t_s and weights w_s = w(t_s).

    The lemma: if w decreases in t, then Σ w(t_s)·t_s / Σ w(t_s) ≤ (1/S)·Σ t_s (Chebyshev's sum inequality).

    It does not cover the paper's use of it, on pairs weighted w_s·ŵ_s', since those weights need not decrease in
    Y_{s,s'}. It can be applied to s and then to s', if w_s falls as σ_s² rises, ŵ_s' falls as σ_s'² + δ_s'² rises, and
    a user's distance δ_s to themselves is replaced by the larger √(2σ_s² + δ_s²).

    >>> weigh_values([1, 2, 6], weights=[3, 2, 1])
    WeightedMean(weighted=2.1666666666666665, plain=3.0, decreasing=True)
    """
    points, shares = _weighted(values, weights)
    # Equal values are sorted by falling weight: the lemma needs some order in which values rise and weights fall.
    order = np.lexsort((-shares, points))
    decreasing = bool((np.diff(shares[order]) <= 0).all())
    return WeightedMean(float(shares @ points / shares.sum()), float(points.mean()), decreasing)


def _weighted(values: ArrayLike, weights: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    points, shares = np.asarray(values, dtype=float).ravel(), np.asarray(weights, dtype=float).ravel()
    if len(points) == 0 or len(points) != len(shares):
        raise BadParameter(
            f"{len(points)} values and {len(shares)} weights: each value needs one weight; give equally many of both"
        )
    if not (np.isfinite(points).all() and np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise BadParameter(
            f"weights from {shares.min()} to {shares.max()} of values from {points.min()} to {points.max()}: "
            "values must be finite, weights not negative and not all 0; leave out values without a weight"
        )
    return points, shares


def pair_sum(values: ArrayLike, weights: ArrayLike) -> float:
    """S·Σ w_s·t_s − Σ w_s·Σ t_s = Σ_{s<s'} (w_s − w_s')(t_s − t_s'), over all S(S−1)/2 pairs: what Lemma 4.4 rests on.

    Where weights fall as values rise no summand is positive, and that proves the lemma. In the paper's Appendix B the
    sum ends at ⌈(S−1)/2⌉, which leaves pairs out: with three users it is 0, where −15 is right.

    >>> pair_sum([1, 2, 6], weights=[3, 2, 1])
    -15.0
    """
    points, shares = _weighted(values, weights)
    return float(len(points) * (shares @ points) - shares.sum() * points.sum())


def printed_pair_distance(error_rate: float, level: float) -> float:
    """E[Y] as printed: √π/(√λ1·(1−c)) · (3/4 − c(c+√c+1)/(√2(1+√c))); infinite at c = 1.

    >>> round(printed_pair_distance(error_rate=1, level=0.5), 3)
    1.038
    """
    check(error_rate=error_rate, level=level)
    if level == 1:
        return math.inf
    root = math.sqrt(level)
    bracket = 3 / 4 - level * (level + root + 1) / (math.sqrt(2) * (1 + root))
    return math.sqrt(math.pi / error_rate) / (1 - level) * bracket


def printed_alpha(error_rate: float, level: float) -> float:
    """α_{λ1,c} as printed in Theorem 4.3: 2√2/(√λ1·(1−c)) · (3/4 − c(c+√c+1)/(√2(1+√c))), above which α must lie.

    It is 2√(2/π) times the printed E[Y], and so negative for c from about 0.76 to 1, where it excludes no α at all.
    """
    return math.sqrt(8 / math.pi) * printed_pair_distance(error_rate, level)


def corrected_alpha(error_rate: float, level: float) -> float:
    """α_{λ1,c} as corrected: 2√(2/π)·E[Y] = 2√2/(√λ1·(1−c)) · (3/4 − c(c+√c+1)/(2(1+√c))), finite at c = 1.

    Twice the mean of the bound: above it Chebyshev's inequality may be written with α/2 in place of the distance
    from the mean. `corrected_beta` takes the distance itself and needs only half as large an α.
    """
    return math.sqrt(8 / math.pi) * corrected_pair_distance(error_rate, level)


def printed_pair_variance(error_rate: float, level: float, participants: int) -> float:
    """Var(mean Y) as printed: (E[Y²] − E[Y]²)/S² with E[Y²] = (2+c)/λ1, as if no two pairs shared a user."""
    check(participants=participants)
    return ((2 + level) / error_rate - printed_pair_distance(error_rate, level) ** 2) / participants**2


def printed_highest_level(alpha: float, beta: float, participants: int, error_rate: float) -> float:
    """Largest noise level (C) as printed: C = λ1·√π·( α²βS²/(4√2) + α²√π/8 + α + 2/√π ) − 2.

    Without its first summand it is λ1·(√(π/8)·α + √2)² − 2, which mostly exceeds c already: as printed, the theorem
    then promises any β, however small.
    """
    check(alpha=alpha, beta=beta, participants=participants, error_rate=error_rate)
    return error_rate * _printed_room(alpha, beta * participants**2) - 2


def printed_beta(alpha: float, participants: int, error_rate: float, level: float) -> float | None:
    """Smallest chance (β) of an error of at least α that the printed theorem allows: the β at which C = c, or 0.

    None where α does not exceed the printed α_{λ1,c}, so that the theorem says nothing.
    """
    check(alpha=alpha, participants=participants)
    if not alpha > printed_alpha(error_rate, level):
        return None
    lacking = (2 + level) / error_rate - _printed_room(alpha, 0.0)
    return min(1.0, max(0.0, lacking * 4 * math.sqrt(2 / math.pi) / (alpha * participants) ** 2))


def _printed_room(alpha: float, chance: float) -> float:
    """(C + 2)/λ1 as printed, with ``chance`` = βS²."""
    root_pi = math.sqrt(math.pi)
    return root_pi * (alpha**2 * chance / (4 * math.sqrt(2)) + alpha**2 * root_pi / 8 + alpha + 2 / root_pi)


def printed_least_alpha(beta: float, participants: int, error_rate: float, level: float) -> float:
    """Least error (α) that the printed theorem promises at a noise level (c): C ≥ c and α ≥ α_{λ1,c}.

    C = c is quadratic in α. The least α is 0 if any will do, and infinite at c = 1, where the printed α_{λ1,c} is.
    """
    check(beta=beta, participants=participants)
    root_pi = math.sqrt(math.pi)
    square = root_pi * (beta * participants**2 / (4 * math.sqrt(2)) + root_pi / 8)
    lacking = (2 + level) / error_rate - 2
    # The larger root of square·α² + √π·α − lacking, written without a difference of nearly equal numbers.
    least = 2 * lacking / (root_pi + math.sqrt(math.pi + 4 * square * lacking)) if lacking > 0 else 0.0
    return max(least, printed_alpha(error_rate, level))


def corrected_least_alpha(beta: float, participants: int, error_rate: float, level: float) -> float:
    """Error (α) at which `corrected_beta` is β: √(2/π)·(E[M] + √(Var(M)/β))."""
    check(beta=beta)
    pairs = corrected_pair_mean(error_rate, level, participants)
    return math.sqrt(2 / math.pi) * (pairs.mean + math.sqrt(pairs.variance / beta))


def corrected_beta(alpha: float, participants: int, error_rate: float, level: float) -> float:
    """Bound (β) on the chance that the mean absolute difference of the aggregates is at least α, by Chebyshev.

    With M the mean of Y over all S² pairs (`corrected_pair_mean`):

        Pr{ mean_n |x*_n − x̂*_n| ≥ α } ≤ Pr{ √(2/π)·M ≥ α } ≤ (2/π)·Var(M) / (α − √(2/π)·E[M])²

    for α above √(2/π)·E[M]; 1 below it, where nothing is known. It assumes

    - infinitely many objects, each read by all users, so that means over objects are expectations;
    - weights that fall as variances rise, w_s with σ_s² and ŵ_s with σ_s² + δ_s²: Lemma 4.4 applies to s, then to s';
    - independent users with normal errors and noise, and variances from Exponential(λ1) and Exponential(λ2).
    """
    check(alpha=alpha)
    pairs = corrected_pair_mean(error_rate, level, participants)
    room = alpha - math.sqrt(2 / math.pi) * pairs.mean
    return min(1.0, 2 / math.pi * pairs.variance / room**2) if room > 0 else 1.0


@dataclass(frozen=True)
class EqualRates:
    """Appendix A, c = 1: the α to exceed, and 16·λ1·Var(Y) (printed: its first factor), printed and corrected."""

    printed_alpha: float
    corrected_alpha: float
    printed_variance: float
    corrected_variance: float


def equal_rates(error_rate: float) -> EqualRates:
    """Appendix A, for a noise level (c) of 1, where Y² ~ Gamma(3, λ1).

    - α as printed above 15·√(2λ1)/8, as corrected above (15/8)·√(2/λ1): E[Y] is (15/16)·√(π/λ1), not √(λ1·π);
    - the scaled variance as printed 48 − 12·λ1²·π, negative for λ1 > √(4/π) = 1.13; as corrected
      48 − (225/16)·π = 16·λ1·Var(Y), whatever λ1.
    """
    check(error_rate=error_rate)
    return EqualRates(
        printed_alpha=15 * math.sqrt(2 * error_rate) / 8,
        corrected_alpha=15 / 8 * math.sqrt(2 / error_rate),
        printed_variance=48 - 12 * error_rate**2 * math.pi,
        corrected_variance=48 - 225 / 16 * math.pi,
    )
