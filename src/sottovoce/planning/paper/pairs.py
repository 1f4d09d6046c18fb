"""Distances between pairs of users: the mean and the variance that Theorem 4.3 needs, corrected.

Y_{s,s'} = √(σ_s² + σ_s'² + δ_s'²) is the standard deviation of x^s − x̂^s', user s before and user s' after noise, with
σ² ~ Exponential(λ1) and δ² ~ Exponential(λ2). Everything scales with 1/√λ1, so that only the noise level
(c = λ1/λ2) has to be integrated over.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx

from sottovoce.errors import BadParameter
from sottovoce.planning.paper.checks import check

_NODES = 96
_REACH = 6.4  # in square roots of the mean variance: e^{−6.4²} < 2e-18 lies beyond


@dataclass(frozen=True)
class PairMean:
    """Mean and variance of (1/S²)·Σ_{s,s'} Y_{s,s'} over random crowds of S users."""

    mean: float
    variance: float


def corrected_pair_distance(error_rate: float, level: float) -> float:
    """E[Y] for two different users.

    E[Y] = √π/(√λ1·(1−c)) · (3/4 − c(c+√c+1)/(2(1+√c))); printed with √2 in place of the last 2.
    The factor 1−c cancels: with r = √c it is √(π/λ1)·(3 + 6r + 4r² + 2r³)/(4(1+r)²), at c = 1 (15/16)·√(π/λ1).

    >>> round(corrected_pair_distance(error_rate=1, level=0.5), 3)
    1.513
    """
    check(error_rate=error_rate, level=level)
    root = math.sqrt(level)
    return math.sqrt(math.pi / error_rate) * (3 + root * (6 + root * (4 + 2 * root))) / (4 * (1 + root) ** 2)


def corrected_pair_density(error_rate: float, level: float, distance: ArrayLike) -> NDArray[np.float64]:
    """Density of Y for two different users, at distances y ≥ 0; its mean is `corrected_pair_distance`.

    Y² is the sum of a Gamma(2, λ1) and an Exponential(λ2) variable. With t = y² and x = (λ1 − λ2)·t,

        f(y) = 2y · λ1²·λ2·t² · e^{−λ1·t} · (e^x − 1 − x)/x²,

    and at c = 1, where x = 0, f(y) = λ1³·y⁵·e^{−λ1·y²}: the law of √Gamma(3, λ1).

    >>> corrected_pair_density(1.0, 1.0, [0.0, 1.0]).round(4).tolist()
    [0.0, 0.3679]
    """
    check(error_rate=error_rate, level=level)
    points = np.asarray(distance, dtype=np.float64)
    if not (points >= 0).all():
        raise BadParameter(f"distance {points.min()}: a distance must be 0 or more; leave out negative ones")
    noise_rate = error_rate / level
    squares = points**2
    exponents = (error_rate - noise_rate) * squares
    near = np.abs(exponents) < 0.01  # there the difference cancels; six terms of the series are exact
    series = sum(exponents**power / math.factorial(power + 2) for power in range(6)) * np.exp(-error_rate * squares)
    apart = np.where(near, 1.0, exponents)
    closed = (np.exp(-noise_rate * squares) - np.exp(-error_rate * squares) * (1 + apart)) / apart**2
    return np.asarray(2 * points * error_rate**2 * noise_rate * squares**2 * np.where(near, series, closed))


def corrected_pair_mean(error_rate: float, level: float, participants: int) -> PairMean:
    """Mean and variance of the mean of Y over all S² pairs, which share users.

    With d = √(2σ_s² + δ_s²) for a user paired with themselves, and g = Y_{s,s'} + Y_{s',s} for two users, Hoeffding's
    decomposition gives

        Var = (1/S⁴)·[ S·Var(d) + 2S(S−1)·Cov(d, g₁) + S(S−1)/2·(2(S−2)·ζ₁ + ζ₂) ],

    with g₁ = E[g | user s], ζ₁ = Var(g₁), ζ₂ = Var(g). So S·Var → ζ₁: it falls like 1/S, where the paper has 1/S².

    A user's distance to themselves is really δ_s. It is counted as √(2σ_s² + δ_s²), like all other pairs, because only
    then does Lemma 4.4 carry over to pairs (see `weigh_values`); it adds a term of order 1/S to the mean.
    """
    check(error_rate=error_rate, level=level, participants=participants)
    unit = _moments(level)
    users = float(participants)
    distance = corrected_pair_distance(1.0, level)
    mean = (1 - 1 / users) * distance + unit.own_mean / users
    variance = (
        users * unit.own_variance
        + 2 * users * (users - 1) * unit.covariance
        + users * (users - 1) / 2 * (2 * (users - 2) * unit.shared_variance + unit.pair_variance)
    ) / users**4
    return PairMean(mean / math.sqrt(error_rate), variance / error_rate)


@dataclass(frozen=True)
class _Moments:
    own_mean: float  # E[d]
    own_variance: float  # Var(d)
    covariance: float  # Cov(d, g₁)
    shared_variance: float  # ζ₁
    pair_variance: float  # ζ₂


@lru_cache(maxsize=256)
def _moments(level: float) -> _Moments:
    """Moments at λ1 = 1, by Gauss–Legendre quadrature in σ and δ, where the integrands are smooth."""
    nodes, lengths = np.polynomial.legendre.leggauss(_NODES)
    points = _REACH / 2 * (nodes + 1)
    weights = _REACH / 2 * lengths * 2 * points * np.exp(-(points**2))  # of an Exponential(1), at its square root
    errors = points**2
    noises = level * errors

    as_noisy = _mean_root(errors[:, None] + noises, 1.0)  # E[Y_{s,s'} | user s']
    as_clear = as_noisy @ weights  # E[Y_{s,s'} | user s]
    shared = as_clear[:, None] + as_noisy
    own = np.sqrt(2 * errors[:, None] + noises)

    def mean(function: NDArray[np.float64]) -> float:
        return float(weights @ function @ weights)

    pair_mean, own_mean = mean(as_noisy), mean(own)
    total = 2 + level  # E[Y²] and E[d²]
    # Y_{s,s'} and Y_{s',s} share σ_s² + σ_s'² ~ Gamma(2), and differ in their noise.
    both_ways = float((weights * errors) @ _mean_root(errors, level) ** 2)
    return _Moments(
        own_mean=own_mean,
        own_variance=total - own_mean**2,
        covariance=mean(own * shared) - 2 * own_mean * pair_mean,
        shared_variance=mean(shared**2) - 4 * pair_mean**2,
        pair_variance=2 * (total - pair_mean**2) + 2 * (both_ways - pair_mean**2),
    )


def _mean_root(start: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """E√(start + Exponential with this mean) = √start + √(π·mean)/2 · erfcx(√(start/mean))."""
    found: NDArray[np.float64] = np.sqrt(start) + math.sqrt(math.pi * mean) / 2 * erfcx(np.sqrt(start / mean))
    return found
