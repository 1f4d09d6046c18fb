"""Profiles of the noise that the exact sampler draws: sums over whole grid steps.

The continuous closed forms are no upper bounds for noise on a coarse grid. Here δ(ε) is summed over the integers and,
where a variance is drawn, over its own discrete law. There the server is taken to know the variance, which makes the
figure valid for any number of readings.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.polynomial.hermite_e import hermeval
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from sottovoce.privacy.profiles import LaplaceProfile, PureProfile
from sottovoce.privacy.sampler import VARIANCE_STEPS, GridLaw

Floats = NDArray[np.float64]

# Above this variance (in grid steps) a sum over integers is the integral with a few corrections, to 1e-9 of itself.
_WIDE = 100.0
# B_{2j}(1/2) / (2j)! of Euler and Maclaurin's midpoint rule
_CORRECTIONS = (-1 / 24, 7 / 5760, -31 / 967680, 127 / 154828800, -73 / 3503554560, 1414477 / 2678117105664000)
_ROWS = 2048  # variances summed at once
_ROUGH_SUMS = 1 << 16  # readings times variances that are convolved; about a second
# Above this variance the sum of several discrete normals is a discrete normal, to 1e-17 of itself.
_SMOOTH = 4.0
# A lattice of losses longer than this is not summed: for one reading it is as good as continuous, to 1e-7 of itself.
_LONGEST_LATTICE = 1 << 22


def drawn_variances(law: GridLaw) -> tuple[Floats, Floats]:
    """The variances (in grid steps) that the sampler may draw, and their chances."""
    if not law.quantum:
        return np.array([float(law.floor)]), np.ones(1)
    drawn = np.arange(45.0 * VARIANCE_STEPS)  # what is left out has a chance of e^-45
    chances = -math.expm1(-1 / VARIANCE_STEPS) * np.exp(-drawn / VARIANCE_STEPS)
    return float(law.floor) + (drawn + 1) * float(law.quantum), chances


@dataclass(frozen=True)
class LatticeLaplaceProfile:
    """Discrete Laplace noise on ``readings`` readings that all move by ``steps`` grid steps."""

    scale: Fraction
    steps: int
    readings: int

    @property
    def pure_epsilon(self) -> float:
        return float(self.readings * self.steps / self.scale)

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.pure_epsilon:
            return 0.0
        if self.readings * self.steps > _LONGEST_LATTICE:
            if self.readings == 1:
                return LaplaceProfile(float(self.steps / self.scale), 1).delta(epsilon)
            return PureProfile(self.pure_epsilon).delta(epsilon)
        losses, chances = self._losses(epsilon)
        return float(chances @ -np.expm1(np.minimum(epsilon - losses, 0)))

    def _losses(self, epsilon: float) -> tuple[Floats, Floats]:
        """Privacy losses of all readings together, and their probabilities.

        The loss of one reading is (steps - 2j)/scale with j = 0 … steps. Sums of n of them are convolutions, done by
        Fourier transform after tilting by e^{c·loss}, so that rare large losses keep their digits.
        """
        scale, m, n = float(self.scale), self.steps, self.readings
        ratio = math.exp(-1 / scale)
        one = (1 - ratio) / (1 + ratio) * np.power(ratio, np.arange(m + 1.0))
        one[0], one[m] = 1 / (1 + ratio), ratio**m / (1 + ratio)
        single = (m - 2 * np.arange(m + 1.0)) / scale
        if n == 1:
            return single, one

        def log_moment(c: float) -> float:
            return float(np.log(one @ np.exp(c * (single - single[0])))) + c * float(single[0])

        tilt = minimize_scalar(
            lambda c: n * log_moment(c) - c * epsilon, bounds=(0, 50 / single[0]), method="bounded"
        ).x  # fmt: skip
        tilted = one * np.exp(tilt * single - log_moment(tilt))
        size = n * m + 1
        length = 1 << (size - 1).bit_length()
        summed = np.maximum(np.fft.irfft(np.fft.rfft(tilted, length) ** n, length)[:size], 0)
        losses = (n * m - 2 * np.arange(float(size))) / scale
        return losses, np.asarray(summed * np.exp(n * log_moment(tilt) - tilt * losses), np.float64)


@dataclass(frozen=True)
class LatticeGaussianProfile:
    """Discrete normal noise on ``readings`` readings that all move by ``steps``, its variance by the sampler's law."""

    law: GridLaw
    steps: int
    readings: int
    pure_epsilon: None = None

    def delta(self, epsilon: float) -> float:
        variances, chances = drawn_variances(self.law)
        deltas = np.empty_like(variances)
        rough = (variances < _SMOOTH) & (self.readings > 1)
        if rough.sum() * self.readings > _ROUGH_SUMS:
            deltas[rough] = 1.0  # too many sums: take it that so little noise tells all
        else:
            for place in np.flatnonzero(rough):
                deltas[place] = self._rough_delta(epsilon, float(variances[place]))
        shift, together = self.steps * self.readings, variances * self.readings
        wide = together >= _WIDE
        deltas[wide & ~rough] = _wide_delta(epsilon, shift, together[wide & ~rough])
        narrow = np.flatnonzero(~wide & ~rough)
        for first in range(0, len(narrow), _ROWS):
            part = narrow[first : first + _ROWS]
            deltas[part] = _summed_delta(epsilon, shift, together[part])
        return float(chances @ deltas)

    def _rough_delta(self, epsilon: float, variance: float) -> float:
        """Several readings with so little noise that their sum is not a discrete normal: convolve."""
        n, m = self.readings, self.steps
        reach = math.ceil(math.sqrt(2 * variance * 45)) + 1
        k = np.arange(-reach, reach + 1)
        one = np.exp(-(k**2) / (2 * variance))
        one /= one.sum()
        size = 2 * n * reach + 1
        length = 1 << (size - 1).bit_length()
        sums = np.maximum(np.fft.irfft(np.fft.rfft(one, length) ** n, length)[:size], 0)
        losses = m * (n * m - 2 * (np.arange(size) - n * reach)) / (2 * variance)
        return float(sums @ -np.expm1(np.minimum(epsilon - losses, 0)))


def _summed_delta(epsilon: float, shift: int, variance: Floats) -> Floats:
    """δ of discrete normals, term by term."""
    # e^-745 is the smallest number there is; among many variances, e^-45 of the largest term is small enough.
    reach = math.ceil(math.sqrt(2 * variance.max() * (745 if len(variance) == 1 else 45)))
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * variance[:, None]))
    losses = shift * (float(shift) - 2 * k) / (2 * variance[:, None])
    gains = -np.expm1(np.minimum(epsilon - losses, 0))
    return np.asarray((weights * gains).sum(axis=1) / weights.sum(axis=1))


def _wide_delta(epsilon: float, shift: int, variance: Floats) -> Floats:
    """δ of discrete normals by the midpoint rule of Euler and Maclaurin, up to the last step whose loss exceeds ε.

    Σ_{k ≤ K} F(k) = ∫^{K+½} F - F⁽¹⁾/24 + 7F⁽³⁾/5760 - …, with F(k) = φ(k) - e^ε φ(k - shift).
    """
    deviation = np.sqrt(variance)
    last = np.ceil(shift / 2 - epsilon * variance / shift) - 1
    x, y = (last + 0.5) / deviation, (last + 0.5 - shift) / deviation
    total = np.exp(log_ndtr(x)) - np.exp(epsilon + log_ndtr(y))
    for j, correction in enumerate(_CORRECTIONS):
        order = 2 * j + 1
        slope = _derivative(x, order, 0.0) - _derivative(y, order, epsilon)
        total += correction * slope / deviation ** (order + 1)
    return np.asarray(np.maximum(total, 0))


def _derivative(x: Floats, order: int, log_factor: float) -> Floats:
    """Odd derivative of the standard normal density, times e^log_factor."""
    hermite = hermeval(np.clip(x, -1e4, 1e4), [0.0] * order + [1.0])
    return np.asarray(-hermite * np.exp(log_factor - x**2 / 2) / math.sqrt(2 * math.pi))
