"""δ at many ε at once, from privacy losses and their chances.

A loss between two of these ε, the *corners*, is divided between them so that the chances before and after a move stay
the same. This does not change δ at the corners, and one pass over the losses is enough for all of them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sottovoce.privacy.normal import LEAST

Floats = NDArray[np.float64]

_ROUNDING = 2.0**-48  # relative error of a loss, after a dozen roundings
_SLACK = 1 + 1e-9  # relative error of products and sums of positive terms


class Corners:
    """Collects losses and their chances at corners, which rise from 0."""

    def __init__(self, ends: Sequence[float]) -> None:
        self._ends = np.array(ends)
        self._shares = np.append(-np.expm1(self._ends[:-1] - self._ends[1:]), 1.0)  # 1 - e^(one end - the next)
        self._chances = np.zeros(len(ends) + 1)  # the last is that of infinite losses

    def add(self, losses: Floats, chances: Floats) -> None:
        """Add losses with their chances. Losses below 0 do not change δ and are left out."""
        some = (losses > 0) & (chances > 0)
        losses, chances = losses[some] * (1 + _ROUNDING), chances[some]
        below = np.searchsorted(self._ends, losses, side="right") - 1
        up = np.minimum(-np.expm1(self._ends[below] - losses) / self._shares[below], 1.0) * chances
        size = len(self._chances)
        self._chances += np.bincount(below, chances - up, size) + np.bincount(below + 1, up, size)

    def add_infinite(self, chance: float) -> None:
        """Add an infinite loss with this chance."""
        self._chances[-1] += chance

    def deltas(self) -> Floats:
        """An upper bound on δ at each corner, from the last to the first: all terms are positive."""
        delta = beyond = float(self._chances[-1])
        deltas = [delta]
        for share, chance in zip(self._shares[-2::-1], self._chances[-2:0:-1], strict=True):
            beyond += chance
            delta = share * beyond + (1 - share) * delta
            deltas.append(delta)
        return np.array(deltas[::-1]) * _SLACK + LEAST
