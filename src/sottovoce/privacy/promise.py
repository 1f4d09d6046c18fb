"""From a promise to the least noise that keeps it."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache

from scipy.optimize import brentq

from sottovoce.errors import BadParameter, UnwiseChoice
from sottovoce.privacy.guarantee import Guarantee
from sottovoce.privacy.laws import FlooredVariance, FreshVariance, Gaussian, NoiseLaw, SharedVariance, Unit
from sottovoce.privacy.sampler import exact_number

# How a parameter grows with the unit of length. Where it shrinks, less of it is more noise.
_POWERS = {"rate": -2, "floor": 2, "sigma": 1}
# Parameters end on the safe side of the root, so that the promise holds in spite of rounding.
_SMALLEST_MARGIN = 1e-13
_LARGEST_MARGIN = 0.5
_FURTHEST = math.log(1e40)  # from where a search starts: noise beyond that is as good as none, or as infinite
_LARGEST_LOG = 700.0  # whose exponential is a number
_PRECISION = 1e-9  # of the logarithm of a parameter on a grid, far finer than the digits of a plan
_SMALLEST_EPSILON, _LARGEST_EPSILON = 1e-9, 1e7  # what a promise can be worth
_MOST_STEPS = 1e18  # beyond what the range of a task can have
_KEPT = 4096
_MOST_ROUNDS = 200


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
    """The law of this kind with the least noise that is (ε, δ)-private: continuous, or as sampled on a grid.

    A floored law has two parameters: its exponential part gets as much variance on average as constant normal noise
    would need, and the floor is then as low as the promise allows for any number of readings.

    >>> law_for(FreshVariance, epsilon=1, delta=0)
    FreshVariance(rate=0.5)
    """
    check_asked(epsilon, delta)
    if delta == 0 and kind is not FreshVariance:
        raise BadParameter(
            f"delta 0 with the law {kind.name!r}: only fresh noise promises without exception; give a delta"
        )
    quiet_guarantee(FreshVariance(1.0), distance, readings, unit, grid)  # which checks them
    # What is found for readings one step or one distance apart serves in any unit of length.
    steps = None if grid is None else math.ceil(exact_number(distance) / exact_number(grid))
    if steps is not None and steps > _MOST_STEPS:
        raise BadParameter(
            f"distance {distance:g} on a grid of {grid:g}: a distance must not have more than {_MOST_STEPS:g} steps; "
            "choose a coarser grid"
        )
    shared = 1 if steps is not None and unit == "reading" else readings  # figures on a grid hold for any number
    law = scaled(_unit_law(kind, epsilon, delta, steps, shared, unit), distance if grid is None else grid)

    def keeps(tried: NoiseLaw) -> bool:
        promise = quiet_guarantee(tried, distance, readings, unit, grid)
        return _delta_of(promise, epsilon, any_number=isinstance(tried, FlooredVariance)) <= delta

    return with_margin(law, keeps, epsilon, delta)


def check_asked(epsilon: float, delta: float) -> None:
    """Refuse a promise that is none."""
    if not (_SMALLEST_EPSILON <= epsilon <= _LARGEST_EPSILON):
        raise BadParameter(
            f"epsilon {epsilon!r}: it must be a positive number, from {_SMALLEST_EPSILON:g} to {_LARGEST_EPSILON:g}; "
            "1 is usual"
        )
    if not 0 <= delta < 1:
        raise BadParameter(f"delta {delta!r}: it must be at least 0 and below 1; 1e-5 is usual")


def weakest(guarantees: Sequence[Guarantee], delta: float) -> Guarantee:
    """The guarantee with the largest ε at this δ. Most of many are dismissed by one look at their δ."""
    found, *rest = guarantees
    if rest:
        largest = found.epsilon(delta)
        for other in rest:
            if (delta == 0 or other.delta(largest) > delta) and (epsilon := other.epsilon(delta)) > largest:
                found, largest = other, epsilon
    return found


def with_margin(
    law: NoiseLaw, keeps: Callable[[NoiseLaw], bool], epsilon: float, delta: float, margin: float = _SMALLEST_MARGIN
) -> NoiseLaw:
    """The law itself if it keeps the promise, else with as little more noise as it takes; refused if none helps."""
    tried = law
    while not keeps(tried):
        if margin > _LARGEST_MARGIN:
            raise _impossible(law.name, epsilon, delta)
        tried, margin = scaled(law, 1 + margin), margin * 4
    return tried


def scaled(law: NoiseLaw, length: float) -> NoiseLaw:
    """The same law for readings that are this many times as far apart."""
    try:
        parameters = [getattr(law, field.name) * length ** _POWERS[field.name] for field in fields(law)]
    except OverflowError:
        parameters = [math.inf]
    if not all(0 < parameter < math.inf for parameter in parameters):
        raise BadParameter(
            f"distance or grid {length:g}: the noise {law.name!r} that it takes has a parameter that no number can "
            "hold; choose a unit in which readings are neither huge nor tiny"
        )
    return type(law)(*parameters)


def shortened(law: NoiseLaw, digits: int) -> NoiseLaw:
    """This many digits of each parameter, on the side of more noise."""
    return type(law)(*(_digits(getattr(law, field.name), _POWERS[field.name] > 0, digits) for field in fields(law)))


def quiet_guarantee(law: NoiseLaw, distance: float, readings: int, unit: Unit, grid: float | None) -> Guarantee:
    """A guarantee without the warning of a coarse grid: that costs privacy, and a plan pays for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwiseChoice)
        return Guarantee(law, distance, readings, unit, grid)


def _digits(number: float, upwards: bool, digits: int) -> float:
    # What is a round number up to the last bits is meant to be that number.
    near = float(f"{number:.{digits}g}")
    if math.isclose(near, number, rel_tol=_SMALLEST_MARGIN):
        return near
    side = ROUND_CEILING if upwards else ROUND_FLOOR
    return float(Context(prec=digits, rounding=side).create_decimal(Decimal(number)))


def _impossible(name: str, epsilon: float, delta: float) -> BadParameter:
    return BadParameter(
        f"epsilon {epsilon:g} with delta {delta:g}: no noise of the kind {name!r} keeps this promise; "
        "ask for a larger epsilon or delta, a smaller distance, or another kind of noise"
    )


def _delta_of(promise: Guarantee, epsilon: float, any_number: bool) -> float:
    """δ, or 1 where the guarantee refuses to give a figure: such noise is not offered."""
    try:
        return promise.delta_any_n(epsilon) if any_number else promise.delta(epsilon)
    except (BadParameter, ArithmeticError):
        return 1.0


@lru_cache(_KEPT)
def _unit_law(
    kind: type[NoiseLaw], epsilon: float, delta: float, steps: int | None, readings: int, unit: Unit
) -> NoiseLaw:
    """The law for readings one distance apart; or, on a grid of whole numbers, this many steps."""
    distance, grid = (1.0, None) if steps is None else (float(steps), 1.0)
    moved = 1 if unit == "reading" else readings
    length = distance * math.sqrt(moved)
    precision = 1e-13 if grid is None else _PRECISION

    def largest(law_of: Callable[[float], NoiseLaw], start: float, any_number: bool = False) -> float:
        def delta_of(parameter: float) -> float:
            try:
                law = law_of(parameter)
            except (BadParameter, ArithmeticError):  # a number too small or too large to be one
                return 1.0
            return _delta_of(quiet_guarantee(law, distance, readings, unit, grid), epsilon, any_number)

        found = _largest(delta_of, delta, start, precision)
        if found is None:
            raise _impossible(kind.name, epsilon, delta)
        return found

    def gaussian(inverse: float) -> NoiseLaw:
        return Gaussian(1 / inverse)

    if kind is FreshVariance:
        pure = (epsilon / (moved * distance)) ** 2 / 2
        if not 0 < pure < math.inf:
            raise _impossible(kind.name, epsilon, delta)
        return FreshVariance(pure if delta == 0 else largest(FreshVariance, pure))
    if kind is SharedVariance:
        loss = -math.log1p(-delta)
        # Valid for any number of readings of continuous noise, so a safe end to search from.
        return SharedVariance(largest(SharedVariance, 2 * loss * (epsilon + loss) / length**2))
    if kind not in (Gaussian, FlooredVariance):
        raise BadParameter(f"noise law {kind.__name__}: it must be one of the four laws; see sottovoce.privacy.laws")
    inverse = largest(gaussian, min(epsilon, 1.0) / length)
    if kind is Gaussian:
        return gaussian(inverse)
    rate = inverse**2
    return FlooredVariance(1 / largest(lambda small: FlooredVariance(1 / small, rate), rate, any_number=True), rate)


def _largest(delta_of: Callable[[float], float], delta: float, start: float, precision: float) -> float | None:
    """The largest parameter whose δ is about ``delta``, or None; δ rises with it, and ``start`` is somewhere near."""
    if not 0 < start < math.inf:
        return None
    first = log = math.log(start / 1.01)  # where the start is the answer, it is to be bracketed
    is_small = delta_of(math.exp(log)) <= delta
    step = math.log(2) if is_small else -math.log(2)
    while True:
        before, log = log, log + step
        if abs(log - first) > _FURTHEST or abs(log) > _LARGEST_LOG:
            # The promise holds with as good as no such noise, or not with any.
            return math.exp(before) if is_small else None
        if (delta_of(math.exp(log)) <= delta) is not is_small:
            break
        step *= 1.5

    def excess(log: float) -> float:
        return math.log(max(delta_of(math.exp(log)), 1e-300) / delta)

    return math.exp(brentq(excess, *sorted((before, log)), xtol=precision, maxiter=_MOST_ROUNDS, disp=False))
