"""The two-layer law for answers: what it is claimed to promise, and what it really promises for n answers."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict
from sottovoce.lab.reproduce.style import BLACK, GREY, LINES, panel_title, ticks
from sottovoce.lab.reproduce.tables import Table, column, rounded, where
from sottovoce.privacy.laws import TwoLayer, Unit

_CLAIMED = math.log(3)  # of plain response at the same mean flip probability, ¼
_EPSILON = 1.0  # at which δ is shown
_LINES: tuple[tuple[str, TwoLayer, Unit], ...] = (
    ("Uniform(0, ½), one answer", TwoLayer(), "reading"),
    ("Uniform(0, ½), all answers", TwoLayer(), "participant"),
    ("Beta(1, 3), one answer", TwoLayer(1.0, 3.0), "reading"),
    ("Beta(1, 3), all answers", TwoLayer(1.0, 3.0), "participant"),
)


@dataclass(frozen=True)
class TwoLayers(Experiment):
    """True ε without exception, and true δ at one ε, against the number of answers under one flip probability."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 3.6)

    def tasks(self, setting: Setting) -> list[Parameters]:
        return [{"answers": count} for count in setting.sized((1, 2, 3, 5, 8, 12, 20, 30, 50), (1, 3, 10, 30))]

    def run(self, task: Parameters) -> Table:
        rows = []
        for line, law, unit in _LINES:
            promise = law.guarantee(2, task["answers"], unit)
            rows.append(
                {
                    "line": line,
                    "answers": task["answers"],
                    "claimed_epsilon": _CLAIMED,
                    "epsilon": promise.pure_epsilon,
                    "delta": promise.delta(_EPSILON),
                }
            )
        return rows

    def collect(self, rows: Table) -> Table:
        return [rounded(row) for row in rows]

    def draw(self, figure: Any, table: Table) -> None:
        losses, chances = figure.subplots(1, 2)
        for style, (line, *_) in zip(LINES, _LINES, strict=False):
            points = where(table, line=line)
            losses.plot(column(points, "answers"), column(points, "epsilon"), label=line, **style.options)
            chances.plot(column(points, "answers"), column(points, "delta"), **style.options)
        losses.axhline(_CLAIMED, color=BLACK, lw=1, ls=":", label="claimed, any number")
        chances.axhline(_claimed_delta(), color=BLACK, lw=1, ls=":")
        chances.axhline(1 / (1 + math.exp(_EPSILON)), color=GREY, lw=0.8, ls="--")
        for axes in (losses, chances):
            axes.set(xscale="log", xlabel="answers n under one flip probability")
            ticks(axes, (1, 3, 10, 30))
        losses.set_yscale("log")
        ticks(losses, (1, 2, 5, 10, 20, 50), "y")
        losses.set_ylabel("ε without exception")
        chances.set_ylabel(f"δ at ε = {_EPSILON:g}")
        chances.set_ylim(0, 1)
        panel_title(losses, 0, "The promise at δ = 0")
        panel_title(chances, 1, f"The promise at ε = {_EPSILON:g}")
        handles, labels = losses.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, handlelength=2.8, columnspacing=1.4)

    def note(self, table: Table) -> str:
        return (
            "two choices, mean flip probability ¼, promise for one answer or for all of a participant's; dashed: the "
            "limit for one answer, Uniform(0, ½); computed, not simulated"
        )

    def verdict(self, table: Table) -> Verdict:
        few, *_, many = sorted({row["answers"] for row in table})
        first, last = (
            {row["line"]: row for row in where(table, answers=answers, claimed_epsilon=table[0]["claimed_epsilon"])}
            for answers in (few, many)
        )
        one, everything = _LINES[0][0], _LINES[1][0]
        return Verdict(
            None,
            f"A flip probability that is drawn once, with a mean of ¼, is said to promise as much as plain randomised "
            f"response with ¼: ε = {_CLAIMED:.3f}. With {few} answer it does (ε = {first[one]['epsilon']:.3f}). With "
            f"{many} answers under one uniform flip probability, one answer has ε = {last[one]['epsilon']:.2f}, and "
            f"δ = {last[one]['delta']:.3f} at ε = {_EPSILON:g}; all answers together have ε = "
            f"{last[everything]['epsilon']:.1f}, and δ = {last[everything]['delta']:.3f} at ε = {_EPSILON:g}. Plain "
            f"randomised response keeps ε = {_CLAIMED:.3f} for each answer, however many there are.",
        )


def _claimed_delta() -> float:
    """δ of plain response at the mean flip probability."""
    return 0.75 - math.exp(_EPSILON) * 0.25


EXPERIMENTS = (
    TwoLayers(
        "two-layer",
        "The two-layer law and the number of answers",
        "What is promised if everybody draws one flip probability for all their answers?",
    ),
)
