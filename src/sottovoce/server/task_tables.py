"""Tasks as a table that people write: one line per task, the first line names the columns."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce.errors import MissingColumn, UnreadableFile

COLUMNS = ("id", "title", "unit", "low", "high", "grid", "quota")
_NEEDED = ("id", "low", "high", "grid")
_LONGEST_QUOTA = 12
_LONGEST_SHOWN = 40


def read_tasks(name: str, text: str) -> list[dict[str, Any]]:
    """Tasks from a table; cells are divided by commas, or by semicolons or tabs as spreadsheets like it.

    Numbers stay the text that they are, so that 0.1 is a tenth. ``name`` tells where a mistake is.
    """
    lines = text.splitlines()
    head = lines[0] if lines else ""
    table = csv.DictReader(lines, delimiter=next((sign for sign in "\t;" if sign in head), ","))
    try:
        return _read(name, table)
    except csv.Error as mistake:
        raise UnreadableFile(f"{name}: {mistake}; tasks come as a table with short cells, one line per task") from None


def _read(name: str, table: "csv.DictReader[str]") -> list[dict[str, Any]]:
    from sottovoce.claims.cells import as_written  # an operator's client needs no Arrow until it reads a table

    columns = table.fieldnames or ()
    for column in _NEEDED:
        if column not in columns:
            raise MissingColumn(f"{name}: there is no column {column!r}; the first line names the columns")
    strange = [column for column in columns if column not in COLUMNS]
    if strange:
        raise MissingColumn(
            f"{name}: column {strange[0][:_LONGEST_SHOWN]!r} means nothing; the columns are {', '.join(COLUMNS)}"
        )
    tasks = []
    for number, row in enumerate(table, start=2):
        task: dict[str, Any] = {
            name: as_written(entry.strip()) for name, entry in row.items() if isinstance(entry, str) and entry
        }
        if None in row:
            raise UnreadableFile(f"{name}: line {number} has more cells than columns; put quotes around text with ,")
        if "quota" in task:
            task["quota"] = read_quota(task["quota"], f"{name}, line {number}")
        tasks.append(task)
    return tasks


def read_quota(text: str, place: str) -> int:
    """How many readings a task needs, as somebody wrote it."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_QUOTA):
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        raise UnreadableFile(
            f"{place}: quota {shown!r}: it must be a whole number of at most {_LONGEST_QUOTA} digits; correct it"
        )
    return int(text)


def write_tasks(tasks: Sequence[Mapping[str, Any]]) -> str:
    """The way back, for people to change, in a spreadsheet too: a text that it would run is marked as text."""
    from sottovoce.claims.cells import harmless

    columns = [name for name in COLUMNS if name in _NEEDED or any(task.get(name) for task in tasks)]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(
        {name: harmless(entry) if isinstance(entry, str) else entry for name, entry in task.items()} for task in tasks
    )
    return text.getvalue()
