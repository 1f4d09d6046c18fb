"""How accurate users are, from answers with more than two levels, and truths in which accurate users count more.

Each user has a posterior over a few error variances, which stand for equal parts of the crowd's exponential law; the
mean of this law is estimated too. Truths move by score steps given these posteriors. When users are judged, the
uncertainty of the truths widens the errors to be expected.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sottovoce.comparisons.posterior import Scale
from sottovoce.comparisons.table import Comparisons

Floats = NDArray[np.float64]

_PARTS = 12
_ROUNDS = 6
# Means of twelve equal parts of the exponential law with mean 1: in each part, the mean of -ln(1 - u) over u.
_EDGES = np.linspace(1.0, 0.0, _PARTS + 1)  # of 1 - u
_RISEN = np.where(_EDGES > 0, _EDGES * (1 - np.log(np.maximum(_EDGES, 1e-300))), 0.0)
_VARIANCES = -np.diff(_RISEN) * _PARTS


def estimate_accuracies(
    comparisons: Comparisons, scale: Scale, truths: Floats, deviations: Floats, variance: float
) -> tuple[Floats, Floats, Floats]:
    """Truths, their standard deviations and the users' weights.

    ``truths`` and ``deviations`` are those under equal weights; ``variance`` is the mean variance of the readings.
    """
    users, objects, levels = comparisons.users, comparisons.objects, comparisons.levels
    edges = np.column_stack([np.full(len(levels), -np.inf), comparisons.cuts, np.full(len(levels), np.inf)])
    n_users, n_objects = len(comparisons.user_labels), len(comparisons.object_labels)
    truths, deviations = truths.copy(), deviations.copy()
    rows = np.arange(len(levels))
    beliefs = np.full((n_users, _PARTS), 1 / _PARTS)
    for _ in range(_ROUNDS):
        log_beliefs = np.zeros((n_users, _PARTS))
        for part, share in enumerate(_VARIANCES):
            spread = np.sqrt(variance * share + deviations[objects] ** 2)
            chances = _chances(scale, edges, truths[objects], spread)[0]
            log_beliefs[:, part] = np.bincount(users, np.log(chances[rows, levels]), n_users)
        beliefs = np.exp(log_beliefs - log_beliefs.max(axis=1, keepdims=True))
        beliefs /= beliefs.sum(axis=1, keepdims=True)
        variance = float((beliefs @ _VARIANCES).mean()) * variance
        mixed = np.zeros((len(levels), scale.levels))
        slopes = np.zeros_like(mixed)
        for part, share in enumerate(_VARIANCES):
            chances, moves = _chances(scale, edges, truths[objects], np.full(len(levels), np.sqrt(variance * share)))
            belief = beliefs[users, part, None]
            mixed += belief * chances
            slopes += belief * moves
        score = np.bincount(objects, slopes[rows, levels] / mixed[rows, levels], n_objects)
        information = np.bincount(objects, (slopes**2 / mixed).sum(axis=1), n_objects)
        truths += np.clip(score / information, -2 * deviations, 2 * deviations)
        deviations = 1 / np.sqrt(information)
    weights = beliefs @ (1 / _VARIANCES)
    return truths, deviations, weights / weights.mean()


def _chances(scale: Scale, edges: Floats, truths: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Chance of each level, and how it changes with the truth."""
    places = (edges - truths[:, None]) / spread[:, None]
    with np.errstate(invalid="ignore"):
        densities = np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)
    chances = scale.floor + scale.gain * np.diff(ndtr(places), axis=1)
    return np.maximum(chances, 1e-300), -scale.gain * np.diff(densities, axis=1) / spread[:, None]
