"""Manifests from the whole space that the protocol admits, for tests of what they promise; used by the bench, too."""

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from hypothesis import strategies as st

from promise_reference import TooLarge, exact_composed_delta, exact_delta
from sottovoce.protocol import Manifest, Problem

MOST = 1.01  # a certified ε is at most this many times the exact one


class Judged:
    """A question whose exact answer can usually be computed."""

    delta: float

    def exact(self, epsilon: float):
        """δ at ε by the reference, or None where that would take too long."""
        try:
            return self.exact_delta(epsilon)
        except TooLarge:
            return None

    def judge(self, epsilon: float) -> str:
        """What is wrong with this ε as the promise for the case; empty if it is neither too small nor too large.

        Too large means more than 1 % above the exact one (and a billionth, where that is 0).
        """
        if math.isinf(epsilon) and self.delta < 1e-290:
            return ""  # it counts as 0, and only fresh noise promises without exception
        if math.isinf(epsilon):
            # No ε up to ten million holds; within a percent, that must be so.
            at_least = self.exact(1e7 / MOST)
            return "" if at_least is None or at_least > self.delta else "refused"
        here = self.exact(epsilon)
        if here is None:
            return ""
        if here > self.delta * (1 + 1e-12):
            return "too small"
        before = self.exact(epsilon / MOST - 1e-9) if epsilon > 1e-9 else None
        return "" if before is None or before > self.delta else "too large"


@dataclass(frozen=True)
class Case(Judged):
    """A question: the promise of a manifest with one grid at this δ."""

    noise: str
    distance: str
    grid: str
    moved: int
    delta: float

    def manifest(self) -> Manifest:
        """Raises a problem where the protocol does not admit it."""
        tasks = [{"id": str(number), "low": 0, "high": self.grid, "grid": self.grid} for number in range(self.moved)]
        return Manifest.of(
            {
                "campaign": "c", "title": "t", "asked_by": "a", "tasks": tasks, "noise": self.noise,
                "distance": self.distance, "readings": self.moved,
                "unit": "participant" if self.moved > 1 else "reading",
            }
        )  # fmt: skip

    def exact_delta(self, epsilon: float):
        return exact_delta(self.noise, self.distance, self.moved, self.grid, epsilon)


@dataclass(frozen=True)
class MixedCase(Judged):
    """The promise to a participant who answers all of several kinds of tasks.

    Parts are (noise, distance, grid, moved), or (noise, cells, moved) of answers.
    """

    parts: tuple[tuple, ...]
    delta: float

    def manifest(self) -> Manifest:
        """Raises a problem where the protocol does not admit it."""
        tasks: list[dict] = []
        laws = {}
        for noise, *rest in self.parts:
            laws["number" if len(rest) == 3 else "choice"] = noise
            if len(rest) == 3:
                distance, grid, moved = rest
                task = {"kind": "number", "low": 0, "high": grid, "grid": grid, "distance": distance}
            else:
                cells, moved = rest
                task = {"kind": "choice", "choices": [f"c{place}" for place in range(cells)]}
            tasks += [{**task, "id": f"{len(tasks) + number}"} for number in range(moved)]
        return Manifest.of(
            {
                "format": "sottovoce-manifest/2", "campaign": "c", "title": "t", "asked_by": "a", "tasks": tasks,
                "noise": laws if len(laws) > 1 else next(iter(laws.values())), "readings": len(tasks),
                "unit": "participant",
            }
        )  # fmt: skip

    def exact_delta(self, epsilon: float):
        return exact_composed_delta([*self.parts], epsilon)

    def judge(self, epsilon: float) -> str:
        """Where δ is almost that of ε = 0, a change of δ by a ten-thousandth changes ε by more than 1 %."""
        verdict = super().judge(epsilon)
        if verdict != "too large" or (at_zero := self.exact(0.0)) is None:
            return verdict
        return "" if at_zero < 1.02 * self.delta else verdict


@dataclass(frozen=True)
class ChosenCase(MixedCase):
    """The same for a participant who answers some of the tasks, whichever they are."""

    answer: int

    def manifest(self) -> Manifest:
        return Manifest.of(super().manifest().model_dump(exclude_none=True) | {"answer": self.answer})

    def exact_delta(self, epsilon: float):
        """The largest over all ways to choose the tasks."""
        counts = product(*(range(part[-1] + 1) for part in self.parts))
        ways = [
            [(*part[:-1], count) for part, count in zip(self.parts, way, strict=True) if count]
            for way in counts
            if sum(way) == self.answer
        ]
        return max(exact_composed_delta(way, epsilon) for way in ways)


def _decimal(number: float) -> str:
    return f"{Decimal(f'{number:.12g}'):f}"


@st.composite
def usual(draw, kinds=("fresh", "gaussian", "shared", "floored"), most_moved=30):
    """Noise of a few steps to many, distances from one step to many deviations: where figures are finite."""
    grid = draw(st.sampled_from(["1", "0.5", "0.1", "0.003", "0.000001"]))
    deviation = 10 ** draw(st.floats(-1.5, 9))  # in steps
    steps = max(1, round(deviation * 10 ** draw(st.floats(-2, 2))))
    return Case(
        draw(_law(kinds, deviation * float(grid))), _decimal(steps * float(grid)), grid,
        draw(st.sampled_from([1, 1, 2, 3, 7, most_moved])), draw(deltas),
    )  # fmt: skip


@st.composite
def little(draw, kinds=("shared", "floored")):
    """Many readings whose drawn noise is a step wide or less: their sums are no normals."""
    law = draw(_law(kinds, 10 ** draw(st.floats(-1, 0.2))))
    moved = draw(st.sampled_from([10, 100, 1000, 10_000]))
    return Case(law, draw(st.sampled_from(["1", "2"])), "1", moved, draw(st.sampled_from([1e-5, 1e-3, 0.1, 0.5, 0.9])))


@st.composite
def mixed(draw, kinds=("fresh", "gaussian")):
    """Numbers and choices, each part alone worth about as much as the others, or far from it."""
    law = draw(_law(kinds, draw(st.floats(0.5, 20))))
    grids = draw(st.lists(st.sampled_from(["1", "0.5", "0.25"]), min_size=1, max_size=3, unique=True))
    if not law.startswith("fresh"):
        del grids[1:]  # as the protocol has it
    drawn = law.startswith(("shared", "floored"))
    numbers = [
        (
            law,
            draw(st.sampled_from(["0.5", "1", "2", "3"])),
            grid,
            draw(st.sampled_from([1, 2, 3] if drawn else [1, 2, 5])),
        )
        for grid in grids
    ]
    epsilon, size = 10 ** draw(st.floats(-2, 0.7)), draw(st.sampled_from([1, 1, 2]))
    # Answers out of different numbers are told apart only where sets of them are reported.
    cells = draw(st.lists(st.integers(size + 1, 6), min_size=1, max_size=size, unique=True))
    noise = f"response:{epsilon!r}" + (f":{size}" if size > 1 else "")
    questions = [(noise, count, draw(st.sampled_from([1, 2, 6] if drawn else [1, 2, 7]))) for count in cells]
    return MixedCase((*numbers, *questions), draw(deltas))


# Parts that are worth about as much as each other, that are not, that are many or reveal much; and rare exceptions.
MIXED = [
    MixedCase((("gaussian:5.0", "1", "0.5", 4), ("response:0.7", 2, 4)), 1e-5),
    MixedCase((("gaussian:2.0", "1", "1", 3), ("response:0.2", 2, 2), ("response:0.2", 7, 3)), 1e-9),
    MixedCase((("fresh:0.02", "3", "1", 3), ("fresh:0.02", "2", "0.5", 5), ("response:0.3", 4, 10)), 1e-3),
    MixedCase((("fresh:0.5", "1", "1", 1), ("response:3.0:2", 4, 1), ("response:3.0:2", 6, 2)), 0.2),
    MixedCase((("gaussian:0.6", "1", "1", 2), ("response:0.01", 3, 20)), 1e-5),
    MixedCase((("gaussian:4.0", "2", "1", 2), ("response:0.4", 2, 6)), 1e-150),
    MixedCase((("fresh:0.0043864928967503975", "0.9949", "1.75", 2), ("response:1e-307", 2, 9)), 0.03),
    MixedCase((("response:0.1", 2, 30), ("response:0.1", 3, 20), ("response:0.1", 50, 30)), 1e-5),
]


# Kinds of readings that reveal most at different ε, or one of which always does; and shared draws beside them.
CHOSEN = [
    ChosenCase((("gaussian:5.0", "1", "0.5", 6), ("response:0.3", 3, 6)), 1e-5, 6),
    ChosenCase((("gaussian:2.5", "1", "1", 3), ("response:0.5:2", 4, 2), ("response:0.5:2", 6, 3)), 1e-3, 4),
    ChosenCase((("fresh:0.02", "3", "1", 3), ("fresh:0.02", "1", "0.5", 3), ("response:0.4", 2, 3)), 1e-9, 5),
    ChosenCase((("response:0.2:2", 3, 2), ("response:0.2:2", 4, 2), ("response:0.2:2", 7, 5)), 0.01, 4),
    ChosenCase((("gaussian:4.0", "2", "1", 2), ("response:1.0", 2, 4)), 1e-150, 3),
    ChosenCase((("shared:0.0356", "1", "1", 2), ("response:0.2", 7, 2)), 0.1, 3),
    ChosenCase((("floored:9.0:0.1", "2", "1", 2), ("response:1.1", 2, 3)), 1e-5, 2),
    ChosenCase((("gaussian:6.5", "2", "0.5", 2), ("response:3.0:2", 10, 2)), 1e-12, 2),  # the page once refused it
    ChosenCase((("fresh:0.4", "0.5", "1", 2), ("fresh:0.4", "1", "1", 1), ("response:50.0:2", 4, 2)), 0.3, 4),
    ChosenCase((("gaussian:3.0", "2", "1", 1), ("response:1e-06:2", 3, 1), ("response:1e-06:2", 9, 3)), 1e-12, 3),
]


# Many readings under one drawn variance, with noise about a grid step wide, beside a few answers.
LITTLE_NOISE = [
    MixedCase((("shared:0.5", "1", "1", 1000), ("response:1.0", 2, 2)), 0.1),
    MixedCase((("shared:1.0", "1", "1", 100), ("response:2.0", 2, 2)), 0.1),
    MixedCase((("floored:0.05:10.0", "1", "1", 300), ("response:2.0", 2, 3)), 0.3),
]


# Readings that share a draw, and coins that reveal about as much, so that no mix of them is much worse than another:
# rate, ε of a coin, and how many are answered.
ABOUT_EQUAL = [(0.003, 0.0951, 30), (0.0006, 0.05, 100)]


def beside_coins(rate: float, each: float, answered: int) -> ChosenCase:
    """As many numbers under one drawn variance, and as many coins, as are answered in all; at a δ of a tenth."""
    return ChosenCase(((f"shared:{rate}", "1", "0.02", answered), (f"response:{each}", 2, answered)), 0.1, answered)


def beside_normal_noise(law: str) -> Manifest:
    """Four answers out of two choices under this law, and two numbers; a participant gives any three of them."""
    content = ChosenCase((("gaussian:4.0", "2", "1", 2), ("response:1.0", 2, 4)), 1e-100, 3).manifest().model_dump()
    return Manifest.of({**content, "noise": {**content["noise"], "choice": law}})


def beside_many_kinds(noise: str) -> tuple[Manifest, Manifest]:
    """Three numbers beside eighty kinds of questions whose answers reveal almost nothing, and the numbers alone."""
    questions = tuple(("response:1e-09:2", cells, 1) for cells in range(3, 83))
    numbers = MixedCase(((noise, "1", "1", 3),), 1e-5)
    return ChosenCase((*numbers.parts, *questions), 1e-5, 3).manifest(), numbers.manifest()


@st.composite
def extreme(draw, moved=(1, 2, 30, 30, 300)):
    """Anything that can be written down."""
    positive = st.one_of(st.floats(5e-324, 1.7e308), st.floats(-323, 308).map(lambda power: 10.0**power)).filter(bool)
    name = draw(st.sampled_from(["fresh", "gaussian", "shared", "floored"]))
    numbers = [repr(draw(positive)) for _ in range(2 if name == "floored" else 1)]
    grid = _decimal(10 ** draw(st.floats(-15, 15)))
    distance = _decimal(10 ** draw(st.floats(-15, 15)))
    return Case(":".join([name, *numbers]), distance, grid, draw(st.sampled_from(moved)), draw(deltas))


deltas = st.one_of(
    st.sampled_from([1e-5, 1e-9, 1e-3, 0.1, 0.5]), st.floats(-300, -0.31).map(lambda power: 10.0**power)
)  # fmt: skip


@st.composite
def _law(draw, kinds, deviation):
    name, variance = draw(st.sampled_from(kinds)), deviation * deviation
    if name == "gaussian":
        return f"gaussian:{deviation!r}"
    if name == "floored":
        share = draw(st.floats(0.01, 0.99))
        return f"floored:{share * variance!r}:{1 / ((1 - share) * variance)!r}"
    return f"{name}:{1 / variance!r}"


def admitted(case: Case) -> Manifest | None:
    """The case's manifest, if the protocol admits it."""
    try:
        return case.manifest()
    except Problem:
        return None
