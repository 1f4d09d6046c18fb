"""Errors as people make them: skewed, and about objects of any difficulty."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.discovery.own_offsets import kurtosis_within
from sottovoce.engines import MemoryEngine
from sottovoce.engines.sweeps import trusted


def fits(users, objects, values):
    engine = MemoryEngine(sv.Claims.from_arrays(users, objects, values), threads=1)
    return [method.fit(engine) for method in (sv.NoiseAware(), sv.Mean(), sv.Median())]


def errors_of(found, truths):
    return [float(np.abs(fit.truths_ - truths).mean()) for fit in found]


@pytest.mark.parametrize("tail", [0.01, 0.1, 0.3, 1.0])
def test_a_claim_farther_off_never_pulls_less(tail):
    sizes = np.linspace(0, 60, 2000)
    pulls = np.array([size * trusted(size**2, tail, False)[0] for size in sizes])
    assert (np.diff(pulls) >= -1e-12).all()
    assert np.abs(np.diff(pulls)).max() <= (1 + tail) * (sizes[1] - sizes[0]) * (1 + 1e-9)  # without a jump


@pytest.mark.slow
def test_counts_that_are_off_by_a_factor_are_about_as_good_as_medians():
    """Dots in pictures: where claims were thickest was below the median, and the error 1.2 times the median's."""
    ratios = []
    for seed in range(10):
        rng = np.random.default_rng((seed, 81))
        truths = np.exp(rng.uniform(np.log(50), np.log(1500), 20)).round()
        users, objects = np.nonzero(rng.random((60, 20)) < 0.4)
        careful = np.exp(rng.normal(-1.2, 0.7, 60))[users]
        factors = np.exp(np.clip(careful * (rng.standard_t(3, len(users)) - 0.1), -4, 4))
        ours, mean, median = errors_of(fits(users, objects, np.round(truths[objects] * factors)), truths)
        ratios.append(ours / min(mean, median))
    assert np.mean(np.log(ratios)) < np.log(1.05)


def test_intervals_allow_for_the_difficulty_of_an_object():
    """Difficulties that differ by a factor of 20: they were taken for heavy tails, and intervals held 85 %."""
    covered = []
    for seed in range(10):
        rng = np.random.default_rng((seed, 83))
        truths, scales = rng.uniform(0, 100, 25), np.exp(rng.normal(0, 1.5, 25))
        users = np.concatenate([rng.choice(30, 7, replace=False) for _ in truths])
        objects = np.repeat(np.arange(25), 7)
        values = truths[objects] + rng.standard_normal(len(users)) * scales[objects]
        low, high = fits(users, objects, values)[0].intervals()
        covered.append(((low <= truths) & (truths <= high)).mean())
    assert np.mean(covered) > 0.93 - 2 * 0.014  # of 250 truths, at a deviation of √(0.05 · 0.95/250)


def test_the_kurtosis_is_that_within_groups():
    rng = np.random.default_rng(4)
    groups, scales = np.repeat(np.arange(500), 10), np.exp(rng.normal(0, 0.5, 500))
    errors = rng.standard_normal(5000) * scales[groups]
    assert kurtosis_within(groups, errors**2, 500) == pytest.approx(3, abs=0.5)
    assert np.mean(errors**4) / np.mean(errors**2) ** 2 > 5
    assert kurtosis_within(np.arange(3), np.ones(3), 3) == 3
