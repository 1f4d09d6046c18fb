"""Tasks whose truth the operator knows: they show a method how accurate participants are, and which error they share.

Known truths stay on the server. Nothing that the public sees depends on them while a campaign is open, so that nobody
can tell these tasks from the others; results use them once the campaign is closed.
"""

import json
from collections.abc import Mapping
from typing import Any

from sottovoce.protocol.known_truths import known_choice, known_number
from sottovoce.protocol.manifest import ChoiceTask, Manifest, NumberTask
from sottovoce.protocol.problems import Problem

Known = dict[str, str]  # by the id of the task: a number, or the words of a choice


def checked(known: Mapping[str, Any], manifest: Manifest) -> Known:
    """Known truths that fit their tasks."""
    return {name: _checked(name, truth, manifest) for name, truth in known.items()}


def _checked(name: str, truth: Any, manifest: Manifest) -> str:
    task = manifest.task_of.get(name)
    called = repr(name[:100]) if task is None else f"“{manifest.words(task.title) or name}”"
    what = f"known truth {str(truth)[:40]!r} of task {called}"
    if task is None:
        raise Problem(
            "bad_request", f"{what}: there is no such task", fix="correct the name of the task, or leave the truth out"
        )
    try:
        if isinstance(task, ChoiceTask):
            return known_choice(truth, [manifest.words(choice) for choice in task.choices])
        assert isinstance(task, NumberTask)
        if manifest.is_compared(task):
            raise Problem("bad_request", "results of comparisons cannot use it", fix="leave it out")
        return known_number(truth, task.low, task.high)
    except Problem as mistake:
        fix = mistake.own_fix or "correct it, or leave it out"
        raise Problem(mistake.code, f"{what}: {mistake.detail}", fix=fix) from None


def as_stored(known: Known) -> str | None:
    return json.dumps(known, ensure_ascii=False, sort_keys=True) if known else None


def from_stored(content: str | None) -> Known:
    return json.loads(content) if content else {}


def by_place(known: Known, manifest: Manifest) -> dict[int, float | int]:
    """Known truths as claims are written: by the place of the task, a number or the number of a choice."""
    places: dict[int, float | int] = {}
    for place, task in enumerate(manifest.tasks):
        if task.id in known and isinstance(task, ChoiceTask):
            places[place] = [manifest.words(choice) for choice in task.choices].index(known[task.id])
        elif task.id in known:
            places[place] = float(known[task.id])
    return places
