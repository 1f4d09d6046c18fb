"""The prior of users' variances against another search of a likelihood that is integrated another way."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, kve, log_expit
from scipy.stats import chi2, gamma

from sottovoce.discovery.quality import Quality
from sottovoce.privacy.laws import Gaussian


def nodes_and_weights():
    """Gauss's rule over a prior's probability, in pieces that are fine at its ends."""
    edges = np.concatenate((np.logspace(-9, -1, 17), np.linspace(0.15, 0.85, 8), 1 - np.logspace(-1, -9, 17)))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    halves = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + halves * (1 + nodes)).ravel(), (halves * weights).ravel()


CHANCES, WEIGHTS = nodes_and_weights()


def chances(place, squares, counts, noise):
    """Density of each user's sum of squares: variances are gamma, squares over these are chi-squared."""
    mean, shape = np.exp(place)
    total = gamma(shape, scale=mean / shape).ppf(CHANCES)[:, None] + noise
    return WEIGHTS @ (chi2.pdf(squares / total, counts) / total)


def unlikely(place, noise):
    """Minus the log density of a gamma distribution's parameters, before any data."""
    return place[1] ** 2 / 2 - place[0] - 2 * log_expit(math.log1p(noise) - place[0])


def cost(place, squares, counts, noise):
    """Minus the log of the posterior of one gamma distribution."""
    return unlikely(place, noise) - np.log(chances(place, squares, counts, noise)).sum()


def cost_of_two(place, squares, counts, noise):
    """The same of two, the last number being the log odds of the first."""
    first, other = place[:2], place[2:4]
    both = expit(place[4]) * chances(first, squares, counts, noise)
    both += expit(-place[4]) * chances(other, squares, counts, noise)
    return unlikely(first, noise) + unlikely(other, noise) - np.log(both).sum()


@pytest.mark.alike
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("users", [3, 200])
def test_the_estimated_prior_is_the_most_likely_one(noise, users):
    rng = np.random.default_rng(users)
    counts = rng.integers(2, 30, users).astype(float)
    squares = (rng.gamma(2.0, 0.4, users) + noise) * rng.chisquare(counts)
    quality = Quality(Gaussian(math.sqrt(noise)) if noise else None, 1.0)
    assert quality.learn(squares, counts)
    options = {"xatol": 1e-5, "fatol": 1e-7}
    found = minimize(cost, np.zeros(2), (squares, counts, noise), method="Nelder-Mead", options=options)
    assert np.allclose(quality.prior, found.x, atol=2e-3)
    assert not quality.learn(squares, counts)


@pytest.mark.alike
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_users_of_two_kinds_have_two_distributions(noise):
    """Both kinds are found, and no other two distributions near them are more likely."""
    rng = np.random.default_rng(8)
    counts = rng.integers(4, 30, 120).astype(float)
    own = np.where(rng.random(120) < 0.4, 0.05, 4.0) * rng.gamma(6.0, 1 / 6, 120)
    squares = (own + noise) * rng.chisquare(counts)
    quality = Quality(Gaussian(math.sqrt(noise)) if noise else None, 1.0)
    assert quality.learn(squares, counts)
    assert np.exp(quality.prior[[0, 2]]) == pytest.approx([0.05, 4.0], rel=0.3, abs=noise / 4)  # which hides small ones
    assert expit(quality.prior[4]) == pytest.approx(0.4, abs=0.15)  # three standard errors
    least = cost_of_two(quality.prior, squares, counts, noise)
    for place in range(5):
        for step in (-0.1, 0.1):
            assert cost_of_two(quality.prior + step * np.eye(5)[place], squares, counts, noise) > least
    assert not quality.learn(squares, counts)


@pytest.mark.parametrize("users", [20, 150])
def test_users_of_one_kind_have_one(users):
    """Gamma and log-normal variances, which two distributions also fit better than one, but not clearly."""
    rng = np.random.default_rng(9)
    counts = rng.integers(2, 30, users).astype(float)
    for own in (rng.gamma(1.0, 1.0, users), rng.gamma(0.5, 2.0, users), rng.lognormal(0.0, 0.7, users)):
        quality = Quality(None, 1.0)
        quality.learn(own * rng.chisquare(counts), counts)
        assert len(quality.prior) == 2


@pytest.mark.parametrize("claims", [1, 30, 300])
@pytest.mark.parametrize("shape", [0.2, 1.0, 50.0])
def test_nodes_are_as_fine_as_the_claims_require(claims, shape):
    """Without noise, variances have a generalised inverse Gaussian law a posteriori: means are Bessel functions."""
    quality = Quality(None, 1.0, claims)
    quality.begin_with(np.array([0.0, math.log(shape)]))
    squares, counts = claims * np.array([0.3, 1.0, 3.0]), np.full(3, float(claims))
    order, root = shape - claims / 2, np.sqrt(2 * shape * squares)
    expected = np.sqrt(2 * shape / squares) * kve(order - 1, root) / kve(order, root)
    assert quality.evaluate(squares, counts).weight == pytest.approx(expected, rel=1e-5)
