"""Fewer iterations of a slow fixed point: squared extrapolation (SQUAREM), taken back where it does not pay.

R. Varadhan, C. Roland, Scandinavian Journal of Statistics 35 (2008), doi:10.1111/j.1467-9469.2007.00585.x

Far from a fixed point an extrapolation may leap over it, back again, and so on for ever. So a leap is kept only if the
plain step after it is shorter than the one before it. Otherwise the iteration goes on in plain steps from where it
leapt, and leaps less far the next time.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LONGEST = 16.0  # steps at once


class Acceleration:
    """Watches the states of an iteration; after every second step it proposes one farther along the same way."""

    def __init__(self) -> None:
        self._states: list[Floats] = []
        self._longest = _LONGEST
        self._leapt: tuple[Floats, float] | None = None  # from where, and how long the last plain step was

    def ahead(self, state: Floats) -> Floats:
        """The state to go on from: this one, one extrapolated from the last three, or the one before a leap."""
        if self._leapt is not None:
            (before, length), self._leapt = self._leapt, None
            if not float(np.linalg.norm(state - self._states[0])) < length:
                self._longest = max(1.0, self._longest / 4)
                self._states = [before]
                return before
            self._longest = min(self._longest * 2, _LONGEST)
        self._states.append(state)
        if len(self._states) < 3:
            return state
        first, second, third = self._states
        step, bend = second - first, third - 2 * second + first
        length, bent = float(np.linalg.norm(step)), float(np.linalg.norm(bend))
        reach = min(max(length / bent, 1.0), self._longest) if bent > 0 else 1.0
        new = np.asarray(first + 2 * reach * step + reach**2 * bend)
        if reach > 1:
            self._leapt = third, float(np.linalg.norm(third - second))
        self._states = [new]
        return new
