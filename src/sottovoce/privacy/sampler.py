"""The exact sampler: noise for devices, in integers only.

Written by hand because no light library does it: no floating-point number is involved from the reading to what is sent,
the random bits come from the operating system, and the outcome is a pure function of those bytes, so that the same
algorithm in another language gives the same integers (docs/reference/sampler.md, vectors.json).

Discrete Laplace and discrete Gaussian after Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential
Privacy", NeurIPS 2020. Every probability is a ratio of integers; every test is a comparison of integers.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from sottovoce.errors import BadParameter
from sottovoce.privacy.parameters import check_grid, check_range

if TYPE_CHECKING:  # laws use this module to draw
    from sottovoce.privacy.laws import AnswerLaw, NoiseLaw

# An exponential variance is drawn as (K + 1)·q with K geometric, P(K = k) ∝ exp(-k / VARIANCE_STEPS) and q its mean
# over VARIANCE_STEPS: the exponential law rounded up, never zero.
VARIANCE_STEPS = 1024
# The scale of Laplace noise, in grid steps, is rounded up to a multiple of 1/SCALE_DENOMINATOR.
SCALE_DENOMINATOR = 1 << 16
_BUFFER_BYTES = 256
_LARGEST_EXPONENT = 400  # beyond that of any double; as an integer, 1e999999999 would fill the memory

Reading = str | int | float | Fraction
Ranged = tuple[Reading, Fraction | None, Fraction | None]  # a reading and its public range; either end may be open


class ByteStream:
    """Random bytes, taken one after another: from the operating system, or fixed for a test vector."""

    def __init__(self, read: Callable[[int], bytes] = os.urandom) -> None:
        self._read = read
        self._buffer = b""
        self._place = 0
        self.used = 0  # bytes already taken

    def take(self, count: int) -> int:
        """The next bytes, as one big-endian number."""
        end = self._place + count
        if end > len(self._buffer):
            self._buffer = self._buffer[self._place :] + self._read(max(count, _BUFFER_BYTES))
            self._place, end = 0, count
        number = int.from_bytes(self._buffer[self._place : end], "big")
        self._place = end
        self.used += count
        return number


def uniform(stream: ByteStream, bound: int) -> int:
    """A whole number from 0 to ``bound`` - 1: as many bits as needed, drawn again while too large."""
    bits = (bound - 1).bit_length()
    count, mask = (bits + 7) // 8, (1 << bits) - 1
    while True:
        number = stream.take(count) & mask
        if number < bound:
            return number


def bernoulli_exp(stream: ByteStream, numerator: int, denominator: int) -> bool:
    """True with probability exp(-numerator/denominator)."""
    whole, rest = divmod(numerator, denominator)
    for _ in range(whole):
        if not _bernoulli_exp_fraction(stream, 1, 1):
            return False
    return _bernoulli_exp_fraction(stream, rest, denominator)


def _bernoulli_exp_fraction(stream: ByteStream, numerator: int, denominator: int) -> bool:
    """The same for a ratio of at most 1: the first failing trial among odd and even ones decides."""
    trial = 1
    while uniform(stream, denominator * trial) < numerator:
        trial += 1
    return trial % 2 == 1


def geometric(stream: ByteStream, numerator: int, denominator: int) -> int:
    """k with probability proportional to exp(-k·denominator/numerator)."""
    while True:
        low = uniform(stream, numerator)
        if bernoulli_exp(stream, low, numerator):
            break
    high = 0
    while _bernoulli_exp_fraction(stream, 1, 1):
        high += 1
    return (low + numerator * high) // denominator


def discrete_laplace(stream: ByteStream, numerator: int, denominator: int) -> int:
    """An integer k with probability proportional to exp(-|k|/scale), scale = numerator/denominator."""
    while True:
        size = geometric(stream, numerator, denominator)
        negative = uniform(stream, 2) == 1
        if not (negative and size == 0):  # zero has no sign: it would be twice as likely
            return -size if negative else size


def discrete_gaussian(stream: ByteStream, numerator: int, denominator: int) -> int:
    """An integer k with probability proportional to exp(-k²/(2·variance)), variance = numerator/denominator."""
    scale = isqrt(numerator // denominator) + 1
    # exp(-(|k| - variance/scale)² / (2·variance)), with everything multiplied out
    shared = 2 * numerator * denominator * scale * scale
    while True:
        candidate = discrete_laplace(stream, scale, 1)
        distance = abs(candidate) * denominator * scale - numerator
        if bernoulli_exp(stream, distance * distance, shared):
            return candidate


def subset(stream: ByteStream, cells: int, size: int) -> tuple[int, ...]:
    """A set of ``size`` of the numbers from 0 to ``cells`` - 1, each equally likely, ascending (Floyd 1987)."""
    chosen: set[int] = set()
    for last in range(cells - size, cells):
        number = uniform(stream, last + 1)
        chosen.add(last if number in chosen else number)
    return tuple(sorted(chosen))


def response_shifts(stream: ByteStream, cells: int, size: int, numerator: int, denominator: int) -> tuple[int, ...]:
    """A set of shifts: those with 0 are e^ε times as likely as the others, ε = numerator/denominator."""
    while True:
        shifts = subset(stream, cells, size)
        if 0 in shifts or bernoulli_exp(stream, numerator, denominator):
            return shifts


def urn(stream: ByteStream, ones: int, zeros: int, more: int, count: int) -> list[bool]:
    """Draws from an urn with this many balls of two kinds, to which each draw adds ``more`` of the kind drawn (Pólya).

    They are distributed like ``count`` tosses of a coin whose chance of a one is Beta(ones/more, zeros/more).
    """
    drawn = []
    for _ in range(count):
        is_one = uniform(stream, ones + zeros) < ones
        ones, zeros = (ones + more, zeros) if is_one else (ones, zeros + more)
        drawn.append(is_one)
    return drawn


@dataclass(frozen=True)
class Sampler:
    """What a device does to a participant's readings: clip to the public range, round to the public grid, add noise.

    Outcomes are whole grid steps. They may lie outside the range: drawing again or clamping would break the guarantee.

    >>> from sottovoce.privacy.laws import Gaussian
    >>> sampler = Sampler(Gaussian(sigma=3.0), grid=Fraction("0.5"), low=Fraction(0), high=Fraction(10))
    >>> sampler.steps("12.3"), sampler.steps("4.75"), sampler.steps("4.74")
    (20, 10, 9)
    """

    law: "NoiseLaw"
    grid: Fraction
    low: Fraction | None = None
    high: Fraction | None = None

    def __post_init__(self) -> None:
        check_grid(self.grid)
        if self.low is not None and self.high is not None:
            check_range(self.low, self.high)

    def steps(self, reading: Reading) -> int:
        """The reading, clipped and rounded, in grid steps: ⌊x/g + ½⌋."""
        return steps_of(reading, self.grid, self.low, self.high)

    def perturb(self, readings: Iterable[Reading], stream: ByteStream | None = None) -> list[int]:
        """Noisy grid steps for all readings of one participant; each call draws new noise, so call it once."""
        ranged = [(reading, self.low, self.high) for reading in readings]
        return noisy_steps(self.law, self.grid, ranged, stream or ByteStream())


def noisy_steps(law: "NoiseLaw", grid: Fraction, readings: Iterable[Ranged], stream: ByteStream) -> list[int]:
    """What a device sends: a participant's readings, each with the range to which it is clipped, as noisy grid steps.

    There is no other way from readings to what is sent: devices, `sottovoce perturb` and the audit all call this.
    """
    steps = [steps_of(reading, grid, low, high) for reading, low, high in readings]
    noise = law.on_grid(grid).draw(len(steps), stream)
    return [step + disturbance for step, disturbance in zip(steps, noise, strict=True)]


def reported_cells(law: "AnswerLaw", answers: Iterable[tuple[int, int]], stream: ByteStream) -> list[tuple[int, ...]]:
    """What a device sends for a participant's answers: for each of them the reported cells, in ascending order.

    An answer is a cell (from 0) and the number of cells. There is no other way from answers to what is sent: devices,
    `sottovoce perturb` and the audit all call this.

    >>> from sottovoce.privacy.laws import Response
    >>> reported_cells(Response(1e300), [(2, 4)], ByteStream())
    [(2,)]
    """
    held = list(answers)
    for cell, cells in held:
        if not 0 <= cell < cells:
            raise BadParameter(f"answer {cell}: it must be one of the {cells} cells, from 0 to {cells - 1}; correct it")
    # The shifts do not depend on the answers, and neither does the time it takes to draw them.
    drawn = law.shifts([cells for _, cells in held], stream)
    return [
        tuple(sorted((cell + shift) % cells for shift in shifts))
        for (cell, cells), shifts in zip(held, drawn, strict=True)
    ]


def steps_of(reading: Reading, grid: Fraction, low: Fraction | None, high: Fraction | None) -> int:
    """A reading, clipped and rounded, in grid steps: ⌊x/g + ½⌋."""
    exact = exact_number(reading)
    if low is not None:
        exact = max(exact, low)
    if high is not None:
        exact = min(exact, high)
    return (exact / grid + Fraction(1, 2)).__floor__()


def exact_number(text: Reading) -> Fraction:
    """A number as the decimal that a person sees.

    >>> exact_number(0.1)
    Fraction(1, 10)
    """
    try:
        if isinstance(text, str) and abs(int(text.lower().partition("e")[2] or 0)) > _LARGEST_EXPONENT:
            raise ValueError
        return Fraction(repr(float(text))) if isinstance(text, float) else Fraction(text)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise BadParameter(f"reading {text!r}: it must be a finite number; leave it out if there is none") from None
