"""Tasks whose truth the operator knows: by them a method learns how accurate participants are, and how all of them err.

Known truths stay on the server. Nothing that the public sees depends on them while a campaign is open, so that nobody
can tell these tasks from the others; results use them from closing on.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sottovoce.protocol.canonical import canonical_decimal
from sottovoce.protocol.manifest import ChoiceTask, Manifest, NumberTask
from sottovoce.protocol.problems import Problem

Known = dict[str, str]  # by the id of the task: a number, or the words of a choice


def checked(known: Mapping[str, Any], manifest: Manifest) -> Known:
    """Known truths that fit their tasks."""
    return {name: _checked(name, truth, manifest) for name, truth in known.items()}


def _checked(name: str, truth: Any, manifest: Manifest) -> str:
    task = manifest.task_of.get(name)
    what = f"known truth {str(truth)[:40]!r} of task {name[:100]!r}"
    if task is None:
        raise Problem("bad_request", f"{what}: there is no such task; correct its name, or leave it out")
    if isinstance(task, ChoiceTask):
        choices = [manifest.words(choice) for choice in task.choices]
        if truth not in choices:
            raise Problem("bad_request", f"{what}: it must be one of its choices; write {', '.join(choices)[:200]}")
        return str(truth)
    assert isinstance(task, NumberTask)
    if manifest.is_compared(task):
        raise Problem("bad_request", f"{what}: results of comparisons cannot use it; leave it out")
    try:
        number = canonical_decimal(truth)
    except Problem as mistake:
        raise Problem("bad_number", f"{what}: {mistake.detail.partition(': ')[2]}") from None
    if not Decimal(task.low) <= Decimal(number) <= Decimal(task.high):
        raise Problem(
            "bad_request", f"{what}: it must lie within the range of the task, from {task.low} to {task.high}"
        )
    return number


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
