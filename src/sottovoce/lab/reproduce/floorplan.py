"""The floorplan: how far noise of a given size moves the aggregates, and what it would promise for a stated distance.

The noise rate (λ2) is swept directly, as in the paper. The paper's way from ε to λ2 goes through Δ = γ/λ1, which for
readings that err by metres (λ1 < 1) is larger than the building.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.lab.reproduce.experiment import (
    BASELINES,
    Experiment,
    Parameters,
    Setting,
    Verdict,
    floorplan_world,
    moved_by_noise,
)
from sottovoce.lab.reproduce.style import GREY, LineStyle, label_of, panel_title, plot_line, style_of, ticks
from sottovoce.lab.reproduce.tables import Row, Table, column, repetitions, summarise
from sottovoce.lab.reproduce.trade_off import DELTAS, MEASURES, SLACK, delta_styles, of_a_plain_mean
from sottovoce.planning.paper import printed_distance
from sottovoce.privacy.laws import SharedVariance

NOISES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # mean |noise| in metres
DISTANCE = 1.0  # Δ in metres, for which ε is stated


@dataclass(frozen=True)
class Floorplan(Experiment):
    """Against the mean |noise|: moves of the aggregates, ε for a stated Δ, and the error to the truth."""

    def tasks(self, setting: Setting) -> list[Parameters]:
        common: Parameters = {
            "seed": setting.seed, "runs": setting.chosen("runs", 60, 6),
            "method": setting.chosen("method", "crh"), "deltas": setting.chosen("deltas", DELTAS),
            **setting.floorplan_parameters(),
        }  # fmt: skip
        claims = (world := floorplan_world(common, np.random.default_rng((setting.seed, 0)))).claims
        squares = (claims.values - world.truths[claims.objects]) ** 2
        common |= {
            "error_rate": float(f"{1 / squares.mean():.3g}"),
            "per_object": float(claims.claims_per_object.mean()),
        }
        return [{**common, "wanted": noise} for noise in setting.sized(NOISES, (0.1, 1.0, 5.0))]

    def run(self, task: Parameters) -> Table:
        law = SharedVariance(1 / (2 * task["wanted"] ** 2))  # Laplace noise of this scale, which is its mean size
        given: Row = {name: task[name] for name in ("wanted", "method", "error_rate", "per_object")}
        given |= {"noise_rate": law.rate, "distance": DISTANCE}
        for delta in task["deltas"]:
            loss = -math.log1p(-delta)
            printed = law.rate * DISTANCE**2 / (2 * loss)  # Theorem 4.8, solved for ε
            given |= {f"printed_{delta:g}": printed, f"exact_{delta:g}": max(0.0, printed - loss)}
        rows = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            rows.append({**given, **moved_by_noise(floorplan_world(task, rng), law, task["method"], rng)})
        return rows

    def collect(self, rows: Table) -> Table:
        return summarise(rows, [name for name in rows[0] if name not in MEASURES], MEASURES)

    def draw(self, figure: Any, table: Table) -> None:
        moved, promise, error = figure.subplots(1, 3)
        method = table[0]["method"]
        wanted = column(table, "wanted")
        for axes, measure in ((moved, "moved"), (error, "error_after")):
            plot_line(axes, table, "wanted", measure, style_of(method), label_of(method))
            for name in BASELINES:
                plot_line(axes, table, "wanted", f"{measure}_{name}", style_of(name), label_of(name), 0.08)
        moved.plot(wanted, wanted, color=GREY, lw=1, ls=":", label="the noise itself")
        error.axhline(table[0]["error_before"], color=style_of(method).colour, lw=0.9, ls="--",
                      label=f"{label_of(method)}, no noise")  # fmt: skip
        deltas = [float(name.removeprefix("printed_")) for name in table[0] if name.startswith("printed_")]
        for delta, style in delta_styles(deltas).items():
            promise.plot(wanted, column(table, f"printed_{delta:g}"), label=f"δ = {delta:g}", **style.options)
            exact = column(table, f"exact_{delta:g}")
            shown = exact > 0
            promise.plot(wanted[shown], exact[shown], **LineStyle(style.colour, "", ":").options)
        promise.plot([], [], color=GREY, ls=":", label="exact, any n")
        for axes in (moved, promise, error):
            axes.set(xscale="log", xlabel="mean |noise| (m)")
            ticks(axes, (0.1, 0.5, 1, 2, 5))
        moved.set(yscale="log", ylabel="MAE, original to perturbed (m)")
        promise.set(yscale="log", ylabel=f"ε for Δ = {DISTANCE:g} m")
        error.set_ylabel("MAE to the truth (m)")
        error.set_ylim(0, 1.1 * max(column(table, "error_after_mean_high")))
        for axes, place in ((moved, "lower right"), (promise, "lower left"), (error, "upper left")):
            axes.legend(fontsize=7, handlelength=2.4, loc=place)
        panel_title(moved, 0, "Aggregates move less")
        panel_title(promise, 1, "What it promises")
        panel_title(error, 2, "Error to the truth")

    def note(self, table: Table) -> str:
        row = table[0]
        note = (
            f"{row['method'].upper()}, {row['per_object']:.1f} readings per hallway; λ2 swept, Δ = {DISTANCE:g} m; "
            f"{repetitions(table)}"
        )
        if row["error_rate"] < 1:
            distance = printed_distance(row["error_rate"])
            note += (
                f". Warning: these readings have λ1 = {row['error_rate']:g}/m², below 1, so the paper's Δ = γ/λ1 would "
                f"be {distance:,.0f} m and means nothing here"
            )
        return note

    def choices(self, table: Table) -> list[tuple[str, str, str]]:
        return [
            ("data", "247 users, 129 hallway segments", "the same numbers"),
            ("noise", "varied", "λ2 so that the mean |noise| is 0.1 to 5 m"),
            ("Δ for ε", "not given", f"{DISTANCE:g} m"),
            ("δ", "not given", ", ".join(name.removeprefix("printed_") for name in table[0] if "printed_" in name)),
        ]

    def verdict(self, table: Table) -> Verdict:
        line = sorted(table, key=lambda row: row["noise"])
        rises = bool((np.diff(column(line, "moved")) > 0).all())
        share = (line[-1]["moved"] - line[0]["moved"]) / (line[-1]["noise"] - line[0]["noise"])
        plain = of_a_plain_mean(line[0]["per_object"])
        last = line[-1]
        return Verdict(
            bool(rises and 0 < share < SLACK * plain),
            f"As the noise grows, the MAE between original and perturbed aggregates "
            f"{'rises' if rises else 'does not rise'} throughout, by {share:.0%} of the growth of the mean |noise|; a "
            f"plain mean of as few readings would move by {plain:.0%}. At a mean |noise| of {last['noise']:.1f} m, the "
            f"MAE is {last['moved']:.2f} m (mean {last['moved_mean']:.2f}, median {last['moved_median']:.2f}). The "
            f"error to the truth is {last['error_before']:.2f} m without noise (mean {last['error_before_mean']:.2f}, "
            f"median {last['error_before_median']:.2f}) and {last['error_after']:.2f} m with it.",
        )


EXPERIMENTS = (
    Floorplan(
        "floorplan",
        "Trade-off on the indoor floorplan",
        "On the floorplan data, too, the aggregates move less than the noise, and only slowly as it grows.",
    ),
)
