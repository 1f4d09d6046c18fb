"""The oracle: it knows every user's error variance and, if users drew a variance for their noise, that one too.

It uses the same readings as the methods beside it, so that a lucky crowd is lucky for all of them.
"""

from copy import deepcopy

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.privacy.laws import NoiseLaw
from sottovoce.privacy.laws.noise import ReadingNoise
from sottovoce.worlds import World

Floats = NDArray[np.float64]

_GUESSES = np.linspace(-8, 8, 161)  # in standard errors of the weighted mean


def noisy_and_oracle(world: World, law: NoiseLaw, rng: np.random.Generator) -> tuple[Claims, Floats]:
    """The claims as the server sees them, and the oracle's estimates from them."""
    before = deepcopy(rng)
    noisy = world.with_simulated_noise(law, rng).claims
    drawn = law.known_variances(world.error_variances.shape, before)  # what a law draws first
    noise = law.reading_noise()
    if drawn is None and noise is not None:
        return noisy, _posterior_mean(noisy, world.error_variances, noise)
    centre, _ = _weighted_mean(noisy, world.error_variances + (law.mean_variance if drawn is None else drawn))
    return noisy, centre


def _weighted_mean(claims: Claims, variances: Floats) -> tuple[Floats, Floats]:
    """Means weighted by the users' precisions, and the precisions of these means."""
    precisions = 1 / variances[claims.users]
    total = np.bincount(claims.objects, precisions).astype(np.float64)
    return np.bincount(claims.objects, precisions * claims.values) / total, total


def _posterior_mean(claims: Claims, own: Floats, noise: ReadingNoise) -> Floats:
    """Posterior means: the best estimates if every reading has its own noise, which is not normal."""
    centre, precision = _weighted_mean(claims, own + noise.variance)
    guesses = centre[:, None] + _GUESSES / np.sqrt(precision)[:, None]
    logs = np.zeros_like(guesses)
    for user, variance in enumerate(own.tolist()):
        mine = claims.users == user
        objects = claims.objects[mine]  # each once
        errors = np.abs(claims.values[mine][:, None] - guesses[objects])
        logs[objects] += np.log(noise.score_and_density(errors, variance)[1])
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray((guesses * chances).sum(axis=1) / chances.sum(axis=1))
