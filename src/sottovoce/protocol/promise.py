"""What a manifest promises, in figures: for the device that judges it and the server that states it.

A law that promises a pure ε has it by one exact division: no NumPy is loaded for it. For the other laws a bound simple
enough for plain Python would be too loose, and campaigns planned for a limit would seem to break it; there the sums of
`sottovoce.privacy.guarantee` are used, loaded when first needed. Either way the figure is an upper bound, or infinite.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import Unit, parse_noise_law
from sottovoce.privacy.sentence import privacy_sentence
from sottovoce.protocol.manifest import Manifest

if TYPE_CHECKING:
    from sottovoce.privacy.guarantee import Guarantee

_KEPT = 256  # manifests are checked, shown and opened one by one


@dataclass(frozen=True)
class Promise:
    """ε, and the probability δ that it fails. An infinite ε is no promise at all."""

    epsilon: float
    delta: float


def promise_of(manifest: Manifest, delta: float = 1e-5, enough: float = math.inf) -> Promise:
    """The smallest ε that holds for this manifest, except with a probability of at most ``delta``.

    A pure ε of at most ``enough`` is taken as it is, without asking whether δ would make it smaller.
    """
    if not 0 <= delta < 1:
        raise BadParameter(f"delta {delta!r}: it must be at least 0 and below 1; 1e-5 is usual")
    pure = pure_epsilon(manifest)
    if pure is not None and (pure <= enough or delta == 0):
        return Promise(pure, 0.0)
    try:
        return Promise(_weakest(manifest, delta).epsilon(delta), delta)
    except BadParameter:  # no ε, or none below ten million
        return Promise(math.inf, delta)


def pure_epsilon(manifest: Manifest) -> float | None:
    """The ε without exception on the campaign's grids, rounded up to a double; None for laws that have none."""
    if not manifest.law.is_pure:
        return None
    epsilons = []
    for grid in map(Fraction, manifest.grids):
        steps = math.ceil(Fraction(manifest.distance) / grid)
        epsilons.append(manifest.law.on_grid(grid).pure_epsilon(steps, manifest.moved_readings))
    return max(math.inf if epsilon is None else epsilon for epsilon in epsilons)


def sentence(manifest: Manifest, promise: Promise, language: str = "en") -> str:
    """The promise in words for a participant."""
    units = {task.unit for task in manifest.tasks}
    distance = f"{manifest.distance} {min(units)}".strip() if len(units) == 1 else manifest.distance
    return privacy_sentence(promise.epsilon, promise.delta, distance, manifest.unit, manifest.most_readings, language)


def _weakest(manifest: Manifest, delta: float) -> "Guarantee":
    """The exact guarantee on that grid of the campaign on which it is weakest."""
    return _weakest_of(
        manifest.noise, manifest.distance, manifest.most_readings, manifest.unit, frozenset(manifest.grids), delta
    )


@lru_cache(_KEPT)
def _weakest_of(
    noise: str, distance: str, readings: int, unit: Unit, grids: frozenset[str], delta: float
) -> "Guarantee":
    from sottovoce.privacy.guarantee import quiet_guarantee, weakest

    law, exact = parse_noise_law(noise), Fraction(distance)
    # About the weakest first: then one look at each of the others is enough. A coarse grid costs privacy, and these
    # figures show the cost: the operator was warned when planning.
    by_reach = sorted(map(Fraction, grids), key=lambda grid: -math.ceil(exact / grid) * grid)
    return weakest([quiet_guarantee(law, float(distance), readings, unit, float(grid)) for grid in by_reach], delta)
