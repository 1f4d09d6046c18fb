"""Tasks as a table that people write: one line per task, the first line names the columns."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.format_1 import FirstTask
from sottovoce.text_tables import harmless, read_rows

COLUMNS = (*FirstTask.model_fields, "quota")
_NEEDED = tuple(name for name, field in FirstTask.model_fields.items() if field.is_required())
_LONGEST_QUOTA = 12
_LONGEST_SHOWN = 40


def read_tasks(name: str, text: str) -> list[dict[str, Any]]:
    """Tasks from a table; ``name`` says where a mistake is.

    Numbers stay text, so that 0.1 is exactly a tenth.
    """
    tasks: list[dict[str, Any]] = []
    for number, cells in read_rows(name, text, _NEEDED, COLUMNS):
        quota = {"quota": read_quota(cells["quota"], f"{name}, line {number}")} if "quota" in cells else {}
        tasks.append({**cells, **quota})
    return tasks


def read_quota(text: str, place: str) -> int:
    """How many readings a task needs, from text."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_QUOTA):
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        raise UnreadableFile(
            f"{place}: quota {shown!r}: it must be a whole number of at most {_LONGEST_QUOTA} digits; correct it"
        )
    return int(text)


def write_tasks(tasks: Sequence[Mapping[str, Any]]) -> str:
    """The inverse of `read_tasks`, for people to edit; text that a spreadsheet would run as a formula is marked."""
    columns = [name for name in COLUMNS if name in _NEEDED or any(task.get(name) for task in tasks)]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(
        {name: harmless(entry) if isinstance(entry, str) else entry for name, entry in task.items()} for task in tasks
    )
    return text.getvalue()
