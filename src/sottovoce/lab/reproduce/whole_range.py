"""A promise for any two values of a range: comparisons beside noise as wide as the range."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.comparisons.policy import usual_levels
from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, fitted
from sottovoce.lab.reproduce.style import GREY, LINES, LineStyle, legend_above, panel_title, plot_line, spread_ticks
from sottovoce.lab.reproduce.tables import Row, Table, distinct, plain, rounded, summarise, where
from sottovoce.planning.noise import noise_for
from sottovoce.privacy.laws import FreshVariance, Response, SharedVariance
from sottovoce.privacy.least_noise import law_for
from sottovoce.worlds.sequential import SequentialCrowd

RANGE = 100.0  # in units of the readings' spread σ
DELTA = 1e-5  # of the paper's law, which has no pure ε
_EPSILON, _PARTICIPANTS = 1.0, 500
_GUESS = RANGE / math.sqrt(12)  # the error of the middle of the range, if nobody is asked
COMPARISONS, OVER_RANGE, OVER_SPREAD, PAPER = (
    "comparisons", "Laplace over the range", "Laplace over σ only", "the paper’s law, variances known",
)  # fmt: skip
STYLES: dict[str, LineStyle] = dict(zip((COMPARISONS, PAPER, OVER_RANGE, OVER_SPREAD), LINES, strict=False))


@dataclass(frozen=True)
class WholeRangeFigure(Experiment):
    """Root mean squared error of each way to keep a promise, against ε and against the size of the crowd."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 3.5)

    def tasks(self, setting: Setting) -> list[Parameters]:
        asked = setting.participants
        crowd = asked[0] if asked and len(asked) == 1 else setting.sized(_PARTICIPANTS, 150)
        crowds = setting.axis("participants", (50, 150, 500, 2000), (50, 150))
        epsilons = setting.chosen("epsilons", (0.5, 1.0, 2.0, 4.0), (1.0, 4.0))
        points = [("epsilon", epsilon, crowd) for epsilon in epsilons]
        points += [("participants", _EPSILON, participants) for participants in crowds]
        return [
            {
                "seed": setting.seed, "runs": setting.chosen("runs", 4, 1),
                "objects": setting.chosen("objects", 20, 10),
                "against": against, "epsilon": epsilon, "participants": participants, "way": way,
            }
            for against, epsilon, participants in points
            for way in STYLES
        ]  # fmt: skip

    def run(self, task: Parameters) -> Table:
        given: Row = {name: task[name] for name in ("against", "way", "epsilon", "participants", "objects")}
        squares = [
            squared_errors(task["way"], task["epsilon"], task["participants"], task["objects"], (task["seed"], number))
            for number in range(task["runs"])
        ]
        return [{**given, "square": square} for square in np.concatenate(squares).tolist()]

    def collect(self, rows: Table) -> Table:
        return rooted(summarise(rows, ("against", "way", "epsilon", "participants", "objects"), ("square",)))

    def draw(self, figure: Any, table: Table) -> None:
        panels = figure.subplots(1, 2, sharey=True)
        for axes, against, usual in zip(
            panels, ("epsilon", "participants"), ((0.5, 1, 2, 4), (50, 150, 500, 2000)), strict=True
        ):
            part = where(table, against=against)
            for way, style in STYLES.items():
                plot_line(axes, where(part, way=way), against, "error", style, way)
            axes.axhline(_GUESS, color=GREY, lw=0.9, ls=":", label="a guess without any readings")
            axes.set(xscale="log", yscale="log")
            spread_ticks(axes, usual, distinct(part, against))
        by_epsilon, by_crowd = panels
        by_epsilon.set(xlabel="ε (δ = 0 except for the paper’s law)", ylabel="root mean squared error / σ")
        by_crowd.set(xlabel="participants S")
        panel_title(by_epsilon, 0, f"S = {where(table, against='epsilon')[0]['participants']:,}")
        panel_title(by_crowd, 1, f"ε = {_EPSILON:g}")
        legend_above(figure, by_epsilon, 3)

    def note(self, table: Table) -> str:
        return (
            f"normal errors with spread σ in a range of {RANGE:g} σ; δ = 0, for the paper’s law {plain(DELTA)}; "
            f"“σ only” promises less: values up to σ apart; {table[0]['runs']} truths in campaigns of "
            f"{table[0]['objects']}, bands: 95\N{NO-BREAK SPACE}% intervals"
        )

    def verdict(self, table: Table) -> Verdict:
        part = where(table, against="epsilon")
        epsilon = min(distinct(part, "epsilon"), key=lambda one: abs(math.log(one)))
        found = {row["way"]: row["error"] for row in where(part, epsilon=epsilon)}
        beside = "more than" if found[PAPER] > _GUESS else "at most"
        return Verdict(
            None,
            f"With {part[0]['participants']:,} participants and ε = {epsilon:g} for any two values of a range of "
            f"{RANGE:g} σ, the error is {found[COMPARISONS]:.2g} σ with comparisons and {found[OVER_RANGE]:.2g} σ with "
            f"Laplace noise ({found[OVER_RANGE] / found[COMPARISONS]:.0f} times as much). With the paper’s law at "
            f"δ = {plain(DELTA)} it is {found[PAPER]:.3g} σ even if every variance is known, {beside} that of a guess "
            f"({_GUESS:.0f} σ). With Laplace noise for values up to σ apart, a weaker promise, it is "
            f"{found[OVER_SPREAD]:.2g} σ.",
        )


def rooted(table: Table) -> Table:
    """Means of squared errors as root mean squared errors; an interval that reaches 0 ends at a tenth of its middle."""
    found = []
    for row in table:
        given = {name: entry for name, entry in row.items() if not name.startswith("square")}
        ends = {"": row["square"], "_low": max(row["square_low"], row["square"] / 100), "_high": row["square_high"]}
        found.append(rounded({**given, **{f"error{end}": math.sqrt(square) for end, square in ends.items()}}))
    return found


def squared_errors(
    way: str, epsilon: float, participants: int, objects: int, seed: tuple[int, ...]
) -> NDArray[np.float64]:
    """Squared errors of the truths in units of σ², one per object, when everybody answers each under this promise."""
    if way == COMPARISONS:
        answers = Response(epsilon)
        crowd = SequentialCrowd(answers, participants, objects, high=RANGE, levels=usual_levels(epsilon), seed=seed)
        return crowd.play().errors ** 2
    rng = np.random.default_rng(seed)
    if way == PAPER:
        rate = 1 / law_for(SharedVariance, epsilon, DELTA, distance=RANGE, readings=objects).mean_variance
        # Another crowd for every object: repetitions are independent.
        return _with_known_variances(SharedVariance(rate).known_variances((participants, objects), rng))
    law = noise_for(FreshVariance, epsilon, 0.0, RANGE if way == OVER_RANGE else 1.0, 1, "reading")
    claims = Claims.from_matrix(rng.standard_normal((participants, objects)))  # the truths are 0
    noisy = claims.with_values(law.simulate(claims.values, claims.users, rng), noise=str(law))
    return np.asarray(fitted("noise-aware", noisy, law).truths_) ** 2


def _with_known_variances(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared errors of the best weighted mean: no estimator that has to estimate the variances can do better.

    Given the variances, its mean squared error is known, so that errors need not be drawn as well.
    """
    return np.asarray(1 / (1 / (1 + drawn)).sum(axis=0))


EXPERIMENTS = (
    WholeRangeFigure(
        "whole-range",
        "A promise for the whole range",
        "What does a promise for any two values of a wide range cost, with comparisons and with noise?",
    ),
)
