"""From a promise to the least noise that keeps it."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from scipy.optimize import brentq

from sottovoce.errors import BadParameter
from sottovoce.privacy.guarantee import Guarantee, quiet_guarantee
from sottovoce.privacy.laws import NoiseLaw, Unit, noise_laws
from sottovoce.privacy.parameters import check_delta
from sottovoce.privacy.sampler import exact_number

# Parameters are moved to the safe side of the root, so that the promise holds despite rounding.
_SMALLEST_MARGIN = 1e-13
_LARGEST_MARGIN = 0.5
_LONGEST_SEARCH = math.log(1e40)  # from where a search starts: noise beyond that is practically zero, or infinite
_LARGEST_LOG = 700.0  # whose exponential is finite
_PRECISION = 1e-9  # of the logarithm of a parameter on a grid, far finer than the digits of a plan
_SMALLEST_EPSILON, _LARGEST_EPSILON = 1e-9, 1e7  # of any meaningful promise
_MOST_STEPS = 1e18  # more than the range of a task can have
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

    >>> from sottovoce.privacy.laws import FreshVariance
    >>> law_for(FreshVariance, epsilon=1, delta=0)
    FreshVariance(rate=0.5)
    """
    check_asked(epsilon, delta)
    if delta == 0 and not kind.is_pure:
        pure = " or ".join(law.name for law in noise_laws().values() if law.is_pure)
        raise BadParameter(
            f"delta 0 with the law {kind.name!r}: only {pure} noise has a guarantee without exception; "
            "give a positive delta"
        )
    quiet_guarantee(kind.one(), distance, readings, unit, grid)  # checks the arguments
    # The search is for readings one step or one distance apart; its result can be scaled to any unit of length.
    steps = None if grid is None else math.ceil(exact_number(distance) / exact_number(grid))
    if steps is not None and steps > _MOST_STEPS:
        raise BadParameter(
            f"distance {distance:g} on a grid of {grid:g}: a distance must not have more than {_MOST_STEPS:g} steps; "
            "choose a coarser grid"
        )
    shared = 1 if steps is not None and unit == "reading" else readings  # figures on a grid hold for any number
    law = _least(Search(kind, epsilon, delta, steps, shared, unit)).scaled(distance if grid is None else grid)

    def keeps(tried: NoiseLaw) -> bool:
        return _delta_of(quiet_guarantee(tried, distance, readings, unit, grid), epsilon) <= delta

    return with_margin(law, keeps, epsilon, delta)


def check_asked(epsilon: float, delta: float) -> None:
    """Refuse an ε or a δ that cannot be promised."""
    if not (_SMALLEST_EPSILON <= epsilon <= _LARGEST_EPSILON):
        raise BadParameter(
            f"epsilon {epsilon!r}: it must be a positive number, from {_SMALLEST_EPSILON:g} to {_LARGEST_EPSILON:g}; "
            "1 is typical"
        )
    check_delta(delta)


def with_margin(
    law: NoiseLaw, keeps: Callable[[NoiseLaw], bool], epsilon: float, delta: float, margin: float = _SMALLEST_MARGIN
) -> NoiseLaw:
    """The law itself if it keeps the promise, else with as little extra noise as needed; refused if none is enough."""
    tried = law
    while not keeps(tried):
        if margin > _LARGEST_MARGIN:
            raise _impossible(law.name, epsilon, delta)
        tried, margin = law.scaled(1 + margin), margin * 4
    return tried


def _impossible(name: str, epsilon: float, delta: float) -> BadParameter:
    return BadParameter(
        f"epsilon {epsilon:g} with delta {delta:g}: no noise of kind {name!r} keeps this promise; "
        "ask for a larger epsilon or delta, a smaller distance, or another kind of noise"
    )


def _delta_of(promise: Guarantee, epsilon: float) -> float:
    """δ, or 1 where the guarantee refuses to give a figure: such noise is not offered."""
    try:
        return promise.delta_any_n(epsilon) if promise.law.planned_for_any_number else promise.delta(epsilon)
    except (BadParameter, ArithmeticError):
        return 1.0


@dataclass(frozen=True)
class Search:
    """A promise for readings one distance apart; or, on a grid of whole numbers, ``steps`` apart.

    It is passed to a law to find its least noise (`NoiseLaw.least`), which can then be scaled to any unit of length.
    """

    kind: type[NoiseLaw]
    epsilon: float
    delta: float
    steps: int | None
    readings: int
    unit: Unit

    @property
    def distance(self) -> float:
        return 1.0 if self.steps is None else float(self.steps)

    @property
    def moved(self) -> int:
        """How many readings move."""
        return 1 if self.unit == "reading" else self.readings

    @property
    def length(self) -> float:
        """Euclidean length of the move."""
        return self.distance * math.sqrt(self.moved)

    def impossible(self) -> BadParameter:
        """The error for a promise that no such noise keeps."""
        return _impossible(self.kind.name, self.epsilon, self.delta)

    def largest(self, law_of: Callable[[float], NoiseLaw], start: float) -> float:
        """The largest parameter that keeps the promise, up to rounding; the larger it is, the less noise.

        ``start`` is a first guess.
        """
        grid = None if self.steps is None else 1.0

        def excess(log: float) -> float:
            """How far, in logarithms, δ (or ε, where no exception is allowed) is above the promise."""
            try:
                promise = quiet_guarantee(law_of(math.exp(log)), self.distance, self.readings, self.unit, grid)
            except (BadParameter, ArithmeticError):  # a number too small or too large for a double
                return -math.log(self.delta or sys.float_info.min)
            if self.delta == 0:
                return math.log(min(promise.epsilon(0.0), sys.float_info.max) / self.epsilon)
            return math.log(max(_delta_of(promise, self.epsilon), 1e-300) / self.delta)

        largest = _largest(excess, start, 1e-13 if grid is None else _PRECISION)
        if largest is None:
            raise self.impossible()
        return largest


@lru_cache(_KEPT)
def _least(search: Search) -> NoiseLaw:
    return search.kind.least(search)


def _largest(excess: Callable[[float], float], start: float, precision: float) -> float | None:
    """The largest parameter without excess, or None; the excess rises with its logarithm."""
    if not 0 < start < math.inf:
        return None
    first = log = math.log(start / 1.01)  # so that the start is bracketed if it is the answer
    is_small = excess(log) <= 0
    step = math.log(2) if is_small else -math.log(2)
    while True:
        before, log = log, log + step
        if abs(log - first) > _LONGEST_SEARCH or abs(log) > _LARGEST_LOG:
            # The promise holds even with practically no such noise, or with no amount of it.
            return math.exp(before) if is_small else None
        if (excess(log) <= 0) is not is_small:
            break
        step *= 1.5
    return math.exp(brentq(excess, *sorted((before, log)), xtol=precision, maxiter=_MOST_ROUNDS, disp=False))
