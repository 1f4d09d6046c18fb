"""Tasks as a table that people write: one line per task, the first line names the columns."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.format_1 import FirstTask
from sottovoce.text_tables import harmless, read_rows

COLUMNS = (*FirstTask.model_fields, "choices", "instrument", "quota")
TYPED = "typed"  # no instrument, so that the oldest format can say it
_NUMBER = tuple(name for name, field in FirstTask.model_fields.items() if field.is_required() and name != "id")
_LONGEST_QUOTA = 12
_LONGEST_SHOWN = 40


def read_tasks(name: str, text: str) -> list[dict[str, Any]]:
    """Tasks from a table; ``name`` says where a mistake is.

    Numbers stay text, so that 0.1 is exactly a tenth. A task with choices is a question, and has no range.
    """
    tasks: list[dict[str, Any]] = []
    columns = {cell.strip(' "\r') for cell in re.split("[,;\t]", text.partition("\n")[0])}
    needed = ("id",) if "choices" in columns else ("id", *_NUMBER)
    for number, cells in read_rows(name, text, needed, COLUMNS):
        place = f"{name}, line {number}"
        task: dict[str, Any] = dict(cells)
        if "quota" in cells:
            task["quota"] = read_quota(cells["quota"], place)
        if "choices" in cells:
            task["choices"] = read_choices(cells["choices"])
        if task.get("instrument") == TYPED:
            del task["instrument"]
        check_kind(task, place)
        tasks.append(task)
    return tasks


def read_truths(name: str, text: str) -> dict[str, str]:
    """Known truths by task from a table with the columns task and truth; other columns and empty truths are left out.

    >>> read_truths("known.csv", "task,truth,unit\\nhall-1,20.5,m\\nhall-2,,m\\n")
    {'hall-1': '20.5'}
    """
    truths: dict[str, str] = {}
    for number, cells in read_rows(name, text, ("task", "truth")):
        if "task" in cells and cells["task"] in truths:
            raise UnreadableFile(
                f"{name}, line {number}: task {cells['task']!r} has a truth already; remove one of them"
            )
        if "truth" in cells:
            if "task" not in cells:
                raise UnreadableFile(f"{name}, line {number}: truth {cells['truth']!r} has no task; name it")
            truths[cells["task"]] = cells["truth"]
    return truths


def read_choices(text: str) -> list[str]:
    """Choices from one cell: divided by |, or by semicolons.

    >>> read_choices("yes | no"), read_choices("finch; robin; wren")
    (['yes', 'no'], ['finch', 'robin', 'wren'])
    """
    return [choice.strip() for choice in text.split("|" if "|" in text else ";")]


def check_kind(task: Mapping[str, Any], place: str) -> None:
    """Refuse a task that is both a number and a question, or neither."""
    numbers = [name for name in _NUMBER if task.get(name)]
    if task.get("choices") and numbers:
        raise UnreadableFile(
            f"{place}: it has choices and {' and '.join(numbers)}; a question has choices, a number has a range: leave "
            "one of the two empty"
        )
    if not task.get("choices") and len(numbers) < len(_NUMBER):
        missing = next(name for name in _NUMBER if name not in numbers)
        raise UnreadableFile(f"{place}: there is no {missing!r}; a number needs low, high and grid, a question choices")


def read_quota(text: str, place: str) -> int:
    """How many readings a task needs, from text."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_QUOTA):
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        raise UnreadableFile(
            f"{place}: quota {shown!r}: it must be a whole number of at most {_LONGEST_QUOTA} digits; correct it"
        )
    return int(text)


def write_truths(truths: Mapping[str, str]) -> str:
    """Known truths by task as a table that `read_truths` reads.

    >>> write_truths({"bird": "robin, red"})
    'task,truth\\nbird,"robin, red"\\n'
    """
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(map(harmless, row) for row in [("task", "truth"), *truths.items()])
    return table.getvalue()


def write_tasks(tasks: Sequence[Mapping[str, Any]]) -> str:
    """The inverse of `read_tasks`, for people to edit; text that a spreadsheet would run as a formula is marked."""
    tasks = [{**task, "choices": " | ".join(task["choices"])} if task.get("choices") else task for task in tasks]
    tasks = [{name: entry for name, entry in task.items() if (name, entry) != ("instrument", TYPED)} for task in tasks]
    columns = [name for name in COLUMNS if name == "id" or any(task.get(name) for task in tasks)]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(
        {name: harmless(entry) if isinstance(entry, str) else entry for name, entry in task.items()} for task in tasks
    )
    return text.getvalue()
