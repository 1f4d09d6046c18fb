"""Claims that are rounded as coarsely as they err: accurate users agree, and are wrong together."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import t as student

import sottovoce as sv
from sottovoce.discovery.rounding import rounding_step, shared_variance
from sottovoce.engines import MemoryEngine

OBJECTS, CLAIMS, USERS = 40, 8, 40


def crowd(seed, kind, step):
    """Users' deviations are 1, or exponential variances, or 0.1 and 2; truths lie anywhere between the steps."""
    rng = np.random.default_rng((seed, 41))
    deviations = {
        "alike": np.ones(USERS),
        "different": np.sqrt(rng.exponential(1, USERS)),
        "two kinds": np.where(rng.random(USERS) < 0.5, 0.1, 2.0),
    }[kind]
    truths = rng.uniform(0, 100, OBJECTS)
    who = np.concatenate([rng.choice(USERS, CLAIMS, replace=False) for _ in range(OBJECTS)])
    read = np.repeat(truths, CLAIMS) + rng.standard_normal(len(who)) * deviations[who]
    return who, np.repeat(np.arange(OBJECTS), CLAIMS), np.round(read / step) * step, truths


def step_of(values):
    objects = np.arange(len(values)) // CLAIMS
    return rounding_step(MemoryEngine(sv.Claims.from_arrays(np.arange(len(values)), objects, values)))


@pytest.mark.parametrize(("zero", "unit"), [(0, 1), (0.3, 0.1), (-1e6, 7.3)])
@pytest.mark.parametrize("deviation", [0.3, 1.5])
def test_the_step_is_found_in_any_unit_and_from_any_zero(zero, unit, deviation):
    rng = np.random.default_rng(1)
    whole = np.round(np.repeat(rng.uniform(0, 100, 50), CLAIMS) + deviation * rng.standard_normal(50 * CLAIMS))
    assert step_of(zero + unit * whole) == pytest.approx(unit, rel=1e-6)
    stray = np.where(np.arange(len(whole)) % 60 == 0, whole + 0.37, whole)  # somebody did not round
    assert step_of(zero + unit * stray) == pytest.approx(unit, rel=1e-6)


def test_measurements_that_nobody_rounded_have_no_step():
    rng = np.random.default_rng(2)
    assert step_of(rng.standard_normal(400)) == 0
    assert step_of(np.round(100 * rng.standard_normal(400))) == 0  # finer than matters
    assert step_of(np.round(rng.standard_normal(8))) == 0  # too few to see
    assert step_of(np.ones(40)) == 0


@pytest.mark.parametrize("deviation", [0.0, 0.1, 0.2, 0.35, 0.5])
def test_the_error_in_common_by_quadrature(deviation):
    """How far the mean of claims is from a truth between two multiples of 1; the formula bounds its square."""

    def squared(truth):
        edges = np.arange(-4, 5) + 0.5
        above = ndtr((truth - edges) / deviation) if deviation else (truth > edges).astype(float)
        return (-4 + above.sum() - truth) ** 2

    exact, _ = quad(squared, 0, 1, points=[0.5])
    own = np.array([deviation**2 + 1 / 12])
    bound = shared_variance(1.0, own)[0]
    assert 6 / np.pi**2 * bound * (1 - 1e-6) <= exact <= bound * (1 + 1e-6)


@pytest.mark.alike
@pytest.mark.parametrize("step", [0.5, 1, 2, 4])
@pytest.mark.parametrize("kind", ["alike", "different", "two kinds"])
def test_intervals_hold_truths_between_the_steps(kind, step):
    """They do in 93 % of the cases, and at least as often as those of the plain mean, less two standard errors."""
    held = []
    for seed in range(3):
        who, what, values, truths = crowd(seed, kind, step)
        low, high = sv.NoiseAware(target="value").fit(sv.Claims.from_arrays(who, what, values)).intervals()
        table = values.reshape(OBJECTS, CLAIMS)
        half = student.ppf(0.975, CLAIMS - 1) * table.std(axis=1, ddof=1) / np.sqrt(CLAIMS)
        held.append([((low <= truths) & (truths <= high)).mean(), (np.abs(table.mean(axis=1) - truths) <= half).mean()])
    ours, mean = np.mean(held, axis=0)
    assert ours >= max(0.93, mean) - 2 * np.sqrt(0.93 * 0.07 / (3 * OBJECTS))
