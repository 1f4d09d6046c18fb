"""Tasks as a table that people write: one row per task, the first row names the columns.

The same rules hold for a file, for cells pasted from a spreadsheet and for the fields of a form. All mistakes are
reported at once, each with its row, its column and the title of the task.
"""

import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce.errors import BadParameter, MissingColumn
from sottovoce.protocol.format_2 import TASK_FIELDS
from sottovoce.protocol.task_rows import CALLED, COLUMNS, RANGE, TABLE_COLUMNS, read_task_rows
from sottovoce.spreadsheets import plain_heading, read_cells
from sottovoce.text_tables import THOUSANDS, harmless

_HEADINGS = {
    plain_heading(heading): name
    for name, column in TABLE_COLUMNS.items()
    for heading in (name, CALLED[name], column.label, *column.headings)
}
_ANSWER = {name for name, field in TASK_FIELDS.items() if field.required} - {"id"} | {"unit"}


@dataclass(frozen=True)
class TaskTable:
    """Tasks from a table, as the API accepts them; numbers stay text, so that 0.1 is exactly a tenth."""

    tasks: list[dict[str, Any]]
    columns: Collection[str]  # of the table; fields without a column keep their values
    known: dict[str, str] | None = None  # truths by task; None where the table has no such column
    notes: tuple[str, ...] = ()  # what was read differently from what its author may expect


def read_tasks(
    name: str,
    content: bytes | str,
    *,
    decimal: str | None = None,
    encoding: str | None = None,
    ids: Mapping[str, str] | None = None,
) -> TaskTable:
    """Tasks from XLSX, CSV or pasted cells, which messages call ``name``.

    A task with choices is a question, and has no range. The decimal sign is recognised unless it is given. A task
    without an id gets the one that ``ids`` has for its title, or else one that follows from the title.

    >>> read_tasks("t.csv", "Task;Lowest;Highest;Step\\nMain hall;0;2,5;0,1\\n").tasks
    [{'title': 'Main hall', 'low': '0', 'high': '2.5', 'grid': '0.1', 'id': 'main-hall'}]
    """
    if decimal is not None and decimal not in THOUSANDS:
        raise BadParameter(f"decimal sign {decimal!r}: it must be ',' or '.'; give one of them")
    table = read_cells(name, content, _HEADINGS, encoding)
    _check_columns(name, table.titles)
    read = read_task_rows(name, table.rows, table.counted, decimal=decimal, ids=ids, called=table.titles)
    titles = Counter(task["title"] for task in read.tasks if "title" in task)
    twice = sorted(title for title, count in titles.items() if count > 1)
    alike = (f"Several tasks are called “{twice[0]}”: people cannot tell them apart.",) if twice else ()
    known = read.known if "known" in table.titles else None
    return TaskTable(read.tasks, table.titles.keys(), known, (*table.notes, *alike))


def _check_columns(name: str, titles: Mapping[str, str]) -> None:
    needed = ["title or id" if "title" not in titles and "id" not in titles else ""]
    if "choices" not in titles:
        needed += [f"{column!r}" for column in RANGE if column not in titles]
    missing = next(filter(None, needed), None)
    if missing:
        raise MissingColumn(
            f"{name}: there is no column {missing}; the first row must name the columns, which can be "
            + ", ".join(TABLE_COLUMNS)
        )


def changed_tasks(campaign: Mapping[str, Any], table: TaskTable) -> dict[str, Any]:
    """The changes that give a draft the tasks of a table; what the table does not show stays."""
    # A field without content may be one that the campaign's format does not have.
    kept = {
        task["id"]: {name: entry for name, entry in task.items() if entry not in (None, "")}
        for task in campaign["tasks"]
    }
    tasks = [with_the_rest(task, kept.get(task["id"], {}), table.columns) for task in table.tasks]
    fields: dict[str, Any] = {"tasks": tasks}
    if table.known is not None:
        fields["known"] = table.known
    if campaign["readings"] == len(campaign["tasks"]):  # all of them, as before
        fields["readings"] = len(tasks)
    distances = [campaign.get("distance"), *(task.get("distance") for task in campaign["tasks"])]
    if any(distances) and campaign.get("levels") is None:
        fields["distance"] = next(filter(None, distances))  # for numbers that are new
    return fields


def with_the_rest(typed: Mapping[str, Any], kept: Mapping[str, Any], columns: Collection[str]) -> dict[str, Any]:
    """A task as it was typed in these columns, with the rest: other languages of an unchanged text, other fields."""
    same_kind = bool(typed.get("choices")) == bool(kept.get("choices"))
    rest = {name: entry for name, entry in kept.items() if name not in columns} if same_kind else {}
    return rest | with_other_languages(typed, kept)


def with_other_languages(typed: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Texts as they were typed; an unchanged one in all its languages."""
    return {name: _in_all_languages(entry, kept.get(name)) for name, entry in typed.items()}


def _in_all_languages(now: Any, before: Any) -> Any:
    if isinstance(before, dict):
        return before if now in before.values() else now
    if isinstance(now, list) and isinstance(before, list | tuple) and len(now) == len(before):
        return list(map(_in_all_languages, now, before))
    return now


def cells_of(task: Mapping[str, Any]) -> dict[str, str]:
    """A task as the cells of a row, by column, the inverse of `read_task_rows`; default values stay empty."""
    return {name: _cell(task.get(name), TASK_FIELDS[name].default) for name in COLUMNS}


def _cell(entry: Any, usual: Any) -> str:
    if entry is None or entry == usual:
        return ""
    return " | ".join(entry) if isinstance(entry, list | tuple) else str(entry)


def write_tasks(
    tasks: Sequence[Mapping[str, Any]], known: Mapping[str, str] | None = None, columns: Collection[str] = ()
) -> str:
    """The inverse of `read_tasks`, for people to edit; text that a spreadsheet would run as a formula is marked.

    Columns without any entry are left out, unless they are named.
    """
    rows = [cells_of(task) | ({} if known is None else {"known": known.get(task["id"], "")}) for task in tasks]
    named = {"id", *columns, *(() if known is None else ("known",))}
    used = [name for name in TABLE_COLUMNS if name in named or any(row.get(name) for row in rows)]
    text = io.StringIO()
    table = csv.DictWriter(text, used, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows({name: harmless(cell) for name, cell in row.items()} for row in rows)
    return text.getvalue()


def overview(
    tasks: Sequence[Mapping[str, Any]], known: Mapping[str, str]
) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Tasks for display: the columns that are used, with their names, and a row for each task."""
    rows = [
        cells_of(task) | {"title": task.get("title") or task["id"], "known": known.get(task["id"], "")}
        | {"answer": _answer(task)}
        for task in tasks
    ]  # fmt: skip
    rest = [name for name in TABLE_COLUMNS if name not in ("id", "title") and name not in _ANSWER]
    called = {"title": "task", "answer": "answer"} | {name: CALLED[name] for name in rest}
    return {name: words for name, words in called.items() if any(row[name] for row in rows)}, rows


def _answer(task: Mapping[str, Any]) -> str:
    if task.get("choices"):
        return " | ".join(task["choices"])
    return f"{task['low']} to {task['high']} {task.get('unit') or ''}".rstrip() + f", in steps of {task['grid']}"
