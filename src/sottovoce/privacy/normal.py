"""Upper bounds on δ(ε) of normal noise with a known variance, continuous and in whole steps.

In whole steps the noise K moves by s, the privacy loss at K = k is L(k) = s(s - 2k)/2V, and δ(ε) = Σ F(k) over the
steps k with L(k) > ε, where F(k) = P(K = k)(1 - e^{ε - L(k)}). Three bounds, each good where another is not:

- `summed_delta`, term by term: all terms are positive, so nothing cancels; for small variances.
- `smooth_delta`, the integral of F, which is δ of continuous noise, and the largest error of the midpoint rule.
- `concentrated_delta`, by Rényi divergences, which discrete and continuous noise share: loose, but fast.

All take arrays of variances. Rounding goes up: arguments and results are moved outward by more than
their largest error. No bound is below `LEAST`, which stands for whatever is too small for a double.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

Floats = NDArray[np.float64]

LEAST = 1e-312
_ROUNDING = 2.0**-48  # relative error of an argument, after a dozen roundings
_ERFCX = 2e-13  # relative error of scipy's erfcx; its authors promise 1e-13
_SLACK = 1 + 1e-11  # relative error of a few products, and of sums of positive terms
_ROOT_2, _ROOT_2_PI = math.sqrt(2), math.sqrt(2 * math.pi)
_LARGEST_RATIO = 1e6  # deviations, beyond which δ counts as 1; also the root of an ε beyond any promise
_WINDOW = 45.0  # terms are summed down to e^-45 of the largest; the rest is bounded and added
_CLOSE_ENOUGH = 1e-5  # share of δ by which a bound may be too large
_FEW, _NEAR = 16, 5.0  # variances with one bound on the error; up to this many deviations
_AT_ONCE = 1 << 16  # terms: half a megabyte


def normal_delta(epsilon: float, shift: float, deviation: Floats | float) -> Floats:
    """δ of continuous normal noise; ``shift`` and ``deviation`` in one unit.

    With c = shift/deviation and a = c/2 - ε/c it is E[(1 - e^{-c(a - Z)})₊] with Z standard normal, or
    Φ(a) - e^ε Φ(a - c) (Balle and Wang 2018). It rises with a and with c.
    """
    with np.errstate(over="ignore", divide="ignore"):
        ratio = shift / np.asarray(deviation, np.float64)
    certain = ~(ratio <= _LARGEST_RATIO)  # δ counts as 1
    # Where the quotient underflows, a larger one is on the safe side, and so is a smaller ε.
    ratio = np.maximum(np.where(certain, 1.0, ratio), 1e-200)
    delta = _advantage(*_arguments(min(epsilon, _LARGEST_RATIO**2), ratio, np.ones_like(ratio)))
    return np.asarray(np.where(certain, 1.0, delta))


def _arguments(epsilon: float, shift: Floats | float, deviation: Floats) -> tuple[Floats, Floats]:
    c = np.asarray(shift / deviation * (1 + _ROUNDING))
    return c / 2 - epsilon / c + _ROUNDING * (c + epsilon / c), c


def _advantage(a: Floats, c: Floats) -> Floats:
    low = np.clip(a, -40.0, 0.0)  # values below e^-800 are replaced by LEAST
    near, far = erfcx(-low / _ROOT_2), erfcx((c - low) / _ROOT_2)
    # Both terms share the factor e^{-a²/2}, so this is a difference of scaled error functions.
    tail = np.exp(-np.square(low) / 2) / 2 * (near - far + _ERFCX * (near + far))
    # Above 0 no term is small.
    high = np.maximum(a, 0.0)
    bulk = ndtr(high) - np.exp(-np.square(high) / 2) / 2 * erfcx(np.maximum(c - high, 0.0) / _ROOT_2) + 2 * _ERFCX
    # For a tiny c the difference has no digits left: 1 - e^{-x} ≤ x, and E[(a - Z)₊] = φ(a) + aΦ(a).
    mean = _density(low) * (1 + low * near * (_ROOT_2_PI / 2) * (1 - _ERFCX) + 4 * _ERFCX)
    mean = np.where(a > 0, _density(high) + high * ndtr(high) + _ERFCX, mean)
    return np.asarray(np.minimum(np.where(a > 0, bulk, tail), c * mean) * _SLACK + LEAST)


def _density(x: Floats) -> Floats:
    return np.asarray(np.exp(-np.square(x) / 2) / _ROOT_2_PI)


def smooth_delta(epsilon: float, shift: float, variance: Floats) -> tuple[Floats, Floats]:
    """δ in whole steps by the integral of F, and what its error may add, for variances in ascending order.

    Both fall with the variance, so the smallest of several may represent all. If the shift grows in proportion to the
    deviation, the integral stays as it is and the error falls, so fewer readings with less noise may represent more
    readings with more noise.

    P(K = k) is at most the normal density φ(k), since densities at all steps add up to 1 or more. By Euler and
    Maclaurin's midpoint rule, Σ_{k ≤ κ} F(k) ≤ ∫ F - F′(κ + ½)/24 + ∫ |F⁗|/384 up to κ + ½, and ∫ F up to there is at
    most that of its positive part, δ of continuous noise. The rest is bounded without looking for κ, which is within a
    step of where the loss is ε. Let u be the distance down from there, γ = s/V and F = φh with h = 1 - e^{-γu}: F⁗ has
    the parts |φ⁗||h|, where |h| ≤ min(1, γ|u|)·e^γ, and, for j = 1 … 4, the j-th binomial times |φ⁽⁴⁻ʲ⁾| γʲ e^γ, with
    Hermite's polynomials taken with positive signs. Their integrals have closed forms.

    Where e^γ is large, the last term is bounded by itself, at most φ·min(1, γ), and the rule of second order,
    Σ F(k) ≤ ∫ F + ∫ |F″|/8, is used for the others, where e^{-γu} ≤ e^{-γ/2}.
    """
    a, c = _arguments(epsilon, shift, np.sqrt(variance))
    delta = _advantage(a, c)
    # The error is small, and falls with the variance: that of the first variance is used for a few of them, except far
    # out, where it changes too much from one to the next.
    near = int(np.count_nonzero(a > -_NEAR))
    first = np.concatenate([np.arange(0, near, _FEW), np.arange(near, len(a))])
    error = np.repeat(_error(a[first], c[first], variance[first], delta[first]), np.diff(first, append=len(a)))
    return np.asarray(delta * _SLACK), np.asarray(error * _SLACK + LEAST)


def _error(a: Floats, c: Floats, variance: Floats, delta: Floats) -> Floats:
    """The largest error of the rule of fourth order, or of second order where that is smaller."""
    deviation = np.sqrt(variance)
    gamma = c / deviation
    z = np.maximum(a + 1 / deviation, -40.0)  # in standard deviations, like everything below
    chance, density, peak = _around(z)
    near = np.minimum(z, 0.0)
    slope = c / 24 * (peak - np.minimum(z, -1.0) * _density(np.minimum(z, -1.0)) / (2 * deviation))
    bends = np.minimum(12 * chance - (z**3 + 9 * z) * density, c * (12 * z * chance + (z**2 + 23) * density))
    bends += c * (4 * (near**2 + 5) * peak + c * (6 * (2 * chance - z * density) + c * (4 * peak + c * chance)))
    fourth = (slope + bends / (384 * variance)) / variance * np.exp(np.minimum(gamma, 600.0))
    if (loose := fourth > _CLOSE_ENOUGH * delta).any():
        fourth[loose] = np.minimum(fourth[loose], _second_order(a[loose], c[loose], variance[loose]))
    return np.asarray(fourth)


def _second_order(a: Floats, c: Floats, variance: Floats) -> Floats:
    """The largest error of the rule of second order."""
    deviation = np.sqrt(variance)
    gamma = c / deviation
    z = np.maximum(a, -40.0)
    chance, density, peak = _around(z)
    bends = np.minimum(2 * chance - z * density, c * (2 * z * chance + 3 * density))
    bends += c * (2 * peak + np.minimum(c * chance, peak)) * np.exp(-np.minimum(gamma / 2, 2.0))
    return np.asarray(bends / (8 * variance) + peak / deviation * np.minimum(1.0, gamma))


def _around(z: Floats) -> tuple[Floats, Floats, Floats]:
    """Φ(z), φ(z), and ∫ |φ′| up to z or more: all of them rise with z, where they bound an integral up to z."""
    density = _density(z)
    return ndtr(z), density, np.where(z > 0, 2 / _ROOT_2_PI, density)


def summed_delta(epsilon: float, shift: float, variance: Floats, largest: Floats) -> Floats:
    """δ in whole steps, term by term downwards from the last step whose loss exceeds ε.

    It holds for all variances up to ``largest``: a larger one has smaller losses, and its probabilities are at most the
    terms of the largest over the total weight of the smallest.
    """
    reach = np.ceil(np.sqrt(2 * _WINDOW * largest)) + 2
    last = np.clip(np.floor(shift / 2 - epsilon * variance / shift) + 1, -np.ceil(40 * np.sqrt(largest)) - 2, reach)
    terms = (reach + np.maximum(last, 0)).astype(np.int64)
    total = np.empty_like(variance)
    first = 0
    while first < len(variance):
        rows = slice(first, first + max(1, _AT_ONCE // int(terms[first:].max())))
        k = last[rows, None] - np.arange(float(terms[rows].max()))
        weights = np.exp(-np.square(k) / (2 * largest[rows, None]))
        total[rows] = (weights * gain(epsilon, shift, k, variance[rows, None])).sum(axis=1)
        total[rows] += _tail(-k[:, -1], largest[rows])
        first = rows.stop
    total += np.where(last == reach, _tail(reach, largest), 0.0)
    return np.asarray(np.minimum(total / total_weight(variance), 1.0) * _SLACK + LEAST)


def gain(epsilon: float, shift: float, k: Floats, variance: Floats) -> Floats:
    """(1 - e^{ε - L})₊ at the noise k."""
    loss = shift * (shift - 2 * k) / (2 * variance)
    exponent = np.minimum(epsilon - loss - _ROUNDING * (epsilon + np.abs(loss)), 0.0)
    return np.asarray((1 - np.exp(exponent) + _ROUNDING) * (exponent < 0))  # exp is five times as fast as expm1


def total_weight(variance: Floats) -> Floats:
    """A lower bound on Σ e^{-k²/2V} over all whole k, which is also at least √(2πV)."""
    few = 1 + 2 * sum(np.exp(-k * k / (2 * np.minimum(variance, 1.0))) for k in range(1, 9))
    return np.asarray(np.where(variance < 1, few, np.sqrt(2 * math.pi * variance)) * (1 - 1e-12))


def _tail(first: Floats, variance: Floats) -> Floats:
    """An upper bound on Σ e^{-k²/2V} over k ≥ ``first``, a positive number."""
    return np.asarray(np.exp(-np.square(first) / (2 * variance)) / -np.expm1(-first / variance))


def concentrated_delta(epsilon: float, shift: float, variance: Floats) -> Floats:
    """δ in whole steps, at most e^{-(ε - ρ)²/4ρ} with ρ = s²/2V (Canonne, Kamath and Steinke 2020)."""
    rho = np.square(shift / np.sqrt(variance)) / 2 * (1 + _ROUNDING)
    excess = np.maximum(epsilon * (1 - _ROUNDING) - rho, 0.0)
    return np.asarray(np.exp(-np.square(excess) / (4 * rho) * (1 - 2 * _ROUNDING)) * _SLACK + LEAST)
