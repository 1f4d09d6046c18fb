"""Fewer iterations of a slow fixed point: squared extrapolation (SQUAREM).

R. Varadhan, C. Roland, Scandinavian Journal of Statistics 35 (2008), doi:10.1111/j.1467-9469.2007.00585.x
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LONGEST = 16.0  # steps at once


class Acceleration:
    """Watches the states of an iteration; after every second step it proposes one farther along the same way."""

    def __init__(self) -> None:
        self._states: list[Floats] = []

    def ahead(self, state: Floats) -> Floats:
        """The state to go on from: this one, or one extrapolated from the last three."""
        self._states.append(state)
        if len(self._states) < 3:
            return state
        first, second, third = self._states
        step, bend = second - first, third - 2 * second + first
        length, bent = float(np.linalg.norm(step)), float(np.linalg.norm(bend))
        reach = min(max(length / bent, 1.0), _LONGEST) if bent > 0 else 1.0
        new = first + 2 * reach * step + reach**2 * bend
        self._states = [new]
        return np.asarray(new)
