"""Truths are compared with plain averages: where they differ beyond chance, the model of errors is wrong."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.discovery.cross_check import PlainAverages, cross_check
from sottovoce.engines import MemoryEngine

OBJECTS = 40


def averages(mean, favour=0.5):
    return PlainAverages(mean, np.full(OBJECTS, 1.0), np.full(OBJECTS, 1.5), favour, np.ones(OBJECTS, bool))


def checked(differences, favour=0.5, medians=None):
    """Truths of zero with a variance of 1/2, beside means with a variance of 1."""
    truths, everything = np.zeros(OBJECTS), np.ones(OBJECTS, bool)
    medians = truths if medians is None else medians
    return cross_check(truths, np.full(OBJECTS, 0.5), averages(differences, favour), medians, everything, noisy=False)


def test_chance_differences_change_almost_nothing():
    """If the model is right, they have the variance 1 - 1/2. A chance of one in 150 to widen: none of 50 seeds."""
    for seed in range(50):
        found = checked(np.random.default_rng((seed, 8)).normal(0, np.sqrt(0.5), OBJECTS))
        assert np.abs(found.truths).max() < 0.15  # the common part alone: 0.11 is its standard error
        assert found.variance.max() < 0.75


@pytest.mark.parametrize("differences", [np.ones(OBJECTS), np.tile([2.0, -2.0], OBJECTS // 2)])
def test_systematic_differences_meet_half_way_and_widen(differences):
    """Differences to one side for all objects, or for each object on its own."""
    found = checked(differences + np.random.default_rng(1).normal(0, 0.5, OBJECTS))
    assert found.truths.mean() == pytest.approx(differences.mean() / 2, abs=0.15)
    assert np.abs(found.truths - differences / 2).max() < 1
    assert found.variance.min() > 0.9  # that of the mean, whose interval must be contained
    low, high = found.truths - 2 * np.sqrt(found.variance), found.truths + 2 * np.sqrt(found.variance)
    assert np.mean((low <= differences) & (differences <= high)) > 0.9


def test_the_mean_of_heavy_tailed_claims_is_not_preferred():
    assert np.abs(checked(np.full(OBJECTS, 5.0), favour=0.0).truths).max() == 0
    rng = np.random.default_rng(2)
    readings = {"normal": rng.normal(0, 1, (50, 30)), "heavy-tailed": rng.standard_t(1.5, (50, 30))}
    favour = {
        name: PlainAverages.of(MemoryEngine(sv.Claims.from_matrix(matrix)), opinions=False).favour
        for name, matrix in readings.items()
    }
    assert favour["normal"] > 0.6  # a median has π/2 times the variance
    assert favour["heavy-tailed"] == 0


def test_medians_to_one_side_of_all_truths_are_followed_if_means_lie_on_the_other():
    """Errors of which half are positive, but the large ones all: the model would settle above the median."""
    medians = 0.5 + np.random.default_rng(3).normal(0, 0.1, OBJECTS)
    for mean, followed in ((-1.0, 0.5), (-0.2, 0.2), (0.0, 0.0), (1.0, 0.0)):
        found = checked(np.full(OBJECTS, mean), favour=0.0, medians=medians).truths
        assert found == pytest.approx(np.full(OBJECTS, followed), abs=0.1)


def test_two_camps_of_users_leave_truths_at_the_mean():
    """Everybody is off by 1, about half of them upwards. Truths that followed medians had 1.3 times this error."""
    ours, plain = [], []
    for seed in range(8):
        rng = np.random.default_rng((seed, 51))
        truths, camps = rng.uniform(0, 10, 30), np.repeat([-1.0, 1.0], [22, 18])
        matrix = truths + camps[:, None] + rng.normal(0, 0.3, (40, 30))
        matrix[rng.random(matrix.shape) < 0.7] = np.nan
        engine = MemoryEngine(sv.Claims.from_matrix(matrix), threads=1)
        ours.append(np.abs(sv.NoiseAware(target="value").fit(engine).truths_ - truths).mean())
        plain.append(np.abs(engine.means() - truths).mean())
    assert np.mean(ours) < 1.05 * np.mean(plain)


def test_a_few_objects_prove_nothing():
    truths, asked = np.zeros(OBJECTS), np.arange(OBJECTS) < 4
    found = cross_check(truths, np.full(OBJECTS, 0.5), averages(np.full(OBJECTS, 9.0)), truths, asked, noisy=False)
    assert np.abs(found.truths).max() == 0
    assert found.variance.tolist() == [0.5] * OBJECTS


@pytest.mark.parametrize("sign", [1, -1])
def test_if_users_who_agree_err_together_the_interval_contains_that_of_the_mean(sign):
    """A third of the users agree on guesses that are too low; nobody can know, so ours is no shorter."""
    rng = np.random.default_rng(4)
    held = {"ours": 0.0, "mean": 0.0}
    for _ in range(4):
        truths = rng.uniform(50, 60, 30)
        errors = np.where(rng.random((60, 1)) < 0.35, rng.normal(-1, 0.5, (60, 30)), rng.normal(0.5, 1.5, (60, 30)))
        claims = sv.Claims.from_matrix(truths + sign * errors)
        for name, method in (("ours", sv.NoiseAware()), ("mean", sv.Mean())):
            low, high = method.fit(claims).intervals()
            held[name] += float(((low <= truths) & (truths <= high)).mean()) / 4
    assert held["mean"] > 0.9
    assert held["ours"] >= held["mean"] - 0.05


def test_where_one_of_two_decides_alone_the_other_still_counts_for_the_interval():
    """Half of the users err a fifteenth as much; of two, who it is shows by a few claims about other objects."""
    world = sv.worlds.crowd(100, 2, "two kinds", seed=3)
    fit = sv.NoiseAware(target="value").fit(world.claims)
    apart = np.abs(np.diff(world.claims.values[np.argsort(world.claims.objects, kind="stable")].reshape(100, 2))[:, 0])
    half = fit.intervals()[1] - fit.truths_
    alone = fit.effective_users_ < 1.1
    assert alone.sum() > 20
    assert np.all(half[alone] > 0.3 * apart[alone])  # a hundredth of it where nothing is added


@pytest.mark.slow
@pytest.mark.parametrize("law", ["fresh:0.5", "shared:0.5"])
def test_errors_outside_the_model_widen_intervals_under_noise_too(law):
    """Walkers who misjudge their strides and count double: 86 % of truths were within their intervals."""
    law, held, widths = sv.parse_law(law), [], []
    for seed in range(12):
        for walkers in (sv.worlds.floorplan, sv.worlds.careful_floorplan):
            world = walkers((seed, 91)).with_simulated_noise(law, (seed, 92))
            low, high = sv.NoiseAware(noise=law).fit(MemoryEngine(world.claims, threads=1)).intervals()
            held.append(((low <= world.truths) & (world.truths <= high)).mean())
            widths.append(np.median(high - low))
    # Over 40 others 95 %; it varies by 6 % from building to building, with what all walkers of one have in common.
    assert np.mean(held[::2]) > 0.95 - 2 * 0.064 / np.sqrt(12)
    # Where the model is right, nothing is widened: these walkers err by half a metre.
    assert np.mean(widths[1::2]) < 0.5 * np.mean(widths[::2])
