"""Exact profiles of normal noise whose variance is drawn once for n readings.

Written by hand: the noise is symmetric, so δ(ε) is a double integral over the length r of the noise and its angle to
the shift, with a positive integrand: δ = ∫ p(r) ∫ (1 - e^{ε - L(r, θ)})₊, L = g(r) - g(r'), r' the distance from the
shifted centre, g the logarithm of the density at length r. Bessel functions, which give g for the shared law, overflow
for many readings and do not exist for the floored law; g is a smooth mixture in either case, summed once and tabulated.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, roots_legendre

Floats = NDArray[np.float64]

MOST_READINGS = 200
_SHORTEST = 1e-16  # lengths are in units of √(1/rate)
_KNOT = 0.006  # spacing of the table, in log length: an error of g below 1e-10
_ANGLES = 64
_FEWER_ANGLES = 48  # of a second, coarser quadrature, as a check
_TRUSTED = 1e-6  # relative precision without which a figure of the quadrature is not used
_NEGLIGIBLE = 42.0  # parts smaller than e^-42 of the largest are left out


@dataclass(frozen=True)
class RadialNoise:
    """Noise √y·Normal(0, I_n) with y = ``floor`` + Exponential(1)."""

    readings: int
    floor: float

    @property
    def longest(self) -> float:
        """Length beyond which the noise has negligible weight."""
        n = self.readings
        return math.sqrt((self.floor + 60) * (n + 15 * math.sqrt(n) + 60))

    @cached_property
    def log_density(self) -> Callable[[float | Floats], Floats]:
        """g(log r): logarithm of the density at a point of length r.

        The mixture over y is summed by the trapezoidal rule in t = log of the exponential part, which converges like
        exp(-c/spacing) for this integrand.
        """
        n = self.readings
        lengths = np.arange(math.log(_SHORTEST), math.log(2 * self.longest) + _KNOT, _KNOT)
        first = -40.0 if self.floor else 2 * math.log(_SHORTEST) - 5
        spacing = min(0.2, 0.7 * math.sqrt(2 / n))
        t = np.arange(first, math.log(60.0), spacing)
        variance = self.floor + np.exp(t)
        constant = t - np.exp(t) - n / 2 * np.log(2 * math.pi * variance) + math.log(spacing)
        values, slopes = [], []
        for part in np.array_split(lengths, 16):
            squares = np.exp(2 * part)[:, None] / variance
            exponents = constant - squares / 2
            largest = exponents.max(axis=1, keepdims=True)
            shares = np.exp(exponents - largest)
            total = shares.sum(axis=1)
            values.append(np.log(total) + largest[:, 0])
            slopes.append(-(shares * squares).sum(axis=1) / total)
        spline = CubicHermiteSpline(lengths, np.concatenate(values), np.concatenate(slopes))
        return lambda r: np.asarray(spline(np.log(np.maximum(r, _SHORTEST))))

    def log_length_density(self, r: Floats) -> Floats:
        """Logarithm of the density of the noise's length."""
        n = self.readings
        sphere = math.log(2) + n / 2 * math.log(math.pi) - gammaln(n / 2)
        return np.asarray(sphere + (n - 1) * np.log(r) + self.log_density(r))


@lru_cache(maxsize=64)
def radial_noise(readings: int, floor: float) -> RadialNoise:
    """The noise, whose table is made once per number of readings and floor."""
    return RadialNoise(readings, floor)


@dataclass(frozen=True)
class RadialProfile:
    """δ(ε) for inputs at ``distance``, in units of √(1/rate); exact for this number of readings."""

    readings: int
    distance: float
    floor: float = 0.0

    @property
    def noise(self) -> RadialNoise:
        return radial_noise(self.readings, self.floor)

    def _loss_behind(self, r: float | Floats) -> Floats:
        """Largest privacy loss at length r: the shift points directly away from it."""
        return np.asarray(self.noise.log_density(r) - self.noise.log_density(r + self.distance))

    def _loss_ahead(self, r: float | Floats) -> Floats:
        """Smallest privacy loss at length r < distance/2: the shift points directly at it."""
        return np.asarray(self.noise.log_density(r) - self.noise.log_density(np.abs(r - self.distance)))

    @cached_property
    def _worst(self) -> tuple[float, float]:
        """Length and size of the largest loss."""
        logs = np.linspace(math.log(self._shortest), math.log(self.noise.longest), 2000)
        losses = self._loss_behind(np.exp(logs))
        best = int(np.argmax(losses))
        low, high = logs[max(best - 1, 0)], logs[min(best + 1, len(logs) - 1)]
        minimum = minimize_scalar(
            lambda log: -float(self._loss_behind(math.exp(log))), bounds=(low, high), method="bounded",
            options={"xatol": 1e-10},
        )  # fmt: skip
        if -minimum.fun > losses[best]:
            return math.exp(minimum.x), -float(minimum.fun)
        return math.exp(logs[best]), float(losses[best])

    @property
    def _shortest(self) -> float:
        return max(_SHORTEST * 10, 1e-9 * min(1.0, self.distance))

    @property
    def pure_epsilon(self) -> float | None:
        """The largest loss, or None without a floor: then density and loss have no bound for two readings or more."""
        return self._worst[1] if self.floor else None

    def delta(self, epsilon: float) -> float:
        """δ, or NaN where the quadrature fails or disagrees with a coarser one: the caller has a bound as well."""
        with np.errstate(all="ignore"):
            try:
                delta, check = self._quadratures(epsilon)
            except (ArithmeticError, ValueError):
                return math.nan
        agreed = abs(delta - check) <= _TRUSTED * delta + 1e-300
        return delta * (1 + _TRUSTED / 2) + self._too_short if agreed else math.nan

    @property
    def _too_short(self) -> float:
        """An upper bound on the probability of noise shorter than the quadrature's range, where the loss has no bound.

        Two of its coordinates have squares that add up to 2y times an exponential variable: E[1 - e^{-x²/2y}] is at
        most P(y < x²) + x²/2 · E[1/y; y > x²], and the latter mean at most ln(1 + 1/x²).
        """
        square = self._shortest * self._shortest
        return 0.0 if self.floor or self.readings == 1 else square * (1 + math.log1p(1 / square) / 2)

    def _quadratures(self, epsilon: float) -> tuple[float, float]:
        """δ by quadrature over many angles, and over fewer."""
        worst_length, worst_loss = self._worst
        if epsilon >= worst_loss:
            return 0.0, 0.0
        edges = [self._shortest, self.noise.longest]
        if self._loss_behind(edges[0]) < epsilon:
            edges[0] = self._crossing(self._loss_behind, edges[0], worst_length, epsilon)
        if self._loss_behind(edges[1]) < epsilon:
            edges[1] = self._crossing(self._loss_behind, worst_length, edges[1], epsilon)
        half = self.distance / 2
        if edges[0] < half and self._loss_ahead(edges[0]) > epsilon:
            edges.insert(1, self._crossing(self._loss_ahead, edges[0], half, epsilon))
        r, weights = _nodes(tuple(math.log(edge) for edge in sorted(edges)))
        log_density = self.noise.log_length_density(r) + np.log(r)
        masses = weights * np.exp(log_density)
        if self.readings == 1:
            delta = float((masses * self._one_reading(r, epsilon)).sum())
            return delta, delta
        many, fewer = self._over_angles(r, epsilon)
        return float((masses * many).sum()), float((masses * fewer).sum())

    @staticmethod
    def _crossing(loss: Callable[[float], Floats], low: float, high: float, epsilon: float) -> float:
        def excess(log: float) -> float:
            return float(loss(math.exp(log))) - epsilon

        ends = math.log(low), math.log(high)
        if excess(ends[0]) * excess(ends[1]) >= 0:  # at ε = 0 the losses meet only at the far end
            return high
        return math.exp(brentq(excess, *ends, xtol=1e-14))

    def _one_reading(self, r: Floats, epsilon: float) -> Floats:
        losses = np.stack([self._loss_behind(r), self._loss_ahead(r)])
        return np.asarray(-np.expm1(np.minimum(epsilon - losses, 0)).mean(axis=0))

    def _over_angles(self, r: Floats, epsilon: float) -> tuple[Floats, Floats]:
        """Mean over the sphere of (1 - e^{ε - L})₊; θ is measured from the direction away from the shift."""
        n, density = self.readings, self.noise.log_density
        here = density(r)

        def loss(angles: Floats) -> Floats:
            length, shift = r[:, None], self.distance
            # Law of cosines, in a form that stays precise where both sides nearly agree
            squared = (length - shift) ** 2 + 4 * length * shift * np.cos(angles / 2) ** 2
            return np.asarray(here[:, None] - density(np.sqrt(squared)))

        low, high = np.zeros((len(r), 1)), np.full((len(r), 1), math.pi)
        for _ in range(50):  # the loss falls with the angle
            middle = (low + high) / 2
            above = loss(middle) > epsilon
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        widest = low
        narrowest = np.zeros_like(widest)
        if n > 2:  # sin^{n-2} is sharply peaked for many readings: leave out where it vanishes
            least = np.sin(np.minimum(widest, math.pi / 2)) * math.exp(-_NEGLIGIBLE / (n - 2))
            narrowest = np.arcsin(least)
            widest = np.minimum(widest, math.pi - np.arcsin(math.exp(-_NEGLIGIBLE / (n - 2))))
        constant = gammaln(n / 2) - gammaln((n - 1) / 2) - math.log(math.pi) / 2

        def mean(count: int) -> Floats:
            nodes, weights = roots_legendre(count)
            angles = narrowest + (widest - narrowest) * (nodes + 1) / 2
            surface = np.exp(constant + (n - 2) * np.log(np.maximum(np.sin(angles), 1e-300)))
            gain = -np.expm1(np.minimum(epsilon - loss(angles), 0))
            return np.asarray((surface * gain * weights).sum(axis=1) * (widest - narrowest)[:, 0] / 2)

        return mean(_ANGLES), mean(_FEWER_ANGLES)


def _nodes(edges: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Nodes and weights in log r, with cells that shrink towards every edge, where the integrand has a bend."""
    points, masses = roots_legendre(16)
    places, weights = [], []
    for low, high in pairwise(edges):
        width = high - low
        ends = np.concatenate([[0.0], 2.0 ** np.arange(-30, 0)])  # from the edge to the middle
        fine = np.concatenate([ends, 1 - ends[-2::-1]]) * width
        cells = np.unique(np.concatenate([low + fine, np.arange(low, high, 0.4), [high]]))
        sizes = np.diff(cells)
        places.append((cells[:-1, None] + sizes[:, None] * (points + 1) / 2).ravel())
        weights.append((sizes[:, None] * masses / 2).ravel())
    return np.exp(np.concatenate(places)), np.concatenate(weights)
