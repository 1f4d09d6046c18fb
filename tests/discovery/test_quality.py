"""The prior of users' variances against another search of a likelihood that is integrated another way."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit
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


def cost(place, squares, counts, noise):
    """Minus the log of the posterior: users' variances are gamma, their squares over these are chi-squared."""
    mean, shape = np.exp(place)
    total = gamma(shape, scale=mean / shape).ppf(CHANCES)[:, None] + noise
    likelihood = np.log(WEIGHTS @ (chi2.pdf(squares / total, counts) / total)).sum()
    return place[1] ** 2 / 2 - likelihood - place[0] - 2 * log_expit(math.log1p(noise) - place[0])


@pytest.mark.alike
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("users", [3, 200])
def test_the_learnt_prior_is_the_most_likely_one(noise, users):
    rng = np.random.default_rng(users)
    counts = rng.integers(2, 30, users).astype(float)
    squares = (rng.gamma(2.0, 0.4, users) + noise) * rng.chisquare(counts)
    quality = Quality(Gaussian(math.sqrt(noise)) if noise else None, 1.0)
    assert quality.learn(squares, counts)
    options = {"xatol": 1e-5, "fatol": 1e-7}
    found = minimize(cost, np.zeros(2), (squares, counts, noise), method="Nelder-Mead", options=options)
    assert np.allclose(quality.prior, found.x, atol=2e-3)
    assert not quality.learn(squares, counts)
