"""What the answers about one task say about its truth and about the spread of the readings.

The posterior over (truth, ln spread) is computed on a window that closes in on the truth. It is a function of the
answers alone: they determine the windows, in whatever order they came, and sums are exact (`kernels`). What is kept
between two evaluations only saves time; without it, the results are the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.comparisons import kernels
from sottovoce.comparisons.spreads import COARSE, FINE, GUESSED, SpreadPrior

Floats = NDArray[np.float64]

TRUTHS = 128
_ZOOM = 4  # a window is this many times as narrow as the one before
_SNAP = 4  # cells: windows begin at multiples, so that a small change of the posterior leaves them in place
_CELLS = TRUTHS // _ZOOM
_FITS = _CELLS - 2 * _SNAP  # a posterior that fits into this many cells gets a narrower window
_TAIL = 5e-4  # share of the posterior on either side that a window may leave out
_MOST_ZOOMS = 16


@dataclass(frozen=True)
class Scale:
    """The terms of a task's comparisons: its range, how many levels an answer has, and their chances.

    ``floor`` is the chance of each wrong level. ``spread_guess`` is the operator's guess of how far readings lie from
    the truth (a standard deviation); guess high.
    """

    low: float
    high: float
    levels: int
    floor: float
    spread_guess: float

    @property
    def gain(self) -> float:
        """How much more likely the right level is than each other one."""
        return 1 - self.levels * self.floor

    @property
    def centre(self) -> float:
        """The logarithm of the guessed spread."""
        return math.log(self.spread_guess)


class _Window:
    """Sums of log likelihoods on a grid of truths × spreads."""

    def __init__(self, start: float, step: float, log_spreads: Floats) -> None:
        self.start, self.step, self.log_spreads = start, step, log_spreads
        self.sums = np.zeros((len(log_spreads), TRUTHS), np.int64)

    def add(self, scale: Scale, cuts: Sequence[float], level: int, count: int) -> None:
        low = cuts[level - 1] if level > 0 else -math.inf
        high = cuts[level] if level < len(cuts) else math.inf
        kernels.add_answers(
            self.sums, self.start, self.step, self.log_spreads, low, high, scale.floor, scale.gain, count
        )


@dataclass(frozen=True)
class Posterior:
    """The posterior of a truth, and what the answers say about the spread of the readings."""

    start: float
    step: float
    chances: Floats  # of the cells
    log_spread: float  # posterior mean of the spread's logarithm

    def quantile(self, share: float) -> float:
        return float(kernels.quantile(self.chances, self.start, self.step, share))

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @property
    def deviation(self) -> float:
        """Standard deviation of the truth."""
        places = self.start + (np.arange(TRUTHS) + 0.5) * self.step
        mean = float(self.chances @ places)
        return math.sqrt(float(self.chances @ (places - mean) ** 2))


class ComparedTask:
    """The answers about one task, and their posterior."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.counts: dict[tuple[tuple[float, ...], int], int] = {}  # of answers, by cuts and level
        self.answers = 0
        self._windows: list[_Window] = []
        self._fine: _Window | None = None

    def add(self, cuts: Sequence[float], level: int, count: int = 1) -> None:
        """Add ``count`` equal answers; a negative count withdraws them."""
        key = (tuple(cuts), level)
        left = self.counts.get(key, 0) + count
        if left < 0:
            raise ValueError(f"cuts {cuts}, level {level}: there are not {-count} such answers to withdraw")
        if left:
            self.counts[key] = left
        else:
            self.counts.pop(key, None)
        self.answers += count
        for window in (*self._windows, *([self._fine] if self._fine else [])):
            window.add(self.scale, cuts, level, count)

    @property
    def evidence(self) -> Floats:
        """What the answers say about the spread, for each of `spreads.FINE`, without a prior."""
        evidence = np.empty(len(FINE))
        kernels.normalise(self._grid().sums, GUESSED.fine, np.empty(TRUTHS), evidence)
        return evidence

    def posterior(self, prior: SpreadPrior = GUESSED) -> Posterior:
        """The posterior under this prior of the spread."""
        grid = self._grid()
        chances, evidence = np.empty(TRUTHS), np.empty(len(FINE))
        kernels.normalise(grid.sums, prior.fine, chances, evidence)
        shares = evidence * prior.fine
        return Posterior(grid.start, grid.step, chances, self.scale.centre + float(shares @ FINE / shares.sum()))

    def _grid(self) -> _Window:
        """The narrowest window that holds the posterior.

        It follows from this task's answers alone, so the spread has its initial prior here, whatever other tasks show.
        """
        start, step = self.scale.low, (self.scale.high - self.scale.low) / TRUTHS
        chances, evidence = np.empty(TRUTHS), np.empty(len(COARSE))
        zooms = 0
        while zooms < _MOST_ZOOMS:
            kernels.normalise(self._coarse(zooms, start, step).sums, GUESSED.coarse, chances, evidence)
            first, last = kernels.core(chances, _TAIL)
            size = last - first + 1
            if size > _FITS:
                break
            begin = (first - (_CELLS - size) // 2) // _SNAP * _SNAP
            start += min(max(begin, 0), TRUTHS - _CELLS) * step
            step /= _ZOOM
            zooms += 1
        del self._windows[zooms + 1 :]
        if self._fine is None or (self._fine.start, self._fine.step) != (start, step):
            self._fine = self._filled(start, step, FINE)
        return self._fine

    def forget(self) -> None:
        """Free the memory of the windows; the next posterior computes them again."""
        self._windows, self._fine = [], None

    def _coarse(self, zooms: int, start: float, step: float) -> _Window:
        if zooms < len(self._windows) and self._windows[zooms].start == start:
            return self._windows[zooms]
        del self._windows[zooms:]
        self._windows.append(self._filled(start, step, COARSE))
        return self._windows[zooms]

    def _filled(self, start: float, step: float, offsets: Floats) -> _Window:
        window = _Window(start, step, self.scale.centre + offsets)
        for (cuts, level), count in self.counts.items():
            window.add(self.scale, cuts, level, count)
        return window
