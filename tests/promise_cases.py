"""Manifests from the whole space that the protocol admits, for tests of what they promise; used by the bench, too."""

import math
from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from promise_reference import TooLarge, exact_delta
from sottovoce.protocol import Manifest, Problem

MOST = 1.01  # a certified ε is at most this many times the exact one


@dataclass(frozen=True)
class Case:
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

    def exact(self, epsilon: float):
        """δ at ε by the reference, or None where that would take too long."""
        try:
            return exact_delta(self.noise, self.distance, self.moved, self.grid, epsilon)
        except TooLarge:
            return None

    def judge(self, epsilon: float) -> str:
        """What is wrong with this ε as the case's promise; nothing if it is neither too small nor too large.

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
