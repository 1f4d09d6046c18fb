"""Tasks as a table that people write: one line a task, the first line names the columns."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce.errors import MissingColumn, UnreadableFile

COLUMNS = ("id", "title", "unit", "low", "high", "grid", "quota")
_NEEDED = ("id", "low", "high", "grid")


def read_tasks(name: str, text: str) -> list[dict[str, Any]]:
    """Tasks from a table; cells are divided by commas, or by semicolons or tabs as spreadsheets like it.

    Numbers stay the text that they are, so that 0.1 is a tenth. ``name`` tells where a mistake is.
    """
    lines = text.splitlines()
    head = lines[0] if lines else ""
    table = csv.DictReader(lines, delimiter=next((sign for sign in "\t;" if sign in head), ","))
    columns = table.fieldnames or ()
    for column in _NEEDED:
        if column not in columns:
            raise MissingColumn(f"{name}: there is no column {column!r}; the first line names the columns")
    strange = [column for column in columns if column not in COLUMNS]
    if strange:
        raise MissingColumn(f"{name}: column {strange[0]!r} means nothing; the columns are {', '.join(COLUMNS)}")
    tasks = []
    for number, row in enumerate(table, start=2):
        task: dict[str, Any] = {name: entry.strip() for name, entry in row.items() if isinstance(entry, str) and entry}
        if None in row:
            raise UnreadableFile(f"{name}: line {number} has more cells than columns; put quotes around text with ,")
        if "quota" in task:
            if not task["quota"].isdecimal():
                raise UnreadableFile(f"{name}: quota {task['quota']!r} in line {number} is no whole number; correct it")
            task["quota"] = int(task["quota"])
        tasks.append(task)
    return tasks


def write_tasks(tasks: Sequence[Mapping[str, Any]]) -> str:
    """The way back, for people to change."""
    columns = [name for name in COLUMNS if name in _NEEDED or any(task.get(name) for task in tasks)]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(tasks)
    return text.getvalue()
