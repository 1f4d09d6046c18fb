"""The promise of a campaign that asks questions: how strong it is, for whom, and how many tasks each device answers."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from sottovoce.comparisons.policy import usual_levels
from sottovoce.errors import SottovoceError
from sottovoce.planning.information import predicted_error
from sottovoce.privacy.laws import Response as RandomResponse
from sottovoce.privacy.laws import parse_answer_law, parse_noise_law
from sottovoce.privacy.sentence import answer_words
from sottovoce.protocol.drafting import drafted, replaced
from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.manifest import Manifest, NumberTask
from sottovoce.protocol.problems import Problem
from sottovoce.server.campaigns import CampaignChange
from sottovoce.server.console.pages import figure, render
from sottovoce.server.console.planner import (
    MOST_PARTICIPANTS,
    PARTICIPANTS,
    first_noise,
    typed_count,
    typed_distance,
    typed_epsilon,
)
from sottovoce.server.console.strengths import Strengths
from sottovoce.server.results import guarantee_of
from sottovoce.server.storage.rows import CampaignRow


def applies(manifest: Mapping[str, Any]) -> bool:
    """Whether there are questions."""
    return any(task.get("kind") == "choice" for task in manifest["tasks"])


def page(
    request: Request, row: CampaignRow, form: Mapping[str, str] | None = None, mistake: str | None = None
) -> Response:
    """The form and what it promises, with the values that were typed, or else those of the draft."""
    from sottovoce.server.console.stored import parsed

    manifest = parsed(row.manifest)
    typed = form if form is not None else request.query_params
    knobs = _knobs(manifest) | {name: typed[name] for name in _KNOBS if typed.get(name)}
    promise, words, strengths, number_error = None, [], None, None
    try:
        draft = drafted(replaced(dict(manifest), _fields(knobs, manifest)))
        promise = guarantee_of(draft)
        counts = sorted({len(task["choices"]) for task in manifest["tasks"] if "choices" in task})
        law = parse_answer_law(str(draft.laws["choice"]))
        words = [(count, answer_words(law.channel(count))) for count in counts[:3]]
        people = typed_count(knobs, "participants", PARTICIPANTS, MOST_PARTICIPANTS)
        answers = max(1, people * int(knobs["answer"]) // len(manifest["tasks"]))
        strengths = Strengths(counts[:3], answers, float(law.exact("epsilon")))
        number_error = _number_error(draft, answers)
    except (SottovoceError, ValueError) as wrong:
        mistake = mistake or f"{wrong.words if isinstance(wrong, Problem) else wrong}."
    return render(
        request, "privacy_questions.html", status=422 if mistake else 200,
        row=row, manifest=manifest, knobs=knobs, promise=promise, words=words, mistake=mistake,
        strengths=strengths, number_error=number_error,
        numbers=any("low" in task for task in manifest["tasks"]),
    )  # fmt: skip


def _number_error(draft: Manifest, answers: int) -> str | None:
    """The expected error of a number with noise, and its unit; None if numbers differ in unit or distance."""
    tasks = [task for task in draft.tasks if isinstance(task, NumberTask) and not draft.is_compared(task)]
    alike = {(draft.words(task.unit), draft.part_of(task).protected_distance) for task in tasks}
    if len(alike) != 1:
        return None
    ((unit, distance),) = alike
    assert distance is not None  # it is not compared
    law = parse_noise_law(str(draft.laws["number"]))
    own = min(draft.parts[draft.part_of(tasks[0])], draft.most_readings)  # readings of one participant under this noise
    error = predicted_error(law, 2 / float(distance) ** 2, answers, own)
    return f"{figure(error, 2)} {unit}".strip()


def change(form: Mapping[str, str], manifest: Mapping[str, Any]) -> CampaignChange:
    """The change to the campaign that the form describes."""
    with reported_as("bad_request"):
        return CampaignChange.model_validate(_fields(_knobs(manifest) | dict(form), manifest))


_KNOBS = ("epsilon", "unit", "answer", "values", "noise", "distance", "participants")


def _knobs(manifest: Mapping[str, Any]) -> dict[str, str]:
    laws = manifest["noise"] if isinstance(manifest["noise"], dict) else {"choice": manifest["noise"]}
    distances = [task["distance"] for task in manifest["tasks"] if "distance" in task]
    numbers = [task for task in manifest["tasks"] if "low" in task]
    first = first_noise(numbers) if numbers and "levels" in manifest else {}  # if numbers were compared until now
    return {
        "epsilon": f"{parse_answer_law(laws['choice']).exact('epsilon').__float__():g}",
        "unit": manifest["unit"],
        "answer": str(manifest["answer"]),
        "values": "any" if "levels" in manifest else "distance",
        "noise": laws.get("number", first.get("noise", "")),
        "distance": distances[0] if distances else first.get("distance", ""),
        "participants": str(PARTICIPANTS),
    }


def _fields(knobs: Mapping[str, str], manifest: Mapping[str, Any]) -> dict[str, Any]:
    numbers, before = any("low" in task for task in manifest["tasks"]), _knobs(manifest)
    epsilon = typed_epsilon(knobs, float(before["epsilon"]))
    answer = typed_count(knobs, "answer", int(before["answer"]), len(manifest["tasks"]))
    law = str(RandomResponse(epsilon))
    fields = {"noise": law, "unit": knobs["unit"], "answer": answer, "readings": len(manifest["tasks"])}
    if numbers and knobs["values"] == "any":
        return fields | {"levels": usual_levels(epsilon, answer)}
    if numbers:
        removed = {"levels": None} if "levels" in manifest else {}
        noise = {"number": str(parse_noise_law(knobs["noise"])), "choice": law}
        distance = typed_distance(knobs, float(before["distance"]))
        return fields | removed | {"noise": noise, "distance": f"{Decimal(str(distance)):f}"}
    return fields
