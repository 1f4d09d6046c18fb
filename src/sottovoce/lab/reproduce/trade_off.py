"""Noise, and how far it moves the aggregates, against ε: the synthetic crowd with CRH and GTM."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, ClassVar, Literal

import numpy as np

from sottovoce.lab.reproduce.experiment import (
    BASELINES,
    Experiment,
    Parameters,
    Setting,
    Verdict,
    moved_by_noise,
)
from sottovoce.lab.reproduce.style import (
    BLACK,
    GREY,
    LINES,
    SKY,
    LineStyle,
    label_of,
    panel_title,
    plot_line,
    spread_ticks,
    style_of,
)
from sottovoce.lab.reproduce.tables import Table, column, distinct, repetitions, summarise, where
from sottovoce.planning.paper import printed_distance, printed_rate
from sottovoce.privacy.laws import SharedVariance
from sottovoce.privacy.least_noise import law_for
from sottovoce.worlds import synthetic

DELTAS: tuple[float, ...] = (0.1, 0.2, 0.4)
ERROR_RATE = 10.0  # λ1: with the paper's Δ_s the mean |noise| is then near 1 around ε = 1
PARTICIPANTS, OBJECTS = 150, 30
B, ETA = 3.0, 0.95
MEASURES = (
    "noise",
    *(f"{measure}{end}" for end in ("", "_mean", "_median") for measure in ("moved", "error_before", "error_after")),
)
_EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.5, 4.0)
# The same bar for every crowd: aggregates move slowly if they move like a plain mean of as many readings, or less.
SLACK = 1.2
_NEAR_ONE = 1.5  # a mean |noise| between 1/1.5 and 1.5 is near 1
_KEYS = ("delta", "epsilon", "noise_rate", "distance", "error_rate", "readings", "participants", "method", "b", "eta")


def delta_styles(deltas: Sequence[float]) -> dict[float, LineStyle]:
    """How the line of each δ looks: the usual ones always the same, whatever others are drawn."""
    others = cycle((*LINES[len(DELTAS) :], LineStyle(SKY, "X", (0, (4, 2))), LineStyle(BLACK, "h", (0, (2, 1)))))
    return {delta: LINES[DELTAS.index(delta)] if delta in DELTAS else next(others) for delta in deltas}


def of_a_plain_mean(readings: float) -> float:
    """The share of the mean |noise| by which a plain mean of n readings moves: √(2/π)·√2/√n for Laplace noise."""
    return 2 / math.sqrt(math.pi * readings)


@dataclass(frozen=True)
class TradeOff(Experiment):
    """One line per δ; ε by the printed theorem, or the exact one for as many readings as a user gives."""

    method: Literal["crh", "gtm"]
    exact: bool

    @property
    def named_by_method(self) -> bool:
        """Whether another method would make the figure's name wrong."""
        return self.name.startswith(self.method)

    def tasks(self, setting: Setting) -> list[Parameters]:
        common: Parameters = {
            "seed": setting.seed, "runs": setting.chosen("runs", 60, 6),
            "error_rate": setting.one("error_rates", ERROR_RATE), "readings": setting.chosen("objects", OBJECTS),
            "participants": setting.one("participants", PARTICIPANTS),
            "method": self.method if self.named_by_method else setting.chosen("method", self.method),
            "b": setting.chosen("b", B), "eta": setting.chosen("eta", ETA),
        }  # fmt: skip
        deltas, epsilons = DELTAS, setting.sized(_EPSILONS, (0.25, 1.0, 4.0))
        if self.exact and setting.quick:  # finding the exact noise takes time
            deltas, epsilons = DELTAS[::2], (0.25, 4.0)
        return [
            {**common, "delta": delta, "epsilon": epsilon}
            for delta in setting.chosen("deltas", deltas)
            for epsilon in setting.chosen("epsilons", epsilons)
        ]

    def run(self, task: Parameters) -> Table:
        distance = printed_distance(task["error_rate"], task["b"], task["eta"])
        law = (
            law_for(SharedVariance, task["epsilon"], task["delta"], distance=distance, readings=task["readings"])
            if self.exact
            else SharedVariance(printed_rate(task["epsilon"], task["delta"], distance))
        )
        given = {**task, "noise_rate": 1 / law.mean_variance, "distance": distance}
        rows = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))  # all points of a line see the same crowds
            world = synthetic(task["participants"], task["readings"], error_rate=task["error_rate"], seed=rng)
            rows.append({**{name: given[name] for name in _KEYS}, **moved_by_noise(world, law, task["method"], rng)})
        return rows

    def collect(self, rows: Table) -> Table:
        return summarise(rows, _KEYS, MEASURES)

    def draw(self, figure: Any, table: Table) -> None:
        moved, noise, error = figure.subplots(1, 3)
        inset = moved.inset_axes((0.34, 0.36, 0.62, 0.58))  # on the scale of the noise the lines lie at the bottom
        for delta, style in delta_styles(distinct(table, "delta")).items():
            line = where(table, delta=delta)
            plot_line(moved, line, "epsilon", "moved", style, f"δ = {delta:g}")
            plot_line(inset, line, "epsilon", "moved", style)
            plot_line(noise, line, "epsilon", "noise", style)
            plot_line(error, line, "epsilon", "error_after", style)
        line = where(table, delta=table[0]["delta"])
        plot_line(error, line, "epsilon", "error_before", LineStyle(GREY, "", "--"), "no noise")
        for name in BASELINES:  # for the first δ
            colour = style_of(name).colour
            for axes, measure in ((inset, f"moved_{name}"), (error, f"error_after_{name}")):
                axes.plot(column(line, "epsilon"), column(line, measure), color=colour, lw=1, ls="-.",
                          label=f"{label_of(name)}, δ = {line[0]['delta']:g}")  # fmt: skip
        for axes in (moved, noise):  # the same scale, as in the paper
            axes.set_ylim(0, 1.05 * max(column(table, "noise_high")))
        error.set_ylim(0, None)
        panel_title(moved, 0, "Aggregates move less")
        panel_title(noise, 1, "Noise on readings")
        panel_title(error, 2, "Error to the truth")
        moved.set_ylabel("MAE, original to perturbed")
        noise.set_ylabel("mean |noise|")
        error.set_ylabel("MAE to the truth")
        for axes in (moved, noise, error, inset):
            axes.set_xscale("log")
            spread_ticks(axes, (0.25, 0.5, 1, 2, 4), distinct(table, "epsilon"))
        inset.set_ylim(0, None)
        inset.tick_params(labelsize=6.5)
        for axes in (moved, noise, error):
            axes.set_xlabel("exact ε" if self.exact else "ε by Theorem 4.8")
        handles, labels = moved.get_legend_handles_labels()
        more = error.get_legend_handles_labels()
        figure.legend([*handles, *more[0]], [*labels, *more[1]], loc="outside upper center", ncols=6, handlelength=2.4,
                      columnspacing=1.1, fontsize=7.5)  # fmt: skip

    def note(self, table: Table) -> str:
        row = table[0]
        return (
            f"{row['method'].upper()}; {row['participants']} users × {row['readings']} objects, λ1 = "
            f"{row['error_rate']:g}; b = {row['b']:g}, η = {row['eta']:g}: Δ = γ/λ1 = {row['distance']:.2g}; "
            f"{repetitions(table)}"
        )

    def choices(self, table: Table) -> list[tuple[str, str, str]]:
        row = table[0]
        return [
            ("users, objects", "150, 30", f"{row['participants']}, {row['readings']}"),
            ("method", self.method.upper(), row["method"].upper()),
            ("λ1", "not given", f"{row['error_rate']:g}"),
            ("b, η", "not given", f"{row['b']:g}, {row['eta']:g}"),
            ("δ", "one line each, values not given", ", ".join(f"{delta:g}" for delta in distinct(table, "delta"))),
            ("range of truths", "not given", "0 to 10"),
        ]

    def verdict(self, table: Table) -> Verdict:
        plain = of_a_plain_mean(table[0]["participants"])
        shares, growths = [], []
        for delta in distinct(table, "delta"):
            line = sorted(where(table, delta=delta), key=lambda row: -row["epsilon"])
            first, last = line[0], line[-1]
            if len(line) == 1:
                return Verdict(
                    None,
                    f"A single ε ({first['epsilon']:g}) shows no trend. The mean |noise| is "
                    f"{first['noise']:.2f}, the MAE {first['moved']:.3f} ({first['moved_low']:.3f}–"
                    f"{first['moved_high']:.3f}; mean {first['moved_mean']:.3f}, median {first['moved_median']:.3f}).",
                )
            shares.append((last["moved"] - first["moved"]) / (last["noise"] - first["noise"]))
            growths.append(all(np.diff(column(line, "moved")) > 0))
        ratio = max(column(table, "moved") / column(table, "noise"))
        last = min(table, key=lambda row: (row["epsilon"], row["delta"]))
        sentence = (
            f"As ε falls, the MAE between original and perturbed aggregates "
            f"{'rises' if all(growths) else 'does not rise'} throughout, "
            f"by at most {max(shares):.1%} of the growth of the mean |noise| (a plain mean: {plain:.1%}); "
            f"it is never more than {ratio:.0%} of the noise (at ε = {last['epsilon']:g}, δ = {last['delta']:g}: "
            f"noise {last['noise']:.2f}, MAE {last['moved']:.3f}, error to the truth {last['error_before']:.3f} before "
            f"and {last['error_after']:.3f} after)."
        )
        holds = all(growths) and 0 < max(shares) < SLACK * plain
        near = min(table, key=lambda row: abs(np.log(row["noise"])))
        if 1 / _NEAR_ONE <= near["noise"] <= _NEAR_ONE:
            small = near["moved"] < 0.1
            holds = holds and small
            sentence += (
                f" Where the mean |noise| is {near['noise']:.2f}, the MAE is {near['moved']:.3f} "
                f"({near['moved_low']:.3f}–{near['moved_high']:.3f}), {'below' if small else 'not below'} 0.1; the "
                f"plain mean moves by {near['moved_mean']:.3f} and the median by {near['moved_median']:.3f}."
            )
        else:
            sentence += " No point has a mean |noise| near 1, so that part of the claim is not tested."
        return Verdict(bool(holds), sentence)


@dataclass(frozen=True)
class ExactTradeOff(TradeOff):
    """The same with the exact ε, which the paper does not have."""

    of_the_paper: ClassVar[bool] = False

    def verdict(self, table: Table) -> Verdict:
        return Verdict(None, super().verdict(table).sentence)


_CLAIM = (
    "Even large noise moves the aggregates only a little: the MAE rises slowly as ε falls, and with a mean |noise| "
    "near 1 it stays below 0.1."
)
_EXACT = "What changes with the exact ε of the noise, for the same Δ and δ?"

_SAME = "GTM shows the same pattern as CRH. "

EXPERIMENTS = (
    TradeOff("trade-off", "Trade-off on synthetic data", _CLAIM, "crh", False),
    ExactTradeOff("trade-off-exact", "Trade-off on synthetic data, exact ε", _EXACT, "crh", True),
    TradeOff("gtm", "Trade-off with GTM", _SAME + _CLAIM, "gtm", False),
    ExactTradeOff("gtm-exact", "Trade-off with GTM, exact ε", _EXACT, "gtm", True),
)
