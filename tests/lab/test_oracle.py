"""The oracle errs like an estimator that has the true variances; the crowds of the sparse figure are balanced."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.lab.reproduce.oracle import noisy_and_oracle
from sottovoce.lab.reproduce.sparsity import sparse_crowd
from sottovoce.worlds import synthetic


def oracles_errors(law, error_rate, participants, objects):
    rng = np.random.default_rng(1)
    world = synthetic(participants, objects, error_rate=error_rate, seed=rng)
    _, found = noisy_and_oracle(world, law, rng)
    return np.abs(found - world.truths)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "draw"),
    [
        (sv.SharedVariance(0.5), lambda rng, shape: rng.exponential(2.0, shape)),
        (sv.FlooredVariance(3.0, 0.5), lambda rng, shape: 3 + rng.exponential(2.0, shape)),
        (sv.Gaussian(2.0), lambda rng, shape: np.full(shape, 4.0)),
    ],
)
def test_with_known_variances_the_error_is_that_of_the_best_weighted_mean(law, draw):
    rng = np.random.default_rng(2)
    # Given the variances the best estimate is normal with variance 1/Σ(1/variance).
    variances = rng.exponential(0.5, (2000, 400)) + draw(rng, (2000, 400))
    expected = np.sqrt(2 / math.pi / (1 / variances).sum(axis=1)).mean()
    errors = oracles_errors(law, 2.0, 400, 4000)
    # Of one crowd of 400: its precision varies by about 5 %, the mean of 4,000 errors by 0.76/√4000 = 1.2 %.
    assert errors.mean() == pytest.approx(expected, rel=0.11)


@pytest.mark.slow
def test_fresh_noise_without_errors_leaves_that_of_laplace_noise():
    # Information of Laplace noise of scale b is 1/b², half of what its variance 2b² would say of normal noise. With 400
    # readings the best error lies above that limit by a few per cent, the weighted mean's by 41 %.
    errors = oracles_errors(sv.FreshVariance(0.5), 1e6, 400, 1000)
    assert errors.mean() == pytest.approx(math.sqrt(2 / math.pi / 400), rel=0.12)


@pytest.mark.parametrize("readings", [1, 3, 10, 30])
def test_sparse_crowds_have_as_many_readings_for_every_user_and_every_object(readings):
    world = sparse_crowd(readings, np.random.default_rng(3))
    assert set(world.claims.claims_per_user.tolist()) == {readings}
    assert set(world.claims.claims_per_object.tolist()) == {20}
    errors = world.claims.values - world.truths[world.claims.objects]
    scores = errors / np.sqrt(world.error_variances[world.claims.users])
    assert abs((scores**2).mean() - 1) < 5 * math.sqrt(2 / len(scores))
