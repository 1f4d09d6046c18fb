"""Fewer iterations of a fixed point: Anderson's acceleration, with safeguards.

D. G. Anderson, Journal of the ACM 12 (1965), doi:10.1145/321296.321305

From where the last few steps ended, and how long they were, it predicts where a step would have no length. This serves
a slow approach as well as one that overshoots. There are two ways in which it could lead astray:

- Far from the fixed point a prediction may leap over it, back again, and so on for ever. So where steps have become
  longer, the iteration goes on from where the shortest one ended, and later predictions leap less far.
- Where steps lead away from an unstable fixed point, as from the middle between two opinions, it lies behind them. Then
  the iteration goes on in their direction instead.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DEPTH = 5  # turns between steps that are combined
_FARTHEST = 16.0  # beyond the end of a step, in its lengths
_LONGER = 1.5  # times the shortest step: the prediction was wrong
_ALIKE = 1e-10  # of turns' inner products, relative to the largest: below it, they say nothing new


class Acceleration:
    """Watches the steps of an iteration, and proposes where the next one begins."""

    def __init__(self, farthest: float = _FARTHEST) -> None:
        self._farthest = farthest
        self._begin: Floats | None = None  # of the next step
        self._forget()

    def _forget(self) -> None:
        self._ends: list[Floats] = []
        self._steps: list[Floats] = []
        self._best: tuple[float, Floats] | None = None  # length of the shortest step, and where it ended

    def ahead(self, end: Floats) -> Floats:
        """Where to go on, after a step from the place proposed last has ended here."""
        self._begin = end if self._begin is None else self._next(end, end - self._begin)
        return self._begin

    def _next(self, end: Floats, step: Floats) -> Floats:
        length = float(np.linalg.norm(step))
        if self._best is not None and len(self._steps) > 1 and length > _LONGER * self._best[0]:
            place = self._best[1]
            self._farthest = max(self._farthest / 4, 1.0)
            self._forget()
            return place
        if self._best is None or length < self._best[0]:
            self._best = length, end
        self._ends.append(end)
        self._steps.append(step)
        del self._ends[: -_DEPTH - 1], self._steps[: -_DEPTH - 1]
        beyond = self._prediction() - end
        far, most = float(np.linalg.norm(beyond)), self._farthest * length
        if far > most:
            beyond *= most / far
        if float((step + beyond) @ step) < 0:
            self._forget()
            return np.asarray(end + self._farthest * step)
        return np.asarray(end + beyond)

    def _prediction(self) -> Floats:
        """Where a step would end that has no length, if steps depended linearly on where they begin."""
        place = self._ends[-1].copy()
        turns = [later - earlier for earlier, later in pairwise(self._steps)]
        if turns:
            sizes = np.array([float(np.linalg.norm(turn)) or 1.0 for turn in turns])
            alike = np.array([[float(one @ other) for one in turns] for other in turns]) / np.outer(sizes, sizes)
            towards = np.array([float(turn @ self._steps[-1]) for turn in turns]) / sizes
            shares = np.linalg.lstsq(alike, towards, rcond=_ALIKE)[0] / sizes
            for share, (earlier, later) in zip(shares, pairwise(self._ends), strict=True):
                place -= share * (later - earlier)
        return place
