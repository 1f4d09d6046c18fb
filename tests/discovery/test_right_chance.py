"""What is estimated about a crowd that answers questions, compared with SciPy's distributions and searches."""

import math

import numpy as np
import pytest
from scipy.optimize import differential_evolution, minimize
from scipy.stats import beta, binom

from sottovoce.discovery.newton import least
from sottovoce.discovery.right_chance import Group, RightChance


@pytest.mark.parametrize(
    ("options", "users", "claims", "mean", "concentration", "hit"),
    [
        (2, 40, 30, 0.8, 5.0, 1.0),
        (4, 200, 3, 0.7, 3.0, 1.0),
        (10, 200, 12, 0.4, 20.0, 1.0),
        (4, 2, 5, 0.9, 8.0, 1.0),
        (2, 100, 40, 0.9, 6.0, 0.73),
        (50, 150, 20, 0.5, 2.0, 0.13),  # with two maxima
    ],
)
def test_the_law_of_a_crowd_is_the_most_likely_one(options, users, claims, mean, concentration, hit):
    rng = np.random.default_rng(options)
    group = Group(options, hit=hit, miss=(1 - hit) / (options - 1))
    counts = 1 + rng.poisson(claims, users)
    agreed = rng.binomial(counts, group.reported(rng.beta(mean * concentration, (1 - mean) * concentration, users)))
    right = (np.arange(500) + 0.5) / 500  # much finer than the nodes of ours
    likely = binom.pmf(agreed[:, None], counts[:, None], group.reported(right))

    def cost(numbers):
        centre = 1 / options + (1 - 1 / options) / (1 + math.exp(-numbers[0]))
        law = beta.pdf(right, centre * math.exp(numbers[1]), (1 - centre) * math.exp(numbers[1]))
        pull = numbers[0] ** 2 / 8 + (numbers[1] - math.log(4)) ** 2 / 2
        return pull - np.log((likely * law).sum(axis=1) / law.sum()).sum()

    crowd = RightChance([group], counts[:, None].astype(float))
    crowd.update(agreed[:, None].astype(float))
    crowd.learn()
    best = differential_evolution(cost, [(-6, 6), (-1, 6)], seed=1, popsize=8, tol=1e-3).fun
    assert cost(crowd.prior) < best + 0.1  # half a standard error would be 0.125; ours has fewer nodes
    first = crowd.prior
    crowd.learn()  # again, from there
    assert crowd.prior == pytest.approx(first, abs=0.01)


@pytest.mark.parametrize("start", [(-1.5, 2.0), (0.0, 0.0), (2.0, -2.0), (2.0, 2.0)])
@pytest.mark.parametrize("high", [(2.0, 2.0), (0.5, 2.0), (2.0, 0.4)])
def test_newton_ends_where_scipy_ends(start, high):
    """A curved valley, in which the curvature is negative at some of the places to begin from; bounds cut it off."""

    def cost(place):
        x, y = place
        value = (1 - x) ** 2 + 20 * (y - x * x) ** 2
        slope = np.array([-2 * (1 - x) - 80 * x * (y - x * x), 40 * (y - x * x)])
        return value, slope, np.array([[2 - 80 * (y - 3 * x * x), -80 * x], [-80 * x, 40.0]])

    low, high = np.array([-2.0, -2.0]), np.array(high)
    found = least(cost, np.minimum(start, high), low, high, 1e-10)
    bounds = list(zip(low, high, strict=True))
    expected = minimize(lambda place: cost(place)[0], [0.1, 0.1], bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    assert found == pytest.approx(expected.x, abs=1e-3)


@pytest.mark.parametrize("slope", [math.nan, math.inf])
def test_newton_stops_where_numbers_are_too_large_for_a_step(slope):
    start = np.zeros(2)
    ends = -np.ones(2), np.ones(2)
    assert least(lambda place: (slope, np.full(2, slope), np.eye(2)), start, *ends, 1e-9) is start
    assert least(lambda place: (0.0, np.ones(2), np.full((2, 2), slope)), start, *ends, 1e-9) is start


def test_estimates_about_users_depend_on_the_last_agreement_only():
    """Whatever was assumed before, and for however many users it differed."""
    rng, counts = np.random.default_rng(1), np.full((9000, 1), 20.0)
    first, groups = rng.uniform(0, 20, counts.shape), [Group(3)]
    crowd = RightChance(groups, counts)
    for moved in (slice(None), slice(0), slice(5), slice(8000, 9000), slice(None, None, 3)):
        first = first.copy()
        first[moved] = rng.uniform(0, 20, first[moved].shape)
        crowd.update(first)
        anew = RightChance(groups, counts)
        anew.update(first)
        assert [one.tobytes() for one in crowd.votes()] == [one.tobytes() for one in anew.votes()]
    anew = RightChance(groups, counts)
    anew.update(first)
    for one in (crowd, anew):
        one.learn()
    assert crowd.mean().tobytes() == anew.mean().tobytes()
