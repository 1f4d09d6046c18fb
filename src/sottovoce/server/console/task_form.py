"""The tasks of a draft as an operator types, pastes or uploads them: read, previewed, or shown again with all mistakes.

A table is stored only after a preview has shown how it was understood: the form carries the hash of the table in the
preview, and only that table is saved.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from sottovoce.errors import SottovoceError
from sottovoce.protocol.canonical import sha256_of
from sottovoce.protocol.fields import rule_of
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.task_rows import CALLED, COLUMNS, TABLE_COLUMNS, BadTasks, Mistake, read_task_rows
from sottovoce.protocol.task_table import TaskTable, overview, read_tasks, write_tasks
from sottovoce.server.console.about import ABOUT
from sottovoce.server.console.uploads import Upload, UploadForm
from sottovoce.spreadsheets import CellRow

MOST_TYPED = 20  # tasks in fields of their own; more come as a table
MOST_SHOWN = 50  # rows of a preview, and mistakes
ENCODINGS = ("utf-8", "windows-1250", "windows-1251", "windows-1252", "gb18030")


@dataclass(frozen=True)
class FieldMistake:
    """A mistake and its field; ``target`` is None if the mistake concerns the form as a whole."""

    target: str | None
    words: str  # for the summary
    rule: str = ""  # beside the field


@dataclass(frozen=True)
class Preview:
    """A table as it was understood, or only its rows with mistakes."""

    source: str
    total: int
    columns: list[tuple[str, str]]
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    refused: bool = False


@dataclass
class TaskForm:
    """The tasks in a form that was sent, as they were read."""

    typed: list[dict[str, Any]]  # rows of the form that are not empty
    table: str = ""
    read: TaskTable | None = None
    preview: Preview | None = None
    mistakes: list[FieldMistake] = field(default_factory=list)

    @property
    def previewed(self) -> str:
        """The hash that the form must carry for this table to be saved; empty if the table cannot be."""
        return hash_of(self.table) if self.table and not self.mistakes else ""

    @classmethod
    def of(cls, form: Mapping[str, str], file: Upload | None, ids: Mapping[str, str]) -> "TaskForm":
        """Read the file, the table or else the fields."""
        task_form = cls(typed_rows(form), form.get("table", ""))
        is_known = bool(task_form.table) and form.get("previewed") == hash_of(task_form.table) and file is None
        try:
            if is_known:
                task_form.read = read_tasks("the table", task_form.table, decimal=".", ids=ids)
            elif file is not None or task_form.table:
                task_form._read_table(form, file, ids)
            else:
                rows = [CellRow(place, _cells(row)) for place, row in enumerate(task_form.typed, 1)]
                read = read_task_rows("the form", rows, "task", ids=ids)
                task_form.read = TaskTable(read.tasks, [name for name in COLUMNS if f"{name}-0" in form])
                if not rows:
                    raise Problem("bad_request", "tasks: there are none; add at least one")
        except BadTasks as mistakes:
            task_form._refuse(mistakes)
        except SottovoceError as mistake:
            target = "table" if task_form.table or file else "title-0"
            task_form.mistakes.append(FieldMistake(target, words_of(mistake)))
        return task_form

    def _read_table(self, form: Mapping[str, str], file: Upload | None, ids: Mapping[str, str]) -> None:
        source: str = file.name if file is not None else "the table"
        content = file.getvalue() if file is not None else self.table
        self.preview = Preview(source, 0, [], refused=True)
        if file is not None:
            self.table = ""  # the file replaces it
        read = read_tasks(
            source, content, decimal=form.get("decimal") or None, encoding=form.get("encoding") or None, ids=ids
        )
        if not read.tasks:
            raise Problem("bad_request", f"{source}: it has no tasks; write one per row below the names of the columns")
        self.table = write_tasks(read.tasks, read.known, read.columns)
        called, rows = overview(read.tasks[:MOST_SHOWN], read.known or {})
        columns = [(name, words.capitalize()) for name, words in called.items()]
        self.preview = Preview(source, len(read.tasks), columns, rows, read.notes)

    def _refuse(self, bad: BadTasks) -> None:
        from_table = self.preview is not None or bool(self.table)
        target = "cell-{0.column}-{0.place}" if from_table else "{0.column}-{0.place}"
        self.mistakes += (
            FieldMistake(target.format(one), _sentence(str(one)), _sentence(one.rule)) for one in bad.mistakes
        )
        if from_table:
            source = self.preview.source if self.preview else "the table"
            self.preview = Preview(source, len(bad.rows), *_refused_rows(bad.mistakes, bad.rows), refused=True)


def _refused_rows(mistakes: list[Mistake], rows: list[CellRow]) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
    """The first rows with mistakes, and the columns that are needed to show them."""
    wrong = list(dict.fromkeys(one.place for one in mistakes))[:MOST_SHOWN]
    used = {"title"} | {column for place in wrong for column in rows[place].cells} | {one.column for one in mistakes}
    columns = [(name, CALLED[name].capitalize()) for name in TABLE_COLUMNS if name in used]
    return columns, [{"number": rows[place].number, "place": place, **rows[place].cells} for place in wrong]


def hash_of(table: str) -> str:
    return sha256_of(table.strip().encode())


def texts_of(form: UploadForm) -> dict[str, str]:
    """The fields of a form, each once, with line endings as in Python."""
    return {name: form.text(name).replace("\r\n", "\n") for name in form.fields}


def typed_rows(form: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows that are not empty."""
    rows = [{name: form.get(f"{name}-{place}", "") for name in COLUMNS} for place in range(MOST_TYPED)]
    typed = [name for name, column in COLUMNS.items() if name != "id" and not column.chosen]
    return [row for row in rows if any(row[name] for name in typed)]


def _cells(row: Mapping[str, str]) -> dict[str, str]:
    return {name: entry for name, entry in row.items() if entry}


def about_mistakes(about: Mapping[str, Any]) -> Iterator[FieldMistake]:
    """What is wrong with the question itself."""
    for name, (label, rule) in ABOUT.items():
        if name not in about and name != "title":
            continue
        try:
            rule.validate_python(about.get(name, ""))
        except ValidationError as found:
            message = rule_of(found.errors(include_url=False)[0])
            yield FieldMistake(name, f"{label}: {message}.", _sentence(message))


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def words_of(mistake: SottovoceError) -> str:
    """A mistake as a sentence on the page."""
    message = mistake.words if isinstance(mistake, Problem) else str(mistake)
    return f"{re.sub(r'^tasks[.][0-9]+: ', '', message)}."
