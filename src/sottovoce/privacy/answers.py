"""What a law for answers guarantees: figures that are never too small, computed without NumPy.

Neighbours are two sets of answers of one participant. At the level of a *reading*, one answer may change to any other;
at the level of a *participant*, all of them may. There is no distance: the guarantee holds for any two answers.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from sottovoce.errors import BadParameter
from sottovoce.privacy.exact import rounded_up
from sottovoce.privacy.parameters import check_delta, check_protected, checked_epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sottovoce.privacy.laws import AnswerLaw, Unit
    from sottovoce.privacy.profiles import Profile

MOST_ANSWERS = 10_000
_LARGEST_LOSS = 10**7  # an ε above this guarantees nothing, and is not computed
_MOST_SUMMED = 60  # answers under one draw; with more of them, δ is bounded instead of summed
_DIGITS = 50
_SLACK = Decimal(1) + Decimal(10) ** -30  # far more than what all roundings add up to


@dataclass(frozen=True)
class AnswerGuarantee:
    """The guarantee of a law for answers out of ``choices``.

    A participant gives ``readings`` answers. The protected ``unit`` is one of them (``"reading"``) or all of them
    (``"participant"``).

    >>> from sottovoce.privacy.laws import Response
    >>> promise = Response(0.2).guarantee(choices=4, readings=30, unit="participant")
    >>> promise.pure_epsilon
    6.0
    >>> f"{promise.delta(4):.7g}"
    '5.218192e-08'
    """

    law: "AnswerLaw"
    choices: int = 2
    readings: int = 30
    unit: "Unit" = "reading"

    def __post_init__(self) -> None:
        self.law.check_cells(self.choices)
        check_protected(self.readings, self.unit)
        if self.readings > MOST_ANSWERS:
            raise BadParameter(
                f"readings {self.readings:,}: the promise is computed for up to {MOST_ANSWERS:,} answers of one "
                "participant; let each participant answer fewer"
            )

    @cached_property
    def _profile(self) -> "Profile":
        return self.law.profile(self.choices, self.readings, 1 if self.unit == "reading" else self.readings)

    @property
    def pure_epsilon(self) -> float | None:
        """The ε that holds without exception (δ = 0), or None where there is none."""
        return self._profile.pure_epsilon

    def deltas(self, epsilons: "Sequence[float]", negligible: float) -> list[float]:
        """δ at each ε."""
        return [self.delta(epsilon) for epsilon in epsilons]

    def effort(self, epsilons: int, negligible: float) -> float:
        """Roughly how long `deltas` takes for this many ε; 1 is one pass over a few thousand numbers."""
        return epsilons * (1 + self.readings**3 / 12_000 if self.readings <= _MOST_SUMMED else 1.0)

    def delta(self, epsilon: float) -> float:
        """δ at this ε, or slightly more, never less."""
        return min(1.0, self._profile.delta(checked_epsilon(epsilon)))

    def epsilon(self, delta: float) -> float:
        """The smallest ε whose δ is at most this one, or slightly more, never less."""
        check_delta(delta)
        return smallest_epsilon(self._profile, delta)

    def sentence(self, epsilon: float | None = None, delta: float | None = None, compared: bool = False) -> str:
        """The promise in words for a participant, at this ε or δ; by default without exception.

        With ``compared`` it is about numbers that are compared with cuts, otherwise about choices.
        """
        from sottovoce.privacy.sentence import privacy_sentence

        if epsilon is None:
            epsilon = self.epsilon(delta or 0.0)
        return privacy_sentence(epsilon, self.delta(epsilon), None, self.unit, self.readings, compared=compared)


def smallest_epsilon(profile: "Profile", delta: float) -> float:
    """The smallest ε with at most this δ, rounded up, by bisection."""
    high = profile.pure_epsilon
    assert high is not None
    if delta == 0 or high > _LARGEST_LOSS:
        return high
    low = 0.0
    if profile.delta(low) <= delta:
        return low
    while high > low * (1 + 1e-14):
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        if profile.delta(middle) > delta:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class ResponseProfile:
    """Randomised response with ``exact_epsilon`` on ``moved`` answers that all change; a report names ``size`` cells.

    One answer has a likelihood ratio of e^ε with some chance a, of e^-ε with chance a·e^-ε, and otherwise of 1. The
    loss of n answers is ε·M, where M is the sum of n numbers, each 1, -1 or 0. With P(M = n-j) = h_j·a^n and ζ the
    chance of a 0 divided by a, the coefficients of a power of a polynomial give

        (j+1) h_{j+1} = (n-j) ζ h_j + (2n-j+1) e^-ε h_{j-1},

    which has no negative term up to j = n, and P(M = -m) = e^{-mε} P(M = m). Computed in decimal arithmetic, whose
    exponents neither overflow nor underflow here, with enough digits that only the last rounding counts.
    """

    exact_epsilon: Fraction
    cells: int
    size: int
    moved: int

    @cached_property
    def pure_epsilon(self) -> float:
        return rounded_up(self.exact_epsilon * self.moved)

    def delta(self, epsilon: float) -> float:
        """Σ P(M = m)(1 - e^{ε' - mε}) over all m with mε > ε', as P(M > m₀) - e^ε' P(M < -m₀)."""
        if epsilon >= self.pure_epsilon:
            return 0.0
        if self.pure_epsilon > _LARGEST_LOSS:
            return 1.0
        first = math.floor(Fraction(epsilon) / self.exact_epsilon)
        with localcontext(prec=self._digits, Emin=-(10**17), Emax=10**17):
            above, below = self._tails[first]
            return _double_above((above - Decimal(epsilon).exp() * below) * _SLACK)

    @property
    def _digits(self) -> int:
        # For a small ε the two sums nearly cancel: their difference loses about log10(1/ε) digits.
        return _DIGITS + max(0, -math.floor(math.log10(self.exact_epsilon)))

    @cached_property
    def _tails(self) -> list[tuple[Decimal, Decimal]]:
        """P(M > m) and P(M < -m) for m = 0 … n."""
        n, k, size = self.moved, self.cells, self.size
        with localcontext(prec=self._digits, Emin=-(10**17), Emax=10**17):
            exact = Decimal(self.exact_epsilon.numerator) / self.exact_epsilon.denominator
            ratio = (-exact).exp()
            same = Decimal(size - 1) / (k - size) + ratio * (k - 1 - size) / size
            previous, current = Decimal(0), Decimal(1)
            opposite = (-exact * n).exp()
            above = below = Decimal(0)
            tails = [(above, below)]
            for j in range(n):
                above += current
                below += current * opposite
                tails.append((above, below))
                previous, current = (
                    current,
                    ((n - j) * same * current + (2 * n - j + 1) * ratio * previous) / (j + 1),
                )
                opposite /= ratio
            total = above + current + below
            return [(above / total, below / total) for above, below in reversed(tails)]


def _double_above(number: Decimal) -> float:
    """The smallest double above a number; 0 stays 0."""
    return math.nextafter(float(number), math.inf) if number > 0 else 0.0
