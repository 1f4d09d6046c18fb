"""Privacy profiles in closed form: δ(ε) for continuous noise.

A profile measures how well one output of the mechanism distinguishes two neighbouring inputs:
δ(ε) = sup over events A of P(A) - e^ε P'(A). Each is precise down to δ = 1e-300, and rounded up.
"""

import math
import sys
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import accumulate
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from sottovoce.privacy.normal import normal_delta

Floats = NDArray[np.float64]

_SLACK = 1 + 1e-12  # rounding goes up
_LARGEST_LOSS = 1e7  # a larger one promises nothing, and is not summed


class Profile(Protocol):
    """δ as a function of ε, and the ε at which δ vanishes, if there is one."""

    @property
    def pure_epsilon(self) -> float | None: ...

    def delta(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class GaussianProfile:
    """Normal noise; ``shift`` in standard deviations."""

    shift: float
    pure_epsilon: None = None

    def delta(self, epsilon: float) -> float:
        return float(normal_delta(epsilon, self.shift, 1.0))


@dataclass(frozen=True)
class SharedAnyNumber:
    """One exponential variance for all readings, however many there are: δ as if the variance were known.

    δ(ε) = 1 - exp(-(√(ε² + 2·rate·distance²) - ε) / 2). Given the variance y the noise is normal, and its δ is the
    chance that a Brownian motion with drift ε/D stays below D/2 up to time y; averaged over an exponential y.
    """

    scaled_square: float  # rate · distance²
    pure_epsilon: None = None
    is_bound: ClassVar[bool] = True

    def delta(self, epsilon: float) -> float:
        # √(ε² + 2x) - ε, without the cancellation at small x
        square = max(self.scaled_square, sys.float_info.min)
        excess = 2 * square / (math.hypot(epsilon, math.sqrt(2 * square)) + epsilon)
        return -math.expm1(-excess / 2) * _SLACK


@dataclass(frozen=True)
class FlooredAnyNumber:
    """A floor and an exponential part: δ of normal noise, averaged over the variance."""

    distance: float
    floor: float
    rate: float
    pure_epsilon: None = None
    is_bound: ClassVar[bool] = True

    def delta(self, epsilon: float) -> float:
        # Variances from the floor up, by the exponential's own quantiles on the log scale: the integrand is smooth.
        nodes, weights = _UNIT_NODES
        width = math.log(60.0) - math.log(1e-18)
        extra = np.exp(math.log(1e-18) + nodes * width)
        chances = extra * np.exp(-extra) * weights * width
        quadrature = float((chances * self._known(epsilon, extra)).sum()) * _SLACK + 1e-18
        # δ falls with the variance, so sums over cells are bounds on either side: a quadrature between them is trusted.
        edges = np.concatenate([[0.0], np.geomspace(1e-9, 60.0, 2000)])
        deltas, chances = self._known(epsilon, edges), -np.diff(np.exp(-edges))
        most = float((chances * deltas[:-1]).sum()) * _SLACK + 1e-25
        least = float((chances * deltas[1:]).sum()) / _SLACK
        return quadrature if least <= quadrature <= most else most

    def _known(self, epsilon: float, extra: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return normal_delta(epsilon, self.distance, np.sqrt(self.floor + extra / self.rate))


@dataclass(frozen=True)
class PureProfile:
    """A bound from the pure ε alone: δ(ε) ≤ (e^pure - e^ε) / (e^pure + 1), with equality for a biased coin.

    It is used for very many readings with fresh noise, whose exact sum would take too long.
    """

    pure_epsilon: float
    is_bound: ClassVar[bool] = True

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.pure_epsilon:
            return 0.0
        return -math.expm1(epsilon - self.pure_epsilon) / (1 + math.exp(-self.pure_epsilon)) * _SLACK


@dataclass(frozen=True)
class LaplaceProfile:
    """Fresh Laplace noise on ``readings`` readings that all move; ``step`` is the pure ε of one.

    For one reading δ(ε) = 1 - exp((ε - step)/2). For n, the moment generating function of the privacy loss is
    M(s) = ((s+1) e^{s·step} + s e^{-(s+1)·step}) / (2s+1), and δ(ε) = 1/(2πi) ∫ M(s)ⁿ e^{-sε} / (s(s+1)) ds to the
    right of 0. Expanded by the binomial theorem, terms that decay to the right vanish; the others are residues at -1/2
    and 0: a finite, alternating sum, computed in decimal arithmetic with enough digits.
    """

    step: float
    readings: int

    @property
    def pure_epsilon(self) -> float:
        return self.step * self.readings

    def delta(self, epsilon: float) -> float:
        n = self.readings
        if epsilon >= self.pure_epsilon:
            return 0.0
        if n == 1:
            return -math.expm1((epsilon - self.step) / 2) * _SLACK
        if not self.pure_epsilon < _LARGEST_LOSS:
            return 1.0
        with localcontext() as context:
            context.prec = 60 + n
            step, total = Decimal(self.step), Decimal(0)
            for k in range(n // 2, n + 1):
                reach = (2 * k - n) * step - Decimal(epsilon)
                if reach > 0:
                    total += math.comb(n, k) * (-(n - k) * step).exp() * self._residues(k, reach)
            return max(0.0, float(total)) * _SLACK

    def _residues(self, k: int, reach: Decimal) -> Decimal:
        """Residues of e^{s·reach} (s+1)^{k-1} s^{n-k-1} / (2s+1)^n."""
        n, half = self.readings, reach / 2
        # With s = (v-1)/2 it is e^{-reach/2} 2^{1-n} times the coefficient of v^{n-1}
        # in e^{v·reach/2} (1+v)^{k-1} (v-1)^{n-k-1}.
        coefficient, power = Decimal(0), Decimal(1)
        series = self._coefficients[k]
        for j in range(n):
            if n - 1 - j < len(series):
                coefficient += power * series[n - 1 - j]
            power = power * half / (j + 1)
        at_zero = Decimal(1 if k == n else 0)
        return at_zero + coefficient * (-half).exp() / Decimal(2 ** (n - 1))

    @cached_property
    def _coefficients(self) -> dict[int, list[int]]:
        """Coefficients in v of (1+v)^{k-1} (v-1)^{n-k-1} for k from n/2 to n, where 1/(v-1) = -(1 + v + v² + …)."""
        n = self.readings
        coefficients = {}
        for k in range(max(1, n // 2), n):
            series = [math.comb(k - 1, j) for j in range(k)]
            for _ in range(n - k - 1):
                series = [low - high for low, high in zip([0, *series], [*series, 0], strict=True)]
            coefficients[k] = series
        coefficients[n] = list(accumulate(-math.comb(n - 1, j) for j in range(n)))
        return coefficients


@dataclass(frozen=True)
class BoundedProfile:
    """A quadrature where it lies between a lower and an upper bound, else the upper bound."""

    quadrature: Profile
    enough: Profile
    too_little: Profile | None = None

    @property
    def pure_epsilon(self) -> float | None:
        return self.quadrature.pure_epsilon

    def delta(self, epsilon: float) -> float:
        delta, most = self.quadrature.delta(epsilon), self.enough.delta(epsilon)
        least = self.too_little.delta(epsilon) if self.too_little else 0.0
        return delta if least <= delta <= most else most


def _unit_nodes(cells: int = 40, order: int = 12) -> tuple[Floats, Floats]:
    """Composite Gauss–Legendre nodes and weights on [0, 1]."""
    nodes, weights = roots_legendre(order)
    places = (np.arange(cells)[:, None] + (nodes + 1) / 2) / cells
    return places.ravel(), np.tile(weights / 2 / cells, cells)


_UNIT_NODES = _unit_nodes()
