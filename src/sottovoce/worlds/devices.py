"""Claims as devices would send them: with exact noise, drawn for each user."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import AnswerLaw, NoiseLaw
from sottovoce.privacy.sampler import ByteStream, Sampler, exact_number, reported_cells

_READINGS_PER_TICK = 1000
# As for campaigns: numbers of steps stay far below 63 bits.
_MOST_STEPS, _WIDEST_NOISE = 2**53, 2**50


def usual_grid(law: NoiseLaw) -> Fraction:
    """The power of ten between a two-hundredth and a twentieth of the noise's standard deviation."""
    law.check_size()
    return Fraction(10) ** math.floor(math.log10(math.sqrt(law.mean_variance) / 20))


def perturb(claims: Claims, sampler: Sampler, progress: Callable[[int, int], None] | None = None) -> Claims:
    """Noisy claims, on the sampler's grid; each user's readings are perturbed together, as their device would do."""
    _check_raw(claims)
    sampler.law.check_size()
    widest = exact_number(math.sqrt(sampler.law.mean_variance)) / sampler.grid
    furthest = max(abs(sampler.steps(float(end))) for end in (claims.values.min(), claims.values.max()))
    if widest > _WIDEST_NOISE or furthest > _MOST_STEPS:
        raise BadParameter(
            f"grid {float(sampler.grid):g} with noise {sampler.law}: noise must be at most 2^50 grid steps wide, "
            "and readings at most 2^53 grid steps from 0; choose a coarser grid, or leave it out"
        )
    noisy = np.empty(len(claims))
    for places in _by_user(claims, progress):
        steps = sampler.perturb([exact_number(reading) for reading in claims.values[places].tolist()])
        noisy[places] = [float(step * sampler.grid) for step in steps]
    return claims.with_values(noisy, noise=str(sampler.law))


def perturb_answers(
    claims: Claims,
    law: AnswerLaw,
    progress: Callable[[int, int], None] | None = None,
    stream: ByteStream | None = None,
) -> Claims:
    """Claims of choices as devices report them; the options must be declared, or they would leak."""
    _check_raw(claims)
    if claims.answers is None or not claims.answers.declared:
        raise BadParameter(
            "claims without declared options: how often another answer is sent depends on the number of options; "
            "list them"
        )
    for count in np.unique(claims.answers.counts).tolist():
        law.check_cells(count)
    stream = stream or ByteStream()
    cells = claims.answers.counts[claims.objects]
    reported = np.empty((len(claims), law.cells_reported), np.int64)
    for places in _by_user(claims, progress):
        held = zip(claims.values[places].tolist(), cells[places].tolist(), strict=True)
        reported[places] = reported_cells(law, held, stream)
    return claims.with_values(reported, noise=str(law))


def _check_raw(claims: Claims) -> None:
    if claims.noise:
        raise BadParameter(
            f"readings with noise {claims.noise}: noise is added once, to raw readings; perturb the originals instead"
        )


def _by_user(claims: Claims, progress: Callable[[int, int], None] | None) -> Iterator[NDArray[np.intp]]:
    """The positions of the claims of each user."""
    order = np.argsort(claims.users, kind="stable")
    ends = np.cumsum(claims.claims_per_user)
    done = 0
    for first, last in zip(ends - claims.claims_per_user, ends, strict=True):
        yield order[first:last]
        if progress is not None and last - done >= _READINGS_PER_TICK:
            done = int(last)
            progress(done, len(claims))
