"""Theorem 4.9: the noise level that privacy requires, and the least error that can then be guaranteed."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, moved_by_noise
from sottovoce.lab.reproduce.style import BLACK, LINES, LineStyle, legend_above, panel_title, spread_ticks, ticks
from sottovoce.lab.reproduce.tables import Table, column, rounded
from sottovoce.planning.paper import TradeOffTheorem
from sottovoce.privacy.laws import SharedVariance
from sottovoce.worlds import synthetic

_ERROR_RATE, _PARTICIPANTS, _OBJECTS, _BETA, _DELTA = 2.0, 150, 30, 0.05, 0.1


@dataclass(frozen=True)
class FrontierFigure(Experiment):
    """Noise level and error where the two bounds meet, against ε; and the error of CRH at that noise level."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 3.0)

    def tasks(self, setting: Setting) -> list[Parameters]:
        epsilons = setting.chosen("epsilons", (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (0.25, 1.0, 4.0))
        runs = setting.chosen("runs", 40, 6)
        return [{"seed": setting.seed, "runs": runs, "epsilon": epsilon} for epsilon in epsilons]

    def run(self, task: Parameters) -> Table:
        trade = TradeOffTheorem(_BETA, _PARTICIPANTS, _ERROR_RATE, task["epsilon"], _DELTA)
        printed, corrected = trade.printed_frontier(), trade.corrected_frontier()
        moved = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            world = synthetic(_PARTICIPANTS, _OBJECTS, error_rate=_ERROR_RATE, seed=rng)
            law = SharedVariance(_ERROR_RATE / corrected.level)
            moved.append(moved_by_noise(world, law, "crh", rng)["moved"])
        return [
            {
                "epsilon": task["epsilon"], "runs": task["runs"], "printed_level": printed.level,
                "printed_alpha": printed.alpha, "corrected_level": corrected.level, "corrected_alpha": corrected.alpha,
                "seen": float(np.quantile(moved, 1 - _BETA)),
            }
        ]  # fmt: skip

    def collect(self, rows: Table) -> Table:
        return [rounded(row) for row in rows]

    def draw(self, figure: Any, table: Table) -> None:
        levels, errors = figure.subplots(1, 2)
        epsilons = column(table, "epsilon")
        for style, way in ((LINES[1], "printed"), (LINES[0], "corrected")):
            levels.plot(epsilons, column(table, f"{way}_level"), label=f"as {way}", **style.options)
            errors.plot(epsilons, column(table, f"{way}_alpha"), **style.options)
        style = LineStyle(BLACK, "x", ":")
        errors.plot(epsilons, column(table, "seen"), **style.options)
        levels.plot([], [], label="CRH, seen at the corrected level", **style.options)
        for axes in (levels, errors):
            axes.set(xscale="log", yscale="log", xlabel="ε")
            spread_ticks(axes, (0.25, 0.5, 1, 2, 4, 8), epsilons.tolist())
        if epsilons.min() >= 0.25 and epsilons.max() <= 8:  # the usual range, for which these ticks are meant
            ticks(levels, (20, 50, 100, 200, 500), "y")
            ticks(errors, (0.3, 1, 3, 10, 30), "y")
        levels.set_ylabel("noise level c = λ1/λ2")
        errors.set_ylabel(f"error α at β = {_BETA:g}")
        panel_title(levels, 0, "What privacy asks for")
        panel_title(errors, 1, "What can then be promised")
        legend_above(figure, levels, 3)

    def note(self, table: Table) -> str:
        return (
            f"λ1 = {_ERROR_RATE:g}, {_PARTICIPANTS} users, δ = {_DELTA:g}, b = 3, η = 0.95; bounds are computed; "
            f"“seen” is the {1 - _BETA:.0%} quantile of the MAE in {table[0]['runs']} runs with {_OBJECTS} objects"
        )

    def verdict(self, table: Table) -> Verdict:
        row = min(table, key=lambda row: abs(np.log(row["epsilon"])))
        return Verdict(
            None,
            f"At ε = {row['epsilon']:g}, the bounds meet at c = {row['corrected_level']:.0f} and α = "
            f"{row['corrected_alpha']:.2g} as corrected, and at c = {row['printed_level']:.0f} and α = "
            f"{row['printed_alpha']:.2g} as printed. At the corrected noise level, the aggregates of CRH move by "
            f"less than {row['seen']:.2g} in {1 - _BETA:.0%} of the runs.",
        )


EXPERIMENTS = (
    FrontierFigure(
        "frontier",
        "Where privacy meets utility (Theorem 4.9)",
        "How small an error can be guaranteed for a given level of privacy?",
    ),
)
