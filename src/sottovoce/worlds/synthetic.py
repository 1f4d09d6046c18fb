"""The synthetic crowd of the paper: every user has their own error variance."""

import numpy as np

from sottovoce.claims import Claims
from sottovoce.errors import BadParameter
from sottovoce.worlds.seeds import generator
from sottovoce.worlds.world import World

_MOST_CLAIMS = 10**9  # memory must hold them several times
_LARGEST = 1e100  # squares are finite


def synthetic(
    participants: int = 150,
    objects: int = 30,
    *,
    error_rate: float = 1.0,
    fill: float = 1.0,
    truth_range: tuple[float, float] = (0.0, 10.0),
    seed: int | np.random.Generator = 0,
) -> World:
    """A crowd whose users err with variances from an exponential distribution.

    User s claims x = truth + Normal(0, σ_s²) with σ_s² ~ Exponential(rate λ1 = ``error_rate``); truths are uniform in
    ``truth_range``. Each user claims each object with probability ``fill``; users and objects left without any claim
    do not appear.

    >>> world = synthetic(participants=4, objects=3, seed=1)
    >>> world.claims
    Claims(12 claims, 4 users, 3 objects)
    """
    low, high = truth_range
    for name, size in (("participants", participants), ("objects", objects)):
        if size < 1:
            raise BadParameter(f"{name}={size}: a crowd needs at least one; give a positive whole number")
    if participants * objects > _MOST_CLAIMS:
        raise BadParameter(
            f"participants={participants} and objects={objects}: their product must be at most {_MOST_CLAIMS:g}; give "
            "fewer participants or fewer objects"
        )
    if not (1 / _LARGEST <= error_rate <= _LARGEST):
        raise BadParameter(
            f"error_rate={error_rate}: a rate (λ1) must be a positive number, from {1 / _LARGEST:g} to "
            f"{_LARGEST:g}; 1 is typical"
        )
    if not 0 < fill <= 1:
        raise BadParameter(
            f"fill={fill}: a fill rate must be above 0 and at most 1; 1 means a claim by every user about every object"
        )
    if not low <= high:
        raise BadParameter(
            f"truth_range={low}:{high}: both ends must be numbers, the low one not above the high one; correct them"
        )
    if max(-low, high) > _LARGEST:
        raise BadParameter(
            f"truth_range={low}:{high}: truths must lie between -{_LARGEST:g} and {_LARGEST:g}; choose another unit"
        )

    rng = generator(seed)
    truths = rng.uniform(low, high, objects)
    error_variances = rng.exponential(1 / error_rate, participants)
    claimed = rng.random((participants, objects)) < fill
    claimed[rng.integers(participants), rng.integers(objects)] = True  # at least one claim
    errors = rng.standard_normal((participants, objects)) * np.sqrt(error_variances)[:, None]
    claims = Claims.from_matrix(np.where(claimed, truths + errors, np.nan))
    return World(claims, truths[claims.object_labels], error_variances[claims.user_labels])
