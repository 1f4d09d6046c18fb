"""Weights on the floorplan: a user who drew large noise loses weight."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sottovoce.digits import counted
from sottovoce.discovery import CRH, UserLosses
from sottovoce.engines import MemoryEngine
from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, fitted, floorplan_world
from sottovoce.lab.reproduce.style import BLUE, GREY, VERMILION, legend_above, panel_title
from sottovoce.lab.reproduce.tables import Table, column, distinct, rounded, where
from sottovoce.privacy.laws import SharedVariance
from sottovoce.worlds import World

_SHOWN = 7
_LARGE = 2.0
_FOLLOWS = 0.9  # least correlation of estimated with true weights, on original and on perturbed data
_RATE = 0.5  # λ2, per m²: mean |noise| 1 m


@dataclass(frozen=True)
class WeightsExperiment(Experiment):
    """The seven users with the most readings; and over many runs, what noise does to their weights."""

    def tasks(self, setting: Setting) -> list[Parameters]:
        runs, part = setting.chosen("runs", 60, 6), setting.sized(20, 6)
        common = {"seed": setting.seed, **setting.floorplan_parameters()}
        return [{**common, "first": first, "runs": min(part, runs - first)} for first in range(0, runs, part)]

    def run(self, task: Parameters) -> Table:
        rows: Table = []
        for number in range(task["first"], task["first"] + task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            world = floorplan_world(task, rng)
            noisy = world.with_simulated_noise(SharedVariance(_RATE), rng)
            squares = np.bincount(world.claims.users, (noisy.claims.values - world.claims.values) ** 2)
            noise = squares / world.claims.claims_per_user
            before, after = (fitted("crh", one.claims).weights_ for one in (world, noisy))
            true_before, true_after = (true_weights(one) for one in (world, noisy))
            chosen = np.sort(np.argsort(-world.claims.claims_per_user, kind="stable")[:_SHOWN])
            rows += [
                {
                    "run": number,
                    "user": str(world.claims.user_labels[place]),
                    "readings": int(world.claims.claims_per_user[place]),
                    "noise_deviation": float(np.sqrt(noise[place])),
                    "true_before": float(true_before[place]),
                    "estimated_before": float(before[place]),
                    "true_after": float(true_after[place]),
                    "estimated_after": float(after[place]),
                }
                for place in chosen
            ]
        return rows

    def collect(self, rows: Table) -> Table:
        return [rounded(row) for row in rows]

    def draw(self, figure: Any, table: Table) -> None:
        original, perturbed, lost = figure.subplots(1, 3, width_ratios=(1, 1, 1.1))
        shown = where(table, run=table[0]["run"])
        loudest = int(np.argmax(column(shown, "noise_deviation")))
        places = np.arange(1, len(shown) + 1)
        for axes, when in ((original, "before"), (perturbed, "after")):
            axes.plot(places, column(shown, f"true_{when}"), "o", ms=7, mfc="none", color=BLUE, label="true weight")
            axes.plot(places, column(shown, f"estimated_{when}"), "x", ms=5, color=VERMILION, label="estimated weight")
            axes.set(xlabel="user", ylabel="CRH weight", xlim=(0.4, _SHOWN + 0.6))
            axes.set_xticks(places)
        limits = [min(axes.get_ylim()[0] for axes in (original, perturbed)) - 0.7,
                  max(axes.get_ylim()[1] for axes in (original, perturbed))]  # fmt: skip
        for axes in (original, perturbed):
            axes.set_ylim(*limits)
        # Below all points, and away from the edges.
        perturbed.annotate(
            "drew most noise", (places[loudest], shown[loudest]["estimated_after"]),
            (min(max(places[loudest], 2.6), _SHOWN - 1.6), limits[0] + 0.08), ha="center", va="bottom", fontsize=8,
            color="#333333", arrowprops={"arrowstyle": "-", "color": "#888888", "lw": 0.7, "shrinkA": 1, "shrinkB": 4},
        )  # fmt: skip
        loss = column(table, "estimated_after") - column(table, "estimated_before")
        lost.axhline(0, color=GREY, lw=0.8)
        lost.plot(column(table, "noise_deviation"), loss, ".", ms=4, alpha=0.6, color=BLUE, mew=0)
        lost.set(xlabel="noise drawn, deviation (m)", ylabel="weight after − before")
        panel_title(original, 0, "Original data")
        panel_title(perturbed, 1, "Perturbed data")
        panel_title(lost, 2, "Large noise costs weight")
        legend_above(figure, original, 2)

    def note(self, table: Table) -> str:
        runs = len(distinct(table, "run"))
        return (
            f"CRH on the floorplan, the {_SHOWN} users with most readings; noise shared:{_RATE:g} (mean |noise| 1 m); "
            f"(a), (b) one run, (c) {runs} runs; true weights are computed from the true lengths"
        )

    def choices(self, table: Table) -> list[tuple[str, str, str]]:
        return [
            ("users shown", str(_SHOWN), f"{_SHOWN}, those with the most readings"),
            ("λ2", "not given", f"{_RATE:g} per m²: a mean |noise| of 1 m"),
        ]

    def verdict(self, table: Table) -> Verdict:
        lost = []
        agreement: dict[str, list[float]] = {"before": [], "after": []}
        for run in distinct(table, "run"):
            rows = where(table, run=run)
            noise = column(rows, "noise_deviation")
            change = column(rows, "estimated_after") - column(rows, "estimated_before")
            lost += (change < np.median(change))[noise > _LARGE * np.median(noise)].tolist()
            for when, found in agreement.items():
                found.append(_correlation(column(rows, f"true_{when}"), column(rows, f"estimated_{when}")))
        change = column(table, "estimated_after") - column(table, "estimated_before")
        ranks = _correlation(rankdata(column(table, "noise_deviation")), rankdata(change))
        loud = (
            f"{sum(lost)} of the {counted(len(lost), 'user')} who drew noise more than {_LARGE:g} times as large as "
            "the median of the seven lost weight relative to the others"
            if lost
            else f"No user drew noise more than {_LARGE:g} times as large as the median of the seven"
        )
        return Verdict(
            bool(sum(lost) >= 0.9 * len(lost) and min(map(np.mean, agreement.values())) > _FOLLOWS and ranks < -0.5),
            f"{loud} ({len(agreement['after'])} runs); noise and gain in weight have a rank correlation of {ranks:.2f}."
            f" The mean correlation of estimated and true weights is {np.mean(agreement['before']):.3f} on original "
            f"and {np.mean(agreement['after']):.3f} on perturbed data; the threshold is {_FOLLOWS:g}.",
        )


def true_weights(world: World) -> NDArray[np.float64]:
    """CRH's weights at the measured truths instead of the estimated ones."""
    engine = MemoryEngine(world.claims)
    method = CRH()
    spreads = engine.spreads()
    losses = engine.score(method.step(engine, np.where(spreads > 0, spreads, 1.0)), world.truths)
    return method.weigh(UserLosses(losses, engine.claims_per_user))


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.corrcoef(one, other)[0, 1])


EXPERIMENTS = (
    WeightsExperiment(
        "weights",
        "True and estimated weights of seven users",
        "Estimated weights follow the true ones on original and on perturbed data, and a user who drew large noise "
        "loses weight.",
    ),
)
