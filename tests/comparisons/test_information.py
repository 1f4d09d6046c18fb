"""What a comparison is worth, against published figures and outside computations."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from sottovoce.comparisons.information import (
    answers_to_find,
    capacity,
    crowd_information,
    expected_crowd_deviation,
    expected_deviation,
    information,
    shift_by_liars,
    usual_information,
)


@pytest.mark.parametrize(("cut", "expected"), [(0.0, 0.135952), (1.0, 0.055542)])
def test_the_information_of_a_bit_is_the_published_one(cut, expected):
    assert information(1.0, [cut]) == pytest.approx(expected, abs=5e-7)
    tanh = math.tanh(0.5)
    formula = tanh**2 * norm.pdf(cut) ** 2 / (0.25 - tanh**2 * (norm.cdf(cut) - 0.5) ** 2)
    assert information(1.0, [cut]) == pytest.approx(formula, rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "levels", "best", "equal"),
    [(3.0, 3, 0.593651, 0.592368), (4.0, 5, 0.751847, 0.750417), (6.0, 9, 0.918531, 0.911722)],
)
def test_the_information_of_several_levels_is_the_published_one(epsilon, levels, best, equal):
    cuts = norm.ppf(np.arange(1, levels) / levels)
    assert information(epsilon, cuts) == pytest.approx(equal, abs=5e-7)
    found = minimize(lambda tried: -information(epsilon, np.sort(tried)), cuts, method="Nelder-Mead",
                     options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000})  # fmt: skip
    assert -found.fun == pytest.approx(best, abs=5e-6 if levels > 5 else 5e-7)


def test_information_grows_with_accuracy_squared():
    assert information(2.0, [1.5], spread=3.0) == pytest.approx(information(2.0, [0.5]) / 9)
    assert usual_information(4.0, 4) > usual_information(4.0, 2)
    assert usual_information(1.0, 4) < usual_information(1.0, 2)


def test_information_is_the_variance_of_the_score():
    """By simulation: 200,000 answers, so five standard errors are below 2 %."""
    rng = np.random.default_rng(0)
    cuts, epsilon, step = (-0.5, 0.3, 1.0), 2.0, 1e-4
    floor = 1 / (math.exp(epsilon) + 3)

    def chances(truth):
        edges = norm.cdf(np.array([-np.inf, *cuts, np.inf]) - truth)
        return floor + (1 - 4 * floor) * np.diff(edges)

    answers = rng.choice(4, 200_000, p=chances(0.0))
    scores = (np.log(chances(step)) - np.log(chances(-step)))[answers] / (2 * step)
    assert scores.var() == pytest.approx(information(epsilon, cuts), rel=0.02)


def test_in_the_crowd_errors_are_laplace():
    """Variances Exponential(λ1) make errors of density √(λ1/2) at 0; information of a bit there is 4·tanh²·f²."""
    density = math.sqrt(2.0 / 2)
    assert crowd_information(1.0, 2.0) == pytest.approx(4 * math.tanh(0.5) ** 2 * density**2)


@pytest.mark.parametrize(("epsilon", "nats"), [(0.5, 0.030300), (1, 0.110944), (2, 0.327813), (4, 0.603052)])
def test_the_capacity_is_the_published_one(epsilon, nats):
    assert capacity(epsilon) == pytest.approx(nats, abs=5e-7)
    assert capacity(1e-8) == pytest.approx(1e-16 / 8, rel=1e-9)
    assert capacity(0.0021) == pytest.approx(capacity(0.0019) * (21 / 19) ** 2, rel=1e-6)  # on both sides of the series
    assert capacity(1e4) == pytest.approx(math.log(2))


def test_the_number_of_answers_that_the_search_needs():
    half, most = answers_to_find(1.0, 100)
    assert most == pytest.approx(87.6, abs=0.1)
    assert half == pytest.approx(48.8, abs=0.1)
    assert answers_to_find(1.0, 0.1)[0] == 0  # a range within the spread needs no search


def test_the_error_to_expect_is_never_above_a_guess():
    assert expected_deviation(1.0, 2, 1.0, 100.0, 10) == pytest.approx(100 / math.sqrt(12))
    assert expected_deviation(1.0, 2, 1.0, 100.0, 500) == pytest.approx(0.140, abs=0.001)
    assert expected_crowd_deviation(1.0, 1.0, 100.0, 10**6) < expected_crowd_deviation(1.0, 1.0, 100.0, 500)


def test_liars_shift_the_median_of_the_answers():
    """Where half of all bits say higher: (1-ρ)(½ + T(½ - Φ)) + ρ = ½, solved here by bisection."""
    for epsilon, share in ((1.0, 0.1), (4.0, 0.1), (2.0, 0.3)):
        tanh, low, high = math.tanh(epsilon / 2), 0.0, 10.0
        for _ in range(100):
            middle = (low + high) / 2
            higher = (1 - share) * (0.5 + tanh * (0.5 - norm.cdf(middle))) + share
            low, high = (middle, high) if higher > 0.5 else (low, middle)
        assert shift_by_liars(epsilon, share) == pytest.approx(low, abs=1e-9)
    assert shift_by_liars(1.0, 0.316) > 3
    assert shift_by_liars(1.0, 0.317) == math.inf
