"""Habits of users: how probable each of their answers is for each truth, if all objects share their options."""

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from sottovoce.discovery.right_chance import Floats, Group

_USUAL = 2.0  # logarithm of the strength that the estimate is shrunk towards
_LEAST_SHARE = 1e-3  # of a habit that noise leaves; a smaller share shows nothing
_MOST_USERS = 512  # from which the strength is estimated
_PRECISION = 0.03  # of the strength's logarithm, which claims never determine more precisely


class Habits:
    """Each user's table of habits: their counts, and further ``strength`` counts of a user without habits."""

    def __init__(self, options: int, group: Group) -> None:
        self._options, self._group = options, group
        # Noise leaves only a share of a habit, so that reported rows vary less from user to user, by the share's
        # square. The share is 0 under a law that hides everything, and negative under one that mostly says the
        # opposite.
        self._usual = _USUAL - 2 * math.log(max(abs(group.hit - group.miss), _LEAST_SHARE))
        self._log_strength = self._usual
        self.seen = True  # whether the claims show habits at all

    def right(self, counts: Floats) -> Floats:
        """How often users agreed with the truths."""
        return np.asarray(self._table(counts).trace(axis1=1, axis2=2))

    def rows(self, counts: Floats, right: Floats, learn: bool) -> tuple[Floats, Floats]:
        """Logarithms of the rows, and how much lower an entry would be without one of its claims."""
        table, plain = self._table(counts), self._plain(right)
        totals = table.sum(axis=2, keepdims=True)
        if learn:
            some = slice(None, None, -(-len(table) // _MOST_USERS))
            self._learn(table[some], totals[some], plain[some])
        strength = math.exp(self._log_strength)
        prior = strength * plain
        rows = self._logs(table + prior, totals + strength)
        without = self._logs(np.maximum(table - 1, 0.0) + prior, np.maximum(totals - 1, 0.0) + strength)
        flat = len(counts), self._options**2
        return rows.reshape(flat), np.maximum(rows - without, 0.0).reshape(flat)

    def _logs(self, mass: Floats, whole: Floats) -> Floats:
        """Logarithms of shares, which noise keeps within bounds."""
        shares = mass / whole
        if self._group.miss > 0:
            shares = np.clip(shares, self._group.miss, self._group.hit)
        return np.asarray(np.log(np.maximum(shares, 1e-12)))

    def _learn(self, table: Floats, totals: Floats, plain: Floats) -> None:
        """Estimate the strength by the likelihood of the counts (Dirichlet-multinomial), shrunk to a typical one."""
        right, wrong, options = plain[:, 0, 0], plain[:, 0, 1], self._options  # the only two entries in a plain row

        def cost(log_strength: float) -> float:
            strength = math.exp(log_strength)
            plain_rows = gammaln(strength * right).sum() + (options - 1) * gammaln(strength * wrong).sum()
            likely = gammaln(table + strength * plain).sum() - options * plain_rows
            likely += (gammaln(strength) - gammaln(totals + strength)).sum()
            return (log_strength - self._usual) ** 2 / 2 - float(likely)

        best = minimize_scalar(
            cost, bounds=(self._usual - 4, self._usual + 6), method="bounded", options={"xatol": _PRECISION}
        )
        self._log_strength = float(best.x)
        # Compared with the likelihood without habits, in which all errors are equally probable.
        self.seen = bool(best.fun < -float((table * np.log(plain)).sum()))

    def _plain(self, right: Floats) -> Floats:
        """Rows of users without habits: all errors are equally probable."""
        off = (1 - right) / (self._options - 1)
        table = np.repeat(off, self._options**2).reshape(-1, self._options, self._options)
        diagonal = np.arange(self._options)
        table[:, diagonal, diagonal] = right[:, None]
        return np.clip(table, 1e-6, 1.0)

    def _table(self, counts: Floats) -> Floats:
        return counts.reshape(-1, self._options, self._options)
