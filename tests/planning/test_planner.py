"""The planner gives the right figures in the right order, and simulations confirm its errors."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

import sottovoce as sv
from sottovoce.planning import information
from sottovoce.privacy.laws import parse_noise_law
from sottovoce.privacy.normal_laplace import laplace_information


def ranking(**options):
    return {
        option.law.name: option for option in sv.plan(epsilon=1, delta=1e-5, distance=1.0, simulations=0, **options)
    }


def test_reading_level_prefers_fresh_noise():
    plans = ranking(readings=30, participants=150)
    assert next(iter(plans)) == "fresh"
    assert (plans["fresh"].delta, plans["fresh"].mean_variance) == (0, 2)
    assert plans["gaussian"].mean_variance == pytest.approx(13.9, abs=0.05)
    assert plans["shared"].mean_variance == pytest.approx(45_000, rel=2e-3)
    assert plans["shared"].mean_variance_any_n == pytest.approx(50_000, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("readings", "first"), [(5, "fresh"), (30, "gaussian")])
def test_participant_level_depends_on_the_number_of_readings(readings, first):
    assert next(iter(ranking(readings=readings, unit="participant"))) == first


@pytest.mark.parametrize(("rate", "quality"), [(0.5, 1.0), (0.1, 5.0), (1.0, 1.0001)])
def test_information_of_the_shared_law_in_closed_form(rate, quality):
    wanted = quality * rate * math.log(quality / rate) / (quality - rate)
    assert information.information(sv.SharedVariance(rate), quality) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.slow
def test_information_of_laplace_noise_by_plain_integration():
    def density(x):
        return integrate.quad(lambda u: stats.norm.pdf(u) * stats.laplace.pdf(x - u), -9, 9, points=[x], limit=200)[0]

    x = np.linspace(0, 20, 201)
    values = np.array([density(point) for point in x])
    wanted = 2 * integrate.simpson(np.gradient(values, x) ** 2 / values, x=x)
    assert laplace_information(1.0, 1.0) == pytest.approx(wanted, rel=5e-3)  # differences of coarse steps


def test_information_at_the_ends():
    assert laplace_information(1e-8, 2.0) == pytest.approx(1 / 4, rel=1e-3)  # Laplace only
    assert laplace_information(1e6, 2.0) == pytest.approx(1 / (1e6 + 8), rel=1e-4)  # practically normal


def test_predicted_error_is_what_known_qualities_give():
    law, quality = sv.SharedVariance(0.5), 1.0
    rng = np.random.default_rng(0)
    variances = rng.exponential(1, (4000, 150)) + rng.exponential(2, (4000, 150))
    errors = np.abs(rng.standard_normal(4000)) / np.sqrt((1 / variances).sum(axis=1))
    predicted = information.predicted_error(law, quality, 150)
    # Jensen: the prediction is the error at the mean information, a few per cent below the mean error.
    assert predicted == pytest.approx(errors.mean(), rel=0.05 + 4 * errors.std() / errors.mean() / math.sqrt(4000))
    assert predicted <= errors.mean() * 1.05


@pytest.mark.slow
def test_participants_needed_reach_the_error():
    plan = sv.plan(error=0.05, simulations=0)[0]
    reached = information.predicted_error(plan.law, 2.0, plan.participants_needed)
    assert reached <= 0.05 < information.predicted_error(plan.law, 2.0, plan.participants_needed - 1)


@pytest.mark.slow
def test_simulated_errors_come_with_an_interval_and_a_seed():
    first, again = (sv.plan(readings=10, participants=60, simulations=12, seed=3) for _ in range(2))
    for here, there in zip(first, again, strict=True):
        assert here.simulated_error == there.simulated_error
        assert here.simulated_error.low < here.simulated_error.mean < here.simulated_error.high
    gaussian = next(plan for plan in first if plan.law.name == "gaussian")
    # With equal noise for all, CRH is nearly the mean, and the mean is nearly efficient.
    assert gaussian.simulated_error.low < 1.1 * gaussian.predicted_error
    assert gaussian.simulated_error.high > 0.9 * gaussian.predicted_error


def test_quality_can_be_given_estimated_or_assumed():
    world = sv.worlds.synthetic(200, 50, error_rate=4.0, seed=1)
    plans = sv.plan(pilot=world.claims, simulations=0)
    # 10,000 claims, but only 200 variances: relative standard error of their mean is 1/√200 = 7 %.
    assert plans.error_rate == pytest.approx(4.0, rel=0.25)
    assert plans.error_rate_source == "estimated from the pilot"
    noisy = world.with_simulated_noise(sv.Gaussian(0.5), 2)
    assert sv.plan(pilot=noisy.claims, simulations=0).error_rate == pytest.approx(4.0, rel=0.3)
    assert sv.plan(error_rate=3.0, simulations=0).error_rate == 3.0
    assert "assumed" in sv.plan(simulations=0).error_rate_source


def test_without_exceptions_only_fresh_noise_remains():
    assert [plan.law.name for plan in sv.plan(delta=0, simulations=0)] == ["fresh"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon 0"),
        ({"delta": 1}, "delta 1"),
        ({"distance": -1}, "distance -1"),
        ({"readings": 0}, "readings 0"),
        ({"participants": 0}, "participants 0"),
        ({"error": 0}, "error 0"),
        ({"error_rate": -1}, "error_rate -1"),
    ],
)
def test_bad_plans_are_reported(options, words):
    with pytest.raises(ValueError, match=words):
        sv.plan(simulations=0, **options)


def test_with_one_reading_shared_noise_is_as_good_as_fresh_noise_and_promises_less():
    """A single reading tells nothing about its variance, so both are Laplace noise of the same size."""
    plans = {option.law.name: option for option in sv.plan(1.0, 1e-5, readings=1, simulations=0)}
    assert plans["shared"].predicted_error == pytest.approx(plans["fresh"].predicted_error, rel=1e-3)
    assert next(iter(plans)) == "fresh"
    few = {option.law.name: option for option in sv.plan(1.0, 1e-5, readings=2, unit="participant", simulations=0)}
    errors = [few[name].predicted_error / few[name].answer_gain for name in ("shared", "fresh")]
    assert few["shared"].answer == few["fresh"].answer == 1
    assert errors[0] == pytest.approx(errors[1], rel=1e-3)


@pytest.mark.parametrize("law", ["shared:0.5", "floored:1:0.5"])
def test_the_variance_of_a_single_reading_is_not_known(law):
    """The score of normal noise whose variance is random, by quadrature over the variance and the reading."""
    law, variance = parse_noise_law(law), 0.7
    drawn = np.arange(0.005, 80, 0.01)  # of Exponential(0.5): beyond it lie e^-40 of all
    chances = np.exp(-drawn / 2)
    variances = variance + law.lowest + drawn
    errors = np.linspace(0, 60, 1_501)
    densities = np.exp(-(errors[:, None] ** 2) / 2 / variances) / np.sqrt(2 * np.pi * variances) * chances
    mass, slopes = densities.sum(axis=1), (-errors[:, None] * densities / variances).sum(axis=1)
    expected = integrate.trapezoid(slopes**2 / mass, errors) / integrate.trapezoid(mass, errors)
    assert law.information_of_one(np.array([variance]))[0] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("participants", [150, 156, 172, 369])
def test_of_almost_equal_laws_the_one_that_promises_most_comes_first(participants):
    assert next(iter(sv.plan(1.0, 1e-5, readings=1, participants=participants, simulations=0))).law.name == "fresh"
