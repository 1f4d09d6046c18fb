"""What a user's residuals say about their quality, when the noise law is known.

The errors of user s have their own variance v_s, whose prior is estimated from the crowd (empirical Bayes). The
posterior of the user's total variance u = v + noise, and so the weight E[1/u], follows from d_s, the sum of their
squared residuals (under noise, with the variances of the truths added), and from the number N_s of these residuals.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.discovery.state import Common
from sottovoce.discovery.variance_prior import VariancePrior
from sottovoce.privacy.laws import NoiseLaw

Floats = NDArray[np.float64]

_LEAST, _MOST = 1e-5, 1e4  # of users' variances, over the scale
_SHARPEST_PRIOR = math.exp(4)  # its shape
_MANY_CLAIMS = 1000  # of a user: even more claims need no finer nodes
_NO_GAIN = 1e-6  # in the logarithm of the likelihood: a gain this small is not worth another update
_SAMPLED_USERS = 2000  # enough to estimate a few numbers
_ROWS = 128  # users at once: what they need stays in the processor's cache
_FEW_USERS = 512  # for which computing the posteriors is as fast as a table
_EVALUATED_USERS = 8000  # more than this are looked up in a table
_TABLE = (160, 24)  # mean squares × numbers of claims


@dataclass(frozen=True)
class Belief:
    """Posterior of each user's quality."""

    weight: Floats  # E[1/u]
    spread: Floats  # Var(1/u): how uncertain the weight is
    learnt: Floats  # mean of the estimated variance: the user's own, plus that of their noise if it was drawn once

    def updated(self, earlier: dict[str, Floats], common: Common) -> "Belief":
        """The same, with the earlier posteriors of users who were there before."""
        here, there = common
        new = Belief(self.weight.copy(), self.spread.copy(), self.learnt.copy())
        for name, ours in vars(new).items():
            ours[here] = earlier[name][there]
        return new


class Quality:
    """Posterior of users' variances under one noise law, with an estimated prior."""

    def __init__(self, law: NoiseLaw | None, scale: float, most_claims: int = _MANY_CLAIMS) -> None:
        """``scale`` is a typical variance; ``most_claims`` is the number of claims of the busiest user."""
        self.scale = scale
        # The nodes are of the estimated variance: the user's own plus, if it was drawn once, that of their noise.
        drawn_once = law is not None and law.drawn_rate is not None
        self._learnt = scale * _nodes(_MANY_CLAIMS if drawn_once else min(most_claims, _MANY_CLAIMS))
        self._total = self._learnt + (law.constant_variance if law else 0.0)
        rate = law.drawn_rate if law else None
        drawn = None if rate is None else _drawn_chances(self._learnt, rate)
        self._reading_noise = law.reading_noise() if law else None
        plausible = math.log(scale) + (math.log1p(law.mean_variance / scale) if law else 0.0)
        self._crowd = VariancePrior(self._learnt, scale, drawn, plausible)
        self._weight_of_squares = 0.5  # that of normal readings
        self._table: _Table | None = None
        self._set_prior(np.array([math.log(scale), 0.0]))

    @property
    def mean(self) -> float:
        """Mean variance of users' own errors, according to the prior."""
        return self._crowd.mean(self.prior)

    def begin_with(self, prior: Floats) -> None:
        """Use this prior as the first guess."""
        self._set_prior(self._crowd.within_bounds(prior))

    def learn(self, squares: Floats, counts: Floats, kinds: bool = True) -> bool:
        """Fit the prior to the crowd; returns whether that made it more likely.

        With ``kinds``, the prior may change between one kind of users and two; otherwise the number of kinds stays.
        """
        self._table = None
        every = max(1, len(squares) // _SAMPLED_USERS)
        logs = self._log_likelihood(squares[::every], counts[::every])
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        prior = (self._crowd.learn if kinds else self._crowd.search)(likelihood, self.prior)
        gained = len(prior) != len(self.prior)
        gained = gained or self._crowd.gain(likelihood, self.prior, prior) > _NO_GAIN
        if gained:
            self._set_prior(prior)
        return gained

    def freeze(self, squares: Floats, counts: Floats) -> None:
        """Fix the prior: from now on, posteriors of many users are looked up in a table that is made here, once."""
        if len(squares) > _FEW_USERS:
            self._table = _Table.around(self, squares, counts)

    def belief(self, squares: Floats, counts: Floats) -> Belief:
        """Posterior for users with these sums of squares and numbers of claims."""
        if self._table is not None:
            return self._table.belief(squares, counts)
        if len(squares) <= _EVALUATED_USERS:
            return self.evaluate(squares, counts)
        return _Table.around(self, squares, counts).belief(squares, counts)

    def _set_prior(self, prior: Floats) -> None:
        self.prior = prior
        self._log_weights = np.log(self._crowd.mass(prior))
        if self._reading_noise:
            self._weight_of_squares = self._reading_noise.weight_of_squares(self.mean)

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


def _nodes(claims: int) -> Floats:
    """Evenly spaced logarithms, close enough that sums over a user's posterior are integrals.

    The posterior is as sharp as a gamma distribution whose shape is the prior's and half the number of claims. If a is
    this shape, a sum over steps of 1/√a is off by e^(-2π²), about 3e-9, and a little more if prior and claims disagree.
    """
    wide = math.log(_MOST / _LEAST)
    return np.exp(
        np.linspace(math.log(_LEAST), math.log(_MOST), math.ceil(wide * math.sqrt(_SHARPEST_PRIOR + claims / 2)))
    )


def _drawn_chances(nodes: Floats, rate: float) -> Floats:
    """Mass at each node of the sum of a variance near another node and a variance drawn from Exp(rate)."""
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
        belief = quality.evaluate(np.exp(np.repeat(rows, len(columns))) * many, many)
        entries = (np.log(belief.weight), np.log(belief.spread + 1e-300), np.log(belief.learnt))
        return cls(rows, columns, tuple(entry.reshape(_TABLE) for entry in entries))

    def belief(self, squares: Floats, counts: Floats) -> Belief:
        row, down = _places(self.means, np.log(squares / counts))
        column, right = _places(self.counts, np.log(counts))
        both = down * right
        corner = row * len(self.counts) + column
        places = corner, corner + 1, corner + len(self.counts), corner + len(self.counts) + 1
        shares = 1 - down - right + both, right - both, down - both, both
        interpolated = []
        for cells in self.entries:
            between = np.zeros(len(squares))
            for place, share in zip(places, shares, strict=True):
                between += cells.take(place) * share
            interpolated.append(np.exp(between))
        return Belief(*interpolated)


def _places(nodes: Floats, values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Cell and place within it of each value on evenly spaced nodes."""
    places = (values - nodes[0]) / (nodes[1] - nodes[0])
    cells = np.clip(places.astype(np.intp), 0, len(nodes) - 2)
    return cells, np.clip(places - cells, 0.0, 1.0)
