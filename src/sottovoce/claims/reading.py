"""Reading tables of labels and one value column from files and frames.

Arrow does the reading, in parallel. Only when it fails is the file read again as text, to say which row is wrong.
"""

import csv
import io
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from sottovoce.claims.bounded import read_parquet
from sottovoce.claims.budget import Budget
from sottovoce.claims.cells import as_written_column
from sottovoce.claims.cleaning import AS_WRITTEN, Cleaning
from sottovoce.claims.header import CHOICES_COLUMN, NOISE_COLUMN, OPTIONAL_COLUMNS, require
from sottovoce.claims.kinds import KINDS, Kind, check_kind, kind_of, missing_answers, one_by_one
from sottovoce.claims.labels import Labels, compact, encode
from sottovoce.claims.lines import csv_lines, text_lines
from sottovoce.claims.rows import Columns, all_finite, check_choices, check_rows, declared_choices, left_out_rows
from sottovoce.claims.table_file import TableFile
from sottovoce.errors import BadRow, NoClaims, UnreadableFile
from sottovoce.progress import Progress

# Large blocks keep the number of label dictionaries that have to be merged small.
BLOCK_BYTES = 1 << 24
_BARE_NULL = re.compile(rb"\n\s*null")
_LONGEST_NULL = 64  # bytes, with blanks before it: the end of a part that is searched again with the next part
_LONGEST_INTEGER = 19  # characters
_MOST_BRACKETS = 500  # in a line that Arrow reads: it recurses into a deeply nested one until its stack overflows


@dataclass
class Table:
    """Label columns as ids and sorted labels, and values: finite numbers, or ids of answers."""

    ids: list[NDArray[np.int32]]
    labels: list[Labels]
    values: NDArray[Any]
    skipped: int
    rows: NDArray[np.int64] | None  # number of each row in the source, where rows were left out
    noise: str | None  # the noise law that the source names
    answers: Labels | None = None  # sorted, where values are choices
    size: int = 1  # answers in each row
    choices: NDArray[np.int64] | None = None  # number of options in each row, where the source declares it
    left_out: pa.Table | None = None  # the rows that are not claims, with the reasons


def read_file(
    path: str | Path | IO[bytes],
    labels: Sequence[str],
    value: str,
    skip_bad: bool,
    progress: Progress[int, int] | None = None,
    budget: Budget | None = None,
    kind: Kind | None = "number",
    cleaning: Cleaning = AS_WRITTEN,
) -> Table:
    """Read a file, whose format follows from its suffix; a stream is read as CSV.

    ``cleaning`` says how values are written; ``kind`` None decides by the values. ``progress`` gets the number of bytes
    read and the total. With a ``budget``, for uploaded files, the format of a stream follows from its name, no more is
    read than the budget allows, and only readers are used that a broken file cannot crash.
    """
    if cleaning.of_values:
        kind = kind or "number"
    check_kind(kind)
    source = TableFile.of(path, by_name=budget is not None, encoding=cleaning.encoding)
    try:
        if source.format == "csv":
            columns = _read_csv(source, labels, value, cleaning, progress, kind)
        elif source.format == "jsonl":
            columns = _read_jsonl(source, labels, value, budget)
        else:
            columns = pick(_read_typed(source, [*labels, value], budget), labels, value, source.name)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        source.check_text()
        raise UnreadableFile(
            f"{source.name}: it could not be read as {source.format} ({error}); "
            "check that the suffix fits the content and that the file is complete"
        ) from error
    if budget is not None:
        budget.check_rows(source.name, len(columns.values))
    columns = cleaning.cleaned(columns, value, source.name)
    return _check(columns, [*labels, value], source.name, skip_bad, kind)


def read_frame(frame: Any, labels: Sequence[str], value: str, skip_bad: bool, kind: Kind | None = "number") -> Table:
    """Read a pandas, polars, pyarrow or duckdb table."""
    try:
        native = nw.from_native(frame)
    except TypeError as error:
        raise TypeError(
            f"{type(frame).__name__}: a frame must come from pandas, polars, pyarrow or duckdb; "
            "for lists and arrays use Claims.from_arrays(users, objects, values)"
        ) from error
    required = [*labels, value]
    present = native.collect_schema().names()
    require(required, present, "the frame")
    native = native.select([name for name in present if name in (*required, *OPTIONAL_COLUMNS)])
    table = native.collect("pyarrow").to_native() if isinstance(native, nw.LazyFrame) else native.to_arrow()
    return _check(pick(table, labels, value, "the frame"), required, "the frame", skip_bad, kind)


def same_kind_of_frame(table: pa.Table, frame: Any) -> Any:
    """A table as a frame of the same kind as another frame."""
    original = nw.from_native(frame)
    if isinstance(original, nw.LazyFrame):
        return nw.from_native(table, eager_only=True).lazy(original.implementation).to_native()
    return nw.from_arrow(table, backend=original.implementation).to_native()


def check_arrays(
    labels: Sequence[Any], values: Any, names: Sequence[str], skip_bad: bool, kind: Kind | None = "number"
) -> Table:
    """Check label columns of any type beside an array of values."""
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else _values_array(values, kind)
    return _check(Columns(list(labels), array), names, "the arrays", skip_bad, kind)


def _values_array(values: Any, kind: Kind | None) -> Any:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        # Mixed types: answers of any type are labels; among numbers, let the check find the row.
        return list(values) if kind == "choice" else _as_text(values)


def csv_form(source: TableFile, labels: Sequence[str], value: str) -> tuple[pa.csv.ParseOptions, list[str]]:
    """How to parse a CSV file, and which of its columns to read; its header must name the required ones."""
    with source.stream() as stream:
        start = stream.read(1 << 16)
    text = start.decode("utf-8-sig", errors="replace").lstrip("\r\n")
    if "\ufffd" in text[:-1]:
        source.check_text()
    if not text.strip():
        raise NoClaims(f"{source.name}: the file is empty; it needs a header line and at least one row")
    header = text.splitlines()[0]
    if len(header) == len(text) and len(start) == 1 << 16:  # Arrow would allocate hundreds of rows of this width
        raise UnreadableFile(
            f"{source.name}: the first line is over {1 << 16:,} bytes: it must name the columns; "
            "check that the file is a table, or leave out columns that are not needed"
        )
    required = [*labels, value]
    # The sign that leads to the required columns; without any of them, the one that divides the header most often, so
    # that the error names the columns that there are.
    delimiter = max(
        ",;\t|",
        key=lambda mark: (sum(name in required for name in _cells(header, mark)), len(_cells(header, mark))),
    )
    present = _cells(header, delimiter)
    require(required, present, source.name)
    taken = [name for name in present if name in (*required, *OPTIONAL_COLUMNS)]
    return pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in start), taken


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter))


def _read_csv(
    source: TableFile,
    labels: Sequence[str],
    value: str,
    cleaning: Cleaning,
    progress: Progress[int, int] | None,
    kind: Kind | None,
) -> Columns:
    parse, taken = csv_form(source, labels, value)
    if cleaning.of_values:
        return _read_csv_as_text(source, labels, value, parse, taken)
    label_type = pa.dictionary(pa.int32(), pa.string())
    lines = csv_lines(source, parse.delimiter)
    types = dict.fromkeys([*labels, value, *OPTIONAL_COLUMNS], label_type)
    if kind is None and set(OPTIONAL_COLUMNS) <= set(taken):
        kind = "choice"  # codes such as 0 and 1 too: devices chose among options
    # Without a kind, values are read as numbers first, as they mostly are, and then as texts.
    for attempt in (kind,) if kind else KINDS:
        values = pa.float64() if attempt == "number" else label_type
        try:
            with source.stream(progress) as stream:
                table = pa.csv.read_csv(
                    stream,
                    read_options=pa.csv.ReadOptions(block_size=BLOCK_BYTES),
                    parse_options=parse,
                    convert_options=pa.csv.ConvertOptions(column_types={**types, value: values}, include_columns=taken),
                )
            columns = replace(csv_columns(table, labels, value, source.name), lines=lines)
            if attempt == "choice":
                if kind or kind_of(columns.values) == "choice":
                    return columns
            elif all_finite(columns.values):
                return columns
        except pa.ArrowInvalid:
            pass
    return _read_csv_as_text(source, labels, value, parse, taken)


def _read_csv_as_text(
    source: TableFile, labels: Sequence[str], value: str, parse: Any, taken: Sequence[str]
) -> Columns:
    """The slow way: one thread, everything as text, rows with the wrong number of fields noted."""
    ragged: dict[int, str] = {}

    def note(row: Any) -> str:
        ragged[row.number - 1] = row.text  # Arrow counts the header as row 1
        return "skip"

    parse.invalid_row_handler = note
    with source.stream() as stream:
        table = pa.csv.read_csv(
            stream,
            read_options=pa.csv.ReadOptions(use_threads=False),
            parse_options=parse,
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(taken, pa.string()), include_columns=taken
            ),
        )
    return replace(
        csv_columns(table, labels, value, source.name), texts=table[value], ragged=ragged,
        lines=csv_lines(source, parse.delimiter),
    )  # fmt: skip


def _read_jsonl(source: TableFile, labels: Sequence[str], value: str, budget: Budget | None) -> Columns:
    if budget is None and not hurts_arrow(source):
        try:
            with source.stream() as stream:
                table = pa.json.read_json(stream, read_options=pa.json.ReadOptions(block_size=BLOCK_BYTES))
            return replace(pick(table, labels, value, source.name), lines=text_lines(source))
        except pa.ArrowInvalid:  # a line that Arrow cannot read: go line by line to say which
            pass
    at_once = sys.maxsize if budget is None else budget.rows + 1
    for columns in jsonl_by_lines(source, labels, value, at_once):
        if budget is not None:
            budget.check_rows(source.name, len(columns.values) + len(columns.ragged))
        if not columns.ragged:
            _require_somewhere(columns, [*labels, value], source)
        return columns
    raise NoClaims(f"{source.name}: the file is empty; it needs at least one line")


def _require_somewhere(columns: Columns, required: Sequence[str], source: TableFile) -> None:
    """A column that no line has is missing altogether."""
    texts = columns.texts.to_pylist() if columns.texts is not None else []
    missing = [
        name
        for name, entries in zip(required, (*columns.labels, texts), strict=True)
        if all(entry is None for entry in entries)
    ]
    if missing:
        with source.stream() as stream:
            first = next(filter(str.strip, io.TextIOWrapper(stream, encoding="utf-8", errors="replace")))
        require(missing, [*dict.fromkeys((*json.loads(first), *(set(required) - set(missing))))], source.name)


def hurts_arrow(source: TableFile) -> bool:
    """Whether the file could crash Arrow: a line is only null, at the beginning of a block, or deeply nested."""
    end, open_brackets = b"\n", 0
    with source.stream() as stream:
        while part := stream.read(BLOCK_BYTES):
            if _BARE_NULL.search(end + part):
                return True
            end = part[-_LONGEST_NULL:]
            brackets = part.count(b"{") + part.count(b"[")
            if open_brackets + brackets > _MOST_BRACKETS + part.count(b"\n"):
                first, *others = part.split(b"\n")
                counts = [open_brackets + _brackets(first), *map(_brackets, others)]
                if max(counts) > _MOST_BRACKETS:
                    return True
                open_brackets = counts[-1]
            else:
                open_brackets = _brackets(part.rpartition(b"\n")[2])
    return False


def _brackets(line: bytes) -> int:
    return line.count(b"{") + line.count(b"[")


def jsonl_by_lines(
    source: TableFile, labels: Sequence[str], value: str, at_once: int = sys.maxsize, skip: int = 0
) -> Iterator[Columns]:
    """The slow way, ``at_once`` lines at a time, after the first ``skip``: lines that are not records are noted."""
    required = [*labels, value, *OPTIONAL_COLUMNS]
    with source.stream() as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8", errors="replace")
        later = itertools.islice(enumerate(filter(str.strip, lines), start=1), skip, None)
        while part := list(itertools.islice(later, at_once)):
            rows: list[list[Any]] = []
            ragged: dict[int, str] = {}
            for number, line in part:
                try:
                    record = json.loads(line, parse_int=_integer)
                    row = [_encodable(record.get(name)) for name in required]
                    if isinstance(row[len(labels)], list):  # a reported set
                        row[len(labels)] = json.dumps(row[len(labels)])
                    if any(isinstance(entry, dict | list) for entry in row):
                        raise ValueError("labels and values must not be nested")
                    rows.append(row)
                except (ValueError, RecursionError, AttributeError):
                    ragged[number] = line.strip()
            *columns, values, laws, choices = zip(*rows, strict=True) if rows else [[] for _ in required]
            texts = _as_text(values)
            noise = _noise_law(pa.table({NOISE_COLUMN: _as_text(laws)}), source.name)
            yield Columns(
                [list(column) for column in columns], texts, texts, ragged, noise=noise,
                rule="a line must be a JSON object with the fields", choices=_as_text(choices),
                lines=text_lines(source),
            )  # fmt: skip


def _as_text(entries: Iterable[Any]) -> pa.Array:
    return pa.array([None if entry is None else str(entry) for entry in entries], pa.string())


def _integer(text: str) -> int | str:
    """A whole number, or its text where it is too large for an array."""
    return int(text) if len(text) < _LONGEST_INTEGER else text


def _encodable(entry: Any) -> Any:
    """A lone surrogate, which only JSON can express, becomes a question mark."""
    return entry.encode(errors="replace").decode() if isinstance(entry, str) and not entry.isascii() else entry


def _read_typed(source: TableFile, required: Sequence[str], budget: Budget | None) -> pa.Table:
    """The required columns only: a file may have any number of others."""
    if budget is not None:
        if source.format == "parquet":
            return read_parquet(source.content or b"", source.name, required, OPTIONAL_COLUMNS, budget)
        raise UnreadableFile(
            f"{source.name}: an Arrow file may unpack to any size and is not accepted here; "
            "write it as Parquet, or run the command instead"
        )
    if source.format == "parquet":
        present = pa.parquet.read_schema(source.path).names
        require(required, present, source.name)
        return pa.parquet.read_table(
            source.path, columns=[name for name in (*required, *OPTIONAL_COLUMNS) if name in present]
        )
    return pa.feather.read_table(source.path)


def pick(table: pa.Table, labels: Sequence[str], value: str, name: str) -> Columns:
    require([*labels, value], table.column_names, name)
    for column in (*labels, value):
        nested = pa.types.is_nested(table[column].type)
        if nested and (column != value or pa.types.is_struct(table[column].type)):
            raise BadRow(
                f"{name}: column {column!r} holds lists or records: a label or value must be a single text or number; "
                "write each claim as a row of its own"
            )
    choices = table[CHOICES_COLUMN] if CHOICES_COLUMN in table.column_names else None
    return Columns([table[label] for label in labels], table[value], noise=_noise_law(table, name), choices=choices)


def csv_columns(table: pa.Table, labels: Sequence[str], value: str, name: str) -> Columns:
    """The columns of a CSV file: labels may be numbers, or carry the mark that keeps spreadsheets from running them."""
    columns = pick(table, labels, value, name)
    values = as_written_column(columns.values) if pa.types.is_dictionary(columns.values.type) else columns.values
    written = [as_written_column(column) for column in columns.labels]
    return replace(columns, labels=written, values=values, numerals=True)


def _noise_law(table: pa.Table, name: str) -> str | None:
    if NOISE_COLUMN not in table.column_names:
        return None
    laws = [law for law in pc.unique(pc.unique(table[NOISE_COLUMN]).cast(pa.string())).to_pylist() if law]
    if len(laws) > 1:
        raise BadRow(
            f"{name}: {NOISE_COLUMN} {laws[0]!r} and {laws[1]!r}: all claims of a table must have the same law; "
            "read tables with different laws separately"
        )
    return laws[0] if laws else None


def _check(columns: Columns, names: Sequence[str], source: str, skip_bad: bool, kind: Kind | None = "number") -> Table:
    """Every row is a claim, or raises an error, or is dropped and counted."""
    check_kind(kind)
    values, size, answers = columns.values, 1, None
    declared = columns.noise is not None and columns.choices is not None
    by_values = kind_of(values) if isinstance(values, pa.Array | pa.ChunkedArray) else "choice"
    chosen = kind or ("choice" if declared else by_values)
    if chosen == "choice":
        values, size = one_by_one(values, source)
    lengths = [*map(len, columns.labels), len(values) // size]
    if len(set(lengths)) > 1:
        described = ", ".join(f"{length} {name}s" for name, length in zip(names, lengths, strict=True))
        raise BadRow(f"{source}: {described}: every claim needs one of each; give columns of equal length")

    encoded = [encode(column, columns.numerals) for column in columns.labels]
    missing = [ids < 0 for ids, _ in encoded]
    if chosen == "choice":
        named, answers = encode(values, columns.numerals)
        missing = [*missing, missing_answers(named, size)]
        checked = check_choices(columns, missing, names, source, skip_bad)
        checked.values = named.reshape(-1, size)
    else:
        checked = check_rows(columns, missing, names, source, skip_bad, hint=kind is None)
    values, rows = checked.values, checked.rows
    choices = None if columns.noise is None or chosen == "number" else declared_choices(columns.choices, source)
    if checked.keep is not None:
        rows = (np.arange(1, len(checked.keep) + 1) if rows is None else rows)[checked.keep]
        values = values[checked.keep]
        choices = None if choices is None else choices[checked.keep]
        encoded = [compact(ids[checked.keep], labels) for ids, labels in encoded]
    if not len(values):
        raise NoClaims(
            f"{source}: there is no {'good ' if checked.skipped else ''}row; at least one {', '.join(names)} is needed"
        )
    ids, labels = [ids for ids, _ in encoded], [labels for _, labels in encoded]
    if answers is not None:
        values, answers = compact(values.reshape(-1), answers)
    left_out = left_out_rows(columns, missing, checked, names)
    return Table(ids, labels, values, checked.skipped, rows, columns.noise, answers, size, choices, left_out)
