"""The truths of tasks, as an operator who knows them writes them."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.canonical import canonical_decimal
from sottovoce.protocol.problems import Problem
from sottovoce.text_tables import harmless, read_rows


def known_choice(truth: Any, choices: Sequence[str]) -> str:
    """One of the choices of a question, by its words."""
    if truth not in choices:
        raise Problem("bad_request", f"it must be one of the choices of the task ({', '.join(choices)[:200]})")
    return str(truth)


def known_number(truth: Any, low: str, high: str) -> str:
    """A number within the range of its task."""
    try:
        number = canonical_decimal(truth)
    except Problem as mistake:
        raise Problem("bad_number", mistake.detail.partition(": ")[2]) from None
    if not Decimal(low) <= Decimal(number) <= Decimal(high):
        raise Problem("bad_request", f"it must lie within the range of the task, from {low} to {high}")
    return number


def names_of(tasks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What each task is called in a table: its title, or its id where several tasks have the title."""
    names = Counter(name for task in tasks for name in {task["title"], task["id"]})
    return {task["id"]: task["title"] if task["title"] and names[task["title"]] == 1 else task["id"] for task in tasks}


def with_points(truths: Mapping[str, str], tasks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Truths without the empty ones; numbers may have decimal commas."""
    questions = {task["id"] for task in tasks if task.get("choices")}
    return {name: truth if name in questions else truth.replace(",", ".") for name, truth in truths.items() if truth}


def read_truths(name: str, text: str, titles: Mapping[str, str] | None = None) -> dict[str, str]:
    """Known truths by task from a table with the columns task and truth; other columns and empty truths are left out.

    A task is named by its id, or by its title where ``titles`` gives those by id.

    >>> read_truths("known.csv", "task,truth,unit\\nhall-1,20.5,m\\nhall-2,,m\\n")
    {'hall-1': '20.5'}
    """
    ids = {title: task for task, title in (titles or {}).items()}
    truths: dict[str, str] = {}
    for number, cells in read_rows(name, text, ("task", "truth")):
        if "truth" not in cells:
            continue
        if "task" not in cells:
            raise UnreadableFile(f"{name}, line {number}: truth {cells['truth']!r} has no task; name the task")
        task = ids.get(cells["task"], cells["task"])
        if task in truths:
            raise UnreadableFile(
                f"{name}, line {number}: task {cells['task']!r} already has a truth; remove one of them"
            )
        truths[task] = cells["truth"]
    return truths


def write_truths(truths: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """A table for `read_truths` with a line for each task that ``titles`` names, by id; unknown truths are empty.

    It is separated by semicolons, so that people can write decimal commas.

    >>> write_truths({"bird": "robin; red"}, {"bird": "Bird", "path": "Path"})
    'task;truth\\nBird;"robin; red"\\nPath;\\n'
    """
    table = io.StringIO()
    rows = [("task", "truth"), *((title, truths.get(task, "")) for task, title in titles.items())]
    csv.writer(table, delimiter=";", lineterminator="\n").writerows(map(harmless, row) for row in rows)
    return table.getvalue()
