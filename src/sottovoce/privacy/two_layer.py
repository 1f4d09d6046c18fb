"""What the two-layer law promises: a flip probability that a participant draws once, for all their answers.

With φ(j) = E[p^j (1-p)^(n-j)], the chance of n answers of which certain j are flipped, all figures are finite sums.
"""

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

_DIGITS = 60
_SLACK = Decimal(10) ** -40  # far more than what all roundings add up to
_MOST_SUMMED = 60  # answers that all change: δ is summed over all pairs up to here, and bounded by the pure ε beyond
Shape = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class TwoLayerProfile:
    """Flips with a probability from Beta(``shape``), or from Uniform(0, ½); of ``readings`` answers ``moved`` change.

    One answer that changes from being flipped to not, or back, changes j by 1. Where all may change, any number of them
    may: the figure is the largest over all these numbers.
    """

    shape: Shape | None
    readings: int
    moved: int

    @cached_property
    def pure_epsilon(self) -> float:
        """The largest change of ln φ(j): between neighbours if one answer changes, else between any two."""
        with _precise():
            chances = _chances(self.shape, self.readings)
            if self.moved == 1:
                ratios = [one / other for one, other in pairwise(chances)]
                largest = max(max(ratio, 1 / ratio) for ratio in ratios)
            else:
                largest = max(chances) / min(chances)
            return math.nextafter(float(largest.ln() + _SLACK), math.inf)

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.pure_epsilon:
            return 0.0
        if self.moved > _MOST_SUMMED:  # as of a biased coin with the same pure ε, which no mechanism exceeds
            return -math.expm1(epsilon - self.pure_epsilon) * (1 + 1e-12)
        with _precise():
            factor = Decimal(epsilon).exp()
            moves = [1] if self.moved == 1 else range(1, self.moved + 1)
            largest = max(self._sum(moved, factor) for moved in moves)
            return math.nextafter(float(largest + _SLACK), math.inf)

    def _sum(self, moved: int, factor: Decimal) -> Decimal:
        """Σ (P - e^ε P')₊ over how many flips are among the answers that change, and how many among the others."""
        chances, others = _chances(self.shape, self.readings), self.readings - moved
        total = Decimal(0)
        for flips in range(moved + 1):
            ways = Decimal(math.comb(moved, flips))
            for more in range(others + 1):
                excess = chances[flips + more] - factor * chances[moved - flips + more]
                if excess > 0:
                    total += ways * excess
                ways = ways * (others - more) / (more + 1)
        return total


@lru_cache(64)
def _chances(shape: Shape | None, n: int) -> tuple[Decimal, ...]:
    """φ(j) for j = 0 … n."""
    with _precise():
        if shape is None:
            # 2 ∫ p^j (1-p)^(n-j) from 0 to ½ = (number of subsets of n+1 with more than j members) / …
            chances, beyond, ways = [], 2 ** (n + 1), 1
            for j in range(n + 1):
                beyond -= ways * (n + 1) // (n + 1 - j)  # C(n+1, j)
                chances.append(Decimal(beyond) / (Decimal(2) ** n * (n + 1) * ways))
                ways = ways * (n - j) // (j + 1)
            return tuple(chances)
        a, b = (Decimal(part.numerator) / part.denominator for part in shape)
        current = Decimal(1)
        for i in range(n):
            current *= (b + i) / (a + b + i)
        chances = [current]
        for j in range(n):
            current *= (a + j) / (b + (n - j - 1))  # b may be lost in b + n
            chances.append(current)
        return tuple(chances)


def _precise() -> AbstractContextManager[Context]:
    return localcontext(prec=_DIGITS, Emin=-(10**17), Emax=10**17)
