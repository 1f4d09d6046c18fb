"""Colluding users who agree on a lie, and how far they mislead each method."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, errors_of
from sottovoce.lab.reproduce.style import label_of, legend_above, panel_title, plot_line, style_of
from sottovoce.lab.reproduce.tables import Table, column, distinct, repetitions, summarise, where
from sottovoce.privacy.laws import parse_noise_law
from sottovoce.worlds import synthetic, with_colluders

_PARTICIPANTS, _OBJECTS, _ERROR_RATE = 150, 30, 2.0
_OFFSET = 2.0  # deviations of the noise
_LAWS = ("shared:0.5", "fresh:0.5")
_METHODS = ("noise-aware", "crh", "gtm", "catd", "mean", "median")


@dataclass(frozen=True)
class Attackers(Experiment):
    """Error against the share of colluders, who add the law's noise to their lie or send it bare."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 5.0)

    def tasks(self, setting: Setting) -> list[Parameters]:
        fractions = setting.sized((0.0, 0.1, 0.2, 0.3, 0.4), (0.0, 0.4))
        common = {"seed": setting.seed, "runs": setting.chosen("runs", 6, 1)}
        return [
            {**common, "law": law, "own_noise": own_noise, "fraction": fraction}
            for law in setting.sized(_LAWS, _LAWS[1:])
            for own_noise in (True, False)
            for fraction in fractions
        ]

    def run(self, task: Parameters) -> Table:
        law = parse_noise_law(task["law"])
        given = {name: task[name] for name in ("law", "own_noise", "fraction")}
        rows: Table = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            world = synthetic(_PARTICIPANTS, _OBJECTS, error_rate=_ERROR_RATE, seed=rng)
            claims = with_colluders(world, task["fraction"], _OFFSET, law, task["own_noise"], rng).claims
            errors = errors_of(_METHODS, claims, law, world)
            rows += [{**given, "method": method, "error": error} for method, error in errors.items()]
        return rows

    def collect(self, rows: Table) -> Table:
        return summarise(rows, ("law", "own_noise", "method", "fraction"), ("error",))

    def draw(self, figure: Any, table: Table) -> None:
        laws = distinct(table, "law")
        panels = figure.subplots(len(laws), 2, sharex=True, sharey=True, squeeze=False)
        places = [(law, own_noise) for law in laws for own_noise in (True, False)]
        for number, (axes, (law, own_noise)) in enumerate(zip(panels.flat, places, strict=True)):
            for method in _METHODS:
                line = [
                    {**row, "percent": 100 * row["fraction"]}
                    for row in where(table, law=law, own_noise=own_noise, method=method)
                ]
                plot_line(axes, line, "percent", "error", style_of(method), label_of(method), 0.1)
            lie = "lie with noise" if own_noise else "bare lie"
            panel_title(axes, number, f"{law.split(':')[0]} law, {lie}")
        panels[0][0].set_ylim(0, 1.15 * max(column(table, "error")))
        panels[0][0].set_xticks([0, 10, 20, 30, 40])
        for axes in panels[:, 0]:
            axes.set_ylabel("MAE to the truth")
        for axes in panels[-1]:
            axes.set_xlabel("colluding users (%)")
        legend_above(figure, panels[0][0], 6)

    def note(self, table: Table) -> str:
        return (
            f"{_PARTICIPANTS} users × {_OBJECTS} objects, λ1 = {_ERROR_RATE:g}, mean noise variance 2; the lie is "
            f"{_OFFSET:g} noise deviations from the truth; {repetitions(table)}"
        )

    def verdict(self, table: Table) -> Verdict:
        parts = []
        for law in distinct(table, "law"):
            for own_noise in (True, False):
                most = max(distinct(table, "fraction"))
                points = {
                    row["method"]: row["error"] for row in where(table, law=law, own_noise=own_noise, fraction=most)
                }
                best, worst = min(points, key=points.__getitem__), max(points, key=points.__getitem__)
                parts.append(
                    f"{law.split(':')[0]} law, {'lie with noise' if own_noise else 'bare lie'}: best {label_of(best)} "
                    f"({points[best]:.2f}), worst {label_of(worst)} ({points[worst]:.2f}), noise-aware "
                    f"{points['noise-aware']:.2f}"
                )
        lie = _OFFSET * parse_noise_law(_LAWS[0]).mean_variance ** 0.5
        return Verdict(
            None,
            f"If {most:.0%} of the users report a value that is {lie:.2f} off, the MAE is: {'; '.join(parts)}.",
        )


EXPERIMENTS = (
    Attackers(
        "attackers",
        "Colluding users",
        "How far do 0 to 40% of the users move the truths if they agree on a lie?",
    ),
)
