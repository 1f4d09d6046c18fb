"""Claims as devices would send them: exact noise, drawn anew for every user."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sottovoce.claims import Claims
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import NoiseLaw
from sottovoce.privacy.sampler import Sampler, exact_number

_READINGS_PER_TICK = 1000


def usual_grid(law: NoiseLaw) -> Fraction:
    """The power of ten that is between a twentieth and a two-hundredth of the noise's mean deviation."""
    return Fraction(10) ** math.floor(math.log10(math.sqrt(law.mean_variance) / 20))


def perturb(claims: Claims, sampler: Sampler, progress: Callable[[int, int], None] | None = None) -> Claims:
    """Noisy claims, on the sampler's grid; every user's readings are perturbed together, as his device would."""
    if claims.noise:
        raise BadParameter(
            f"readings with noise {claims.noise}: noise is added once, to raw readings; perturb the originals instead"
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
