"""The promises that the page computes, compared with exact figures: for tests, and for longer runs in the bench.

Manifests are drawn from all that the protocol admits: grids from 1e-15 on, ranges of up to 2^53 steps, parameters from
1e-300 to 1e300, up to 10,000 readings; half of them like those that people plan, with promises that mean something.
"""

import math
import random
from fractions import Fraction

import numpy as np

from promise_reference import TooLarge, exact_answer_delta, exact_composed_delta, exact_delta
from promise_reference import _scale as scale_of
from sottovoce.protocol import Manifest, Problem
from sottovoce.protocol.parts import Part

SMALLEST, LARGEST = 1e-6, 1e7  # the page looks no further


def random_manifest(draw: random.Random, laws=("fresh", "gaussian", "shared", "floored")) -> Manifest:
    while True:
        try:
            return Manifest.of(_parts(draw, laws))
        except Problem:  # beyond what the protocol admits: noise wider than 2^50 steps, or a number too large
            continue


def _parts(draw, laws):
    usual = draw.random() < 0.5
    grid = 10 ** (draw.uniform(-3, 1) if usual else draw.uniform(-15, 14))
    steps = 10 ** (draw.uniform(1, 4) if usual else draw.uniform(0, 15.9))
    distance = grid * 10 ** (draw.uniform(-0.3, 2) if usual else draw.uniform(-3, 15))
    name, deviation = draw.choice(laws), distance * 10 ** draw.uniform(-1, 3)
    rate, floor = deviation**-2, deviation**2 * 10 ** draw.uniform(-3, 1)
    if not usual:
        deviation, rate, floor = (10 ** draw.uniform(-300, 300) for _ in range(3))
    parameters = {"gaussian": [deviation], "floored": [floor, rate]}.get(name, [rate])
    tasks = draw.choice([1, 1, 2, 3, 5, 10, 30, 100] if usual or draw.random() < 0.9 else [1000, 10_000])
    low = draw.choice([0.0, -steps * grid, steps * grid / 3])
    return {
        "campaign": "c", "title": "t", "asked_by": "a",
        "tasks": [
            {"id": str(n), "low": f"{low:.3e}", "high": f"{low + steps * grid:.3e}", "grid": f"{grid:.2e}"}
            for n in range(tasks)
        ],
        "noise": ":".join([name, *map(repr, parameters)]),
        "distance": f"{distance:.3e}",
        "readings": draw.randint(1, tasks), "unit": draw.choice(["reading", "participant"]),
    }  # fmt: skip


def random_answers(draw: random.Random) -> Manifest:
    """A campaign of choices, of comparisons or of both, with parameters from one end of the doubles to the other."""
    while True:
        try:
            return Manifest.of(_answer_parts(draw))
        except Problem:  # a set as large as all choices, or two layers for more than two
            continue


def _answer_parts(draw):
    ends = [10 ** draw.uniform(-307, 308), 10 ** draw.uniform(-3, 3), 1e-307, 1.7e308, 1.0]
    count = draw.choice([1, 2, 3, 30, 300])
    sizes = draw.choice([(2,), (0,), (0, 2, 5), (2, 3, 7, 100)])  # of the choices; 0 is a number to compare
    tasks = [_question(f"t{place}", draw.choice(sizes)) for place in range(count)]
    law = draw.choice([
        f"response:{draw.choice(ends)!r}", f"response:{draw.choice(ends)!r}:{draw.choice([2, 3, 99])}",
        f"twolayer:beta:{draw.choice(ends)!r}:{draw.choice(ends)!r}", "twolayer:uniform",
    ])  # fmt: skip
    return {
        "format": "sottovoce-manifest/2", "campaign": "c", "title": "t", "asked_by": "a", "tasks": tasks, "noise": law,
        "readings": draw.randint(1, count), "unit": draw.choice(["reading", "participant"]),
        **({"levels": draw.choice([2, 4])} if 0 in {len(task.get("choices", ())) for task in tasks} else {}),
    }  # fmt: skip


def random_mixed(draw: random.Random) -> Manifest:
    """Numbers and choices, each under its own law; a participant answers all of them, or some."""
    while True:
        try:
            numbers, questions = _parts(draw, ("fresh", "gaussian", "shared", "floored")), _answer_parts(draw)
            choices = [task for task in questions["tasks"] if "choices" in task]
            if not choices:
                continue
            own = {"kind": "number", "distance": numbers["distance"]}
            tasks = [{**task, **own, "id": f"n{task['id']}"} for task in numbers["tasks"]] + choices
            rest = {name: entry for name, entry in questions.items() if name != "levels"}
            noise = {"number": numbers["noise"], "choice": questions["noise"]}
            readings = draw.choice([len(tasks), draw.randint(1, len(tasks))])
            return Manifest.of(rest | {"tasks": tasks, "noise": noise, "readings": readings})
        except Problem:
            continue


def _question(name, choices):
    if not choices:
        return {"kind": "number", "id": name, "low": 0, "high": 10, "grid": "0.5"}
    return {"kind": "choice", "id": name, "choices": [f"c{place}" for place in range(choices)]}


def random_delta(draw: random.Random) -> float:
    return 10 ** draw.uniform(-12, -0.4)


def exact(manifest: Manifest, epsilon: float) -> float:
    """δ(ε) of the worst part."""
    if manifest.unit == "participant" and len(manifest.parts) > 1:
        if manifest.most_readings < len(manifest.tasks) or any("twolayer" in part.noise for part in manifest.parts):
            raise TooLarge  # there are many ways to choose tasks
        return float(exact_composed_delta([_described(*one) for one in manifest.parts.items()], epsilon))
    found = 0.0
    for part, tasks in manifest.parts.items():
        moved = min(manifest.most_readings, tasks) if manifest.unit == "participant" else 1
        if part.cells is not None:
            if not part.noise.startswith("response"):
                raise TooLarge
            found = max(found, float(exact_answer_delta(part.noise, part.cells, moved, epsilon)))
            continue
        try:
            found = max(found, float(exact_delta(part.noise, part.protected_distance, moved, part.grid, epsilon)))
        except TooLarge:
            found = max(found, _summed(part, moved, epsilon))
    return found


def _described(part: Part, tasks: int) -> tuple:
    if part.cells is not None:
        return part.noise, part.cells, tasks
    return part.noise, part.protected_distance, part.grid, tasks


def fault(manifest: Manifest, delta: float, epsilon: float, with_delta=False) -> str | None:
    """What is wrong with the page's ε at δ: below the exact one, or more than 1 % above it; None if nothing is.

    The page uses a pure ε as it is, unless it was asked for the ε at a δ.
    """
    if math.isnan(epsilon) or epsilon < 0:
        return f"ε = {epsilon}"
    if not with_delta and manifest.format.endswith("1") and manifest.noise.startswith("fresh"):
        return None if epsilon == _pure(manifest) else f"ε = {epsilon} is not {_pure(manifest)}"
    try:
        if epsilon < math.inf and exact(manifest, epsilon) > delta * (1 + 1e-9):
            return f"ε = {epsilon} is below the exact one"
        if epsilon > SMALLEST and exact(manifest, min(epsilon, LARGEST) / 1.01) < delta:
            return f"ε = {epsilon} is more than 1 % above the exact one"
    except TooLarge:
        return None
    return None


def _pure(manifest: Manifest) -> float:
    """The ε of fresh noise, which needs no δ, rounded up to a double."""
    moved = manifest.most_readings if manifest.unit == "participant" else 1
    rate = Fraction(manifest.noise.partition(":")[2])
    pure = max(
        moved * math.ceil(Fraction(manifest.distance) / grid) / scale_of(rate, grid)
        for grid in map(Fraction, {part.grid for part in manifest.parts})
    )
    return float(pure) if Fraction(float(pure)) >= pure else math.nextafter(float(pure), math.inf)


def _summed(part: Part, moved: int, epsilon: float) -> float:
    """Several readings under one drawn variance: sums over all variances and all sums of noises, in doubles."""
    name, *numbers = part.noise.split(":")
    grid = float(part.grid)
    if name not in ("shared", "floored") or moved > 10:
        raise TooLarge
    shift = moved * math.ceil(float(part.protected_distance) / grid * (1 - 1e-12))
    quantum = 1 / (float(numbers[-1]) * grid**2 * 1024)
    variances = (float(numbers[0]) / grid**2 if name == "floored" else 0.0) + np.arange(1, 22 * 1024 + 1) * quantum
    chances = np.exp(-np.arange(len(variances)) / 1024) * -math.expm1(-1 / 1024)
    if variances[-1] > 2e3 or shift**2 / (2 * variances[-1] * moved) > LARGEST:
        raise TooLarge
    total = 0.0
    for variance, chance in zip(variances, chances, strict=True):
        if shift**2 / (2 * variance * moved) - 12 * shift / math.sqrt(variance * moved) > epsilon:
            total += chance  # within 1e-30
            continue
        first, law = _sum_of_normals(variance, moved)
        losses = shift * (shift - 2.0 * (first + np.arange(len(law)))) / (2 * variance * moved)
        total += chance * float(law @ -np.expm1(np.minimum(epsilon - losses, 0)))
    return total


def _sum_of_normals(variance: float, moved: int) -> tuple[int, np.ndarray]:
    together = variance if variance < 4 else variance * moved  # from there on the sum is a discrete normal
    reach = math.ceil(math.sqrt(2 * together * 80)) + 1
    steps = np.arange(-reach, reach + 1)
    one = np.exp(-(steps**2) / (2 * together))
    one /= one.sum()
    law = one
    for _ in range(moved - 1 if variance < 4 else 0):
        law = np.convolve(law, one)
    return -(len(law) // 2), law
