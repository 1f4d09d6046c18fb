"""Tasks from rows of cells of any source. All mistakes are reported at once, each with its row, column and fix."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from sottovoce.errors import UnreadableFile
from sottovoce.privacy.laws import Kind
from sottovoce.protocol.fields import rule_of
from sottovoce.protocol.format_2 import TASK_FIELDS, TASK_MODELS, SecondChoiceTask
from sottovoce.protocol.known_truths import known_choice, known_number
from sottovoce.protocol.manifest import MOST_CHOICES, MOST_TASKS
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.task_fields import TaskColumn, TaskField
from sottovoce.protocol.task_ids import give_ids
from sottovoce.spreadsheets import CellRow, NumberCell
from sottovoce.text_tables import decimal_sign, with_point

COLUMNS: dict[str, TaskColumn] = {name: field.column for name, field in TASK_FIELDS.items() if field.column}
TABLE_COLUMNS = COLUMNS | {
    "known": TaskColumn(
        "Known truth",
        "known truth",
        headings=("truth", "gold", "gold value", "known value"),
        explained="is a truth that you know; it is not shown before the campaign is closed",
    )
}
CALLED = {name: column.called or name for name, column in TABLE_COLUMNS.items()}
RANGE = tuple(name for name, field in TASK_FIELDS.items() if field.required and field.kinds == ("number",))
_DECIMALS = tuple(name for name in COLUMNS if TASK_FIELDS[name].shape == "number")
_KINDS: dict[Kind, str] = {"number": "a number", "choice": "a question with choices"}
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
    """Mistakes in tasks: all of them, and the rows that were read."""

    def __init__(self, name: str, mistakes: Sequence[Mistake], rows: Sequence[CellRow]) -> None:
        self.mistakes, self.rows = list(mistakes), list(rows)
        lines = [f"{name}, {mistake}" for mistake in mistakes[:_MOST_SHOWN]]
        if len(mistakes) > _MOST_SHOWN:
            more = len(mistakes) - _MOST_SHOWN
            lines.append(f"and {more:,} more mistake{'s' if more != 1 else ''}")
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class TaskRows:
    """Tasks from rows, as the API accepts them; numbers stay text, so that 0.1 is exactly a tenth."""

    tasks: list[dict[str, Any]]
    known: dict[str, str]  # truths by task


def read_task_rows(
    name: str,
    rows: Sequence[CellRow],
    counted: str,
    *,
    decimal: str | None = None,
    ids: Mapping[str, str] | None = None,
    called: Mapping[str, str] = CALLED,
) -> TaskRows:
    """Tasks from rows of cells, or all their mistakes; messages call a row ``counted`` and columns as in ``called``."""
    if len(rows) > MOST_TASKS:
        raise UnreadableFile(f"{name}: {len(rows):,} tasks: a campaign has at most {MOST_TASKS:,}; split the table")
    if decimal is None:
        decimal = decimal_sign(
            row.cells[column]
            for row in rows
            for column in (*_DECIMALS, "known")
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
            rule = f"{_shown(task['id'])}: an id must be unique; change it, or leave it empty"
            mistakes.append(Mistake(place, "id", rule, f"{counted} {row.number}, {called.get('id', 'id')}"))
        seen |= {task["id"]} if "id" in task else set()
    if mistakes:
        order = list(TABLE_COLUMNS)
        raise BadTasks(name, sorted(mistakes, key=lambda one: (one.place, order.index(one.column))), rows)
    give_ids(tasks, ids or {})
    known = {task["id"]: truth for task, truth in zip(tasks, truths, strict=True) if truth is not None}
    return TaskRows(tasks, known)


class _RowReader:
    """Reads one task from its cells, and collects its mistakes by column."""

    def __init__(self, cells: Mapping[str, str], decimal: str | None) -> None:
        self.cells, self.decimal = cells, decimal
        self.mistakes: dict[str, str] = {}
        self.task = self._task()
        self.known = self._known() if "known" in cells else None

    def _task(self) -> dict[str, Any]:
        read = {name: self._entry(TASK_FIELDS[name]) for name in self.cells if name in COLUMNS}
        # Default values are left out, so that the oldest format can express the task.
        task = {name: entry for name, entry in read.items() if entry != TASK_FIELDS[name].default}
        if not task.get("title") and not task.get("id"):
            self.mistakes["title"] = "it is missing; a task needs a title"
        if task.get("choices"):
            task.pop("unit", None)  # rows of a form repeat it
        kind: Kind = "choice" if task.get("choices") else "number"
        self._check_kind(task, kind)
        self._check(task, kind)
        return task

    def _entry(self, field: TaskField) -> Any:
        """The content of a cell, as the API accepts it."""
        written = self.cells[field.name]
        line = " ".join(written.split())
        match field.shape:
            case "number":
                return self._number(field.name)
            case "count":
                return self._count(field, line)
            case "list":
                return read_choices(written)
            case "chosen":
                return line.lower()
            case "lines":
                return "\n".join(" ".join(part.split()) for part in written.strip().splitlines())
        return line

    def _number(self, name: str) -> str:
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

    def _count(self, field: TaskField, text: str) -> int | None:
        least, most = field.bounds
        if text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most:
            return int(text)
        rule = f"it must be a whole number from {least:,} to {most:,}"
        self.mistakes[field.name] = f"{_shown(text)}: {rule}; correct it"
        return None

    def _check_kind(self, task: Mapping[str, Any], kind: Kind) -> None:
        """A task is a number or a question, with the fields of its kind."""
        for name in task:
            if kind not in TASK_FIELDS[name].kinds:
                shown = _shown(self.cells[name])
                self.mistakes[name] = f"{shown}: {_KINDS[kind]} has no {CALLED[name]}; leave it empty"
        if kind == "number":
            rule = "it is missing; a number needs a lowest value, a highest value and a step; a question needs choices"
            self.mistakes |= {name: rule for name in RANGE if name not in task}

    def _check(self, task: Mapping[str, Any], kind: Kind) -> None:
        """The rules of the protocol."""
        model = TASK_MODELS[kind]
        content = {name: entry for name, entry in task.items() if name in model.model_fields}
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
            return (
                column,
                f"{_shown(self.cells[column])}: a question has 2 to {MOST_CHOICES} choices; separate them with |",
            )
        cause = context.get("error")
        if isinstance(cause, Problem):
            return column, f"{_shown(self.cells.get(column, ''))}: {cause.detail.partition(': ')[2]}; correct it"
        rule = rule_of(error)
        place = error["loc"][1] if len(error["loc"]) > 1 else None
        shown = read_choices(self.cells["choices"])[int(place)] if place is not None else self.cells.get(column, "")
        return column, f"{_shown(shown)}: {rule}; correct it" if rule.startswith("it ") else f"{rule}; correct it"

    def _known(self) -> str | None:
        """The known truth, if the task itself is valid."""
        if self.mistakes:
            return None
        written, task = self.cells["known"], self.task
        try:
            if task.get("choices"):
                return known_choice(" ".join(written.split()), task["choices"])
            return known_number(self._number("known"), task["low"], task["high"])
        except Problem as mistake:
            self.mistakes.setdefault("known", f"{_shown(written)}: {mistake.detail}; correct it")
            return None


def read_choices(text: str) -> list[str]:
    """Choices from one cell: separated by |, by semicolons or by lines.

    >>> read_choices("yes | no"), read_choices("finch; robin; wren;")
    (['yes', 'no'], ['finch', 'robin', 'wren'])
    """
    sign = next((sign for sign in "|;\n" if sign in text), "|")
    choices = [" ".join(choice.split()) for choice in text.split(sign)]
    return choices[:-1] if len(choices) > 1 and not choices[-1] else choices


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _shown(text: str) -> str:
    return repr(_cut(text))
