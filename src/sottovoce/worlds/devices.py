"""Claims as devices would send them: with exact noise, drawn for each user."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sottovoce.claims import Claims
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import NoiseLaw
from sottovoce.privacy.sampler import Sampler, exact_number

_READINGS_PER_TICK = 1000
# As for campaigns: numbers of steps stay far below 63 bits.
_MOST_STEPS, _WIDEST_NOISE = 2**53, 2**50


def usual_grid(law: NoiseLaw) -> Fraction:
    """The power of ten that is between a twentieth and a two-hundredth of the noise's mean deviation."""
    law.check_size()
    return Fraction(10) ** math.floor(math.log10(math.sqrt(law.mean_variance) / 20))


def perturb(claims: Claims, sampler: Sampler, progress: Callable[[int, int], None] | None = None) -> Claims:
    """Noisy claims, on the sampler's grid; each user's readings are perturbed together, as their device would do."""
    if claims.noise:
        raise BadParameter(
            f"readings with noise {claims.noise}: noise is added once, to raw readings; perturb the originals instead"
        )
    sampler.law.check_size()
    widest = exact_number(math.sqrt(sampler.law.mean_variance)) / sampler.grid
    furthest = max(abs(sampler.steps(float(end))) for end in (claims.values.min(), claims.values.max()))
    if widest > _WIDEST_NOISE or furthest > _MOST_STEPS:
        raise BadParameter(
            f"grid {float(sampler.grid):g} with noise {sampler.law}: noise must have at most 2^50 steps of the grid, "
            "and readings 2^53; choose a coarser grid, or leave it out"
        )
    order = np.argsort(claims.users, kind="stable")
    ends = np.cumsum(claims.claims_per_user)
    noisy = np.empty(len(claims))
    reported = 0
    for first, last in zip(ends - claims.claims_per_user, ends, strict=True):
        places = order[first:last]
        steps = sampler.perturb([exact_number(reading) for reading in claims.values[places].tolist()])
        noisy[places] = [float(step * sampler.grid) for step in steps]
        if progress is not None and last - reported >= _READINGS_PER_TICK:
            reported = int(last)
            progress(reported, len(claims))
    return claims.with_values(noisy, noise=str(sampler.law))
