"""What a noise law guarantees, and the promise to a participant in words; no figure is ever too small.

Every ε and δ that anybody relies on comes from `Guarantee`. On a grid, which is what devices use, they are upper bounds
for all parameters: what cannot be computed is refused, or counts as no guarantee at all.

Neighbours are two sets of readings of one participant. At the level of a *reading*, one of them moves by at most
the distance; at the level of a *participant*, all of them do, each by at most the distance. With a distance as wide as
the range to which devices clip, the guarantee holds for any readings; with a smaller one, for readings up to that
distance apart.
"""

import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from scipy.optimize import brentq

from sottovoce.digits import counted
from sottovoce.errors import BadParameter, UnwiseChoice, warn
from sottovoce.privacy.laws import NoiseLaw, Unit
from sottovoce.privacy.parameters import check_delta, check_grid, check_protected, checked_epsilon
from sottovoce.privacy.profiles import Profile
from sottovoce.privacy.sampler import exact_number
from sottovoce.privacy.sentence import privacy_sentence

_USUAL_DELTA = 1e-5
_SMALLEST_DELTA = 1e-290  # less counts as 0: sums of such probabilities underflow
_LARGEST_EPSILON = 1e7  # beyond any meaningful promise


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of a noise law for readings up to ``distance`` apart.

    A participant makes ``readings`` readings. The protected ``unit`` is one of them (``"reading"``) or all of them
    (``"participant"``). ``grid`` is the step to which devices round; None stands for continuous noise.

    >>> from sottovoce.privacy.laws import FreshVariance
    >>> promise = FreshVariance(rate=0.5).guarantee(distance=1.0)
    >>> promise.pure_epsilon
    1.0
    """

    law: NoiseLaw
    distance: float
    readings: int = 30
    unit: Unit = "reading"
    grid: float | None = None

    def __post_init__(self) -> None:
        if not (0 < self.distance < math.inf):
            raise BadParameter(
                f"distance {self.distance!r}: it must be a finite number above 0; use the width of the public range, "
                "or less"
            )
        check_protected(self.readings, self.unit)
        if self.grid is not None:
            check_grid(self.grid)
            if exact_number(self.grid) * 10 > exact_number(self.distance):
                warn(
                    f"grid {self.grid:g}: a step should be at most a tenth of the distance {self.distance:g}, "
                    "or rounding costs accuracy and privacy; choose a finer grid",
                    UnwiseChoice,
                )

    @property
    def _moved(self) -> int:
        """How many readings move."""
        return 1 if self.unit == "reading" else self.readings

    @property
    def _length(self) -> float:
        """Euclidean length of the move."""
        return self.distance * math.sqrt(self._moved)

    @cached_property
    def _profile(self) -> Profile:
        if self.grid is None:
            return self.law.profile(self.distance, self.readings, self._moved)
        step = exact_number(self.grid)
        return self.law.on_grid(step).profile(math.ceil(exact_number(self.distance) / step), self._moved)

    @cached_property
    def _any_number(self) -> Profile:
        """A profile that is valid for any number of readings, as all profiles on a grid are."""
        if self.grid is None:
            return self.law.profile_of_any_number(self.distance, self._moved)
        return self._profile

    @property
    def pure_epsilon(self) -> float | None:
        """The ε that holds without exception (δ = 0), or None where there is none."""
        return self._profile.pure_epsilon

    @property
    def is_exact(self) -> bool:
        """Whether δ is exact up to rounding. Otherwise it is an upper bound: on a grid, and for very many readings."""
        return self.grid is None and not getattr(self._profile, "is_bound", False)

    def delta(self, epsilon: float) -> float:
        """δ at this ε, or more, never less; where `is_exact` is true, more only by rounding."""
        return _chance_of(self._profile.delta(checked_epsilon(epsilon)))

    def deltas(self, epsilons: Sequence[float], negligible: float) -> list[float]:
        """δ at each of several rising ε, never less; to save time, it may be more by about ``negligible``."""
        at_once = getattr(self._profile, "deltas", None)
        return [*at_once(epsilons, negligible)] if at_once else [self.delta(epsilon) for epsilon in epsilons]

    def effort(self, epsilons: int, negligible: float) -> float:
        """Roughly how long `deltas` takes for this many ε; 1 is one pass over a few thousand numbers."""
        known = getattr(self._profile, "effort", None)
        return float(known(epsilons, negligible)) if known else float(epsilons)

    def delta_any_n(self, epsilon: float) -> float:
        """δ at this ε for any number of readings under one variance: an upper bound, as if the variance were known."""
        return _chance_of(self._any_number.delta(checked_epsilon(epsilon)))

    def paper_delta(self, epsilon: float) -> float | None:
        """δ by the paper's theorem as printed, 1 - exp(-rate·distance²/(2ε)); for the shared law only."""
        return self.law.paper_delta(self._length, checked_epsilon(epsilon))

    def epsilon(self, delta: float) -> float:
        """The smallest ε whose δ is at most this one, or slightly more, never less; refused if there is none."""
        check_delta(delta)
        pure = self.pure_epsilon
        if delta < _SMALLEST_DELTA:
            if pure is None or pure == math.inf:
                raise BadParameter(
                    f"delta {delta:g}: the law {self.law} with {counted(self.readings, 'reading')} has no guarantee "
                    "without exception; ask for a small delta such as 1e-5, or use a law that has "
                    "one, such as fresh:0.5"
                )
            return pure
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, min(1.0, _LARGEST_EPSILON if pure is None else pure)
        while self.delta(high) > delta:
            if high >= _LARGEST_EPSILON:
                raise BadParameter(
                    f"delta {delta:g}: with noise {self.law} no ε up to {_LARGEST_EPSILON:g} has a δ this small; "
                    "ask for a larger delta, or add more noise"
                )
            low, high = high, min(8 * high, _LARGEST_EPSILON, math.inf if pure is None else pure)

        def excess(epsilon: float) -> float:
            return math.log(max(self.delta(epsilon), sys.float_info.min) / delta)

        root = float(brentq(excess, low, high, xtol=1e-300, rtol=1e-10, maxiter=200, disp=False))
        # Rounding may have put the root slightly off, so the returned ε is checked.
        margin = 1e-10
        while root < high and self.delta(root) > delta:
            root *= 1 + margin
            margin *= 4
        return min(root, high)

    def sentence(self, epsilon: float | None = None, delta: float | None = None) -> str:
        """The promise in words for a participant, at this ε or δ; by default where it reads best."""
        if epsilon is not None:
            delta = self.delta(epsilon)
        elif delta is None and self.pure_epsilon is not None:
            epsilon, delta = self.pure_epsilon, 0.0
        else:
            delta = _USUAL_DELTA if delta is None else delta
            epsilon = self.epsilon(delta)
        return privacy_sentence(epsilon, delta, f"{self.distance:g}", self.unit, self.readings)


def quiet_guarantee(law: NoiseLaw, distance: float, readings: int, unit: Unit, grid: float | None) -> Guarantee:
    """A guarantee without the warning about a coarse grid: a plan makes up for what that costs in privacy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwiseChoice)
        return Guarantee(law, distance, readings, unit, grid)


def weakest(guarantees: Sequence[Guarantee], delta: float) -> Guarantee:
    """The guarantee with the largest ε at this δ. Most can be ruled out by their δ at the ε of another."""
    worst, *rest = guarantees
    if rest:
        largest = worst.epsilon(delta)
        for other in rest:
            if (delta == 0 or other.delta(largest) > delta) and (epsilon := other.epsilon(delta)) > largest:
                worst, largest = other, epsilon
    return worst


def _chance_of(delta: float) -> float:
    """δ as a probability; NaN counts as 1, which guarantees nothing."""
    return min(1.0, delta) if delta >= 0 else 1.0
