"""Claims in the formats of public data sets, by the name of the format.

A data set has a table of claims and usually a table of truths. Some tables have their own headers, some have none, and
some have one column per user. All of them are read into the same form, by the rules of `reading`.
"""

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from sottovoce.claims.cleaning import AS_WRITTEN, Cleaning
from sottovoce.claims.header import check_unique, shown
from sottovoce.claims.kinds import Kind, is_missing
from sottovoce.claims.reading import Table, check_columns, read_file
from sottovoce.claims.rows import Columns
from sottovoce.claims.table_file import TableFile, check_exists
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, BadRow, MissingColumn, NoClaims, UnreadableFile

_SEPARATORS = ",;\t|"


@dataclass(frozen=True)
class ReadOptions:
    """How a table is to be read, whatever its format."""

    kind: Kind | None = None
    skip_bad: bool = False
    cleaning: Cleaning = AS_WRITTEN
    column: str | None = None  # the column with the values or the truths, if the format leaves the choice


@dataclass(frozen=True)
class PublicFormat(ABC):
    """Where a format has users, objects, values and truths."""

    name: str
    words: str  # what its tables look like
    files: tuple[str, str] | None = None  # of claims and of truths, in a folder of the collection
    truths_inside: ClassVar[bool] = False  # whether truths are a column in the file of claims
    of_choices: bool = False  # whether all values are choices, although codes of options may look like numbers

    @abstractmethod
    def claims(self, path: str | Path, how: ReadOptions) -> Table:
        """Users, objects and values."""

    @abstractmethod
    def truths(self, path: str | Path, how: ReadOptions) -> Table:
        """Objects and their truths."""

    def kind(self, kind: Kind | None) -> Kind | None:
        """The kind of the values: the given one, or else that of the format, if it has only one."""
        return kind or ("choice" if self.of_choices else None)

    def _one_column(self, column: str) -> BadParameter:
        return BadParameter(f"column {column!r}: the format {self.name} has only one column of values; leave it out")


@dataclass(frozen=True)
class TableWithHeader(PublicFormat):
    """Tables whose headers have these names."""

    claim_columns: tuple[str, str, str] = ("user", "object", "value")
    truth_columns: tuple[str, str] = ("object", "value")

    def claims(self, path: str | Path, how: ReadOptions) -> Table:
        return self._read(path, self.claim_columns, how)

    def truths(self, path: str | Path, how: ReadOptions) -> Table:
        return self._read(path, self.truth_columns, how)

    def _read(self, path: str | Path, columns: Sequence[str], how: ReadOptions) -> Table:
        if how.column is not None:
            raise self._one_column(how.column)
        kind = self.kind(how.kind)
        return read_file(path, columns[:-1], columns[-1], how.skip_bad, kind=kind, cleaning=how.cleaning)


@dataclass(frozen=True)
class LinesWithoutHeader(PublicFormat):
    """Lines without a header: user, object, value; and object, truth.

    With ``several`` columns of values, each line has one user's claims about several attributes of one object. One of
    these columns is read; a line without a value there makes no claim.
    """

    separator: str | None = None  # None: any blanks
    several: bool = False

    def claims(self, path: str | Path, how: ReadOptions) -> Table:
        return self._read(path, ("user", "object", "value"), how)

    def truths(self, path: str | Path, how: ReadOptions) -> Table:
        return self._read(path, ("object", "value"), how)

    def _read(self, path: str | Path, names: Sequence[str], how: ReadOptions) -> Table:
        source, labels = _text_file(path, how.cleaning), len(names) - 1
        split = [[cell.strip() for cell in line.split(self.separator)] for line in _text(source).split("\n")]
        place = labels + self._column(source.name, max(map(len, split)) - labels, how)
        taken: list[list[str]] = []
        ragged: dict[int, str] = {}
        lines: list[int] = []
        for number, cells in enumerate(split, start=1):
            if not any(cells):
                continue
            if len(cells) < labels or (not self.several and len(cells) != labels + 1):
                ragged[len(lines) + 1] = (self.separator or " ").join(cells)
            elif self.several and (place >= len(cells) or is_missing(cells[place])):
                continue
            else:
                taken.append([*cells[:labels], cells[place]])
            lines.append(number)
        columns = Columns(
            [_column([row[n] for row in taken]) for n in range(labels)], _column([row[-1] for row in taken]),
            ragged=ragged, numerals=True, lines=lambda rows: [lines[row - 1] for row in rows],
            rule="every line, even the first, must have these fields, separated by "
            f"{'tabs' if self.separator else 'spaces'}:",
        )  # fmt: skip
        return _checked(columns, names, source, self.kind(how.kind), how)

    def _column(self, source: str, count: int, how: ReadOptions) -> int:
        """The position of the chosen column among the columns of values, from 0."""
        if not self.several and how.column is not None:
            raise self._one_column(how.column)
        if not self.several or (how.column is None and count <= 1):
            return 0
        if how.column is None or how.column not in map(str, range(1, count + 1)):
            if count < 1:
                raise BadParameter(
                    f"{source}: it has no column of values; a line must be source, object and at least one value, "
                    "separated by tabs"
                )
            given = "" if how.column is None else f"column {how.column!r}: "
            if count == 1:
                raise BadParameter(f"{source}: {given}there is only one column of values; omit column= (--column)")
            raise BadParameter(
                f"{source}: {given}there are several columns of values; choose one by its number, from 1 to {count}, "
                "with column= (--column)"
            )
        return int(how.column) - 1


@dataclass(frozen=True)
class Matrix(PublicFormat):
    """One row per object and one column per user, or the other way round; the first column has the rows' labels."""

    truths_inside = True
    by_user: bool = False

    def claims(self, path: str | Path, how: ReadOptions) -> Table:
        source = _text_file(path, how.cleaning)
        header, rows = self._rows(source)
        if how.column is not None and (self.by_user or how.column not in header[1:]):
            raise self._no_truths(source, how.column, header)
        places = [place for place, name in enumerate(header) if place and name != how.column]
        cells = [
            (line, place, row[0], row[place]) for line, row in rows for place in places if not is_missing(row[place])
        ]
        labels = [_column([row for _, _, row, _ in cells]), _column([header[place] for _, place, _, _ in cells])]
        columns = Columns(
            labels if self.by_user else labels[::-1], _column([value for *_, value in cells]), numerals=True,
            lines=lambda numbers: [cells[number - 1][0] for number in numbers],
            places=lambda number: f"line {cells[number - 1][0]}, column {shown(header[cells[number - 1][1]])}",
        )  # fmt: skip
        return _checked(columns, ("user", "object", "value"), source, self.kind(how.kind), how)

    def truths(self, path: str | Path, how: ReadOptions) -> Table:
        """Truths are a column of the matrix itself."""
        source = _text_file(path, how.cleaning)
        header, rows = self._rows(source)
        if self.by_user or how.column not in header[1:]:
            raise self._no_truths(source, how.column, header)
        place = header.index(how.column, 1)
        known = [(line, row[0], row[place]) for line, row in rows if not is_missing(row[place])]
        columns = Columns(
            [_column([thing for _, thing, _ in known])], _column([truth for *_, truth in known]), numerals=True,
            lines=lambda numbers: [known[number - 1][0] for number in numbers],
        )  # fmt: skip
        return _checked(columns, ("object", how.column), source, self.kind(how.kind), how)

    def _no_truths(self, source: TableFile, column: str | None, header: Sequence[str]) -> MissingColumn:
        if self.by_user:
            where = "" if column is None else f", column {column!r}"
            return MissingColumn(
                f"{source.name}{where}: in {self.name}, columns are objects, and none of them has truths; write the "
                "truths as a table of object and value, and omit column= (--column) and --truth"
            )
        if column is None:
            return MissingColumn(
                f"{source.name}: in {self.name}, one of the columns has the truths; name it with column= (--column)"
            )
        return MissingColumn(
            f"{source.name}: there is no column {column!r} of truths among {', '.join(map(shown, header[1:6]))}"
            f"{', …' * (len(header) > 6)}; name the column that has them"
        )

    def _rows(self, source: TableFile) -> tuple[list[str], list[tuple[int, list[str]]]]:
        """The header, and each row with the number of its first line."""
        text = _text(source)
        separator = max(_SEPARATORS, key=text.lstrip("\n").partition("\n")[0].count)
        table = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        rows, begins = [], 1
        try:
            for row in table:
                if any(cell.strip() for cell in row):
                    rows.append((begins, [cell.strip() for cell in row]))
                begins = table.line_num + 1
        except csv.Error as error:
            raise UnreadableFile(f"{source.name}, line {begins}: {error}; check the quotation marks there") from None
        if len(rows) < 2 or len(rows[0][1]) < 2:
            raise NoClaims(
                f"{source.name}: a matrix needs a header, a column of labels and at least one claim; check the format"
            )
        (_, header), *body = rows
        check_unique(header[1:], source.name)
        for line, row in body:
            if len(row) != len(header):
                raise BadRow(
                    f"{source.name}, line {line}: it has {counted(len(row), 'cell')}, but the header has "
                    f"{len(header)}; leave cells empty where there is no claim, and give the column of labels a "
                    "heading too"
                )
        return header, body


FORMATS: dict[str, PublicFormat] = {
    form.name: form
    for form in (
        TableWithHeader("sottovoce", "columns user, object, value; truths: object, value", ("claims.csv", "truth.csv")),
        TableWithHeader(
            "truth-inference", "columns question, worker, answer; truths: question, truth",
            ("answer.csv", "truth.csv"), True, ("worker", "question", "answer"), ("question", "truth"),
        ),
        TableWithHeader(
            "crowd-kit", "columns worker, task, label; truths: task, label",
            ("crowd_labels.csv", "gt.csv"), True, ("worker", "task", "label"), ("task", "label"),
        ),
        LinesWithoutHeader(
            "toloka", "worker, task, label separated by tabs, without a header; truths: task, label",
            ("crowd_labels.tsv", "golden_labels.tsv"), True, "\t",
        ),
        LinesWithoutHeader(
            "square", "worker, question, answer separated by spaces, without a header; truths: question, answer",
            ("responses.txt", "groundTruth.txt"), True,
        ),
        LinesWithoutHeader(
            "fusion",
            "source, object and one or more values separated by tabs, without a header; truths: object, values",
            separator="\t", several=True,
        ),
        Matrix("matrix", "one row per object, one column per user; truths: one of the columns"),
        Matrix("matrix-by-user", "one row per user, one column per object", by_user=True),
    )
}  # fmt: skip


def format_named(name: str) -> PublicFormat:
    """The format with this name."""
    if name not in FORMATS:
        raise BadParameter(f"format {name!r}: it must be one of {', '.join(FORMATS)}; choose one of them")
    return FORMATS[name]


def format_of_folder(folder: Path) -> PublicFormat | None:
    """The format whose files of claims and truths are in the folder."""
    for form in FORMATS.values():
        if form.files and all((folder / name).is_file() for name in form.files):
            return form
    return None


def _text_file(path: str | Path, cleaning: Cleaning) -> TableFile:
    path = Path(path)
    check_exists(path)
    return TableFile(str(path), "csv", path=path, encoding=cleaning.encoding)


def _text(source: TableFile) -> str:
    try:
        with source.stream() as stream:
            content = bytes(stream.read())
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeError:
        source.check_text()
        raise


def _column(cells: Sequence[str]) -> pa.Array:
    return pa.array([cell or None for cell in cells], pa.string())


def _checked(columns: Columns, names: Sequence[str], source: TableFile, kind: Kind | None, how: ReadOptions) -> Table:
    if how.cleaning.of_values:
        kind = kind or "number"
    columns = how.cleaning.cleaned(columns, names[-1], source.name)
    return check_columns(columns, names, source.name, how.skip_bad, kind)
