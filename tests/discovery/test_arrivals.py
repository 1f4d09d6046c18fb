"""Reports that trickle in: whatever was computed on the way, the answer is that of all claims together."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.discovery.reading_lookup import ReadingLookup

LAWS = ["fresh:0.5", "fresh:0.005", "fresh:50", "shared:0.5", "floored:1:0.5", "gaussian:1.5"]


def crowd(law, participants, tasks, fill, seed):
    """Noisy claims of people of different quality, on a grid of 0.1; at least one of each."""
    random = np.random.default_rng(seed)
    errors = random.standard_normal((participants, tasks)) * np.sqrt(random.exponential(1, participants))[:, None]
    asked = random.random((participants, tasks)) < fill
    asked[:, 0] = True
    users, objects = np.nonzero(asked)
    readings = (random.uniform(60, 90, tasks) + errors)[users, objects]
    noisy = sv.parse_law(law).simulate(readings, users.astype(np.int32), random)
    return users, objects, noisy.round(1)


def assert_same_intervals(fit, cold):
    """Intervals are the same to 1 % of their width, and both fits have converged."""
    assert fit.converged_
    assert cold.converged_
    low, high = cold.intervals()
    for ours, theirs in zip(fit.intervals(), (low, high), strict=True):
        assert np.all(np.abs(ours - theirs) <= 0.01 * (high - low))


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    law=st.sampled_from(LAWS),
    tasks=st.integers(1, 6),
    fill=st.sampled_from([0.4, 1.0]),
    steps=st.lists(st.integers(-2, 4), min_size=1, max_size=8),  # this many come, or withdraw, at a time
    seed=st.integers(0, 10_000),
)
@example(law="fresh:50", tasks=1, fill=1.0, steps=[0, -2, 2, -2, 2, -1, 4], seed=6776)  # two answers are stable
def test_warm_starts_end_where_a_fit_from_scratch_does(law, tasks, fill, steps, seed):
    users, objects, values = crowd(law, 2 + 4 * len(steps), tasks, fill, seed)
    order = np.random.default_rng(seed).permutation(users.max() + 1).tolist()
    here = [order.pop(), order.pop()]
    fit = None
    for step in [0, *steps]:
        for _ in range(abs(step)):
            if step > 0:
                here.append(order.pop())
            elif len(here) > 2:
                here.pop(0)
        chosen = np.isin(users, here)
        claims = sv.Claims.from_arrays(users[chosen], objects[chosen], values[chosen])
        fit = sv.NoiseAware(law).fit(claims, start=fit)
        assert_same_intervals(fit, sv.NoiseAware(law).fit(claims))


@pytest.mark.slow
@pytest.mark.parametrize(("law", "tasks"), [("fresh:0.5", 3), ("fresh:50", 1), ("shared:0.5", 1), ("gaussian:1.5", 3)])
def test_forty_people_one_after_the_other(law, tasks):
    """Widths follow from what people measured: half a width is at most 4 standard errors, by the spread."""
    users, objects, values = crowd(law, 39, tasks, 1.0, seed=1)
    fit = None
    for people in range(2, 40):
        chosen = users < people
        fit = sv.NoiseAware(law).fit(sv.Claims.from_arrays(users[chosen], objects[chosen], values[chosen]), start=fit)
        assert fit.converged_, people
    assert_same_intervals(fit, sv.NoiseAware(law).fit(sv.Claims.from_arrays(users, objects, values)))
    low, high = fit.intervals()
    spreads = values.reshape(39, tasks).std(axis=0)
    assert np.all((high - low) / 2 < 4 * spreads / np.sqrt(39))


@pytest.mark.alike
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("participants", [2, 3, 5])
def test_few_people_get_wide_intervals_but_no_absurd_ones(law, participants):
    """Student's 95 % quantile is 12.7 for two and 4.3 for three; with known noise, intervals can be narrower."""
    for seed in range(4):
        users, objects, values = crowd(law, participants, 1, 1.0, seed)
        fit = sv.NoiseAware(law).fit(sv.Claims.from_arrays(users, objects, values))
        low, high = fit.intervals()
        deviation = np.hypot(values.std(ddof=1), np.sqrt(1 + sv.parse_law(law).mean_variance))
        assert fit.converged_
        assert np.all((high - low) / 2 < 12.7 * deviation / np.sqrt(participants))


@pytest.mark.parametrize("typical", [0.1, 3.0, 100.0, 1e-9, 1e12])
def test_information_from_inaccurate_users_is_that_of_their_errors(typical):
    """Beyond ten times the noise's deviation a reading's law is nearly normal: information 1/variance, within 10 %."""
    law = sv.FreshVariance(0.5)
    lookup = ReadingLookup(law.reading_noise(), typical)
    own = np.geomspace(np.exp(lookup._logs[0]), np.exp(lookup._logs[-1]), 50)
    information = lookup.information(own)
    assert np.all(np.diff(information) < 0)
    whole = own + law.mean_variance
    much = own > 20 * law.scale**2
    assert information[much] * whole[much] == pytest.approx(1, abs=0.1)
    # At most that of the noise by itself, 1/scale²; at least that of a normal law, within what the lookup interpolates.
    assert np.all(information < 1.001 / law.scale**2)
    assert np.all(information * whole > 0.99)
