"""Rounded claims: votes decide if truths lie on the steps, as counts do; otherwise claims are averaged."""

import warnings

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.discovery.between_steps import StepEvidence
from sottovoce.engines import MemoryEngine
from sottovoce.errors import ConvergenceWarning

OBJECTS, CLAIMS, USERS = 60, 9, 50


def engine_of(who, values):
    return MemoryEngine(sv.Claims.from_arrays(who, np.repeat(np.arange(OBJECTS), CLAIMS), values), threads=1)


def counted(seed, kind):
    """Counts: right with a chance of 1/2 or 0.7, otherwise one off, up to three off, or too few by some."""
    rng = np.random.default_rng((seed, 91))
    truths = rng.integers(3, 60, OBJECTS).astype(float)
    who = np.concatenate([rng.choice(USERS, CLAIMS, replace=False) for _ in range(OBJECTS)])
    right = rng.random(len(who)) < (0.7 if kind == "too few" else 0.5)
    off = {
        "one off": rng.choice([-1, 1], len(who)),
        "up to three off": rng.choice([-3, -2, -1, 1, 2, 3], len(who)),
        "too few": -rng.geometric(0.6, len(who)),
    }[kind]
    return engine_of(who, np.repeat(truths, CLAIMS) + np.where(right, 0, off)), truths


def measured(seed, step, own=False):
    """Lengths anywhere between the steps, with errors of deviation 1, or of variances that differ among users."""
    rng = np.random.default_rng((seed, 92))
    truths = rng.uniform(0, 100, OBJECTS)
    who = np.concatenate([rng.choice(USERS, CLAIMS, replace=False) for _ in range(OBJECTS)])
    deviations = np.sqrt(rng.exponential(1, USERS)) if own else np.ones(USERS)
    read = np.repeat(truths, CLAIMS) + deviations[who] * rng.standard_normal(len(who))
    return engine_of(who, np.round(read / step) * step), truths


def errors_and_coverage(worlds):
    """Mean absolute errors of ours, mean and median, and the share of truths that our intervals hold."""
    errors, held = [], []
    for engine, truths in worlds:
        fit = sv.NoiseAware(target="value").fit(engine)
        errors.append([np.abs(found - truths).mean() for found in (fit.truths_, engine.means(), engine.medians())])
        low, high = fit.intervals()
        held.append(((low <= truths) & (truths <= high)).mean())
    return np.mean(errors, axis=0), np.mean(held)


@pytest.mark.parametrize("kind", ["one off", "too few"])
def test_counts_lie_on_the_steps(kind):
    for seed in range(4):
        assert StepEvidence(counted(seed, kind)[0], 1.0).between < 0.1


@pytest.mark.parametrize("step", [2, 4, 8])
def test_lengths_lie_between_the_steps(step):
    for seed in range(4):
        assert StepEvidence(measured(seed, step)[0], step).between > 0.9


@pytest.mark.parametrize("kind", ["one off", "up to three off", "too few"])
def test_counts_are_as_good_as_the_median(kind):
    """Averages had two to three times the error. One truth in 240 that is one off is allowed for."""
    (ours, _, median), held = errors_and_coverage(counted(seed, kind) for seed in range(4))
    assert ours < 1.1 * median + 1 / 240
    if kind != "too few":  # there, nobody's interval holds
        assert held > 0.93


@pytest.mark.parametrize(("step", "own"), [(3, False), (4, True), (8, False)])
def test_lengths_are_as_good_as_the_mean(step, own):
    """Votes had one and a half to two times the error, since those who are right by chance seemed the best."""
    (ours, mean, _), held = errors_and_coverage(measured(seed, step, own) for seed in range(4))
    assert ours < 1.06 * mean
    assert held > 0.93


def test_errors_larger_than_steps_are_averaged():
    """Nobody can tell whether these truths are whole numbers, and a median would have 1.25 times the error."""
    (ours, mean, _), _ = errors_and_coverage(measured(seed, 0.5) for seed in range(4))
    assert ours < 1.03 * mean


def test_guesses_of_which_half_are_rounded_coarsely_are_averaged():
    """Ages in years, half of them in fives: the fives look like steps on which truths lie, and votes had 1.3 times the
    error of averages."""
    ours, mean = [], []
    for seed in range(6):
        rng = np.random.default_rng((seed, 93))
        truths, who = rng.integers(18, 81, 20).astype(float), np.tile(np.arange(30), 20)
        guesses = np.repeat(truths, 30) + 5 * rng.standard_normal(600)
        guesses = np.where(rng.random(600) < 0.5, np.round(guesses / 5) * 5, np.round(guesses))
        engine = MemoryEngine(sv.Claims.from_arrays(who, np.repeat(np.arange(20), 30), guesses), threads=1)
        ours.append(np.abs(sv.NoiseAware(target="value").fit(engine).truths_ - truths).mean())
        mean.append(np.abs(engine.means() - truths).mean())
    assert np.mean(ours) < 1.05 * np.mean(mean)


def test_objects_whose_claims_are_far_apart_can_be_checked_too():
    """No claim is near the middle one."""
    values = np.tile([0.0, 1.0, 100.0, 200.0], 3)
    engine = MemoryEngine(sv.Claims.from_arrays(np.arange(12), np.repeat(np.arange(3), 4), values))
    assert 0 <= StepEvidence(engine, 1.0).between <= 1


def test_where_most_are_exactly_right_the_fit_settles():
    """Users who are always right seemed infinitely accurate: truths moved towards them for over 1,000 iterations."""
    for seed in (1, 2):
        rng = np.random.default_rng((seed, 71))
        truths = rng.integers(3, 60, 150)
        who = np.concatenate([rng.choice(40, 4, replace=False) for _ in truths])
        missed = np.where(rng.random(len(who)) < 0.9, 0, rng.geometric(0.6, len(who)))
        claims = sv.Claims.from_arrays(who, np.repeat(np.arange(150), 4), np.repeat(truths, 4) - missed)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            assert sv.NoiseAware(target="value").fit(MemoryEngine(claims, threads=1)).n_iter_ < 500
