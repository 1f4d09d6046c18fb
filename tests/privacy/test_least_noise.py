"""From a promise to the law with the least noise that keeps it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.privacy.least_noise import law_for

KINDS = [sv.SharedVariance, sv.FreshVariance, sv.FlooredVariance, sv.Gaussian]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("readings", "variance"), [(2, 69), (3, 5390), (5, 21_100), (10, 35_200), (30, 45_000), (10**6, 50_000)]
)
def test_variance_that_the_shared_law_needs(readings, variance):
    assert law_for(sv.SharedVariance, 1, 1e-5, readings=readings).mean_variance == pytest.approx(variance, rel=2e-3)


def test_variances_that_the_other_laws_need():
    assert law_for(sv.FreshVariance, 1, 0).mean_variance == 2
    assert law_for(sv.Gaussian, 1, 1e-5).mean_variance == pytest.approx(13.9, abs=0.03)
    floored = law_for(sv.FlooredVariance, 1, 1e-5)
    assert floored.floor == pytest.approx(10.22, abs=0.02)
    assert 1 / floored.rate == pytest.approx(13.9, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None)
@given(
    epsilon=st.floats(0.05, 5), exponent=st.floats(-9, -0.5), distance=st.floats(0.1, 10),
    readings=st.sampled_from([1, 2, 4, 20, 300]), unit=st.sampled_from(["reading", "participant"]),
)  # fmt: skip
def test_the_law_found_keeps_the_promise_and_wastes_nothing(kind, epsilon, exponent, distance, readings, unit):
    delta = 10**exponent
    if kind is sv.FreshVariance and unit == "participant" and readings == 300:
        readings = 20  # exact sums of hundreds of fresh readings take seconds
    law = law_for(kind, epsilon, delta, distance=distance, readings=readings, unit=unit)
    promise = law.guarantee(distance, readings, unit)
    reached = promise.delta_any_n(epsilon) if kind is sv.FlooredVariance else promise.delta(epsilon)
    assert reached <= delta
    assert reached == pytest.approx(delta, rel=1e-2)  # fresh noise: δ changes 10⁹ times as fast as the rate


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_grid_the_promise_is_kept_by_the_sampled_law(kind):
    law = law_for(kind, 1.0, 1e-4, distance=1.0, readings=5, grid=0.05)
    assert law.guarantee(1.0, 5, grid=0.05).delta(1.0) <= 1e-4


def test_impossible_promises_are_refused():
    for epsilon, delta in ((0, 1e-5), (-1, 1e-5), (1, 1), (1, -1), (float("nan"), 1e-5)):
        with pytest.raises(ValueError, match=r"epsilon|delta"):
            law_for(sv.Gaussian, epsilon, delta)
    with pytest.raises(ValueError, match="only fresh noise"):
        law_for(sv.SharedVariance, 1, 0)
