"""Fewer iterations to a fixed point: Anderson's acceleration, with safeguards.

D. G. Anderson, Journal of the ACM 12 (1965), doi:10.1145/321296.321305

From the ends and the lengths of the last few steps, it predicts where a step would have length zero, which is the fixed
point. This helps an iteration that approaches slowly as well as one that overshoots. It can go wrong in two ways:

- Far from the fixed point, a prediction may jump past it, the next one back again, and so on for ever. So when steps
  have become longer, the iteration continues from the end of the shortest step, and later predictions jump less far.
- When steps lead away from an unstable fixed point, such as the middle between two opinions, the prediction would lead
  back to it. Then the iteration continues in the direction of the steps instead: farther each time while steps become
  longer, but by at most ``_LONGEST_ESCAPE``, because steps may be entirely different farther away.

Either safeguard could itself make the iteration run in circles. So each time the first one is used, it needs a greater
increase in length the next time; and each time the iteration comes back, the second one leads less far.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DEPTH = 5  # changes between steps that are combined
_FARTHEST = 16.0  # how far a prediction may lie beyond the end of a step, in lengths of the step
_LONGER = 1.5  # times the length of the shortest step: after a longer step, the prediction counts as wrong
_LONGEST_ESCAPE = 1.0  # in the unit of what is iterated
_ALIKE = 1e-10  # relative singular value below which changes of steps count as linearly dependent


class Acceleration:
    """Watches the steps of an iteration, and proposes where the next one begins."""

    def __init__(self, farthest: float = _FARTHEST) -> None:
        self._farthest, self._longer = farthest, _LONGER
        self._escape = self._first_escape = farthest  # in lengths of the step; doubled before its first use
        self._escaped = 0.0  # length of the step that was last continued by an escape
        self._begin: Floats | None = None  # of the next step
        self._forget()

    def _forget(self) -> None:
        self._end: Floats | None = None  # of the last step
        self._step = np.empty(0)
        self._ways: list[Floats] = []  # from one end to the next
        self._changes: list[Floats] = []  # from one step to the next
        self._products = np.empty((0, 0))  # inner products of the changes
        self._best: tuple[float, Floats] | None = None  # length of the shortest step, and where it ended

    def ahead(self, end: Floats) -> Floats:
        """Where the next step should begin, after the step from the last proposed place has ended at ``end``."""
        self._begin = end if self._begin is None else self._next(end, end - self._begin)
        return self._begin

    def _next(self, end: Floats, step: Floats) -> Floats:
        squared = _product(step, step)
        length = math.sqrt(squared)
        if self._best is not None and self._changes and length > self._longer * self._best[0]:
            return self._back(self._best[1])
        if self._best is None or length < self._best[0]:
            self._best = length, end
        self._keep(end, step)
        beyond = self._prediction(step)
        if squared + _product(beyond, step) < 0:
            return self._away(end, step, length)
        far, most = math.sqrt(_product(beyond, beyond)), self._farthest * length
        if far > most:
            beyond *= most / far
        return np.asarray(end + beyond)

    def _back(self, place: Floats) -> Floats:
        """Go back to where the shortest step ended."""
        self._farthest, self._longer = max(self._farthest / 4, 1.0), 2 * self._longer
        self._forget()
        return place

    def _away(self, end: Floats, step: Floats, length: float) -> Floats:
        """Go on in the direction of a step that leads away from an unstable fixed point."""
        if length > self._escaped:
            self._escape *= 2
        else:  # the iteration has come back
            self._first_escape /= 4
            self._escape = self._first_escape
        self._escaped = length
        self._forget()
        return np.asarray(end + min(self._escape, _LONGEST_ESCAPE / length) * step)

    def _keep(self, end: Floats, step: Floats) -> None:
        """Add a step, and drop the oldest if more steps are kept than are combined."""
        if self._end is not None:
            self._ways.append(end - self._end)
            self._changes.append(step - self._step)
            del self._ways[:-_DEPTH], self._changes[:-_DEPTH]
            new = [_product(change, self._changes[-1]) for change in self._changes]
            size = len(new)
            products = np.empty((size, size))
            products[:-1, :-1] = self._products[len(self._products) - size + 1 :, len(self._products) - size + 1 :]
            products[-1], products[:, -1] = new, new
            self._products = products
        self._end, self._step = end, step

    def _prediction(self, step: Floats) -> Floats:
        """From the end of a step to where a step would have length zero, if steps depend linearly on their start.

        It combines differences between places, not places: rounding a number far from zero may exceed its changes.
        """
        beyond, part = np.zeros_like(step), np.empty_like(step)
        if not self._changes:
            return beyond
        sizes = np.sqrt(self._products.diagonal())
        sizes[sizes == 0] = 1.0
        towards = np.array([_product(change, step) for change in self._changes]) / sizes
        shares = np.linalg.lstsq(self._products / np.outer(sizes, sizes), towards, rcond=_ALIKE)[0] / sizes
        for way, share in zip(self._ways, shares, strict=True):
            beyond -= np.multiply(way, share, out=part)
        return beyond


def _product(one: Floats, other: Floats) -> float:
    """Inner product. NumPy's dot would wait for the threads of its linear algebra, which compete with the engine's."""
    return float(np.einsum("i,i->", one, other))
