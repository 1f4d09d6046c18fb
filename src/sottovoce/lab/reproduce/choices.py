"""Choices under randomised response: how often each method is right at each ε, on simulated crowds and on real sets."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.discovery.choices import winners
from sottovoce.lab.reproduce.answer_sets import answers_digest, read_answers, sets_of_answers
from sottovoce.lab.reproduce.experiment import Experiment, Parameters, Setting, Verdict, fitted
from sottovoce.lab.reproduce.style import LINES, ORACLE, label_of, legend_above, panel_title, plot_line, ticks
from sottovoce.lab.reproduce.tables import Table, distinct, repetitions, summarise, where
from sottovoce.planning.choices import MOST_CHOICES
from sottovoce.privacy.laws import Response
from sottovoce.worlds import ChoiceWorld, choice_crowd

_USERS, _QUESTIONS = 40, 100
_METHODS = ("majority", "dawid-skene", "noise-aware")
_REAL = "real sets"
_STYLES = dict(zip(("noise-aware", "dawid-skene", "majority"), LINES, strict=False))


@dataclass(frozen=True)
class Choices(Experiment):
    """Share of right results against ε: majority, Dawid–Skene, noise-aware, and an oracle for the users' quality."""

    of_the_paper: ClassVar[bool] = False
    size: ClassVar[tuple[float, float]] = (7.2, 3.2)

    def tasks(self, setting: Setting) -> list[Parameters]:
        epsilons = setting.chosen("epsilons", (0.25, 0.5, 1.0, 2.0, 4.0), (1.0, 4.0))
        common = {
            "seed": setting.seed,
            "users": setting.one("participants", _USERS),
            "questions": setting.chosen("objects", _QUESTIONS),
        }
        tasks = [
            {
                **common,
                "runs": setting.chosen("runs", 24, 2),
                "set": None,
                "choices": choices,
                "epsilon": epsilon,
            }
            for choices in (2, 4, 10)
            for epsilon in epsilons
        ]
        for path in sets_of_answers(setting.answers) if setting.answers else []:
            if read_answers(path).choices > MOST_CHOICES:  # open answers, too many to randomise among
                continue
            given = {"seed": setting.seed, "runs": setting.chosen("runs", 4, 1), "set": str(path)}
            given |= {"name": path.name, "digest": answers_digest(path)}
            tasks += [{**given, "epsilon": epsilon} for epsilon in epsilons]
        return tasks

    def run(self, task: Parameters) -> Table:
        law = Response(task["epsilon"])
        crowd = f"{task['choices']} choices" if task["set"] is None else task["name"]
        real = read_answers(task["set"]) if task["set"] else None
        rows: Table = []
        for number in range(task["runs"]):
            rng = np.random.default_rng((task["seed"], number))
            world = real or choice_crowd(task["users"], task["questions"], task["choices"], seed=rng)
            noisy = world.with_simulated_noise(law, rng)
            votes = {
                method: fitted(method, noisy.claims, law).chances_.entries.reshape(-1, world.choices)
                for method in _METHODS
            } | {"oracle": oracle(noisy, law)}
            given = {"crowd": crowd, "real": real is not None, "epsilon": task["epsilon"], "run": number}
            given |= {"users": world.claims.n_users, "questions": world.claims.n_objects}
            rows += [
                {**given, "method": method, "accuracy": 100 * accuracy(shown, world.truths)}
                for method, shown in votes.items()
            ]
        return rows

    def collect(self, rows: Table) -> Table:
        means = []
        real = [row for row in rows if row["real"]]
        for epsilon, number, method in dict.fromkeys((row["epsilon"], row["run"], row["method"]) for row in real):
            found = [row["accuracy"] for row in where(real, epsilon=epsilon, run=number, method=method)]
            given = {"crowd": _REAL, "users": None, "questions": None, "epsilon": epsilon, "method": method}
            means.append({**given, "accuracy": sum(found) / len(found)})
        return summarise([*rows, *means], ("crowd", "users", "questions", "method", "epsilon"), ("accuracy",))

    def draw(self, figure: Any, table: Table) -> None:
        crowds = _shown(table)
        panels = figure.subplots(1, len(crowds), sharey=True, squeeze=False)[0]
        for number, (axes, crowd) in enumerate(zip(panels, crowds, strict=True)):
            for method in _METHODS:
                line = where(table, crowd=crowd, method=method)
                plot_line(axes, line, "epsilon", "accuracy", _STYLES[method], label_of(method), 0.1)
            plot_line(axes, where(table, crowd=crowd, method="oracle"), "epsilon", "accuracy", ORACLE, "oracle")
            axes.set(xscale="log", xlabel="ε")
            ticks(axes, distinct(table, "epsilon"))
            panel_title(axes, number, crowd)
        panels[0].set(ylabel="right results, %", ylim=(0, 103))
        legend_above(figure, panels[0], 4)

    def note(self, table: Table) -> str:
        sets = len(distinct(table, "crowd")) - len(_shown(table))
        return (
            f"simulated: {table[0]['users']} users answer {table[0]['questions']} questions, right with chance "
            "1/k + (1 − 1/k)·Beta(2, 2); "
            f"response:ε; {repetitions(table)}; the oracle knows how often each user is right"
            + (f"; the mean of {sets} real sets to which noise was added" if sets else "")
        )

    def verdict(self, table: Table) -> Verdict:
        epsilons = distinct(table, "epsilon")
        epsilon = min(epsilons, key=lambda one: abs(math.log(one)))
        parts = []
        for crowd in _shown(table):
            right = {row["method"]: row["accuracy"] for row in where(table, crowd=crowd, epsilon=epsilon)}
            parts.append(
                f"{crowd}: noise-aware {right['noise-aware']:.1f}, majority {right['majority']:.1f}, Dawid–Skene "
                f"{right['dawid-skene']:.1f} (oracle {right['oracle']:.1f})"
            )
        return Verdict(None, f"Share of right results at ε = {epsilon:g}, in %: {'; '.join(parts)}.")


def accuracy(votes: NDArray[np.float64], truths: NDArray[np.int64]) -> float:
    """The share of right results among questions with a known truth (not -1); each of n tied choices counts 1/n."""
    shares, _ = winners(votes.reshape(-1), np.arange(len(votes) + 1) * votes.shape[1])
    known = np.flatnonzero(truths >= 0)
    return float(shares.reshape(votes.shape)[known, truths[known]].mean())


def oracle(world: ChoiceWorld, law: Response) -> NDArray[np.float64]:
    """Likelihoods of the choices, given how often each user is right; each question's largest is 1."""
    hit = np.array([law.channel(world.choices).chance(right) for right in world.right.tolist()])
    weights = np.log(hit * (world.choices - 1) / (1 - hit))
    votes = np.zeros((world.claims.n_objects, world.choices))
    np.add.at(votes, (world.claims.objects, world.claims.values), weights[world.claims.users])
    return np.asarray(np.exp(votes - votes.max(axis=1, keepdims=True)))


def _shown(table: Table) -> list[str]:
    """Each simulated crowd, and the mean of the real sets."""
    crowds: list[str] = distinct(table, "crowd")
    return [crowd for crowd in crowds if crowd.endswith(" choices") or crowd == _REAL]


EXPERIMENTS = (
    Choices(
        "choices",
        "Choices under randomised response",
        "How often is the right answer to a question found if devices randomise the answers?",
    ),
)
