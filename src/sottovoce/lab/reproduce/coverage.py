"""Do 95% intervals contain the truth in 95% of the cases?"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, fitted, floorplan_world
from sottovoce.lab.reproduce.style import BLACK, label_of, legend_above, style_of, ticks
from sottovoce.lab.reproduce.tables import Table, column, distinct, repetitions, summarise, where
from sottovoce.privacy.laws import parse_noise_law
from sottovoce.worlds import careful_floorplan, synthetic

_METHODS = ("noise-aware", "crh", "gtm", "catd", "mean")
_LEVEL = 0.95
_GOLD = 12  # hallways measured with a tape, whose ratio of truth to estimate corrects the others
# Name → users, objects, fill, noise law; None users: a floorplan.
_SITUATIONS: dict[str, tuple[int | None, int, float, str | None]] = {
    "no noise": (150, 30, 1.0, None),
    "shared noise": (150, 30, 1.0, "shared:0.5"),
    "fresh noise": (150, 30, 1.0, "fresh:0.5"),
    "shared, 5 readings per user": (150, 5, 1.0, "shared:0.5"),
    "fresh, a fifth of all readings": (150, 30, 0.2, "fresh:0.5"),
    "careful floorplan, fresh noise": (None, 129, 1.0, "fresh:0.5"),
    "floorplan, fresh noise": (None, 129, 1.0, "fresh:0.5"),
    f"the same with {_GOLD} gold hallways": (None, 129, 1.0, "fresh:0.5"),
}


@dataclass(frozen=True)
class Coverage(Experiment):
    """Share of truths within their interval, for each method in several situations."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 3.4)

    def tasks(self, setting: Setting) -> list[Parameters]:
        runs, part = setting.chosen("runs", 16, 1), 4
        return [
            {
                "seed": setting.seed,
                "situation": situation,
                "first": first,
                "runs": min(part, runs - first),
                **setting.floorplan_parameters(),
            }
            for situation in list(_SITUATIONS)[:: setting.sized(1, 2)]
            for first in range(0, runs, part)
        ]

    def run(self, task: Parameters) -> Table:
        users, objects, fill, noise = _SITUATIONS[task["situation"]]
        law = parse_noise_law(noise) if noise else None
        rows = []
        for number in range(task["first"], task["first"] + task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            world = (
                synthetic(users, objects, error_rate=1.0, fill=fill, seed=rng)
                if users
                else careful_floorplan(rng)
                if task["situation"].startswith("careful")
                else floorplan_world(task, rng)
            )
            claims = world.with_simulated_noise(law, rng).claims if law else world.claims
            for method in _METHODS:
                fit = fitted(method, claims, law)
                low, high = fit.intervals(_LEVEL)
                judged = np.ones(len(low), bool)
                if "gold" in task["situation"]:
                    gold = rng.permutation(len(low))[:_GOLD]
                    factor = float(np.median(world.truths[gold] / fit.truths_[gold]))
                    low, high = low * factor, high * factor
                    judged[gold] = False
                inside = float(((low <= world.truths) & (world.truths <= high))[judged].mean())
                width = float(np.median(high - low))
                rows.append({"situation": task["situation"], "method": method, "coverage": inside, "width": width})
        return rows

    def collect(self, rows: Table) -> Table:
        table = summarise(rows, ("situation", "method"), ("coverage", "width"))
        return [{**row, "coverage_high": min(1.0, row["coverage_high"])} for row in table]

    def draw(self, figure: Any, table: Table) -> None:
        coverage, width = figure.subplots(1, 2, sharey=True, width_ratios=(1.5, 1))
        situations = distinct(table, "situation")
        coverage.axvline(_LEVEL, color=BLACK, lw=1, ls="--")
        for number, method in enumerate(_METHODS):
            points = where(table, method=method)
            style = style_of(method)
            places = np.arange(len(situations)) + (number - (len(_METHODS) - 1) / 2) * 0.15
            for axes, measure in ((coverage, "coverage"), (width, "width")):
                middle = column(points, measure)
                ends = (middle - column(points, f"{measure}_low"), column(points, f"{measure}_high") - middle)
                axes.errorbar(middle, places, xerr=ends, fmt=style.marker, color=style.colour, ms=4, elinewidth=1,
                              label=label_of(method))  # fmt: skip
        coverage.set_yticks(range(len(situations)), situations)
        coverage.invert_yaxis()
        coverage.set_xlim(max(0.0, min(column(table, "coverage")) - 0.05), 1.005)
        coverage.set(xlabel=f"share of truths within their {_LEVEL:.0%} interval", title="Coverage")
        width.set(xlabel="median width of intervals", title="Width", xscale="log")
        ticks(width, (0.1, 0.3, 1, 3, 10))
        for axes in (coverage, width):
            axes.grid(axis="y", visible=False)
        legend_above(figure, coverage, 5)

    def note(self, table: Table) -> str:
        return (
            f"150 users × 30 objects, λ1 = 1, mean noise variance 2, unless said otherwise; "
            "no interval accounts for a bias that all walkers share, but gold hallways reveal it; "
            f"{repetitions(table).replace('bands', 'bars')}"
        )

    def verdict(self, table: Table) -> Verdict:
        parts = []
        for method in ("noise-aware", "crh"):
            points = where(table, method=method)
            worst = min(points, key=lambda row: row["coverage"])
            parts.append(
                f"{_LEVEL:.0%} intervals of {label_of(method)} contain {min(column(points, 'coverage')):.1%} to "
                f"{max(column(points, 'coverage')):.1%} of the truths (fewest in “{worst['situation']}”)"
            )
        widths = [
            (where(table, method="crh", situation=situation)[0]["width"] / row["width"], situation)
            for situation in distinct(table, "situation")
            for row in where(table, method="noise-aware", situation=situation)
        ]
        most = max(widths)
        return Verdict(
            None,
            f"{'; '.join(parts)}. The intervals of CRH are up to {most[0]:.2f} times as wide as those of noise-aware "
            f"(in “{most[1]}”).",
        )


EXPERIMENTS = (
    Coverage("coverage", "Coverage of intervals", "Do 95% intervals contain the truth as often as they should?"),
)
