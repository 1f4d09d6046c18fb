"""δ(ε) of a noise law on a grid, straight from the definitions: slow, and with digits to spare.

Nothing is shared with the package, not even the reading of a law. Numbers are exact fractions, or mpmath's with forty
digits and more; only where a variance is drawn from 46,080 values are there plain sums of doubles, all positive.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
from mpmath import mp, mpf

mp.dps = 40
_FIXED = 1 << 1100  # fixed-point numbers for sums of several readings: down to 1e-330

_NODES = np.polynomial.legendre.leggauss(200)


class TooLarge(Exception):
    """The exact figure would take too long."""


def exact_delta(noise: str, distance: str, moved: int, grid: str, epsilon: float) -> mpf:
    """δ at ε for ``moved`` readings that all move by ``distance``; the variance, where one is drawn, is known."""
    name, *parameters = noise.split(":")
    numbers, step = [Fraction(parameter) for parameter in parameters], Fraction(grid)
    steps = -(-Fraction(distance) // step)
    if name == "fresh":
        with mp.workdps(350):  # it is a difference, of numbers near 1
            return _laplace(_scale(numbers[0], step), steps, moved, epsilon)
    if name == "gaussian":
        return _normal((numbers[0] / step) ** 2, steps, moved, epsilon)
    floor, rate = (Fraction(0), numbers[0]) if name == "shared" else numbers
    return _drawn(floor / step**2, 1 / (rate * step**2 * 1024), steps, moved, epsilon)


def exact_answer_delta(noise: str, cells: int, moved: int, epsilon: float) -> mpf:
    """δ at ε for this many answers out of ``cells`` that all change, under a law ``response:EPSILON[:SIZE]``."""
    with mp.workdps(60):
        return _advantage(*_answer_losses(noise, cells, moved), epsilon)


def exact_composed_delta(parts: list[tuple], epsilon: float) -> mpf:
    """δ at ε of several independent parts: (noise, distance, grid, moved), or (noise, cells, moved) of answers.

    With L the losses of the pure parts together, it is the mean of the δ of the one other part at ε - L.
    """
    others = [part for part in parts if part[0].split(":")[0] not in ("fresh", "response")]
    with mp.workdps(60):
        atoms = {mpf(0): mpf(1)}
        for noise, *rest in (part for part in parts if part not in others):
            if noise.startswith("response"):
                chances, losses = _answer_losses(noise, *rest)
            else:
                distance, grid, moved = rest
                steps = -(-Fraction(distance) // Fraction(grid))
                chances, losses = _laplace_losses(_scale(Fraction(noise[6:]), Fraction(grid)), steps, moved)
            if len(atoms) * len(chances) > 300_000:
                raise TooLarge
            wider: dict[mpf, mpf] = {}
            for loss, chance in atoms.items():
                for more, other in zip(losses, chances, strict=True):
                    total = loss + more
                    wider[total] = wider.get(total, 0) + chance * other
            atoms = wider
        if not others:
            return _advantage([*atoms.values()], [*atoms], epsilon)
        ((noise, distance, grid, moved),) = others
        drawn = not noise.startswith("gaussian")
        if len(atoms) > (40 if drawn else 500):
            raise TooLarge

        def other_delta(place: mpf) -> mpf:
            at = exact_delta(noise, distance, moved, grid, float(abs(place)))
            # Moves in both directions are alike, so a test and its opposite are.
            return at if place >= 0 else 1 - mpmath.exp(place) + mpmath.exp(place) * at

        return mpmath.fsum(chance * other_delta(epsilon - loss) for loss, chance in atoms.items())


def epsilon_beside_coins(rate: float, each: float, answered: int, delta: float) -> float:
    """The largest ε of readings 1 apart under one drawn variance and of coins with an ε of ``each``, this many in all.

    In closed form, for continuous noise and an exponential variance. What is drawn is slightly more noise, since the
    smallest variance is 1/1024 of the mean: at a δ of a tenth, that makes less than 1/100 of ε.
    """
    largest = 0.0
    for coins in range(answered + 1):
        right = math.exp(each) / (1 + math.exp(each))
        chances = [math.comb(coins, n) * right**n * (1 - right) ** (coins - n) for n in range(coins + 1)]
        square = 2 * rate * (answered - coins)

        def known(at: float, square: float = square) -> float:
            one = -math.expm1(-square / (2 * (math.sqrt(at * at + square) + abs(at)))) if square else 0.0
            return one if at >= 0 else -math.expm1(at) + math.exp(at) * one

        def exceeds(epsilon: float, coins: int = coins, chances: list[float] = chances) -> bool:
            gains = (chance * known(epsilon - each * (2 * n - coins)) for n, chance in enumerate(chances))
            return math.fsum(gains) > delta

        low, high = largest, largest + answered * each + 1000 * square
        while exceeds(low) and high - low > 1e-6 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if exceeds(middle) else (low, middle)
        largest = max(largest, low)
    return largest


def _answer_losses(noise: str, cells: int, moved: int) -> tuple[list[mpf], list[mpf]]:
    """Chances and losses of this many answers."""
    _, *parameters = noise.split(":")
    size = int(parameters[1]) if len(parameters) > 1 else 1
    if moved > 300 or float(parameters[0]) > 1e4:
        raise TooLarge
    with mp.workdps(60):
        each = mpf(parameters[0])
        # Sets with the true cell are e^ε times as likely as those without. Of the two answers one is in the set.
        every = mpmath.exp(each) * math.comb(cells - 1, size - 1) + math.comb(cells - 1, size)
        tells = math.comb(cells - 2, size - 1) / every
        one = [tells, 1 - tells * (1 + mpmath.exp(each)), tells * mpmath.exp(each)]  # losses of -ε, 0 and ε
        law = [mpf(1)]
        for _ in range(moved):
            wider = [mpf(0), mpf(0), *law, mpf(0), mpf(0)]
            law = [mpmath.fdot(wider[place : place + 3], one[::-1]) for place in range(len(law) + 2)]
        return law, [each * (place - moved) for place in range(len(law))]


def _scale(rate: Fraction, step: Fraction) -> Fraction:
    """1/√(2·rate) grid steps, rounded up to a multiple of 1/65536."""
    squared = Fraction(2**32) / (2 * rate * step**2)
    root = math.isqrt(math.floor(squared))
    return Fraction(root if root * root == squared else root + 1, 65536)


def _real(exact: Fraction | float) -> mpf:
    exact = Fraction(exact)
    return mpf(exact.numerator) / exact.denominator


def _laplace(scale: Fraction, steps: int, moved: int, epsilon: float) -> mpf:
    if moved == 1:
        # P(K ≤ κ) - e^ε P(K ≤ κ - steps) is largest at the last κ whose loss exceeds ε; half a step around it suffices.
        ratio, best = mpmath.exp(-1 / _real(scale)), mpf(0)
        middle = math.ceil((steps - Fraction(epsilon) * scale) / 2) - 1
        for last in (middle - 1, middle, middle + 1):
            up_to, moved_up_to = (
                1 - mpmath.exp(-_real((k + 1) / scale)) / (1 + ratio) if k >= 0
                else mpmath.exp(_real(k / scale)) / (1 + ratio)
                for k in (last, last - steps)
            )  # fmt: skip
            best = max(best, up_to - mpmath.exp(mpf(epsilon)) * moved_up_to)
        return best
    return _advantage(*_laplace_losses(scale, steps, moved), epsilon)


def _laplace_losses(scale: Fraction, steps: int, moved: int) -> tuple[list[mpf], list[mpf]]:
    """Chances and losses of this many readings."""
    if moved * steps > 1000:
        raise TooLarge
    ratio = mpmath.exp(-1 / _real(scale))
    one = [ratio**j * (1 - ratio) / (1 + ratio) for j in range(steps + 1)]
    one[0], one[steps] = 1 / (1 + ratio), ratio**steps / (1 + ratio)
    return _sum_of(one, moved), [_real((moved * steps - 2 * j) / scale) for j in range(moved * steps + 1)]


def _normal(variance: Fraction, steps: int, moved: int, epsilon: float) -> mpf:
    together, shift = variance * moved, steps * moved
    if together < Fraction(shift, 10**5) ** 2:
        return mpf(1)  # to more digits than needed, unless ε is out of bounds
    if moved > 1 and variance < 8:
        return _rough(variance, steps, moved, epsilon)
    last = math.ceil(Fraction(shift, 2) - Fraction(epsilon) * together / shift) - 1  # its loss exceeds ε
    v = _real(together)
    deviation = mpmath.sqrt(v)
    if last < -60 * deviation:
        return mpf(0)
    if together > 2500 and shift < together / 4:  # the loss changes slowly from step to step
        return _by_euler_maclaurin(v, shift, last, epsilon)
    if together > 4_000_000:
        raise TooLarge
    reach = int(16 * deviation) + 2  # e^-128 of all
    total = mpmath.sqrt(2 * mp.pi * v) if together > 16 else _weight(v)
    gained, k = mpf(0), min(last, reach)
    while True:
        term = mpmath.exp(-(mpf(k) ** 2) / (2 * v)) * (1 - mpmath.exp(epsilon - mpf(shift) * (shift - 2 * k) / (2 * v)))
        gained += term
        k -= 1
        if k < min(last, 0) - 1 and term < gained * mpf(10) ** -30:
            return gained / total


def _weight(v: mpf) -> mpf:
    """Σ e^{-k²/2v} over all whole k; √(2πv) from v = 16 on, to 1e-130."""
    return 1 + 2 * mpmath.fsum(mpmath.exp(-(mpf(k) ** 2) / (2 * v)) for k in range(1, 100))


def _by_euler_maclaurin(v: mpf, shift: int, last: int, epsilon: float) -> mpf:
    """Σ_{k ≤ last} φ(k) - e^ε φ(k - shift); for wide noise the densities at all steps add up to 1 to any digit here."""
    with mp.workdps(100):
        deviation = mpmath.sqrt(v)
        total = mpf(0)
        for factor, end in ((mpf(1), mpf(last) + mpf(1) / 2), (-mpmath.exp(epsilon), mpf(last - shift) + mpf(1) / 2)):
            x = end / deviation
            part = mpmath.erfc(-x / mpmath.sqrt(2)) / 2
            for j in range(1, 9):
                # B_2j(½)/(2j)! times the (2j-1)-th derivative, which is He_{2j-2}'s with a sign
                number = -(1 - mpf(2) ** (1 - 2 * j)) * mpmath.bernoulli(2 * j) / mpmath.factorial(2 * j)
                slope = -_hermite(2 * j - 1, x) * mpmath.npdf(x) / deviation ** (2 * j)
                part += number * slope
            total += factor * part
        return total


def _hermite(order: int, x: mpf) -> mpf:
    before, here = mpf(1), x
    for n in range(1, order):
        before, here = here, x * here - n * before
    return here


def _rough(variance: Fraction, steps: int, moved: int, epsilon: float) -> mpf:
    """Several readings with little noise: the sum is no discrete normal."""
    v = _real(variance)
    reach = int(mpmath.sqrt(2 * v * 760)) + 2
    if moved * reach > 1000:
        raise TooLarge
    one = [mpmath.exp(-(mpf(k) ** 2) / (2 * v)) for k in range(-reach, reach + 1)]
    total = mpmath.fsum(one)
    sums = _sum_of([weight / total for weight in one], moved)
    middle = (len(sums) - 1) // 2
    losses = [_real(steps * (moved * steps - 2 * (k - middle)) / (2 * variance)) for k in range(len(sums))]
    return _advantage(sums, losses, epsilon)


def _advantage(chances: list[mpf], losses: list[mpf], epsilon: float) -> mpf:
    return mpmath.fsum(
        chance * (1 - mpmath.exp(mpf(epsilon) - loss))
        for chance, loss in zip(chances, losses, strict=True)
        if loss > epsilon and chance
    )


def _sum_of(one: list[mpf], times: int) -> list[mpf]:
    """Probabilities of a sum, by products of whole numbers: each list is one long number in base 2^2304."""
    width = 2304

    def pack(numbers: list[int]) -> int:
        return int.from_bytes(b"".join(number.to_bytes(width // 8 + 1, "little") for number in numbers), "little")

    def product(left: list[int], right: list[int]) -> list[int]:
        size = width // 8 + 1
        packed = (pack(left) * pack(right)).to_bytes(size * (len(left) + len(right)), "little")
        return [
            int.from_bytes(packed[i * size : (i + 1) * size], "little") // _FIXED
            for i in range(len(left) + len(right) - 1)
        ]

    with mp.workdps(350):
        power = [int(chance * _FIXED) for chance in one]
    total: list[int] | None = None
    while times:
        if times % 2:
            total = power if total is None else product(total, power)
        times //= 2
        if times:
            power = product(power, power)
    assert total is not None
    return [mpf(number) / _FIXED for number in total]


def _drawn(floor: Fraction, quantum: Fraction, steps: int, moved: int, epsilon: float) -> mpf:
    """The variance is floor + (K + 1)·quantum with P(K = k) ∝ e^{-k/1024}."""
    drawn = np.arange(46_080.0)
    chances = -math.expm1(-1 / 1024) * np.exp(-drawn / 1024)
    single = float(floor) + (drawn + 1) * float(quantum)
    shift = float(steps * moved)
    together = single * moved
    deltas = np.ones(len(together))
    deltas[together > 0] = 0.0
    rough = int((single < 4).sum()) if moved > 1 else 0  # sums of those are no discrete normals
    deltas[:rough] = _inverted(single[:rough], chances[:rough], shift, moved, epsilon)
    for first in range(rough, len(together), 256):
        part = together[first : first + 256]
        if part[-1] < (shift / 1e5) ** 2:
            deltas[first : first + 256] = 1.0
            continue
        narrow, wide = part[part < 1000], part[part >= 1000]
        if len(wide) and shift > wide[0] / 4:
            raise TooLarge  # many steps, and the loss changes much from one to the next
        rows = [sums(some, shift, epsilon) for some, sums in ((narrow, _narrow), (wide, _smooth)) if len(some)]
        deltas[first : first + 256] = np.concatenate(rows)
    total = math.fsum(chances * deltas)
    if rough and total < 1e-7:
        raise TooLarge  # characteristic functions have no digits left
    return mpf(total - 1e-11 * bool(rough))


def _inverted(single, chances, shift, moved, epsilon):
    """Sums of several readings from the powers of their characteristic functions, right to 1e-11."""
    together = single * moved
    mean, deviation = shift**2 / (2 * together), shift / np.sqrt(together)
    deltas = (mean - 10 * deviation > epsilon).astype(float)  # within e^-50, as those below are 0
    rows = np.flatnonzero((deltas == 0) & (mean + 10 * deviation > epsilon) & (chances > 1e-16))
    if len(rows) > 6000:
        raise TooLarge
    for row in rows:
        v, reach = single[row], math.ceil(10 * math.sqrt(together[row])) + 2
        angle = 2 * math.pi * np.arange(reach + 1.0) / (2 * reach + 1)
        k = np.arange(1.0, math.ceil(9 * math.sqrt(v)) + 2)[:, None]
        weights = np.exp(-(k**2) / (2 * v))
        cosine = (1 + 2 * (weights * np.cos(k * angle)).sum(axis=0)) / (1 + 2 * weights.sum())
        law = np.fft.fftshift(np.fft.irfft(cosine**moved, 2 * reach + 1))
        losses = shift * (shift - 2 * np.arange(-reach, reach + 1.0)) / (2 * together[row])
        deltas[row] = (law * -np.expm1(np.minimum(epsilon - losses, 0))).sum()
    return deltas


def _narrow(variance, shift, epsilon):
    reach = math.ceil(math.sqrt(2 * 60 * variance[-1])) + 2
    starts = np.clip(np.floor(shift / 2 - epsilon * variance / shift) + 2, -1e6, reach)
    k = starts[:, None] - np.arange(float(2 * reach + 2))
    v = variance[:, None]
    gains = -np.expm1(np.minimum(epsilon - shift * (shift - 2 * k) / (2 * v), 0))
    around = np.arange(-reach, reach + 1.0)
    return (np.exp(-(k**2) / (2 * v)) * gains).sum(axis=1) / np.exp(-(around**2) / (2 * v)).sum(axis=1)


def _smooth(variance, shift, epsilon):
    """∫ F up to κ + ½ by Gauss and Legendre's rule, and two of Euler and Maclaurin's corrections."""
    nodes, weights = _NODES
    deviation = np.sqrt(variance)
    end = np.clip(np.ceil(shift / 2 - epsilon * variance / shift) - 0.5, -60 * deviation, 12 * deviation)
    length = 11 * deviation + np.maximum(end, 0)
    x = end[:, None] - length[:, None] * (nodes + 1) / 2

    def part(places):
        v, d = variance[:, None], deviation[:, None]
        density = np.exp(-(places**2) / (2 * v)) / (d * math.sqrt(2 * math.pi))
        return density * -np.expm1(np.minimum(epsilon - shift * (shift - 2 * places) / (2 * v), 50))

    total = (part(x) * weights).sum(axis=1) * length / 2
    h = 0.5
    around = part(end[:, None] + h * np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
    first = (around[:, 0] - 8 * around[:, 1] + 8 * around[:, 3] - around[:, 4]) / (12 * h)
    third = (-around[:, 0] + 2 * around[:, 1] - 2 * around[:, 3] + around[:, 4]) / (2 * h**3)
    return total - first / 24 + 7 * third / 5760
