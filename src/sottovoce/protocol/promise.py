"""What a manifest promises, in figures: for the device that judges it and the server that states it.

Fresh noise promises a pure ε, which is one exact division: no NumPy is loaded for it. For the other laws a bound simple
enough for plain Python would be so loose that campaigns planned for a limit would seem to break it; there the exact
sums of `sottovoce.privacy.guarantee` are used, loaded when first needed.
"""

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sottovoce.errors import BadParameter, UnwiseChoice
from sottovoce.privacy.laws import FreshVariance
from sottovoce.privacy.sampler import GridLaw
from sottovoce.protocol.manifest import Manifest

if TYPE_CHECKING:
    from sottovoce.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Promise:
    """ε, and the chance δ at which it may fail. An infinite ε is no promise at all."""

    epsilon: float
    delta: float


def promise_of(manifest: Manifest, delta: float = 1e-5, enough: float = math.inf) -> Promise:
    """The smallest ε that holds for this manifest, except with a chance of at most ``delta``.

    A pure ε of at most ``enough`` is taken as it is, without asking whether δ would make it smaller.
    """
    pure = pure_epsilon(manifest)
    if pure is not None and (pure <= enough or delta == 0):
        return Promise(pure, 0.0)
    try:
        return Promise(max(guarantee.epsilon(delta) for guarantee in guarantees_of(manifest)), delta)
    except BadParameter:  # no ε, or none below ten million
        return Promise(math.inf, delta)


def pure_epsilon(manifest: Manifest) -> float | None:
    """The ε of fresh noise on the grid, rounded up to a double; None for the other laws."""
    if not isinstance(manifest.law, FreshVariance):
        return None
    moved = manifest.most_readings if manifest.unit == "participant" else 1
    distance, exact = Fraction(manifest.distance), Fraction(0)
    for grid in map(Fraction, manifest.grids):
        scale = GridLaw.of(manifest.law, grid).scale
        assert scale is not None
        exact = max(exact, moved * math.ceil(distance / grid) / scale)
    rounded = float(exact)
    return rounded if rounded >= exact else math.nextafter(rounded, math.inf)


def guarantees_of(manifest: Manifest) -> "list[Guarantee]":
    """The exact guarantee on each grid of the campaign; the weakest of them counts."""
    with warnings.catch_warnings():
        # A coarse grid costs privacy, and these figures show the cost: whoever planned the campaign was warned.
        warnings.simplefilter("ignore", UnwiseChoice)
        return [
            manifest.law.guarantee(float(manifest.distance), manifest.most_readings, manifest.unit, float(grid))
            for grid in sorted(manifest.grids)
        ]


def sentence(manifest: Manifest, delta: float = 1e-5) -> str:
    """The promise in words for a participant."""
    promise = promise_of(manifest, delta)
    if math.isinf(promise.epsilon):
        return "This campaign promises nothing: its noise hides next to nothing of your readings."
    weakest = max(guarantees_of(manifest), key=lambda guarantee: guarantee.epsilon(promise.delta))
    return weakest.sentence(delta=promise.delta)
