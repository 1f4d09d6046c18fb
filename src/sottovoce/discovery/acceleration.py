"""Fewer iterations of a fixed point: Anderson's acceleration, with safeguards.

D. G. Anderson, Journal of the ACM 12 (1965), doi:10.1145/321296.321305

From where the last few steps ended, and how long they were, it predicts where a step would have no length. This serves
a slow approach as well as one that overshoots. There are two ways in which it could lead astray:

- Far from the fixed point a prediction may leap over it, back again, and so on for ever. So where steps have become
  longer, the iteration goes on from where the shortest one ended, and later predictions leap less far.
- Where steps lead away from an unstable fixed point, as from the middle between two opinions, it lies behind them. Then
  the iteration goes on in their direction instead.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DEPTH = 5  # changes between steps that are combined
_FARTHEST = 16.0  # beyond the end of a step, in its lengths
_LONGER = 1.5  # times the shortest step: the prediction was wrong
_ALIKE = 1e-10  # of inner products of changes, relative to the largest: below it, they say nothing new


class Acceleration:
    """Watches the steps of an iteration, and proposes where the next one begins."""

    def __init__(self, farthest: float = _FARTHEST) -> None:
        self._farthest = farthest
        self._begin: Floats | None = None  # of the next step
        self._forget()

    def _forget(self) -> None:
        self._ends: list[Floats] = []
        self._step: Floats | None = None  # the last one
        self._changes: list[Floats] = []  # from one step to the next
        self._products = np.empty((0, 0))  # inner products of the changes
        self._best: tuple[float, Floats] | None = None  # length of the shortest step, and where it ended

    def ahead(self, end: Floats) -> Floats:
        """Where to go on, after a step from the place proposed last has ended here."""
        self._begin = end if self._begin is None else self._next(end, end - self._begin)
        return self._begin

    def _next(self, end: Floats, step: Floats) -> Floats:
        squared = _product(step, step)
        length = math.sqrt(squared)
        if self._best is not None and self._changes and length > _LONGER * self._best[0]:
            place = self._best[1]
            self._farthest = max(self._farthest / 4, 1.0)
            self._forget()
            return place
        if self._best is None or length < self._best[0]:
            self._best = length, end
        self._keep(end, step)
        beyond = self._prediction(step) - end
        far, most = math.sqrt(_product(beyond, beyond)), self._farthest * length
        if far > most:
            beyond *= most / far
        if squared + _product(beyond, step) < 0:
            self._forget()
            return np.asarray(end + self._farthest * step)
        return np.asarray(end + beyond)

    def _keep(self, end: Floats, step: Floats) -> None:
        """Add a step, and forget the oldest beyond those that are combined."""
        self._ends.append(end)
        if self._step is not None:
            self._changes.append(step - self._step)
            del self._changes[:-_DEPTH], self._ends[: -_DEPTH - 1]
            new = [_product(change, self._changes[-1]) for change in self._changes]
            size = len(new)
            products = np.empty((size, size))
            products[:-1, :-1] = self._products[len(self._products) - size + 1 :, len(self._products) - size + 1 :]
            products[-1], products[:, -1] = new, new
            self._products = products
        self._step = step

    def _prediction(self, step: Floats) -> Floats:
        """Where a step would end that has no length, if steps depended linearly on where they begin."""
        if not self._changes:
            return self._ends[-1].copy()
        sizes = np.sqrt(self._products.diagonal())
        sizes[sizes == 0] = 1.0
        towards = np.array([_product(change, step) for change in self._changes]) / sizes
        shares = np.linalg.lstsq(self._products / np.outer(sizes, sizes), towards, rcond=_ALIKE)[0] / sizes
        # The last end, less each share of the way from one end to the next.
        place, part = np.zeros_like(step), np.empty_like(step)
        for end, share in zip(self._ends, np.diff(shares, prepend=0.0, append=1.0), strict=True):
            place += np.multiply(end, share, out=part)
        return place


def _product(one: Floats, other: Floats) -> float:
    """Inner product. NumPy's own would wait for threads of its library, which the engine's passes keep from working."""
    return float(np.einsum("i,i->", one, other))
