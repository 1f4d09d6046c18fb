"""What a user's residuals say about their quality, when the noise law is known.

User s errs with a variance v_s of their own; v_s has a gamma prior whose mean and shape are learnt from the crowd
(empirical Bayes). From d_s, the sum of their squared residuals with the truths' own uncertainty added back, and their
number N_s follow the posterior of their total variance u = v + noise, hence their weight E[1/u].
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sottovoce.discovery.newton import least
from sottovoce.discovery.state import Common
from sottovoce.privacy.laws import NoiseLaw

Floats = NDArray[np.float64]

_NODES = 480  # of a user's variance, on a logarithmic scale: fine against the posterior of one with 1,000 claims
_LEAST_LOG_CHANCE = -600.0  # no prior is so sure that a user could become impossible
# Log of mean over scale, log of shape.
_LEAST_PRIOR, _MOST_PRIOR = np.array([-11.0, -2.5]), np.array([9.0, 4.0])
_NO_GAIN = 1e-6  # in the logarithm of the likelihood: learning again is of no use
_SEARCHED = 1e-9  # until no more than this can be gained
_SAMPLED_USERS = 2000  # enough to learn two numbers
_ROWS = 512  # users at once: bounds the memory of an evaluation
_EVALUATED_USERS = 8000  # more than this are looked up in a table
_TABLE = (160, 24)  # mean squares × numbers of claims


@dataclass(frozen=True)
class Belief:
    """Posterior of each user's quality."""

    weight: Floats  # E[1/u]
    spread: Floats  # Var(1/u): how uncertain the weight is
    learnt: Floats  # mean of the learnt variance: the user's own, and that of their noise where it was drawn once

    def updated(self, earlier: dict[str, Floats], common: Common) -> "Belief":
        """The same, with what was thought earlier of those who were there."""
        here, there = common
        new = Belief(self.weight.copy(), self.spread.copy(), self.learnt.copy())
        for name, ours in vars(new).items():
            ours[here] = earlier[name][there]
        return new


class Quality:
    """Posterior of users' variances under one noise law, with a prior that is learnt."""

    def __init__(self, law: NoiseLaw | None, scale: float) -> None:
        self.scale = scale
        # The nodes are of the learnt variance: the user's own and, where it was drawn once, that of their noise.
        self._learnt = scale * np.exp(np.linspace(math.log(1e-5), math.log(1e4), _NODES))
        self._total = self._learnt + (law.constant_variance if law else 0.0)
        rate = law.drawn_rate if law else None
        self._drawn = None if rate is None else _drawn_chances(self._learnt, rate)
        self._reading_noise = law.reading_noise() if law else None
        # Log of the largest plausible mean variance over the scale.
        self._plausible = math.log1p(law.mean_variance / scale) if law else 0.0
        self._weight_of_squares = 0.5  # that of normal readings
        self._table: _Table | None = None
        self._believe(np.zeros(2))

    @property
    def prior(self) -> tuple[float, float]:
        """Log of the prior's mean, and of its shape."""
        return float(self._prior[0]) + math.log(self.scale), float(self._prior[1])

    def begin_with(self, log_mean: float, log_shape: float) -> None:
        """Take this prior as the guess from which the next lesson begins."""
        self._believe(np.clip([log_mean - math.log(self.scale), log_shape], _LEAST_PRIOR, _MOST_PRIOR))

    def learn(self, squares: Floats, counts: Floats) -> bool:
        """Fit the prior to the crowd; whether that made it more likely than it was."""
        self._table = None
        every = max(1, len(squares) // _SAMPLED_USERS)
        logs = self._log_likelihood(squares[::every], counts[::every])
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))

        def misfit(prior: Floats) -> tuple[float, Floats, Floats]:
            weights, slopes, curves = self._prior_weights(prior)
            chances = likelihood @ weights
            # Where data say little: the shape is pulled towards 1, the exponential law of the paper, and all mean
            # variances are equally likely, so that nobody is thought free of error because noise hides it. But only up
            # to what claims and noise show: two or three users cannot refute any larger one.
            beyond = prior[0] - self._plausible
            unlikely, far = 2 * np.logaddexp(0, beyond) - prior[0], expit(beyond)
            value = float(-np.log(chances).sum() + prior[1] ** 2 / 2 + unlikely)
            share = (1 / chances) @ likelihood
            relative = np.stack([likelihood @ slope for slope in slopes]) / chances
            pull, hold = np.array([2 * far - 1, prior[1]]), np.diag([2 * far * (1 - far), 1.0])
            return value, pull - slopes @ share, hold + relative @ relative.T - curves @ share

        found = least(misfit, self._prior, _LEAST_PRIOR, _MOST_PRIOR, _SEARCHED)
        gained = misfit(self._prior)[0] - misfit(found)[0] > _NO_GAIN
        if gained:
            self._believe(found)
        return gained

    def freeze(self, squares: Floats, counts: Floats) -> None:
        """Learning is over: from now on, look posteriors of many up in a table made once, around what is seen now."""
        if len(squares) > _ROWS:
            self._table = _Table.around(self, squares, counts)

    def belief(self, squares: Floats, counts: Floats) -> Belief:
        """Posterior for users with these sums of squares and numbers of claims."""
        if self._table is not None:
            return self._table.belief(squares, counts)
        if len(squares) <= _EVALUATED_USERS:
            return self.evaluate(squares, counts)
        return _Table.around(self, squares, counts).belief(squares, counts)

    def _prior_weights(self, prior: Floats) -> tuple[Floats, Floats, Floats]:
        """The prior's mass at the nodes, gamma for the user's own variance with the drawn noise's added.

        Then its slopes (2 × nodes) and curvatures (2 × 2 × nodes) in the two numbers of the prior.
        """
        shape, ratio = math.exp(prior[1]), self._learnt / (self.scale * math.exp(prior[0]))
        logs = shape * (np.log(ratio) - ratio)
        slope = np.stack((shape * (ratio - 1), logs))
        bend = np.stack((np.stack((-shape * ratio, slope[0])), slope))
        mass = np.exp(np.maximum(logs - logs.max(), _LEAST_LOG_CHANCE))
        slopes, curves = mass * slope, mass * (slope[:, None] * slope + bend)
        if self._drawn is not None:
            mass = self._drawn @ mass + mass.sum() * math.exp(_LEAST_LOG_CHANCE)
            slopes, curves = slopes @ self._drawn.T, curves @ self._drawn.T
        # Divided by their sum, of which the slope and the curvature are `first` and `second`.
        total = mass.sum()
        mass, slopes, curves = mass / total, slopes / total, curves / total
        first, second = slopes.sum(axis=-1, keepdims=True), curves.sum(axis=-1, keepdims=True)
        slopes = slopes - mass * first
        crossed = slopes[:, None] * first
        return mass, slopes, curves - crossed - crossed.transpose(1, 0, 2) - mass * second

    def _believe(self, prior: Floats) -> None:
        """Take this prior: log of mean over scale, log of shape."""
        self._prior = prior
        self._log_weights = np.log(self._prior_weights(prior)[0])
        if self._reading_noise:
            self._weight_of_squares = self._reading_noise.weight_of_squares(self.scale * math.exp(prior[0]))

    def _log_likelihood(self, squares: Floats, counts: Floats) -> Floats:
        """Log density of each user's residuals at the nodes, up to a constant per user."""
        d, n = squares[:, None], counts[:, None]
        return np.asarray(-self._weight_of_squares * (n * np.log(self._total) + d / self._total))

    def evaluate(self, squares: Floats, counts: Floats) -> Belief:
        """Posterior of each user by itself, from the nodes."""
        weight, spread, learnt = (np.empty(len(squares)) for _ in range(3))
        inverse = 1 / self._total
        for first in range(0, len(squares), _ROWS):
            part = slice(first, first + _ROWS)
            logs = self._log_likelihood(squares[part], counts[part]) + self._log_weights
            chances = np.exp(logs - logs.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            weight[part] = chances @ inverse
            spread[part] = chances @ inverse**2 - weight[part] ** 2
            learnt[part] = chances @ self._learnt
        return Belief(weight, np.maximum(spread, 0), learnt)


def _drawn_chances(nodes: Floats, rate: float) -> Floats:
    """Mass at each node of the sum of a variance near another node and one drawn from Exp(rate)."""
    edges = np.sqrt(nodes[1:] * nodes[:-1])
    low, high = np.concatenate(([0.0], edges)), np.concatenate((edges, [nodes[-1]]))
    # The density at u of noise on top of a variance spread evenly over a cell: the integral of rate·exp(-rate·(u - v))
    u = nodes[:, None]
    below, above = np.minimum(low, u), np.minimum(high, u)
    density = (np.exp(-rate * (u - above)) - np.exp(-rate * (u - below))) / (high - low)
    return np.asarray(density * u)


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
        entries = (np.log(found.weight), np.log(found.spread + 1e-300), np.log(found.learnt))
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
