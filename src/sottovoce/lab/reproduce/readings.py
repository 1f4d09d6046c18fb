"""How many readings share one variance, and what that does to the promise."""

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict
from sottovoce.lab.reproduce.style import GREY, LINES, law_styles, panel_title, ticks
from sottovoce.lab.reproduce.tables import Table, column, distinct, plain, rounded, where
from sottovoce.privacy.laws import SharedVariance, noise_laws
from sottovoce.privacy.least_noise import law_for

_RATE, _DISTANCE = 0.5, 1.0
_EPSILONS = (0.5, 1.0, 2.0, 4.0)
_PROMISE = (1.0, 1e-5)
_MANY = 10**6  # more than anybody gives


@dataclass(frozen=True)
class ReadingsExperiment(Experiment):
    """True δ of the shared law against n, and the noise that each law needs for one promise."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 3.2)

    def tasks(self, setting: Setting) -> list[Parameters]:
        counts = setting.sized((1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 200, _MANY), (1, 2, 3, 10, 30, _MANY))
        return [{"readings": readings} for readings in counts]

    def run(self, task: Parameters) -> Table:
        readings = task["readings"]
        rows: Table = []
        promise = SharedVariance(_RATE).guarantee(_DISTANCE, readings)
        for epsilon in _EPSILONS:
            rows.append(
                {
                    "quantity": "delta",
                    "line": f"{epsilon:g}",
                    "readings": readings,
                    "exact": promise.delta(epsilon),
                    "as_printed": promise.paper_delta(epsilon),
                }
            )
        for name, law in noise_laws().items():
            found = law_for(law, *_PROMISE, distance=_DISTANCE, readings=readings)
            rows.append({"quantity": "mean_variance", "line": name, "readings": readings, "exact": found.mean_variance,
                         "as_printed": None})  # fmt: skip
        return rows

    def collect(self, rows: Table) -> Table:
        return [rounded(row) for row in rows]

    def draw(self, figure: Any, table: Table) -> None:
        chances, variances = figure.subplots(1, 2)
        for style, line in zip(LINES, distinct(where(table, quantity="delta"), "line"), strict=False):
            points = where(table, quantity="delta", line=line)
            shown = [row for row in points if row["readings"] < _MANY and row["exact"] > 0]
            chances.plot(column(shown, "readings"), column(shown, "exact"), label=f"ε = {line}", **style.options)
            chances.axhline(points[-1]["exact"], color=style.colour, lw=0.8, ls=":")
        for line, style in law_styles().items():
            points = [row for row in where(table, quantity="mean_variance", line=line) if row["readings"] < _MANY]
            variances.plot(column(points, "readings"), column(points, "exact"), label=line, **style.options)
        chances.plot([], [], color=GREY, lw=0.8, ls=":", label="limit, any n")
        for axes in (chances, variances):
            axes.set(xscale="log", yscale="log", xlabel="readings n under one variance")
            ticks(axes, (1, 3, 10, 30, 100))
            axes.minorticks_off()
            axes.set_xlim(0.85, 260)
        chances.set_ylim(1e-4, 1)
        chances.set_ylabel("exact δ")
        variances.set_ylabel("mean noise variance needed")
        panel_title(chances, 0, f"Shared variance, λ2 = {_RATE:g}: δ grows with n")
        panel_title(variances, 1, f"Noise for ε = {_PROMISE[0]:g}, δ = {plain(_PROMISE[1])}")
        chances.legend(loc="lower right", handlelength=2.6)
        variances.legend(loc="center right", handlelength=2.6)

    def note(self, table: Table) -> str:
        return f"promise for one reading that moves by Δ = {_DISTANCE:g}; computed, not simulated"

    def verdict(self, table: Table) -> Verdict:
        delta = where(table, quantity="delta", line="1")
        needed = where(table, quantity="mean_variance", line="shared")
        (few,), (many,) = where(needed, readings=3), where(needed, readings=_MANY)
        constant = {line: where(table, quantity="mean_variance", line=line)[-1]["exact"] for line in noise_laws()}
        printed_safe = all(row["as_printed"] >= row["exact"] for row in where(table, quantity="delta"))
        return Verdict(
            None,
            f"With λ2 = {_RATE:g} and Δ = {_DISTANCE:g}, a single reading is private without exception at ε = 1 "
            f"(δ = {delta[0]['exact']:.2g}); with {delta[2]['readings']} readings under one variance, δ is "
            f"{delta[2]['exact']:.3f}, and in the limit {delta[-1]['exact']:.3f}. The printed Theorem 4.8 "
            f"({delta[0]['as_printed']:.3f}) is {'never below' if printed_safe else 'below'} the exact δ here. For "
            f"ε = {_PROMISE[0]:g}, δ = {plain(_PROMISE[1])}, the shared law needs a mean variance of "
            f"{few['exact']:,.0f} for 3 readings and {many['exact']:,.0f} in the limit; fresh noise needs "
            f"{constant['fresh']:.3g}, Gaussian {constant['gaussian']:.3g} and floored noise "
            f"{constant['floored']:.3g}, for any number of readings.",
        )


EXPERIMENTS = (
    ReadingsExperiment(
        "readings",
        "Readings per user and the true δ",
        "How does the promise change when n readings share one noise variance?",
    ),
)
