"""What a user's residuals tell about his quality, when the noise law is known.

User s errs with a variance v_s of his own; v_s has a gamma prior whose mean and shape are learnt from the crowd
(empirical Bayes). From d_s, the sum of his squared residuals with the truths' own uncertainty added back, and their
number N_s follow the posterior of his total variance u = v + noise, hence his weight E[1/u], and of v itself.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import gammaln

from sottovoce.privacy.laws import FlooredVariance, FreshVariance, Gaussian, NoiseLaw, SharedVariance

Floats = NDArray[np.float64]

_OWN_NODES = (480, 48)  # of a user's own variance, on a logarithmic scale: alone, and beside a drawn noise variance
_NOISE_NODES = 40  # of the drawn noise variance
_LEAST_LOG_CHANCE = -600.0
_SAMPLED_USERS = 2000  # enough to learn two numbers
_ROWS = 512  # users at once: bounds the memory of an evaluation
_EVALUATED_USERS = 8000  # more than this are looked up in a table
_TABLE = (160, 24)  # mean squares × numbers of claims


@dataclass(frozen=True)
class Belief:
    """Posterior of each user's quality."""

    weight: Floats  # E[1/u]
    spread: Floats  # Var(1/u): how uncertain the weight is
    own: Floats  # E[v]


class Quality:
    """Posterior of users' variances under one noise law, with a prior that is learnt."""

    def __init__(self, law: NoiseLaw | None, scale: float) -> None:
        self.fresh = isinstance(law, FreshVariance)
        drawn_once = isinstance(law, SharedVariance | FlooredVariance)
        self._own = scale * np.exp(np.linspace(math.log(1e-5), math.log(1e4), _OWN_NODES[drawn_once]))
        self.scale = scale
        drawn = np.exp(np.linspace(math.log(1e-6), math.log(40.0), _NOISE_NODES))
        chances = drawn * np.exp(-drawn)
        if isinstance(law, SharedVariance | FlooredVariance):
            floor = law.floor if isinstance(law, FlooredVariance) else 0.0
            noise, self._log_chances = floor + drawn / law.rate, np.log(chances / chances.sum())
        else:
            constant = law.mean_variance if isinstance(law, Gaussian | FreshVariance) else 0.0
            noise, self._log_chances = np.array([constant]), np.zeros(1)
        self._total = (self._own[:, None] + noise).ravel()
        self._log_total = np.log(self._total)
        # Of fresh noise only the mean is known beforehand: the square of a reading has a larger spread than a normal's.
        if isinstance(law, FreshVariance):
            b2, v = law.scale**2, self._own
            self._shape = (v + 2 * b2) ** 2 / (2 * v**2 + 8 * v * b2 + 20 * b2**2)
        self._table: _Table | None = None
        self._prior = np.zeros(2)  # log of mean over scale, log of shape
        self._log_weights = self._prior_weights(self._prior)

    def learn(self, squares: Floats, counts: Floats) -> None:
        """Fit the prior to the crowd."""
        every = max(1, len(squares) // _SAMPLED_USERS)
        likelihood = self._own_likelihood(squares[::every], counts[::every])

        def misfit(prior: Floats) -> float:
            # No prior is so sure that a user could become impossible.
            weights = np.exp(np.maximum(self._prior_weights(prior), _LEAST_LOG_CHANCE))
            # A weak pull of the shape towards 1, the exponential law of the paper, where data say nothing.
            return float(-np.log(likelihood @ weights).sum() + prior[1] ** 2 / 2)

        found = minimize(misfit, self._prior, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-3}).x
        self._prior = np.clip(found, [-11.0, -2.5], [9.0, 4.0])
        self._log_weights = self._prior_weights(self._prior)

    def freeze(self, squares: Floats, counts: Floats) -> None:
        """Learning is over: from now on, look posteriors up in a table made once, around what is seen now."""
        self._table = _Table.around(self, squares, counts)

    def belief(self, squares: Floats, counts: Floats) -> Belief:
        """Posterior for users with these sums of squares and numbers of claims."""
        if self._table is not None:
            return self._table.belief(squares, counts)
        if len(squares) <= _EVALUATED_USERS:
            return self.evaluate(squares, counts)
        return _Table.around(self, squares, counts).belief(squares, counts)

    def _prior_weights(self, prior: Floats) -> Floats:
        """Log of the gamma prior's mass at the nodes of the own variance."""
        shape, ratio = math.exp(prior[1]), self._own / (self.scale * math.exp(prior[0]))
        logs = shape * (np.log(ratio) - ratio)
        largest = logs.max()
        return np.asarray(logs - largest - math.log(np.exp(logs - largest).sum()))

    def _log_likelihood(self, squares: Floats, counts: Floats) -> Floats:
        """Log density of each user's residuals at the nodes of (own, noise) variance, up to a constant per user."""
        d, n = squares[:, None], counts[:, None]
        if not self.fresh:
            return np.asarray(-n / 2 * self._log_total - d / (2 * self._total))
        # The sum of squares, as a gamma variable with the mean and the spread that it has under fresh noise
        shape = n * self._shape
        rate = self._shape / self._total
        return np.asarray(shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(d) - rate * d)

    def _by_node(self, squares: Floats, counts: Floats) -> Floats:
        """Log density of residuals and drawn noise: user × own variance × noise variance."""
        logs = self._log_likelihood(squares, counts)
        return np.asarray(logs.reshape(len(squares), len(self._own), -1) + self._log_chances)

    def _own_likelihood(self, squares: Floats, counts: Floats) -> Floats:
        """Density of each user's residuals at the nodes of his own variance, over its largest."""
        parts = []
        for first in range(0, len(squares), _ROWS):
            logs = self._by_node(squares[first : first + _ROWS], counts[first : first + _ROWS])
            parts.append(np.exp(logs - logs.max(axis=(1, 2), keepdims=True)).sum(axis=2))
        return np.concatenate(parts)

    def evaluate(self, squares: Floats, counts: Floats) -> Belief:
        """Posterior of each user by itself, from the nodes."""
        weight, spread, own = (np.empty(len(squares)) for _ in range(3))
        inverse = (1 / self._total).reshape(len(self._own), -1)
        for first in range(0, len(squares), _ROWS):
            part = slice(first, first + _ROWS)
            logs = self._by_node(squares[part], counts[part]) + self._log_weights[:, None]
            chances = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
            total = chances.sum(axis=(1, 2))
            weight[part] = np.einsum("sjk,jk->s", chances, inverse) / total
            spread[part] = np.einsum("sjk,jk->s", chances, inverse**2) / total - weight[part] ** 2
            own[part] = chances.sum(axis=2) @ self._own / total
        return Belief(weight, np.maximum(spread, 0), own)


@dataclass(frozen=True)
class _Table:
    """Posteriors over mean squares and numbers of claims, on logarithmic scales."""

    means: Floats
    counts: Floats
    entries: tuple[Floats, ...]

    @classmethod
    def around(cls, quality: Quality, squares: Floats, counts: Floats) -> "_Table":
        seen = np.log(squares / counts)
        rows = np.linspace(seen.min() - 1, seen.max() + 1, _TABLE[0])
        columns = np.linspace(math.log(counts.min()), math.log(counts.max()) + 1e-9, _TABLE[1])
        many = np.exp(np.tile(columns, len(rows)))
        found = quality.evaluate(np.exp(np.repeat(rows, len(columns))) * many, many)
        entries = (np.log(found.weight), np.log(found.spread + 1e-300), np.log(found.own))
        return cls(rows, columns, tuple(entry.reshape(_TABLE) for entry in entries))

    def belief(self, squares: Floats, counts: Floats) -> Belief:
        i, f = _places(self.means, np.log(squares / counts))
        j, g = _places(self.counts, np.log(counts))
        found = []
        for cells in self.entries:
            low = cells[i, j] * (1 - g) + cells[i, j + 1] * g
            high = cells[i + 1, j] * (1 - g) + cells[i + 1, j + 1] * g
            found.append(np.exp(low * (1 - f) + high * f))
        return Belief(*found)


def _places(nodes: Floats, values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Cell and place within it of each value on evenly spaced nodes."""
    places = (values - nodes[0]) / (nodes[1] - nodes[0])
    cells = np.clip(places.astype(np.intp), 0, len(nodes) - 2)
    return cells, np.clip(places - cells, 0.0, 1.0)
