"""Tasks as a table that people write: one row per task, the first row names the columns.

The same rules hold for a file, for cells pasted from a spreadsheet and for the fields of a form. All mistakes are found
at once, each with its row and column, under the title that people know a task by.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pydantic import ValidationError

from sottovoce.errors import BadParameter, MissingColumn, UnreadableFile
from sottovoce.protocol.format_1 import FirstTask
from sottovoce.protocol.format_2 import SecondChoiceTask, SecondNumberTask
from sottovoce.protocol.instruments import TYPED
from sottovoce.protocol.known_truths import known_choice, known_number
from sottovoce.protocol.manifest import MOST_CHOICES, MOST_TASKS
from sottovoce.protocol.problems import Problem
from sottovoce.spreadsheets import CellRow, NumberCell, plain_heading, read_cells
from sottovoce.text_tables import THOUSANDS, decimal_sign, harmless, with_point

COLUMNS = (*FirstTask.model_fields, "choices", "help", "instrument", "quota")
TABLE_COLUMNS = (*COLUMNS, "known")
# What a column is called on pages and in messages, and other headings that people give it.
CALLED = {name: name for name in TABLE_COLUMNS} | {
    "low": "lowest value", "high": "highest value", "grid": "step", "known": "known truth",
}  # fmt: skip
_HEADINGS = {
    "title": ("task", "tasks", "name", "question", "what"),
    "low": ("lowest", "min", "minimum", "from"),
    "high": ("highest", "max", "maximum", "to"),
    "grid": ("resolution", "precision"),
    "choices": ("choice", "answers", "options"),
    "help": ("help text", "hint", "explanation", "instructions"),
    "instrument": ("measured with",),
    "quota": ("most readings", "readings"),
    "known": ("truth", "gold", "gold value", "known value"),
}
HEADINGS = {
    plain_heading(heading): column
    for column in TABLE_COLUMNS
    for heading in (column, CALLED[column], *_HEADINGS.get(column, ()))
}
_NUMBER = tuple(name for name, field in FirstTask.model_fields.items() if field.is_required() and name != "id")
_LONGEST_QUOTA = 12
_LONGEST_ID = 60
_LONGEST_SHOWN = 40
_MOST_SHOWN = 20  # mistakes, in a message


@dataclass(frozen=True)
class Mistake:
    """What is wrong with one cell."""

    place: int  # of the task, from 0
    column: str
    rule: str  # the value, what it must be, and what to do
    where: str  # the row and the task, for people

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}"


class BadTasks(UnreadableFile):
    """Tasks with mistakes: all of them, and the rows that they are in."""

    def __init__(self, name: str, mistakes: Sequence[Mistake], rows: Sequence[CellRow]) -> None:
        self.mistakes, self.rows = list(mistakes), list(rows)
        lines = [f"{name}, {mistake}" for mistake in mistakes[:_MOST_SHOWN]]
        if len(mistakes) > _MOST_SHOWN:
            lines.append(f"and {len(mistakes) - _MOST_SHOWN:,} more mistakes")
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class TaskTable:
    """Tasks from a table, as the API takes them; numbers stay text, so that 0.1 is exactly a tenth."""

    tasks: list[dict[str, Any]]
    known: dict[str, str] | None = None  # truths by task; None where the table has no such column
    notes: tuple[str, ...] = ()  # what was read in another way than its author may think
    has_help: bool = False  # whether there is such a column; without it, tasks keep the help that they had


def read_tasks(
    name: str,
    content: bytes | str,
    *,
    decimal: str | None = None,
    encoding: str | None = None,
    ids: Mapping[str, str] | None = None,
) -> TaskTable:
    """Tasks from XLSX, CSV or pasted cells; ``name`` says where mistakes are.

    A task with choices is a question, and has no range. The decimal sign is recognised unless it is given. Tasks
    without an id get one from their title: that of ``ids``, by title, or one that is always the same for a title.

    >>> read_tasks("t.csv", "Task;Lowest;Highest;Step\\nMain hall;0;2,5;0,1\\n").tasks
    [{'title': 'Main hall', 'low': '0', 'high': '2.5', 'grid': '0.1', 'id': 'main-hall'}]
    """
    if decimal is not None and decimal not in THOUSANDS:
        raise BadParameter(f"decimal sign {decimal!r}: it is ',' or '.'; give one of them")
    table = read_cells(name, content, HEADINGS, encoding)
    _check_columns(name, table.titles)
    read = read_task_rows(name, table.rows, table.counted, decimal=decimal, ids=ids, called=table.titles)
    twice = sorted({title for title, count in _counted(task.get("title") for task in read.tasks) if count > 1})
    alike = (f"Several tasks are called “{twice[0]}”: people cannot tell them apart.",) if twice else ()
    known = read.known if "known" in table.titles else None
    return TaskTable(read.tasks, known, (*table.notes, *alike), "help" in table.titles)


def read_task_rows(
    name: str,
    rows: Sequence[CellRow],
    counted: str,
    *,
    decimal: str | None = None,
    ids: Mapping[str, str] | None = None,
    called: Mapping[str, str] = CALLED,
) -> TaskTable:
    """Tasks from rows of cells, or all their mistakes; ``counted`` is what rows are called, ``called`` columns."""
    if len(rows) > MOST_TASKS:
        raise UnreadableFile(f"{name}: {len(rows):,} tasks: a campaign has at most {MOST_TASKS:,}; divide the table")
    if decimal is None:
        decimal = decimal_sign(
            row.cells[column]
            for row in rows
            for column in (*_NUMBER, "known")
            if column in row.cells and "choices" not in row.cells and not isinstance(row.cells[column], NumberCell)
        )
    tasks: list[dict[str, Any]] = []
    truths: list[str | None] = []
    mistakes: list[Mistake] = []
    for place, row in enumerate(rows):
        reader = _RowReader(row.cells, decimal)
        tasks.append(reader.task)
        truths.append(reader.known)
        title = reader.task.get("title") or reader.task.get("id")
        where = f"{counted} {row.number}" + (f", “{_cut(title)}”" if title else "")
        mistakes += (
            Mistake(place, column, rule, f"{where}, {called.get(column, CALLED[column])}")
            for column, rule in reader.mistakes.items()
        )
    seen: set[str] = set()
    for place, (task, row) in enumerate(zip(tasks, rows, strict=True)):
        if task.get("id") in seen:
            rule = f"{_shown(task['id'])}: an id must appear once; change it, or leave it empty"
            mistakes.append(Mistake(place, "id", rule, f"{counted} {row.number}, {called.get('id', 'id')}"))
        seen |= {task["id"]} if "id" in task else set()
    if mistakes:
        raise BadTasks(name, sorted(mistakes, key=lambda one: (one.place, TABLE_COLUMNS.index(one.column))), rows)
    _give_ids(tasks, ids or {})
    known = {task["id"]: truth for task, truth in zip(tasks, truths, strict=True) if truth is not None}
    return TaskTable(tasks, known)


class _RowReader:
    """One task from its cells, with what is wrong by column."""

    def __init__(self, cells: Mapping[str, str], decimal: str | None) -> None:
        self.cells, self.decimal = cells, decimal
        self.mistakes: dict[str, str] = {}
        self.task = self._task()
        self.known = self._known() if "known" in cells else None

    def _task(self) -> dict[str, Any]:
        cells = self.cells
        task: dict[str, Any] = {name: " ".join(entry.split()) for name, entry in cells.items() if name != "known"}
        if "help" in cells:  # may have several lines
            task["help"] = "\n".join(" ".join(line.split()) for line in cells["help"].strip().splitlines())
        if not task.get("title") and not task.get("id"):
            self.mistakes["title"] = "it is missing; a task needs a title"
        if "choices" in cells:
            task["choices"] = read_choices(cells["choices"])
        for name in _NUMBER:
            if name in cells:
                task[name] = self._number(name, task)
        if "quota" in cells:
            task["quota"] = self._quota(task["quota"])
        if "instrument" in task:
            task["instrument"] = task["instrument"].lower()
            if task["instrument"] == TYPED:  # left out, so that the oldest format can say it
                del task["instrument"]
        if task.get("choices"):
            task.pop("unit", None)  # rows of a form repeat it
        self._check_kind(task)
        self._check(task)
        return task

    def _number(self, name: str, task: Mapping[str, Any]) -> str:
        written = self.cells[name]
        if isinstance(written, NumberCell):
            return str(written)
        if self.decimal is None and re.fullmatch(r"[-+−]?[1-9][0-9]{0,2},[0-9]{3}", written):
            whole, _, thousandths = written.partition(",")
            self.mistakes[name] = (
                f"{_shown(written)}: it may be {whole}{thousandths} or {whole}.{thousandths}; say which sign is the "
                "decimal sign, or write it without the comma"
            )
        plain = with_point(written, self.decimal or ("," if "," in written else "."))
        return " ".join(plain.split())

    def _quota(self, text: str) -> int | None:
        """How many readings the task needs."""
        if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_QUOTA and int(text)):
            self.mistakes["quota"] = (
                f"{_shown(text)}: it must be a whole number from 1 on, of at most {_LONGEST_QUOTA} digits; correct it"
            )
            return None
        return int(text)

    def _check_kind(self, task: Mapping[str, Any]) -> None:
        """A task is a number or a question."""
        numbers = [name for name in _NUMBER if name in task]
        if task.get("choices"):
            for name in numbers:
                self.mistakes[name] = f"{_shown(self.cells[name])}: a question with choices has none; leave it empty"
            if "instrument" in task:
                self.mistakes["instrument"] = "a question with choices has none; leave it empty"
        else:
            rule = "it is missing; a number needs a lowest value, a highest value and a step, a question needs choices"
            self.mistakes |= {name: rule for name in _NUMBER if name not in numbers}

    def _check(self, task: Mapping[str, Any]) -> None:
        """The rules of the protocol."""
        model = SecondChoiceTask if task.get("choices") else SecondNumberTask
        content = {name: entry for name, entry in task.items() if name in model.model_fields and entry is not None}
        try:
            checked = model.model_validate({"id": "none", **content})
            if isinstance(checked, SecondChoiceTask):
                checked.check_choices("")
        except ValidationError as found:
            for error in found.errors(include_url=False):
                column, rule = self._rule(error)
                self.mistakes.setdefault(column, rule)
        except ValueError as error:
            column, rule = self._rule({"ctx": getattr(error, "context", {}), "loc": (), "msg": str(error)})
            self.mistakes.setdefault(column, rule)

    def _rule(self, error: Mapping[str, Any]) -> tuple[str, str]:
        context = error.get("ctx", {})
        column = str(context.get("field") or (error["loc"][0] if error["loc"] else "title"))
        if "field" in context:
            shown = "" if column == "choices" else f"{_shown(self.cells.get(column, ''))}: "
            return column, f"{shown}{context['rule']}; correct it"
        if column == "choices" and error["loc"] == ("choices",):
            return column, f"{_shown(self.cells[column])}: a question has 2 to {MOST_CHOICES} choices; divide them by |"
        cause = context.get("error")
        if isinstance(cause, Problem):
            return column, f"{_shown(self.cells.get(column, ''))}: {cause.detail.partition(': ')[2]}; correct it"
        rule = error["msg"].removeprefix("Value error, ")
        place = error["loc"][1] if len(error["loc"]) > 1 else None
        shown = read_choices(self.cells["choices"])[int(place)] if place is not None else self.cells.get(column, "")
        return column, f"{_shown(shown)}: it {rule}; correct it" if rule.startswith("must") else f"{rule}; correct it"

    def _known(self) -> str | None:
        """The known truth, if the task itself is right."""
        if self.mistakes:
            return None
        written, task = self.cells["known"], self.task
        try:
            if task.get("choices"):
                return known_choice(" ".join(written.split()), task["choices"])
            return known_number(self._number("known", task), task["low"], task["high"])
        except Problem as mistake:
            self.mistakes.setdefault("known", f"{_shown(written)}: {mistake.detail}; correct it")
            return None


def _check_columns(name: str, titles: Mapping[str, str]) -> None:
    needed = ["title or id" if "title" not in titles and "id" not in titles else ""]
    if "choices" not in titles:
        needed += [f"{column!r}" for column in _NUMBER if column not in titles]
    missing = next(filter(None, needed), None)
    if missing:
        raise MissingColumn(
            f"{name}: there is no column {missing}; the first row names the columns, which are "
            + ", ".join(TABLE_COLUMNS)
        )


def _give_ids(tasks: Iterable[dict[str, Any]], ids: Mapping[str, str]) -> None:
    """Ids for those without one: the one that the title had before, or one that follows from the title."""
    tasks = list(tasks)
    used = {task["id"] for task in tasks if task.get("id")}
    for task in tasks:
        if not task.get("id"):
            wanted = ids.get(task["title"]) or id_from(task["title"])
            task["id"] = next(one for one in _with_numbers(wanted) if one not in used)
            used.add(task["id"])


def _with_numbers(name: str) -> Iterator[str]:
    yield name
    for number in range(2, MOST_TASKS + 2):
        yield f"{name}-{number}"


def id_from(title: str) -> str:
    """An id that is always the same for a title, and for no other where letters have no Latin form.

    >>> id_from("Größe der Halle (2. Stock)"), id_from("长廊 1")
    ('grosse-der-halle-2-stock', '1-b3ae07')
    """
    spelt = unicodedata.normalize("NFKD", title.casefold())
    plain = re.sub(r"[^a-z0-9]+", "-", re.sub(r"[\u0300-\u036f]", "", spelt)).strip("-")
    is_whole = not any(sign.isalpha() and not sign.isascii() for sign in spelt) and 0 < len(plain) <= _LONGEST_ID
    if is_whole:
        return plain
    return f"{plain[:_LONGEST_ID].strip('-') or 'task'}-{sha256(title.encode()).hexdigest()[:6]}"


def with_the_rest(typed: dict[str, Any], kept: Mapping[str, Any], has_help: bool) -> dict[str, Any]:
    """A task as it was typed, with what a table does not show: other languages of an unchanged text, other fields."""
    same_kind = bool(typed.get("choices")) == bool(kept.get("choices"))
    typed_over = COLUMNS if has_help else set(COLUMNS) - {"help"}
    rest = {name: entry for name, entry in kept.items() if name not in typed_over} if same_kind else {}
    shown = with_other_languages(typed, kept)
    if same_kind and typed.get("choices") and len(typed["choices"]) == len(kept["choices"]):
        shown["choices"] = [
            before if isinstance(before, dict) and now in before.values() else now
            for now, before in zip(typed["choices"], kept["choices"], strict=True)
        ]
    return rest | shown


def with_other_languages(typed: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Texts as they were typed; an unchanged one in all its languages."""
    return dict(typed) | {
        name: kept[name]
        for name in typed.keys() & kept.keys()
        if isinstance(kept[name], dict) and typed[name] in kept[name].values()
    }


def read_choices(text: str) -> list[str]:
    """Choices from one cell: divided by |, by semicolons or by lines.

    >>> read_choices("yes | no"), read_choices("finch; robin; wren;")
    (['yes', 'no'], ['finch', 'robin', 'wren'])
    """
    sign = next((sign for sign in "|;\n" if sign in text), "|")
    choices = [" ".join(choice.split()) for choice in text.split(sign)]
    return choices[:-1] if len(choices) > 1 and not choices[-1] else choices


def write_tasks(
    tasks: Sequence[Mapping[str, Any]], known: Mapping[str, str] | None = None, has_help: bool = False
) -> str:
    """The inverse of `read_tasks`, for people to edit; text that a spreadsheet would run as a formula is marked."""
    tasks = [{**task, "choices": " | ".join(task["choices"])} if task.get("choices") else task for task in tasks]
    tasks = [{name: entry for name, entry in task.items() if (name, entry) != ("instrument", TYPED)} for task in tasks]
    if known is not None:
        tasks = [{**task, "known": known.get(task["id"], "")} for task in tasks]
    columns = [
        name
        for name in TABLE_COLUMNS
        if any(task.get(name) for task in tasks)
        or (name == "id" or (name == "known" and known is not None) or (name == "help" and has_help))
    ]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(
        {name: harmless(entry) if isinstance(entry, str) else entry for name, entry in task.items()} for task in tasks
    )
    return text.getvalue()


def _counted(titles: Iterable[str | None]) -> Iterable[tuple[str, int]]:
    counts: dict[str, int] = {}
    for title in titles:
        if title:
            counts[title] = counts.get(title, 0) + 1
    return counts.items()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _shown(text: str) -> str:
    return repr(_cut(text))
