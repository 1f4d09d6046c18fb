"""Equal exact guarantee: what each noise law and each method make of the same promise."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, errors_of
from sottovoce.lab.reproduce.style import ORACLE, label_of, legend_above, look_of, plot_line, spread_ticks
from sottovoce.lab.reproduce.tables import Table, distinct, plain, repetitions, summarise, where
from sottovoce.privacy.laws import NoiseLaw, noise_laws
from sottovoce.privacy.least_noise import law_for
from sottovoce.worlds import synthetic

PARTICIPANTS, READINGS, ERROR_RATE, DISTANCE = 150, 30, 2.0, 1.0
_METHODS = ("noise-aware", "crh", "gtm", "catd", "mean", "median")
_ORACLE_DRAWS = 400


@dataclass(frozen=True)
class Guarantees(Experiment):
    """Error against the truth of each law × method at the same (ε, δ) for a reading, and the oracle's floor."""

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
            claims = world.with_simulated_noise(law, rng).claims
            errors = errors_of(_METHODS, claims, law, world)
            rows += [{**given, "method": method, "error": error} for method, error in errors.items()]
        floor = oracle_error(law, ERROR_RATE, PARTICIPANTS, np.random.default_rng(task["seed"]))
        return [*rows, {**given, "method": "oracle", "error": floor}]

    def collect(self, rows: Table) -> Table:
        return summarise(rows, ("delta", "law", "method", "epsilon", "mean_variance"), ("error",))

    def draw(self, figure: Any, table: Table) -> None:
        deltas = distinct(table, "delta")
        panels = figure.subplots(len(deltas), len(noise_laws()), sharex=True, sharey=True, squeeze=False)
        for row, delta in zip(panels, deltas, strict=True):
            for axes, law in zip(row, noise_laws(), strict=True):
                for method in _METHODS:
                    line = where(table, delta=delta, law=law, method=method)
                    plot_line(axes, line, "epsilon", "error", look_of(method), label_of(method), 0.08)
                oracle = where(table, delta=delta, law=law, method="oracle")
                plot_line(axes, oracle, "epsilon", "error", ORACLE, "oracle")
                axes.set(xscale="log", yscale="log")
                axes.minorticks_off()
                spread_ticks(axes, (0.25, 1, 4, 5), distinct(table, "epsilon"))
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
            (paper,), (ours,), (floor,) = (
                where(point, law="shared", method="crh"),
                where(point, law="fresh", method="noise-aware"),
                where(point, law="fresh", method="oracle"),
            )
            (shared_floor,) = where(point, law="shared", method="oracle")
            best = min((row for row in point if row["method"] != "oracle"), key=lambda row: row["error"])
            parts.append(
                f"At ε = {epsilon:g}, δ = {plain(delta)} the paper’s law with CRH errs by {paper['error']:.3g} (its "
                f"oracle by {shared_floor['error']:.2g}), fresh noise with the noise-aware method by "
                f"{ours['error']:.3f} (its oracle by {floor['error']:.3f}): {paper['error'] / ours['error']:.3g} "
                f"times less. Best of all is {best['law']} noise with {label_of(best['method'])}, {best['error']:.3f}."
            )
        return Verdict(None, " ".join(parts))


def oracle_error(law: NoiseLaw, error_rate: float, participants: int, rng: np.random.Generator) -> float:
    """Mean absolute error of one who knows every user's error variance and drawn noise variance.

    Given the variances the best estimate is normal with variance 1/Σ(1/variance): its mean error is in closed form,
    averaged over draws of the crowd. Where nobody can know a reading's own variance, the Fisher information of error
    and noise together stands in its place.
    """
    own = rng.exponential(1 / error_rate, (_ORACLE_DRAWS, participants))
    noise = law.known_variances(own.shape, rng)
    if noise is not None:
        precision = 1 / (own + noise)
    else:
        nodes, information = _information(law, error_rate)
        precision = np.exp(np.interp(np.log(own), nodes, information))
    return float(np.sqrt(2 / math.pi / precision.sum(axis=1)).mean())


@cache
def _information(law: NoiseLaw, error_rate: float) -> tuple[Any, Any]:
    nodes = np.linspace(math.log(1e-7 / error_rate), math.log(30 / error_rate), 60)
    return nodes, np.log(law.information(np.exp(nodes)))


EXPERIMENTS = (
    Guarantees(
        "guarantees",
        "Error at equal exact guarantee",
        "Which noise law and which method lose least for the same exact promise?",
    ),
)
