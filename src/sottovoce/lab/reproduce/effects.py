"""How the crowd's quality (λ1) and size (S) affect noise and aggregates, at the paper's ε."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sottovoce.lab.reproduce.experiment import BASELINES, Experiment, Parameters, Setting, Verdict, moved_by_noise
from sottovoce.lab.reproduce.style import (
    GREY,
    LineStyle,
    label_of,
    legend_above,
    panel_title,
    plot_line,
    spread_ticks,
    style_of,
)
from sottovoce.lab.reproduce.tables import Table, column, distinct, repetitions, summarise, where
from sottovoce.lab.reproduce.trade_off import DELTAS, ERROR_RATE, ETA, MEASURES, OBJECTS, PARTICIPANTS, B, delta_styles
from sottovoce.planning.paper import corrected_distance, printed_distance, printed_rate
from sottovoce.privacy.laws import SharedVariance
from sottovoce.worlds import synthetic

EPSILON = 1.0
_KEYS = ("distance", "delta", "error_rate", "participants", "objects", "method", "b", "eta")
_CORRECTED = LineStyle(GREY, "x", (0, (1, 1.5)))


@dataclass(frozen=True)
class Effect(Experiment):
    """One line per δ, at ε = 1; for the quality also one with the corrected distance."""

    of: Literal["error_rate", "participants"]

    def tasks(self, setting: Setting) -> list[Parameters]:
        common = {"seed": setting.seed, "runs": setting.chosen("runs", 40, 6),
                  "objects": setting.chosen("objects", OBJECTS), "method": setting.chosen("method", "crh"),
                  "b": setting.chosen("b", B), "eta": setting.chosen("eta", ETA), "distance": "printed"}  # fmt: skip
        if self.of == "error_rate":
            common["participants"] = setting.one("participants", PARTICIPANTS)
            values = setting.axis("error_rates", (2.0, 3.0, 5.0, 8.0, 12.0, 20.0), (2.0, 5.0, 20.0))
        else:
            common["error_rate"] = setting.one("error_rates", ERROR_RATE)
            values = setting.axis("participants", (50, 100, 150, 250, 400, 600), (50, 150, 400))
        deltas = setting.chosen("deltas", DELTAS)
        tasks = [{**common, self.of: value, "delta": delta} for delta in deltas for value in values]
        if self.of == "error_rate":
            tasks += [{**common, self.of: value, "delta": deltas[0], "distance": "corrected"} for value in values]
        return tasks

    def run(self, task: Parameters) -> Table:
        distance_of = printed_distance if task["distance"] == "printed" else corrected_distance
        distance = distance_of(task["error_rate"], task["b"], task["eta"])
        law = SharedVariance(printed_rate(EPSILON, task["delta"], distance))
        rows = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            world = synthetic(task["participants"], task["objects"], error_rate=task["error_rate"], seed=rng)
            given = {name: task[name] for name in _KEYS}
            rows.append({**given, **moved_by_noise(world, law, task["method"], rng)})
        return rows

    def collect(self, rows: Table) -> Table:
        return summarise(rows, _KEYS, MEASURES)

    def draw(self, figure: Any, table: Table) -> None:
        panels = figure.subplots(1, 3)
        for axes, measure in zip(panels, ("moved", "noise", "error_after"), strict=True):
            styles = delta_styles(distinct(table, "delta"))
            for delta, style in styles.items():
                line = where(table, distance="printed", delta=delta)
                plot_line(axes, line, self.of, measure, style, f"δ = {delta:g}")
            least = next(iter(styles))
            first = where(table, distance="printed", delta=least)
            for name in BASELINES if measure != "noise" else ():
                axes.plot(column(first, self.of), column(first, f"{measure}_{name}"), color=style_of(name).colour, lw=1,
                          ls="-.", label=f"{label_of(name)}, δ = {least:g}")  # fmt: skip
            corrected = where(table, distance="corrected")
            if corrected:
                plot_line(axes, corrected, self.of, measure, _CORRECTED, f"δ = {least:g}, Δ as corrected, γ/√λ1")
            axes.set(xscale="log", ylim=(0, None))
            axes.set_xlabel("quality of readings λ1" if self.of == "error_rate" else "users S")
            usual = (2, 5, 10, 20) if self.of == "error_rate" else (50, 150, 400, 600)
            spread_ticks(axes, usual, distinct(table, self.of))
        for number, (axes, title, label) in enumerate(
            zip(
                panels,
                ("Aggregates move less", "Noise on readings", "Error to the truth"),
                ("MAE, original to perturbed", "mean |noise|", "MAE to the truth"),
                strict=True,
            )
        ):
            panel_title(axes, number, title)
            axes.set_ylabel(label)
        legend_above(figure, panels[0], 3)

    def note(self, table: Table) -> str:
        row = table[0]
        fixed = f"{row['participants']} users" if self.of == "error_rate" else f"λ1 = {row['error_rate']:g}"
        return (
            f"{row['method'].upper()}, {row['objects']} objects, {fixed}, truths in 0–10; ε = {EPSILON:g} by Theorem "
            f"4.8, b = {row['b']:g}, η = {row['eta']:g}, Δ = γ/λ1; {repetitions(table)}"
        )

    def choices(self, table: Table) -> list[tuple[str, str, str]]:
        row = table[0]
        swept = ", ".join(f"{value:g}" for value in distinct(table, self.of))
        users = swept if self.of == "participants" else str(row["participants"])
        return [
            ("objects", "30", str(row["objects"])),
            ("users", "varied" if self.of == "participants" else "150", users),
            ("λ1", "varied" if self.of == "error_rate" else "not given", swept if self.of == "error_rate" else
             f"{row['error_rate']:g}"),
            ("ε", "not given", f"{EPSILON:g}"),
            ("b, η", "not given", f"{row['b']:g}, {row['eta']:g}"),
            ("δ", "not given", ", ".join(f"{delta:g}" for delta in distinct(table, "delta"))),
        ]  # fmt: skip

    def verdict(self, table: Table) -> Verdict:
        noise_falls, noise_flat, moved_falls = [], [], []
        for delta in distinct(table, "delta"):
            line = where(table, distance="printed", delta=delta)
            noise = column(line, "noise")
            noise_falls.append(all(np.diff(noise) < 0))
            noise_flat.append(float(np.ptp(noise) / noise.mean()))
            moved_falls.append(all(np.diff(column(line, "moved")) < 0))
        line = where(table, distance="printed", delta=table[0]["delta"])
        first, last = line[0], line[-1]
        falls = "falls" if all(moved_falls) else "does not fall throughout,"
        path = f"MAE {falls} from {first['moved']:.3f} to {last['moved']:.3f}"
        if self.of == "participants":
            slope = math.log(first["moved"] / last["moved"]) / math.log(last["participants"] / first["participants"])
            flat = max(noise_flat) < 0.05
            return Verdict(
                flat and all(moved_falls),
                f"From {first['participants']} to {last['participants']} users, the mean |noise| varies by at most "
                f"{max(noise_flat):.1%}, and the {path} (δ = {first['delta']:g}), in proportion to "
                f"S to the power {f'{-slope:.2f}'.replace('-', '−')}.",
            )
        corrected = where(table, distance="corrected")
        return Verdict(
            all(noise_falls) and all(moved_falls),
            f"From λ1 = {first['error_rate']:g} to {last['error_rate']:g}, the mean |noise| for ε = {EPSILON:g}, δ = "
            f"{first['delta']:g} {'falls' if all(noise_falls) else 'does not fall throughout,'} from "
            f"{first['noise']:.2f} to {last['noise']:.2f}, and the {path}. With the distance as corrected "
            f"(γ/√λ1), both fall less: noise to "
            f"{corrected[-1]['noise']:.2f}, MAE to {corrected[-1]['moved']:.3f}.",
        )


EXPERIMENTS = (
    Effect(
        "effect-of-quality",
        "Effect of the crowd's quality λ1",
        "The better the readings (larger λ1), the less noise the same ε requires, and the less the aggregates move.",
        "error_rate",
    ),
    Effect(
        "effect-of-crowd",
        "Effect of the number of users S",
        "The noise does not depend on the number of users, while the MAE falls as that number grows.",
        "participants",
    ),
)
