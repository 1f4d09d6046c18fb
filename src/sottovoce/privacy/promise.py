"""From a promise to the least noise that keeps it."""

import math
from collections.abc import Callable

from scipy.optimize import brentq

from sottovoce.errors import BadParameter
from sottovoce.privacy.guarantee import Guarantee
from sottovoce.privacy.laws import FlooredVariance, FreshVariance, Gaussian, NoiseLaw, SharedVariance, Unit

# Parameters end on the safe side of the root, so that the promise holds in spite of rounding.
_SMALLEST_MARGIN = 1e-13
_FURTHEST = 1e15  # times the start of a search


def law_for(
    kind: type[NoiseLaw],
    epsilon: float,
    delta: float,
    *,
    distance: float = 1.0,
    readings: int = 30,
    unit: Unit = "reading",
    grid: float | None = None,
) -> NoiseLaw:
    """The law of this kind with the least noise that is (ε, δ)-private.

    A floored law has two parameters: its exponential part gets as much variance on average as constant normal noise
    would need, and the floor is then as low as the promise allows for any number of readings.

    >>> law_for(FreshVariance, epsilon=1, delta=0)
    FreshVariance(rate=0.5)
    """
    if not (0 < epsilon < math.inf):
        raise BadParameter(f"epsilon {epsilon!r}: it must be a positive number; 1 is usual")
    if not 0 <= delta < 1:
        raise BadParameter(f"delta {delta!r}: it must be at least 0 and below 1; 1e-5 is usual")
    if kind is FreshVariance and delta == 0:
        moved = 1 if unit == "reading" else readings
        return FreshVariance((epsilon / (moved * distance)) ** 2 / 2)
    if delta == 0:
        raise BadParameter(
            f"delta 0 with the law {kind.name!r}: only fresh noise promises without exception; give a delta"
        )

    def delta_of(law: NoiseLaw) -> float:
        return Guarantee(law, distance, readings, unit, grid).delta(epsilon)

    length = distance * math.sqrt(1 if unit == "reading" else readings)
    loss = -math.log1p(-delta)
    if kind is SharedVariance:
        # Valid for any number of readings, so a safe end to search from.
        start = 2 * loss * (epsilon + loss) / length**2
        return SharedVariance(_largest(lambda rate: delta_of(SharedVariance(rate)), delta, start))
    if kind is FreshVariance:
        pure = law_for(FreshVariance, epsilon, 0, distance=distance, readings=readings, unit=unit)
        return FreshVariance(_largest(lambda rate: delta_of(FreshVariance(rate)), delta, pure.rate))  # type: ignore[attr-defined]
    if kind is Gaussian:
        return Gaussian(1 / _largest(lambda inverse: delta_of(Gaussian(1 / inverse)), delta, 1e-3 * epsilon / length))
    if kind is FlooredVariance:
        gaussian = law_for(Gaussian, epsilon, delta, distance=distance, readings=readings, unit=unit, grid=grid)
        rate = 1 / gaussian.mean_variance

        def any_number(inverse: float) -> float:
            guarantee = Guarantee(FlooredVariance(1 / inverse, rate), distance, readings, unit, grid)
            return guarantee.delta(epsilon) if grid is not None else guarantee.delta_any_n(epsilon)

        return FlooredVariance(1 / _largest(any_number, delta, rate), rate)
    raise BadParameter(f"noise law {kind.__name__}: it must be one of the four laws; see sottovoce.privacy.laws")


def _largest(delta_of: Callable[[float], float], delta: float, start: float) -> float:
    """The largest parameter whose δ does not exceed ``delta``; δ rises with it, and ``start`` is about small enough."""
    start /= 1.01  # where the start is the answer, rounding must not hide that the root is bracketed
    while delta_of(start) > delta:  # on a coarse grid the continuous figure is no bound
        start /= 1.5
    high, furthest = 2 * start, start * _FURTHEST
    while delta_of(high) <= delta:
        start, high = high, 2 * high
        if high > furthest:  # the promise holds with as good as no such noise
            return start

    def excess(log: float) -> float:
        return math.log(max(delta_of(math.exp(log)), 1e-300) / delta)

    found = math.exp(brentq(excess, math.log(start), math.log(high), xtol=1e-13))
    margin = _SMALLEST_MARGIN
    while delta_of(found) > delta:
        found *= 1 - margin
        margin *= 4
    return found
