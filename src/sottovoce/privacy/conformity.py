"""Does drawn noise follow its law? Tests against the exact probabilities on the grid.

They are more sensitive than any search for a leak: a search finds only leaks larger than the promise, while these tests
find any noise that differs from the law. Each check gives a p-value: the probability that a correct sampler deviates at
least this far.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, chdtrc

from sottovoce.privacy.grid_noise import GridNoise

Numbers = NDArray[np.float64]

# A correct sampler fails a check less often than once in a million audits.
SMALLEST_P_VALUE = 1e-6
_CELL_DRAWS = 20  # expected draws in a cell: enough for the chi-square approximation
_PILE = 5  # fewer draws at one end prove nothing


@dataclass(frozen=True)
class Check:
    """A property that the noise must have, and its p-value."""

    name: str
    p_value: float

    @property
    def passed(self) -> bool:
        return self.p_value >= SMALLEST_P_VALUE


def up_to(noise: GridNoise, bounds: Numbers) -> Numbers:
    """P(noise ≤ bound) for whole bounds, as the sampler draws it.

    >>> from fractions import Fraction
    >>> from sottovoce.privacy.grid_noise import LaplaceOnGrid
    >>> up_to(LaplaceOnGrid(Fraction(1)), np.array([-1.0, 0.0])).round(4).tolist()
    [0.2689, 0.7311]
    """
    # Noise is symmetric: P(noise ≤ -b - 1) = 1 - P(noise ≤ b).
    sizes, places = np.unique(np.where(bounds >= 0, bounds, -bounds - 1), return_inverse=True)
    beyond = noise.beyond(sizes)[places]
    return np.where(bounds >= 0, 1 - beyond, beyond)


def conformity(law: GridNoise, noises: tuple[Numbers, Numbers]) -> list[Check]:
    """All checks, of the noise (releases × readings, in grid steps) on each of two inputs."""
    off_grid = sum(int((noise != np.floor(noise)).sum()) for noise in noises)
    rounded = (np.floor(noises[0] + 0.5), np.floor(noises[1] + 0.5))
    return [
        Check("outputs are whole grid steps", 0.0 if off_grid else 1.0),
        Check("noise has the law's probabilities", _fits(law, np.vstack(rounded))),
        Check("nothing piles up at the ends", _piles(law, rounded)),
        Check("each reading has its own noise", _between_readings(law, np.vstack(rounded))),
        Check("each release has its own noise", _between_releases(law, rounded)),
    ]


def _fits(law: GridNoise, noise: Numbers) -> float:
    """Chi-square over pooled cells, one reading at a time: the readings of a release may share their variance."""
    deviation = _deviation(law)
    edges = np.unique(np.round(deviation * np.linspace(-6, 6, 121)))
    expected = np.diff(np.concatenate([[0.0], up_to(law, edges), [1.0]])) * len(noise)
    cells = _pooled(expected)
    pooled = np.bincount(cells, expected)
    if len(pooled) < 2:  # too little noise for any value but zero
        return 1.0
    p_values = []
    for column in noise.T:
        seen = np.bincount(cells[np.searchsorted(edges, column)], minlength=len(pooled))
        p_values.append(float(chdtrc(len(pooled) - 1, ((seen - pooled) ** 2 / pooled).sum())))
    return smallest(p_values)


def _pooled(expected: Numbers) -> NDArray[np.intp]:
    """The pooled cell of each cell: neighbours together until enough draws are expected."""
    cells = np.empty(len(expected), np.intp)
    cell, gathered = 0, 0.0
    for place, draws in enumerate(expected):
        cells[place] = cell
        gathered += draws
        if gathered >= _CELL_DRAWS:
            cell, gathered = cell + 1, 0.0
    cells[cells == cell] = max(cell - 1, 0)  # the remainder, too small for a cell of its own
    return cells


def _piles(law: GridNoise, noises: tuple[Numbers, Numbers]) -> float:
    """Draws at the extreme values, where clamping would put a whole tail; corrected for the number of values seen."""
    p_values = []
    for noise in (noises[0][:, 0], noises[1][:, 0]):
        values = len(np.unique(noise))
        for end in (noise.min(), noise.max()):
            at_end = int((noise == end).sum())
            low, high = up_to(law, np.array([end - 1, end]))
            if at_end >= _PILE:
                p_values.append(min(1.0, values * float(bdtrc(at_end - 1, len(noise), high - low))))
    return smallest(p_values)


def _between_readings(law: GridNoise, noise: Numbers) -> float:
    last = noise.shape[1] - 1
    pairs = {(reading, reading + 1) for reading in range(last)} | {(0, reading) for reading in range(1, last + 1)}
    return smallest(
        p_value
        for one, other in sorted(pairs)
        for p_value in _independence(law, noise[:, one], noise[:, other], not law.sizes_go_together)
    )


def _between_releases(law: GridNoise, noises: tuple[Numbers, Numbers]) -> float:
    """Checks that draws do not depend on each other: those for the two inputs, and those of consecutive releases."""
    both = min(len(noises[0]), len(noises[1]))
    pairs = [(noises[0][:both], noises[1][:both])]
    for noise in noises:
        even = len(noise) // 2 * 2
        pairs.append((noise[:even:2], noise[1:even:2]))
    return smallest(
        p_value
        for one, other in pairs
        for column, same in zip(one.T, other.T, strict=True)
        for p_value in _independence(law, column, same, sizes=True)
    )


def _independence(law: GridNoise, one: Numbers, other: Numbers, sizes: bool) -> Iterator[float]:
    """P-values of the numbers of equal noises, equal signs and, where sizes are independent too, similar sizes."""
    at_zero, centre = _centre(law)
    equal = int((one == other).sum())
    # Two independent draws are equal at most as often as one takes its most likely value.
    yield float(bdtrc(equal - 1, len(one), at_zero)) if equal else 1.0
    signed = (one != 0) & (other != 0)
    yield two_sided(int((np.sign(one) == np.sign(other))[signed].sum()), int(signed.sum()), 0.5)
    if sizes:
        inside, chance = centre
        alike = int(((np.abs(one) <= inside) == (np.abs(other) <= inside)).sum())
        yield two_sided(alike, len(one), chance**2 + (1 - chance) ** 2)


@lru_cache(maxsize=8)
def _centre(law: GridNoise) -> tuple[float, tuple[float, float]]:
    """P(noise = 0), and the size below which about half of the noise lies, with its exact probability."""
    sizes = np.unique(np.round(_deviation(law) * np.linspace(0, 2, 21)))
    chances = 2 * up_to(law, sizes) - 1
    half = int(np.argmin(np.abs(chances - 0.5)))
    return float(chances[0]), (float(sizes[half]), float(chances[half]))


def _deviation(law: GridNoise) -> float:
    return max(1.0, math.sqrt(law.variance))


def two_sided(count: int, draws: int, chance: float) -> float:
    """The two-sided p-value of ``count`` successes in independent draws that succeed with this chance."""
    if draws == 0:
        return 1.0
    above = float(bdtrc(count - 1, draws, chance)) if count else 1.0
    return min(1.0, 2 * min(float(bdtr(count, draws, chance)), above))


def smallest(p_values: Iterable[float]) -> float:
    """The smallest of several p-values, times their number (Bonferroni)."""
    values = list(p_values)
    return min(1.0, min(values) * len(values)) if values else 1.0
