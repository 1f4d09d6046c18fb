"""What the two-layer law guarantees: each participant draws one flip probability for all their answers.

With φ(j) = E[p^j (1-p)^(n-j)], the chance that of n answers a given set of j are flipped, all figures are finite sums.
"""

import math
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DIGITS = 60
_SLACK = Decimal(10) ** -40  # far more than what all roundings add up to
_MOST_SUMMED = 60  # answers that all change: δ is summed over all pairs up to here, and bounded by the pure ε beyond
Shape = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class TwoLayerProfile:
    """Flips with a probability from Beta(``shape``), or from Uniform(0, ½); of ``readings`` answers ``moved`` change.

    One answer that changes from being flipped to not, or back, changes j by 1. If all may change, any number of them
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
        # A biased coin with the same pure ε has a larger δ than any other mechanism.
        most = -math.expm1(epsilon - self.pure_epsilon) / (1 + math.exp(-self.pure_epsilon)) * (1 + 1e-12)
        if self.moved > _MOST_SUMMED:
            return most
        import numpy as np

        chances, losses, first = self._outcomes
        sums = np.add.reduceat(chances * -np.expm1(np.minimum(epsilon - losses, 0.0)), first)
        return min(most, float(sums.max()) * (1 + 1e-12) + 1e-300)

    @cached_property
    def _outcomes(self) -> "tuple[Floats, Floats, NDArray[np.int64]]":
        """Chances and privacy losses of all outcomes, rounded up, and where those of each number of changes begin.

        An outcome is the number of flips among the answers that change, and the number among the others.
        """
        import numpy as np

        n = self.readings
        logs = np.array([_log(chance) for chance in _chances(self.shape, n)])
        ways = np.array([math.lgamma(count + 1) for count in range(n + 1)])  # log of the number of orders
        margin = 16 * sys.float_info.epsilon * (float(np.abs(logs).max()) + float(ways[-1]))  # in each logarithm
        chances, losses, first = [], [], [0]
        for moved in [1] if self.moved == 1 else range(1, self.moved + 1):
            flips, more = np.arange(moved + 1)[:, None], np.arange(n - moved + 1)
            before, after = logs[flips + more], logs[moved - flips + more]
            choices = ways[moved] - ways[flips] - ways[moved - flips]
            choices = choices + ways[n - moved] - ways[more] - ways[n - moved - more]
            chances.append(np.exp(np.minimum(choices + before + margin, 0.0)).ravel())
            losses.append((before - after + margin).ravel())
            first.append(first[-1] + flips.size * more.size)
        return np.concatenate(chances), np.concatenate(losses), np.array(first[:-1])


@lru_cache(64)
def _chances(shape: Shape | None, n: int) -> tuple[Decimal, ...]:
    """φ(j) for j = 0 … n."""
    with _precise():
        if shape is None:
            # 2 ∫ p^j (1-p)^(n-j) from 0 to ½ = (number of subsets of n+1 with more than j members) / …
            chances, beyond, ways = [], Decimal(0), Decimal(1)  # from the last; these are C(n, j)
            for j in range(n, -1, -1):
                beyond += ways * (n + 1) / (j + 1)  # C(n+1, j+1)
                chances.append(beyond / (Decimal(2) ** n * (n + 1) * ways))
                ways = ways * j / (n - j + 1)
            return tuple(reversed(chances))
        a, b = (Decimal(part.numerator) / part.denominator for part in shape)
        current = Decimal(1)
        for i in range(n):
            current *= (b + i) / (a + b + i)
        chances = [current]
        for j in range(n):
            current *= (a + j) / (b + (n - j - 1))  # b may be lost in b + n
            chances.append(current)
        return tuple(chances)


def _log(number: Decimal) -> float:
    """The logarithm, also of numbers far below the smallest double."""
    with _precise():
        power = number.adjusted()
        return math.log(number.scaleb(-power)) + power * math.log(10)


def _precise() -> AbstractContextManager[Context]:
    return localcontext(prec=_DIGITS, Emin=-(10**17), Emax=10**17)
