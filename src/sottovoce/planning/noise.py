"""The noise of a plan: the least that keeps a promise on the grids of a campaign, rounded for a manifest.

The result is checked again before it is shown: in its text form, and with the figures that devices rely on.
"""

import math
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from sottovoce.errors import BadParameter
from sottovoce.privacy.guarantee import quiet_guarantee
from sottovoce.privacy.laws import NoiseLaw, Unit, noise_laws
from sottovoce.privacy.least_noise import law_for, with_margin
from sottovoce.privacy.parameters import check_grid
from sottovoce.privacy.sampler import exact_number

_DIGITS = 6
_ONE_MORE = 10.0**-_DIGITS  # the last digit of a parameter
# Devices search for the smallest ε whose δ is small enough. This is the relative precision of that search.
_ROOT = 1e-9
_KEPT = 4096


@lru_cache(_KEPT)
def noise_for(
    kind: type[NoiseLaw],
    epsilon: float,
    delta: float,
    distance: float,
    readings: int,
    unit: Unit,
    grids: tuple[float, ...] = (),
) -> NoiseLaw:
    """The least noise of this kind that keeps the promise on every grid; without grids, the noise is continuous.

    >>> from sottovoce.privacy.laws import Gaussian
    >>> str(noise_for(Gaussian, 1.0, 1e-5, 1.0, 30, "reading", (0.1,)))
    'gaussian:3.7306'
    """
    for step in grids:
        check_grid(step)
    if not kind.takes_grids(unit, len(grids)):
        one_by_one = " or ".join(law.name for law in noise_laws().values() if law.takes_grids("reading", len(grids)))
        raise BadParameter(
            f"noise {kind.name!r} for a {unit} on {len(grids)} grids: readings that are handled together must "
            f"be on one grid; give all tasks the same grid, or choose {one_by_one} noise and a promise for a reading"
        )

    def keeps_on(law: NoiseLaw, grid: float | None) -> bool:
        promise = quiet_guarantee(law, distance, readings, unit, grid)
        try:
            if delta == 0:
                return promise.epsilon(0.0) <= epsilon
            return promise.delta(epsilon * (1 - _ROOT)) <= delta
        except BadParameter:  # no figure is certain
            return False

    steps: list[float | None] = [*sorted(grids, key=lambda grid: -_reach(distance, grid))] or [None]
    law: NoiseLaw | None = None
    for grid in steps:
        if law is None or not keeps_on(law, grid):
            least = law_for(kind, epsilon, delta, distance=distance, readings=readings, unit=unit, grid=grid)
            law = least.shortened(_DIGITS)
    assert law is not None
    kept = with_margin(
        law, lambda tried: all(keeps_on(tried.shortened(_DIGITS), grid) for grid in steps), epsilon, delta, _ONE_MORE
    )
    return kept.shortened(_DIGITS)


def _reach(distance: float, grid: float) -> Fraction:
    """The distance in whole steps of the grid, rounded up."""
    step = exact_number(grid)
    return math.ceil(exact_number(distance) / step) * step


def rounded_down(number: float) -> float:
    """A short decimal number that is not above this one.

    >>> rounded_down(2 / 30), rounded_down(0.1)
    (0.0666666, 0.1)
    """
    with localcontext(prec=_DIGITS, rounding=ROUND_HALF_EVEN):
        near = float(+Decimal(number))
    if near <= number:
        return near
    with localcontext(prec=_DIGITS, rounding=ROUND_FLOOR):
        return float(+Decimal(number))
