"""Probabilities of the noise on the grid, straight from the definitions, and the test of draws against them."""

import math

import numpy as np
from scipy.stats import chi2, chi2_contingency

VARIANCE_STEPS = 1024


def laplace_mass(scale, reach):
    """P(k) for k = -reach … reach."""
    weights = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    return weights / (2 / -math.expm1(-1 / scale) - 1)


def gaussian_mass(variance, reach):
    k = np.arange(-reach, reach + 1)
    far = np.arange(1, math.ceil(40 * math.sqrt(variance)) + 1)
    return np.exp(-(k**2) / (2 * variance)) / (1 + 2 * np.exp(-(far**2) / (2 * variance)).sum())


def geometric_mass(ratio, count):
    """P(k) for k = 0 … count - 1, where P(k) is proportional to exp(-k·ratio)."""
    return -math.expm1(-ratio) * np.exp(-ratio * np.arange(count))


def mixed_mass(floor, quantum, reach):
    """Discrete normal noise whose variance is floor + (K + 1)·quantum."""
    chances = geometric_mass(1 / VARIANCE_STEPS, 25 * VARIANCE_STEPS)
    return sum(
        chance * gaussian_mass(floor + (drawn + 1) * quantum, reach) for drawn, chance in enumerate(chances.tolist())
    )


def pooled(expected, least=10):
    """Cells joined with their neighbours until ``least`` draws are expected in each; the cell of each value."""
    cells, cell, gathered = [], 0, 0.0
    for draws in expected:
        cells.append(cell)
        gathered += draws
        if gathered >= least:
            cell, gathered = cell + 1, 0.0
    return np.minimum(cells, max(cell - 1, 0))


def chance_of_draws(draws, mass):
    """p-value of the chi-square test; ``mass`` covers -reach … reach, and what lies beyond counts with the ends."""
    reach = len(mass) // 2
    mass = mass.copy()
    mass[[0, -1]] += (1 - mass.sum()) / 2
    places = np.clip(np.asarray(draws) + reach, 0, 2 * reach)
    return chance_of_counts(np.bincount(places, minlength=len(mass)), mass)


def chance_of_counts(counts, mass):
    expected = mass * counts.sum()
    cells = pooled(expected)
    expected, counts = np.bincount(cells, expected), np.bincount(cells, counts)
    assert len(expected) > 1
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(expected) - 1)


def chance_of_two_samples(one, other):
    """p-value of the chi-square test that both were drawn from the same law."""
    values, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    table = np.array([np.bincount(half, minlength=len(values)) for half in (places[: len(one)], places[len(one) :])])
    cells = pooled(table.sum(axis=0), least=20)
    return chi2_contingency([np.bincount(cells, row) for row in table], correction=False).pvalue
