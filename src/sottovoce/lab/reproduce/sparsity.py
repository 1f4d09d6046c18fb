"""Few readings per user: how well methods can then estimate the users' accuracy, and what that gains."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.claims import Claims
from sottovoce.digits import counted
from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, errors_of, mean_error
from sottovoce.lab.reproduce.oracle import noisy_and_oracle
from sottovoce.lab.reproduce.style import ORACLE, label_of, legend_above, panel_title, plot_line, style_of, ticks
from sottovoce.lab.reproduce.tables import Table, distinct, repetitions, summarise, where
from sottovoce.privacy.laws import parse_noise_law
from sottovoce.worlds import World

_OBJECTS, _CLAIMS_PER_OBJECT, _ERROR_RATE = 30, 20, 1.0
_LAWS = ("shared:0.5", "fresh:0.5")
_METHODS = ("noise-aware", "crh", "gtm", "catd", "median")


@dataclass(frozen=True)
class Sparsity(Experiment):
    """Error against readings per user, with the same number of readings per object throughout."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 3.5)

    def tasks(self, setting: Setting) -> list[Parameters]:
        counts = setting.sized((1, 3, 10, 30), (3, 10))  # divisors of the number of objects
        common = {"seed": setting.seed, "runs": setting.chosen("runs", 24, 1)}
        return [{**common, "law": law, "readings": readings} for law in _LAWS for readings in counts]

    def run(self, task: Parameters) -> Table:
        law = parse_noise_law(task["law"])
        given = {name: task[name] for name in ("law", "readings")}
        rows: Table = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            world = sparse_crowd(task["readings"], rng)
            claims, best = noisy_and_oracle(world, law, rng)
            errors = errors_of(("mean", *_METHODS), claims, law, world) | {"oracle": mean_error(best, world.truths)}
            rows += [
                {**given, "method": method, "error": errors[method], "of_the_mean": errors[method] / errors["mean"]}
                for method in errors
            ]
        return rows

    def collect(self, rows: Table) -> Table:
        return summarise(rows, ("law", "method", "readings"), ("error", "of_the_mean"))

    def draw(self, figure: Any, table: Table) -> None:
        panels = figure.subplots(1, 2, sharey=True)
        for number, (axes, law) in enumerate(zip(panels, _LAWS, strict=True)):
            for method in _METHODS:
                line = where(table, law=law, method=method)
                plot_line(axes, line, "readings", "of_the_mean", style_of(method), label_of(method), 0.1)
            oracle = where(table, law=law, method="oracle")
            plot_line(axes, oracle, "readings", "of_the_mean", ORACLE, "oracle")
            axes.axhline(1, color=style_of("mean").colour, lw=1.3, label="mean")
            axes.set(xscale="log", xlabel="readings per user")
            ticks(axes, (1, 3, 10, 30))
            panel_title(axes, number, f"{law.split(':')[0]} variance")
        panels[0].set_ylabel("MAE over that of the mean")
        legend_above(figure, panels[0], 4)

    def note(self, table: Table) -> str:
        return (
            f"{_OBJECTS} objects with {_CLAIMS_PER_OBJECT} readings each, λ1 = {_ERROR_RATE:g}, mean noise variance 2; "
            f"{repetitions(table)}"
        )

    def verdict(self, table: Table) -> Verdict:
        parts = []
        readings = distinct(table, "readings")
        for law in _LAWS:
            ends = []
            for count in (readings[0], readings[-1]):
                points = {row["method"]: row["of_the_mean"] for row in where(table, law=law, readings=count)}
                ends.append(
                    f"with {counted(count, 'reading')} per user: noise-aware {points['noise-aware']:.2f}, "
                    f"CRH {points['crh']:.2f}, GTM "
                    f"{points['gtm']:.2f}, CATD {points['catd']:.2f} (oracle {points['oracle']:.2f})"
                )
            parts.append(f"Under the {law.split(':')[0]} law, {'; '.join(ends)}.")
        return Verdict(None, f"MAE divided by that of the plain mean. {' '.join(parts)}")


def sparse_crowd(readings: int, rng: np.random.Generator) -> World:
    """Users with this many readings each, and the same number of readings for every object.

    All objects in random order, again and again; each user takes the next ones. The number of readings per user divides
    the number of objects, so nobody gets an object twice.
    """
    objects = np.concatenate([rng.permutation(_OBJECTS) for _ in range(_CLAIMS_PER_OBJECT)])
    users = np.arange(len(objects)) // readings
    truths = rng.uniform(0, 10, _OBJECTS)
    variances = rng.exponential(1 / _ERROR_RATE, users[-1] + 1)
    values = truths[objects] + rng.standard_normal(len(objects)) * np.sqrt(variances[users])
    return World(Claims.from_arrays(users, objects, values), truths, variances)


EXPERIMENTS = (
    Sparsity(
        "sparsity",
        "Few readings per user",
        "What is left of each method’s advantage when every user gives only a few readings?",
    ),
)
