"""The synthetic crowd follows its law."""

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.errors import BadParameter

LAW = sv.FreshVariance(1.0)


def test_errors_follow_the_law():
    world = sv.worlds.synthetic(4000, 20, error_rate=2.0, seed=1)
    assert stats.kstest(world.error_variances, stats.expon(scale=0.5).cdf).pvalue > 1e-3
    claims = world.claims
    errors = claims.values - world.truths[claims.objects]
    standardised = errors / np.sqrt(world.error_variances[claims.users])
    assert stats.kstest(standardised, stats.norm.cdf).pvalue > 1e-3
    assert world.truths.min() >= 0
    assert world.truths.max() <= 10


def test_fill_is_the_share_of_claims():
    claims = sv.worlds.synthetic(500, 200, fill=0.2, seed=2).claims
    assert abs(len(claims) / 100_000 - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 100_000)


def test_the_same_seed_gives_the_same_crowd():
    first, second, other = (sv.worlds.synthetic(seed=seed).claims.values for seed in (3, 3, 4))
    assert first.tolist() == second.tolist() != other.tolist()


@pytest.mark.parametrize(
    "seed",
    [None, [1, 2], np.array([1, 2]), np.random.SeedSequence(3), np.random.PCG64(1)],
    ids=lambda seed: type(seed).__name__,
)
def test_a_seed_may_be_anything_that_numpy_takes(seed):
    assert len(sv.worlds.synthetic(4, 3, seed=seed).claims) == 12


@pytest.mark.parametrize("seed", [-1, np.int64(-1), (1, -1), [1, -1]], ids=repr)
@pytest.mark.parametrize(
    "simulate",
    [
        lambda seed: sv.worlds.synthetic(seed=seed),
        lambda seed: sv.worlds.crowd(4, 3, seed=seed),
        lambda seed: sv.worlds.synthetic(4, 3).with_simulated_noise(LAW, seed),
        lambda seed: sv.worlds.choice_crowd(4, 3).with_simulated_noise(sv.Response(1.0), seed),
        lambda seed: sv.worlds.with_colluders(sv.worlds.synthetic(4, 3), 0.5, 1.0, LAW, seed=seed),
    ],
    ids=["synthetic", "crowd", "noise", "noise of choices", "colluders"],
)
def test_a_negative_seed_is_refused(simulate, seed):
    with pytest.raises(BadParameter, match="a seed is 0 or a positive whole number"):
        simulate(seed)


def test_truths_stay_beside_their_objects_when_some_have_no_claim():
    world = sv.worlds.synthetic(3, 40, fill=0.1, truth_range=(0, 1e6), seed=0)
    assert world.claims.n_objects < 40
    assert (np.abs(sv.Mean().fit(world.claims).truths_ - world.truths) < 10).all()


@pytest.mark.parametrize(
    "options",
    [{"participants": 0}, {"objects": 0}, {"error_rate": -1}, {"fill": 0}, {"fill": 1.5}, {"truth_range": (2, 1)}],
)
def test_impossible_crowds_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        sv.worlds.synthetic(**options)
