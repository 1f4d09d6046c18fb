"""Users who collude: all of them report the same lie."""

from dataclasses import replace

import numpy as np

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import NoiseLaw
from sottovoce.worlds.seeds import generator
from sottovoce.worlds.world import World


def with_colluders(
    world: World,
    fraction: float,
    offset: float,
    law: NoiseLaw,
    own_noise: bool = True,
    seed: int | np.random.Generator = 0,
) -> World:
    """The world as the server sees it when a fraction of the users collude; the others send simulated noisy readings.

    Colluders all send truth + ``offset`` · √(mean noise variance) for every object they claim: the worst lie is one on
    which they agree. With ``own_noise`` they add the law's noise to it, as their devices would, and are hard to
    distinguish from honest users. Without it they send the lie itself and look like the most precise users of all.

    With the same seed a larger fraction adds colluders to those of a smaller one. A colluder's error variance is the
    square of their lie.

    >>> from sottovoce.privacy.laws import FreshVariance
    >>> from sottovoce.worlds import synthetic
    >>> attacked = with_colluders(synthetic(seed=1), fraction=0.2, offset=1.5, law=FreshVariance(0.5), seed=2)
    >>> attacked.claims.noise
    'fresh:0.5'
    """
    if not 0 <= fraction <= 1:
        raise BadParameter(f"fraction={fraction}: a fraction of the users must be from 0 to 1; 0.2 is a fifth")
    if not np.isfinite(offset):
        raise BadParameter(
            f"offset={offset}: a lie must be a finite number of standard deviations of the noise; 2 is typical"
        )
    claims = world.claims
    if claims.noise:
        raise BadParameter(
            f"a world with noise {claims.noise}: noise is added here, to raw readings; give a world without noise"
        )
    rng = generator(seed)
    colludes = np.zeros(claims.n_users, dtype=bool)
    colludes[rng.permutation(claims.n_users)[: round(fraction * claims.n_users)]] = True
    lie = offset * law.mean_variance**0.5
    lies = world.truths[claims.objects] + lie
    lying = colludes[claims.users]
    sent = law.simulate(np.where(lying, lies, claims.values), claims.users, rng)
    if not own_noise:
        sent = np.where(lying, lies, sent)
    return replace(
        world,
        claims=claims.with_values(sent, noise=str(law)),
        error_variances=np.where(colludes, lie**2, world.error_variances),
    )
