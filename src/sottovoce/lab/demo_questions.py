"""The demo's second part: people answer questions, and now and then their devices send another answer on purpose."""

import csv
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.lab.crowd import Delivery, awaited, send_all
from sottovoce.lab.demo import own_server
from sottovoce.worlds import ChoiceWorld, choice_crowd

PEOPLE, QUESTIONS = 80, 12
CHOICES = ("yes", "no")
# ε = 1 for every answer: 27 of 100 are sent as the other one.
NOISE = "response:1"


@dataclass(frozen=True)
class QuestionsOutcome:
    """The outcome of the questions, beside the truth."""

    campaign: str
    delivery: Delivery
    results: dict[str, Any]  # as the server states them
    truths: dict[str, str]
    given: float  # share of answers that were right when people gave them, which only a simulation can know
    sent: float  # share of the answers received by the server that were right

    @property
    def shown(self) -> list[dict[str, Any]]:
        return [entry for entry in self.results["results"] if entry["truth"] is not None]

    @property
    def right(self) -> int:
        """How many of the truths shown are right."""
        return sum(entry["truth"] == self.truths[entry["task"]] for entry in self.shown)

    def summary(self) -> dict[str, Any]:
        """For programs."""
        return {
            "campaign": self.campaign,
            **asdict(self.delivery),
            "tasks": len(self.truths),
            "shown": len(self.shown),
            "right": self.right,
            "answers_right": {"given": self.given, "sent": self.sent},
            "method": self.results["method"],
            "guarantee": self.results["guarantee"],
        }


def run_questions(out: Path, seed: int, progress: Callable[[int, int], None] | None = None) -> QuestionsOutcome:
    """Serve, ask, answer, randomise, send, discover; write answers.csv and answers-truth.csv."""
    world = choice_crowd(PEOPLE, QUESTIONS, len(CHOICES), seed=seed)
    names = [f"door-{number + 1}" for number in world.claims.object_labels.tolist()]
    tasks = [
        {"id": name, "title": f"Is door {name[5:]} wide enough for a wheelchair?", "choices": list(CHOICES)}
        for name in names
    ]
    title = "Which doors are wide enough for a wheelchair?"
    draft = {"title": title, "tasks": tasks, "noise": NOISE, "asked_by": "a simulation"}
    with TemporaryDirectory(prefix="sottovoce-demo-") as folder, own_server(Path(folder)) as operator:
        campaign = operator.create(draft)["id"]
        operator.open(campaign)
        links = [invitation["url"] for invitation in operator.invite(campaign, PEOPLE)]
        delivery = send_all(_answers(world, names), links, progress=progress, seed=seed)
        operator.close(campaign)
        results = awaited(operator, campaign)
        out.mkdir(parents=True, exist_ok=True)
        operator.export(campaign, "claims", out / "answers.csv")
    truths = {name: CHOICES[place] for name, place in zip(names, world.truths.tolist(), strict=True)}
    with (out / "answers-truth.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("object", "value"), *truths.items()])
    sent = Claims.read(out / "answers.csv", kind="choice")
    return QuestionsOutcome(
        campaign, delivery, results, truths,
        given=float(np.mean(world.claims.values == world.truths[world.claims.objects])),
        sent=float(np.mean([answer == truths[name] for _, name, answer in sent])),
    )  # fmt: skip


def _answers(world: ChoiceWorld, names: list[str]) -> list[dict[str, str]]:
    """What each person answers, by task."""
    claims = world.claims
    given: list[dict[str, str]] = [{} for _ in range(claims.n_users)]
    for user, place, answer in zip(claims.users.tolist(), claims.objects.tolist(), claims.values.tolist(), strict=True):
        given[user][names[place]] = CHOICES[answer]
    return given
