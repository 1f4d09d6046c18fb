"""How variances are distributed over a crowd: a gamma distribution, or two if users are of two kinds.

A gamma distribution has two parameters, the logarithms of its mean and of its shape. It describes crowds in which most
users are about as accurate as most others. If half of the users measure and the others guess, it must be so wide that
it says little about users with few claims; two distributions and the share of the first say much more. They need clear
evidence, because three more parameters fit every crowd a little better.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sottovoce.discovery.newton import least

Floats = NDArray[np.float64]

_LEAST_LOG_CHANCE = -600.0  # keeps every user possible under every prior
# Log of mean over scale, log of shape; the same of a second kind, and the log odds of the first kind.
_LEAST, _MOST = np.array([-11.0, -2.5, -11.0, -2.5, -4.0]), np.array([9.0, 4.0, 9.0, 4.0, 4.0])
_IS_MEAN = np.array([1, 0, 1, 0, 0])
_SEARCHED = 1e-9  # in the logarithm of the likelihood: a search ends when no more than this can be gained
_CLEAR = 10.0  # the same: if two kinds gain more than this, users are of two kinds
_FEWEST_USERS = 4
_FIRST_SHAPE = 2.0  # of each kind, when the search for two begins


class VariancePrior:
    """Priors at given nodes, and the most likely one."""

    def __init__(self, nodes: Floats, scale: float, drawn: Floats | None, plausible: float) -> None:
        """``nodes`` are variances; the mass at them is spread by ``drawn`` if noise was drawn once.

        ``scale`` is a typical variance, ``plausible`` the logarithm of the largest plausible mean.
        """
        self._nodes, self._drawn, self._plausible = nodes, drawn, plausible
        self._low, self._high = (bounds + math.log(scale) * _IS_MEAN for bounds in (_LEAST, _MOST))

    def within_bounds(self, prior: Floats) -> Floats:
        return np.clip(prior, self._low[: len(prior)], self._high[: len(prior)])

    def mean(self, prior: Floats) -> float:
        """The mean variance."""
        share = 1.0 if len(prior) == 2 else float(expit(prior[4]))
        return share * math.exp(prior[0]) + (0.0 if len(prior) == 2 else (1 - share) * math.exp(prior[2]))

    def mass(self, prior: Floats) -> Floats:
        """The mass at each node; it adds up to 1."""
        return self._at(prior)[0]

    def learn(self, likelihood: Floats, start: Floats) -> Floats:
        """The most likely prior of a crowd, of two kinds if that is clear.

        ``likelihood`` is that of each user's residuals (users × nodes), up to a factor for each user. ``start`` is
        where the search begins.
        """
        one = self.search(likelihood, start if len(start) == 2 else np.array([math.log(self.mean(start)), 0.0]))
        if len(likelihood) < _FEWEST_USERS:
            return one
        two = start if len(start) == 5 else self._two_kinds(likelihood, one)
        of_one, of_two = (np.log(likelihood @ self.mass(prior)).sum() for prior in (one, two))
        if of_two <= of_one:  # if there are two kinds, this start is already better
            return one
        two = self.search(likelihood, two)
        return two if np.log(likelihood @ self.mass(two)).sum() > of_one + _CLEAR else one

    def gain(self, likelihood: Floats, before: Floats, after: Floats) -> float:
        """By how much one prior is more likely than another, in logarithms."""
        return self._misfit(likelihood, before)[0] - self._misfit(likelihood, after)[0]

    def search(self, likelihood: Floats, start: Floats) -> Floats:
        """The most likely prior with as many parameters as ``start``, where the search begins."""
        low, high = self._low[: len(start)], self._high[: len(start)]
        return least(lambda prior: self._misfit(likelihood, prior), start, low, high, _SEARCHED)

    def _two_kinds(self, likelihood: Floats, one: Floats) -> Floats:
        """A first prior of two kinds: users, sorted by their posteriors, are divided where both parts differ most."""
        mass = self.mass(one)
        places = np.sort(likelihood @ (mass * np.log(self._nodes)) / (likelihood @ mass))
        sums, below = np.cumsum(places)[:-1], np.arange(1, len(places))
        above = below[::-1]
        low, high = sums / below, (places.sum() - sums) / above
        cut = int(np.argmax(below * above * (high - low) ** 2))
        shape, odds = math.log(_FIRST_SHAPE), math.log(below[cut] / above[cut])
        return self.within_bounds(np.array([low[cut], shape, high[cut], shape, odds]))

    def _misfit(self, likelihood: Floats, prior: Floats) -> tuple[float, Floats, Floats]:
        """Minus the logarithm of a prior's posterior, its slope and its curvature."""
        weights, slopes, curves = self._at(prior)
        chances = likelihood @ weights
        share = (1 / chances) @ likelihood
        relative = np.stack([likelihood @ slope for slope in slopes]) / chances
        # If data say little: shapes are pulled towards 1, the exponential law of the paper, and all mean variances are
        # equally likely, so that nobody counts as free of error because noise hides their errors. But means are limited
        # by what claims and noise show, because two or three users cannot refute a larger mean.
        value, pull, hold = 0.0, np.zeros(len(prior)), np.zeros(len(prior))
        for place in range(0, len(prior) - 1, 2):
            beyond = prior[place] - self._plausible
            far = expit(beyond)
            value += 2 * float(np.logaddexp(0, beyond)) - float(prior[place]) + float(prior[place + 1]) ** 2 / 2
            pull[place : place + 2] = 2 * far - 1, prior[place + 1]
            hold[place : place + 2] = 2 * far * (1 - far), 1.0
        value -= float(np.log(chances).sum())
        return value, pull - slopes @ share, np.diag(hold) + relative @ relative.T - curves @ share

    def _at(self, prior: Floats) -> tuple[Floats, Floats, Floats]:
        """Mass at the nodes, and its slopes (numbers × nodes) and curvatures (numbers × numbers × nodes)."""
        if len(prior) == 2:
            return self._gamma(prior[0], prior[1])
        (first, of_first, bend_first), (other, of_other, bend_other) = self._gamma(*prior[:2]), self._gamma(*prior[2:4])
        share, rest = expit(prior[4]), expit(-prior[4])
        moved = share * rest  # by which the share grows with its log odds
        slopes = np.concatenate((share * of_first, rest * of_other, moved * (first - other)[None]))
        curves = np.zeros((5, 5, len(first)))
        curves[:2, :2], curves[2:4, 2:4] = share * bend_first, rest * bend_other
        curves[:2, 4] = curves[4, :2] = moved * of_first
        curves[2:4, 4] = curves[4, 2:4] = -moved * of_other
        curves[4, 4] = moved * (rest - share) * (first - other)
        return share * first + rest * other, slopes, curves

    def _gamma(self, log_mean: float, log_shape: float) -> tuple[Floats, Floats, Floats]:
        shape, ratio = math.exp(log_shape), self._nodes / math.exp(log_mean)
        logs = shape * (np.log(ratio) - ratio)
        slope = np.stack((shape * (ratio - 1), logs))
        bend = np.stack((np.stack((-shape * ratio, slope[0])), slope))
        mass = np.exp(np.maximum(logs - logs.max(), _LEAST_LOG_CHANCE))
        slopes, curves = mass * slope, mass * (slope[:, None] * slope + bend)
        if self._drawn is not None:
            mass = self._drawn @ mass + mass.sum() * math.exp(_LEAST_LOG_CHANCE)
            slopes, curves = slopes @ self._drawn.T, curves @ self._drawn.T
        # Divided by their sum, whose slope and curvature are `first` and `second`.
        total = mass.sum()
        mass, slopes, curves = mass / total, slopes / total, curves / total
        first, second = slopes.sum(axis=-1, keepdims=True), curves.sum(axis=-1, keepdims=True)
        slopes = slopes - mass * first
        crossed = slopes[:, None] * first
        return mass, slopes, curves - crossed - crossed.transpose(1, 0, 2) - mass * second
