"""Equal exact guarantee: the error of each noise law and each method under the same promise."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, errors_of, mean_error
from sottovoce.lab.reproduce.oracle import noisy_and_oracle
from sottovoce.lab.reproduce.style import ORACLE, label_of, legend_above, plot_line, spread_ticks, style_of
from sottovoce.lab.reproduce.tables import Table, distinct, plain, repetitions, summarise, where
from sottovoce.privacy.laws import noise_laws
from sottovoce.privacy.least_noise import law_for
from sottovoce.worlds import synthetic

PARTICIPANTS, READINGS, ERROR_RATE, DISTANCE = 150, 30, 2.0, 1.0
_METHODS = ("noise-aware", "crh", "gtm", "catd", "mean", "median")


@dataclass(frozen=True)
class Guarantees(Experiment):
    """Error of each law × method against the truth, at the same (ε, δ) for a reading, and the oracle's."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 4.9)

    def tasks(self, setting: Setting) -> list[Parameters]:
        epsilons = setting.chosen("epsilons", (0.25, 1.0, 2.0, 5.0), (1.0, 4.0))
        return [
            {
                "seed": setting.seed,
                "runs": setting.chosen("runs", 24, 1),
                "law": law,
                "delta": delta,
                "epsilon": epsilon,
            }
            for delta in setting.chosen("deltas", (1e-5, 0.1), (1e-5,))
            for law in noise_laws()
            for epsilon in epsilons
        ]

    def run(self, task: Parameters) -> Table:
        law = law_for(noise_laws()[task["law"]], task["epsilon"], task["delta"], distance=DISTANCE, readings=READINGS)
        given = {name: task[name] for name in ("delta", "law", "epsilon")} | {"mean_variance": law.mean_variance}
        rows: Table = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            world = synthetic(PARTICIPANTS, READINGS, error_rate=ERROR_RATE, seed=rng)
            claims, best = noisy_and_oracle(world, law, rng)
            errors = errors_of(_METHODS, claims, law, world) | {"oracle": mean_error(best, world.truths)}
            rows += [{**given, "method": method, "error": error} for method, error in errors.items()]
        return rows

    def collect(self, rows: Table) -> Table:
        return summarise(rows, ("delta", "law", "method", "epsilon", "mean_variance"), ("error",))

    def draw(self, figure: Any, table: Table) -> None:
        deltas = distinct(table, "delta")
        panels = figure.subplots(len(deltas), len(noise_laws()), sharex=True, sharey="row", squeeze=False)
        for row, delta in zip(panels, deltas, strict=True):
            for axes, law in zip(row, noise_laws(), strict=True):
                for method in _METHODS:
                    line = where(table, delta=delta, law=law, method=method)
                    plot_line(axes, line, "epsilon", "error", style_of(method), label_of(method), 0.08)
                oracle = where(table, delta=delta, law=law, method="oracle")
                plot_line(axes, oracle, "epsilon", "error", ORACLE, "oracle")
                axes.set(xscale="log", yscale="log")
                axes.minorticks_off()
                spread_ticks(axes, (0.25, 1, 2, 5), distinct(table, "epsilon"))
                if axes in panels[0]:
                    axes.set_title(noise_laws()[law].label, fontsize=9)
                if axes in panels[-1]:
                    axes.set_xlabel("exact ε")
            row[0].set_ylabel(f"δ = {plain(delta)}\nMAE to the truth")
        legend_above(figure, panels[0][0], 4)

    def note(self, table: Table) -> str:
        return (
            f"{PARTICIPANTS} users × {READINGS} readings, λ1 = {ERROR_RATE:g}, per reading, Δ = {DISTANCE:g}; "
            f"{repetitions(table)}; the oracle knows every variance"
        )

    def verdict(self, table: Table) -> Verdict:
        parts = []
        epsilon = min(distinct(table, "epsilon"), key=lambda epsilon: abs(math.log(epsilon)))
        for delta in distinct(table, "delta"):
            point = where(table, delta=delta, epsilon=epsilon)
            (paper,), (ours,), (fresh_oracle,) = (
                where(point, law="shared", method="crh"),
                where(point, law="fresh", method="noise-aware"),
                where(point, law="fresh", method="oracle"),
            )
            (papers_oracle,) = where(point, law="shared", method="oracle")
            best = min((row for row in point if row["method"] != "oracle"), key=lambda row: row["error"])
            parts.append(
                f"At ε = {epsilon:g}, δ = {plain(delta)}, the error is {paper['error']:.3g} for the paper’s law with "
                f"CRH (oracle: {papers_oracle['error']:.2g}) and {ours['error']:.3f} for fresh noise with the "
                f"noise-aware method (oracle: {fresh_oracle['error']:.3f}): a factor of "
                f"{paper['error'] / ours['error']:.3g}. The smallest error is that of {best['law']} noise with "
                f"{label_of(best['method'])}, {best['error']:.3f}."
            )
        return Verdict(None, " ".join(parts))


EXPERIMENTS = (
    Guarantees(
        "guarantees",
        "Error at equal exact guarantee",
        "Which noise law and which method lose the least accuracy for the same exact promise?",
    ),
)
