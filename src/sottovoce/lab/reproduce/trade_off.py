"""Noise, and how far it moves the aggregates, against ε: synthetic crowd with CRH and GTM, and the floorplan."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sottovoce.lab.reproduce.experiment import (
    Experiment,
    Parameters,
    Setting,
    Verdict,
    floorplan_world,
    moved_by_noise,
)
from sottovoce.lab.reproduce.style import GREY, LINES, Look, legend_above, panel_title, plot_line, ticks
from sottovoce.lab.reproduce.tables import Table, column, distinct, repetitions, summarise, where
from sottovoce.planning.paper import printed_distance, printed_rate
from sottovoce.privacy.laws import SharedVariance
from sottovoce.privacy.least_noise import law_for
from sottovoce.worlds import synthetic

DELTAS: tuple[float, ...] = (0.1, 0.2, 0.4)
ERROR_RATE = 10.0  # λ1: with the paper's Δ_s the mean |noise| is then near 1 around ε = 1
PARTICIPANTS, OBJECTS = 150, 30
B, ETA = 3.0, 0.95
MEASURES = ("noise", "moved", "error_before", "error_after")
# Aggregates that move by less than this share of what the noise grows are said to move slowly.
SLOWLY = {"synthetic": 0.2, "floorplan": 0.5}


@dataclass(frozen=True)
class TradeOff(Experiment):
    """One line per δ; ε by the printed theorem, or the exact one for as many readings as a user gives."""

    method: Literal["crh", "gtm"]
    crowd: Literal["synthetic", "floorplan"]
    exact: bool

    def tasks(self, setting: Setting) -> list[Parameters]:
        common: Parameters = {"seed": setting.seed, "runs": setting.sized(60, 6)}
        if self.crowd == "floorplan":
            common |= setting.floorplan_parameters()
            claims = (world := floorplan_world(common, np.random.default_rng((setting.seed, 0)))).claims
            squares = (claims.values - world.truths[claims.objects]) ** 2
            common |= {"error_rate": float(f"{1 / squares.mean():.3g}"), "readings": int(claims.claims_per_user.max())}
        else:
            common |= {"error_rate": ERROR_RATE, "readings": OBJECTS}
        deltas, epsilons = DELTAS, setting.sized((0.25, 0.5, 1.0, 1.5, 2.5, 4.0), (0.25, 1.0, 4.0))
        if self.exact and setting.quick:  # finding the exact noise takes time
            deltas, epsilons = DELTAS[::2], (0.25, 4.0)
        return [{**common, "delta": delta, "epsilon": epsilon} for delta in deltas for epsilon in epsilons]

    def run(self, task: Parameters) -> Table:
        epsilon, delta, error_rate = task["epsilon"], task["delta"], task["error_rate"]
        distance = printed_distance(error_rate, B, ETA)
        law = (
            law_for(SharedVariance, epsilon, delta, distance=distance, readings=task["readings"])
            if self.exact
            else SharedVariance(printed_rate(epsilon, delta, distance))
        )
        rows = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))  # all points of a line see the same crowds
            world = (
                floorplan_world(task, rng)
                if self.crowd == "floorplan"
                else synthetic(PARTICIPANTS, OBJECTS, error_rate=error_rate, seed=rng)
            )
            rows.append(
                {
                    "epsilon": epsilon,
                    "delta": delta,
                    "noise_rate": 1 / law.mean_variance,
                    "distance": distance,
                    "error_rate": error_rate,
                    "readings": task["readings"],
                    **moved_by_noise(world, law, self.method, rng),
                }
            )
        return rows

    def collect(self, rows: Table) -> Table:
        return summarise(rows, ("delta", "epsilon", "noise_rate", "distance", "error_rate", "readings"), MEASURES)

    def draw(self, figure: Any, table: Table) -> None:
        moved, noise, error = figure.subplots(1, 3)
        unit = " (m)" if self.crowd == "floorplan" else ""
        for look, delta in zip(LINES, distinct(table, "delta"), strict=False):
            line = where(table, delta=delta)
            plot_line(moved, line, "epsilon", "moved", look, f"δ = {delta:g}")
            plot_line(noise, line, "epsilon", "noise", look)
            plot_line(error, line, "epsilon", "error_after", look)
        line = where(table, delta=table[0]["delta"])
        plot_line(error, line, "epsilon", "error_before", Look(GREY, "", "--"), "before noise")
        error.annotate("before noise", (line[0]["epsilon"], line[0]["error_before"]), (0, 2),
                       textcoords="offset points", va="bottom", fontsize=8, color=GREY)  # fmt: skip
        for axes in (moved, noise):  # the same scale, as in the paper
            axes.set_ylim(0, 1.05 * max(column(table, "noise_high")))
        error.set_ylim(0, 1.15 * max(column(table, "error_after_high")))
        panel_title(moved, 0, "Aggregates move less")
        panel_title(noise, 1, "Noise on readings")
        panel_title(error, 2, "Error to the truth")
        moved.set_ylabel("MAE, original to perturbed" + unit)
        noise.set_ylabel("mean |noise|" + unit)
        error.set_ylabel("MAE to the truth" + unit)
        for axes in (moved, noise, error):
            axes.set_xscale("log")
            ticks(axes, (0.25, 0.5, 1, 2, 4))
            axes.set_xlabel("exact ε" if self.exact else "ε by Theorem 4.8")
        legend_above(figure, moved, 3)

    def note(self, table: Table) -> str:
        row = table[0]
        crowd = (
            f"floorplan, up to {row['readings']} readings a walker, λ1 = {row['error_rate']:g}/m² as measured"
            if self.crowd == "floorplan"
            else f"{PARTICIPANTS} users × {OBJECTS} objects, truths in 0–10, λ1 = {row['error_rate']:g}"
        )
        return (
            f"{self.method.upper()}; {crowd}; b = {B:g}, η = {ETA:g}: Δ = γ/λ1 = {row['distance']:.2g}; "
            f"{repetitions(table)}"
        )

    def verdict(self, table: Table) -> Verdict:
        slowly = SLOWLY[self.crowd]
        shares, growths = [], []
        for delta in distinct(table, "delta"):
            line = sorted(where(table, delta=delta), key=lambda row: -row["epsilon"])
            first, last = line[0], line[-1]
            shares.append((last["moved"] - first["moved"]) / (last["noise"] - first["noise"]))
            growths.append(all(np.diff(column(line, "moved")) > 0))
        ratio = max(column(table, "moved") / column(table, "noise"))
        last = min(table, key=lambda row: (row["epsilon"], row["delta"]))
        sentence = (
            f"As ε falls the MAE between original and perturbed aggregates "
            f"{'rises' if all(growths) else 'does not rise'} throughout, "
            f"by at most {max(shares):.0%} of what the mean |noise| grows; "
            f"it is never more than {ratio:.0%} of the noise (at ε = {last['epsilon']:g}, δ = {last['delta']:g}: "
            f"noise {last['noise']:.2f}, MAE {last['moved']:.3f}, error to the truth {last['error_before']:.3f} before "
            f"and {last['error_after']:.3f} after)."
        )
        holds = all(growths) and 0 < max(shares) < slowly
        near = min(table, key=lambda row: abs(np.log(row["noise"])))
        if self.crowd == "synthetic":
            small = near["moved"] < 0.1
            holds = holds and small
            sentence += (
                f" Where the mean |noise| is {near['noise']:.2f} the MAE is {near['moved']:.3f} "
                f"({near['moved_low']:.3f}–{near['moved_high']:.3f}), {'below' if small else 'not below'} 0.1."
            )
        return Verdict(bool(holds), sentence)


_CLAIM = (
    "Much noise moves the aggregates little: the MAE rises slowly as ε falls, and with a mean |noise| near 1 it stays "
    "below 0.1."
)
_FLOORPLAN = "On the floorplan data too the aggregates move less than the noise, and slowly as ε falls."
_EXACT = " The same with the ε that the noise really gives, for the same Δ and δ."

_SAME = "GTM shows the same pattern as CRH. "

EXPERIMENTS = (
    TradeOff("trade-off", "Trade-off on synthetic data (CRH)", _CLAIM, "crh", "synthetic", False),
    TradeOff("trade-off-exact", "Trade-off on synthetic data, exact ε", _CLAIM + _EXACT, "crh", "synthetic", True),
    TradeOff("gtm", "Trade-off with GTM", _SAME + _CLAIM, "gtm", "synthetic", False),
    TradeOff("gtm-exact", "Trade-off with GTM, exact ε", _SAME + _CLAIM + _EXACT, "gtm", "synthetic", True),
    TradeOff("floorplan", "Trade-off on the indoor floorplan (CRH)", _FLOORPLAN, "crh", "floorplan", False),
    TradeOff("floorplan-exact", "Trade-off on the floorplan, exact ε", _FLOORPLAN + _EXACT, "crh", "floorplan", True),
)
