"""Sensitive information (Definitions 4.5, 4.6, Lemma 4.7) and Theorem 4.8: the noise that a privacy promise needs."""

import math

from sottovoce.planning.paper.checks import check
from sottovoce.privacy.profiles import SharedAnyNumber


def sensitivity_factor(b: float = 3.0, eta: float = 0.95) -> float:
    """γ_s = b·√(2 ln(1/(1−η))): the distance (Δ_s) of two readings, before the error rate (λ1) enters.

    √(ln(1/(1−η))/λ1) is the error's standard deviation that a share η of the users stay below; two readings of one
    user differ by Normal(0, 2σ²), and b counts how many of its standard deviations are allowed.
    """
    check(b=b, eta=eta)
    return b * math.sqrt(-2 * math.log1p(-eta))


def printed_distance(error_rate: float, b: float = 3.0, eta: float = 0.95) -> float:
    """Distance (Δ_s) as printed in Lemma 4.7: Δ_s = γ_s/λ1.

    The step from 1/√λ1 to 1/λ1 needs λ1 ≤ 1, where the paper assumes λ1 > 1.
    """
    check(error_rate=error_rate)
    return sensitivity_factor(b, eta) / error_rate


def corrected_distance(error_rate: float, b: float = 3.0, eta: float = 0.95) -> float:
    """Distance (Δ_s) as corrected: Δ_s = γ_s/√λ1. An assumption about the data, not a bound."""
    check(error_rate=error_rate)
    return sensitivity_factor(b, eta) / math.sqrt(error_rate)


def claimed_probability(b: float = 3.0, eta: float = 0.95) -> float:
    """Chance that Lemma 4.7 promises, at least, for its distance: η·(1 − 2e^{−b²/2}/b). Below 0 it promises nothing.

    >>> round(claimed_probability(b=3, eta=0.95), 3)
    0.943
    """
    check(b=b, eta=eta)
    return eta * (1 - 2 * math.exp(-(b**2) / 2) / b)


def true_probability(error_rate: float, distance: float) -> float:
    """Chance that two readings of one object by one user lie within a distance: 1 − exp(−√λ1·Δ).

    They differ by Normal(0, 2σ²) with 2σ² ~ Exponential(λ1/2), which is Laplace with scale 1/√λ1. (One reading and the
    truth differ by Laplace with scale 1/√(2λ1); that is another event, and a likelier one.) At γ_s/√λ1 the chance is
    1 − e^{−γ_s}, whatever λ1, and never below the claimed one.

    >>> round(true_probability(25, printed_distance(25)), 2), round(true_probability(25, corrected_distance(25)), 4)
    (0.77, 0.9994)
    """
    check(error_rate=error_rate, distance=distance)
    return -math.expm1(-math.sqrt(error_rate) * distance)


def paper_delta(rate: float, distance: float, epsilon: float) -> float:
    """δ as printed in Theorem 4.8: 1 − exp(−λ2·Δ²/(2ε)).

    Its proof fails, but the figure is a valid bound for one reading that moves by Δ, under any number of readings: it
    is never below `exact_delta`, because √(ε² + k) − ε ≤ k/(2ε).

    >>> round(paper_delta(rate=0.5, distance=1, epsilon=1), 3)
    0.221
    """
    check(rate=rate, distance=distance, epsilon=epsilon)
    return -math.expm1(-rate * distance**2 / (2 * epsilon))


def exact_delta(rate: float, distance: float, epsilon: float) -> float:
    """δ that holds for any number of readings under one variance, and is reached in the limit of many:

    δ(ε) = 1 − exp(−(√(ε² + 2·λ2·Δ²) − ε)/2)

    >>> round(exact_delta(rate=0.5, distance=1, epsilon=1), 3)
    0.187
    """
    check(rate=rate, distance=distance, epsilon=epsilon)
    return SharedAnyNumber(rate * distance**2).delta(epsilon)


def printed_rate(epsilon: float, delta: float, distance: float) -> float:
    """Largest noise rate (λ2) for (ε, δ) as printed in Theorem 4.8: λ2 = 2εℓ/Δ² with ℓ = ln(1/(1−δ))."""
    check(epsilon=epsilon, delta=delta, distance=distance)
    return -2 * epsilon * math.log1p(-delta) / distance**2


def corrected_rate(epsilon: float, delta: float, distance: float) -> float:
    """Largest noise rate (λ2) for (ε, δ), from `exact_delta`: λ2 = 2ℓ(ε + ℓ)/Δ² with ℓ = ln(1/(1−δ))."""
    check(epsilon=epsilon, delta=delta, distance=distance)
    loss = -math.log1p(-delta)
    return 2 * loss * (epsilon + loss) / distance**2


def printed_lowest_level(error_rate: float, epsilon: float, delta: float, b: float = 3.0, eta: float = 0.95) -> float:
    """Smallest noise level (c) that keeps the privacy promise, as printed: c ≥ γ_s²/(2·λ1·ε·ℓ), ℓ = ln(1/(1−δ)).

    This is λ1 over `printed_rate` at `printed_distance`.
    """
    return error_rate / printed_rate(epsilon, delta, printed_distance(error_rate, b, eta))


def corrected_lowest_level(epsilon: float, delta: float, b: float = 3.0, eta: float = 0.95) -> float:
    """Smallest noise level (c) that keeps the privacy promise, as corrected: c ≥ γ_s²/(2ℓ(ε + ℓ)), ℓ = ln(1/(1−δ)).

    This is λ1 over `corrected_rate` at `corrected_distance`, from which λ1 cancels: a crowd twice as precise has
    readings closer together, and needs noise smaller in the same proportion.
    """
    return 1 / corrected_rate(epsilon, delta, sensitivity_factor(b, eta))
