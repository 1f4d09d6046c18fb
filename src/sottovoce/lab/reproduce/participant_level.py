"""A promise for all of a participant's readings: answering a few tasks of many, drawn by the device, or all of them."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.comparisons.information import expected_deviation, usual_information
from sottovoce.comparisons.policy import usual_levels
from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, fitted
from sottovoce.lab.reproduce.style import GREY, LINES, LineStyle, legend_above, panel_title, spread_ticks, ticks
from sottovoce.lab.reproduce.tables import Row, Table, column, distinct, plain, rounded, summarise, where
from sottovoce.lab.reproduce.whole_range import rooted
from sottovoce.planning.answering import best_answering
from sottovoce.planning.noise import noise_for, rounded_down
from sottovoce.privacy.laws import FreshVariance, Gaussian, Response
from sottovoce.worlds.sequential import SequentialCrowd

_TASKS, _RANGE, _EPSILON, _DELTA = 30, 100.0, 1.0, 1e-5
_COMPARISONS, _OVER_RANGE, _OVER_SPREAD, _GAUSSIAN = (
    "comparisons", "Laplace over the range", "Laplace over σ only", "Gaussian over σ only",
)  # fmt: skip
_STYLES: dict[str, LineStyle] = dict(zip((_COMPARISONS, _GAUSSIAN, _OVER_RANGE, _OVER_SPREAD), LINES, strict=False))
_SIMULATED = (_COMPARISONS, _OVER_SPREAD)


@dataclass(frozen=True)
class ParticipantLevelFigure(Experiment):
    """Error against the number of tasks that each device answers, and what the best number gains, against ε."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 3.3)

    def tasks(self, setting: Setting) -> list[Parameters]:
        common: Parameters = {
            "seed": setting.seed, "runs": setting.chosen("runs", 3, 1),
            "participants": setting.one("participants", setting.sized(4500, 1500)),
        }  # fmt: skip
        epsilons = setting.chosen("epsilons", (0.5, 1.0, 2.0, 4.0, 8.0), (1.0, 4.0))
        counts = (1, 2, 3, 5, 8, 12, 20, _TASKS)
        tried = setting.sized((1, 2, 5, 12, _TASKS), (1, _TASKS))
        return [
            *({**common, "part": "seen", "way": way, "answer": count} for way in _SIMULATED for count in tried),
            *({**common, "part": "expected", "way": way, "answer": count} for way in _STYLES for count in counts),
            *({"part": "gain", "way": way, "epsilon": epsilon} for way in _STYLES for epsilon in epsilons),
        ]

    def run(self, task: Parameters) -> Table:
        way = task["way"]
        if task["part"] == "gain":
            epsilon = task["epsilon"]
            best = best_answering(lambda count: information_of_one(way, epsilon / count, count), _TASKS)
            return [{**task, "answer": best.answer, "gain": best.gain}]
        given: Row = {name: task[name] for name in ("part", "way", "answer", "participants")}
        if task["part"] == "expected":
            return [{**given, "square": _expected(way, task["answer"], task["participants"]) ** 2}]
        errors = [
            _seen(way, task["answer"], task["participants"], (task["seed"], number)) for number in range(task["runs"])
        ]
        return [{**given, "square": square} for square in (np.concatenate(errors) ** 2).tolist()]

    def collect(self, rows: Table) -> Table:
        errors = summarise(
            [row for row in rows if row["part"] != "gain"], ("part", "way", "answer", "participants"), ("square",)
        )
        return [*rooted(errors), *(rounded(row) for row in rows if row["part"] == "gain")]

    def draw(self, figure: Any, table: Table) -> None:
        errors, gains = figure.subplots(1, 2)
        for way, style in _STYLES.items():
            line = where(table, part="expected", way=way)
            errors.plot(column(line, "answer"), column(line, "error"), color=style.colour, ls=style.dashes, lw=1.3,
                        label=way)  # fmt: skip
            seen = where(table, part="seen", way=way)
            if seen:
                middle = column(seen, "error")
                ends = (middle - column(seen, "error_low"), column(seen, "error_high") - middle)
                errors.errorbar(column(seen, "answer"), middle, yerr=ends, fmt=style.marker, color=style.colour, ms=4,
                                elinewidth=1)  # fmt: skip
            line = where(table, part="gain", way=way)
            gains.plot(column(line, "epsilon"), column(line, "gain"), **style.options)
            for row in line:
                gains.annotate(str(row["answer"]), (row["epsilon"], row["gain"]), (0, 4), textcoords="offset points",
                               ha="center", fontsize=7, color=style.colour)  # fmt: skip
        errors.axhline(_RANGE / math.sqrt(12), color=GREY, lw=0.9, ls=":", label="a guess without any readings")
        errors.set(xscale="log", yscale="log", xlabel=f"tasks m that a device answers, of {_TASKS}",
                   ylabel="root mean squared error / σ")  # fmt: skip
        ticks(errors, (1, 2, 5, 10, _TASKS))
        gains.set(xscale="log", xlabel="ε of a participant", ylabel="error of all / of the best m")
        gains.set_ylim(0.8, None)
        spread_ticks(gains, (0.5, 1, 2, 4, 8), distinct(where(table, part="gain"), "epsilon"))
        panel_title(errors, 0, f"ε = {_EPSILON:g}: lines expected, dots simulated")
        panel_title(gains, 1, "Gain with the best m")
        legend_above(figure, errors, 3)

    def note(self, table: Table) -> str:
        seen = where(table, part="seen")
        return (
            f"{table[0]['participants']:,} participants, {_TASKS} tasks, normal errors with spread σ in a range of "
            f"{_RANGE:g} σ; the promise is for all answers of a participant, with δ = 0 except for the Gaussian "
            f"(δ = {plain(_DELTA)}); (b) does not count the answers that are needed to find the truth in the range; "
            f"(a) {seen[0]['runs']} "
            "truths or more, bars: 95\N{NO-BREAK SPACE}% intervals"
        )

    def verdict(self, table: Table) -> Verdict:
        gains = where(table, part="gain")
        epsilon = min(distinct(gains, "epsilon"), key=lambda one: abs(math.log(one)))
        parts = [
            f"{row['way']}: all"
            if row["answer"] == _TASKS
            else f"{row['way']}: {row['answer']} of {_TASKS} (answering all makes the error {row['gain']:.2f} times as "
            "large)"
            for row in where(gains, epsilon=epsilon)
        ]
        seen = {row["answer"]: row["error"] for row in where(table, part="seen", way=_COMPARISONS)}
        best = min(seen, key=seen.__getitem__)
        return Verdict(
            None,
            f"If ε = {epsilon:g} covers all answers of a participant together, the best number of tasks to answer is: "
            f"{'; '.join(parts)}. In simulations with comparisons, ε = {_EPSILON:g} and {table[0]['participants']:,} "
            f"participants, the error is {seen[best]:.2g} σ if each answers {best} of {max(seen)} tasks, and "
            f"{seen[max(seen)]:.2g} σ if each answers all of them.",
        )


def information_of_one(way: str, epsilon: float, count: int) -> float:
    """Information about the truth in one answer with its own ε, if a device gives this many answers."""
    if way == _COMPARISONS:
        return usual_information(epsilon, usual_levels(epsilon))
    distance = _RANGE if way == _OVER_RANGE else 1.0
    if way == _GAUSSIAN:
        law = noise_for(Gaussian, rounded_down(epsilon * count), _DELTA, distance, count, "participant")
        return float(law.information(np.ones(1))[0])
    return float(
        noise_for(FreshVariance, rounded_down(epsilon), 0.0, distance, 1, "reading").information(np.ones(1))[0]
    )


def _expected(way: str, count: int, participants: int) -> float:
    """Root mean squared error to expect of a task, at the ε of the figure."""
    answers, each = participants * count // _TASKS, rounded_down(_EPSILON / count)
    if way == _COMPARISONS:
        return expected_deviation(each, usual_levels(each), 1.0, _RANGE, answers)
    return 1 / math.sqrt(answers * information_of_one(way, _EPSILON / count, count))


def _seen(way: str, count: int, participants: int, seed: tuple[int, ...]) -> NDArray[np.float64]:
    """Errors in a simulated campaign, in units of σ."""
    each = rounded_down(_EPSILON / count)
    if way == _COMPARISONS:  # simulated task by task: answers to other tasks do not matter
        answers = participants * count // _TASKS
        levels = usual_levels(each)
        crowd = SequentialCrowd(Response(each), answers, 12, high=_RANGE, levels=levels, grid=Fraction(1, 5), seed=seed)
        return crowd.play().errors
    rng = np.random.default_rng(seed)
    drawn = np.argsort(rng.random((participants, _TASKS)), axis=1)[:, :count]
    law = noise_for(FreshVariance, each, 0.0, 1.0, 1, "reading")
    users = np.repeat(np.arange(participants, dtype=np.int32), count)
    values = law.simulate(rng.standard_normal(users.size), users, rng)  # the truths are 0
    return np.asarray(fitted("noise-aware", Claims.from_arrays(users, drawn.ravel(), values), law).truths_)


EXPERIMENTS = (
    ParticipantLevelFigure(
        "participant-level",
        "Answer a few tasks, not all",
        "If a promise covers all readings of a participant, how many tasks should a device answer?",
    ),
)
