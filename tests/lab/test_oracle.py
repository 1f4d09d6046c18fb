"""The oracle's floor is the error of one who really knows the variances; the crowds of the sparse figure are even."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.lab.reproduce.guarantees import oracle_error
from sottovoce.lab.reproduce.sparsity import sparse_crowd


@pytest.mark.parametrize(
    ("law", "draw"),
    [
        (sv.SharedVariance(0.5), lambda rng, shape: rng.exponential(2.0, shape)),
        (sv.FlooredVariance(3.0, 0.5), lambda rng, shape: 3 + rng.exponential(2.0, shape)),
        (sv.Gaussian(2.0), lambda rng, shape: np.full(shape, 4.0)),
    ],
)
def test_floor_is_the_error_of_a_weighted_mean_with_known_variances(law, draw):
    rng = np.random.default_rng(1)
    variances = rng.exponential(0.5, (8000, 40)) + draw(rng, (8000, 40))
    readings = rng.standard_normal(variances.shape) * np.sqrt(variances)
    errors = np.abs((readings / variances).sum(axis=1) / (1 / variances).sum(axis=1))
    floor = oracle_error(law, 2.0, 40, np.random.default_rng(2))
    # Standard errors: 0.76/√8000 = 0.9 % of the simulated mean, and less of the floor.
    assert floor == pytest.approx(errors.mean(), rel=0.04)


def test_floor_of_fresh_noise_without_errors_is_that_of_laplace_noise():
    # Information of Laplace noise of scale b is 1/b², half of what its variance 2b² would say of normal noise.
    floor = oracle_error(sv.FreshVariance(0.5), 1e9, 150, np.random.default_rng(1))
    assert floor == pytest.approx(math.sqrt(2 / math.pi / 150), rel=0.01)


@pytest.mark.parametrize("readings", [1, 3, 10, 30])
def test_sparse_crowds_have_as_many_readings_for_every_user_and_every_object(readings):
    world = sparse_crowd(readings, np.random.default_rng(3))
    assert set(world.claims.claims_per_user.tolist()) == {readings}
    assert set(world.claims.claims_per_object.tolist()) == {20}
    errors = world.claims.values - world.truths[world.claims.objects]
    scores = errors / np.sqrt(world.error_variances[world.claims.users])
    assert abs((scores**2).mean() - 1) < 5 * math.sqrt(2 / len(scores))
