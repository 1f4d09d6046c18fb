"""How heavy the tails of errors are: Student's t with estimated degrees of freedom."""

import math

import numpy as np
from numpy.typing import NDArray

from sottovoce.engines.sweeps import DOUBT

Floats = NDArray[np.float64]

FIRST_TAIL = 0.25  # before anything is known, far readings count little
_TAILS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.8)  # 1/degrees of freedom
_WHOLE_TAILS = np.geomspace(0.01, 1.0, 9)
_USUAL_TAIL = 0.1
_ROUNDING = 1e-9  # smaller squares belong to claims at the truth
_MOST = 4000  # squares in the sample


def learn_tail(squares: Floats) -> float:
    """The tail under which standardised residuals are most likely, each tail with its best scale."""
    squares = squares[(squares > 0) & (squares < DOUBT)]
    if len(squares) < 50:
        return 0.1
    best, likeliest = -math.inf, 0.0
    for tail in _TAILS:
        scale = float(np.median(squares)) / 0.455
        for _ in range(20):
            scale = float(np.mean(squares * (1 + tail) / (1 + tail * squares / scale)))
        if tail == 0:
            fit = -float(np.mean(squares)) / scale / 2
        else:
            freedom = 1 / tail
            fit = (
                math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom / 2) / 2
                - (freedom + 1) / 2 * float(np.mean(np.log1p(tail * squares / scale)))
            )  # fmt: skip
        fit = len(squares) * (fit - math.log(scale) / 2)
        if fit > best + 2:  # a heavier tail must be clearly more likely
            best, likeliest = fit, tail
    return likeliest


def learn_whole_tail(squares: Floats) -> float:
    """The same if far readings are not rejected: the tail must explain all of them, so it is never quite normal.

    It varies continuously with the squares, and is pulled towards a typical tail if there are few of them.
    """
    squares = squares[squares > _ROUNDING]
    squares = squares[:: max(1, len(squares) // _MOST)]
    if len(squares) == 0:
        return _USUAL_TAIL
    tails = _WHOLE_TAILS[:, None]
    scales = np.full(len(tails), float(np.median(squares)) / 0.455)
    for _ in range(12):
        scales = np.mean(squares * (1 + tails) / (1 + tails * squares / scales[:, None]), axis=1)
    fits = -np.log(scales) / 2 - (1 + 1 / _WHOLE_TAILS) / 2 * np.log1p(tails * squares / scales[:, None]).mean(axis=1)
    fits += [math.lgamma((1 / tail + 1) / 2) - math.lgamma(0.5 / tail) + math.log(tail) / 2 for tail in _WHOLE_TAILS]
    logs = np.log(_WHOLE_TAILS)
    fits = len(squares) * fits - (logs - math.log(_USUAL_TAIL)) ** 2 / 2
    return float(np.exp(_top(logs, fits)))


def _top(places: Floats, heights: Floats) -> float:
    """The place of the maximum of the parabola through the highest point and its neighbours."""
    best = int(np.argmax(heights))
    if best in (0, len(places) - 1):
        return float(places[best])
    left, middle, right = heights[best - 1 : best + 2]
    bend = left - 2 * middle + right
    shift = (left - right) / (2 * bend) if bend < 0 else 0.0
    return float(places[best] + shift * (places[1] - places[0]))
