"""Tables of claims in CSV: Arrow reads them in parallel; if it fails, a slower way finds the bad row."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.csv

from sottovoce.claims.cells import as_written_column
from sottovoce.claims.cleaning import Cleaning
from sottovoce.claims.header import OPTIONAL_COLUMNS, require
from sottovoce.claims.kinds import KINDS, Kind, kind_of
from sottovoce.claims.label_columns import columns_needed
from sottovoce.claims.lines import csv_lines
from sottovoce.claims.picking import BLOCK_BYTES, pick
from sottovoce.claims.rows import Columns, all_finite
from sottovoce.claims.table_file import TableFile
from sottovoce.errors import NoClaims, UnreadableFile
from sottovoce.progress import Progress


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
            f"{source.name}: the first line has {1 << 16:,} bytes or more, but it should only name the columns; "
            "check that the file is a table, or leave out columns that are not needed"
        )
    # The separator that gives the required columns; if none does, the one that splits the header most often, so that
    # the error names the columns of the file.
    delimiter = max(
        ",;\t|",
        key=lambda mark: _matches(_cells(header, mark), labels, value),
    )
    present = _cells(header, delimiter)
    required = columns_needed(labels, value, present)
    require(required, present, source.name)
    taken = [name for name in present if name in (*required, *OPTIONAL_COLUMNS)]
    return pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in start), taken


def _matches(present: list[str], labels: Sequence[str], value: str) -> tuple[int, int]:
    """How many of the required columns a header has, and how many columns in all."""
    required = columns_needed(labels, value, present)
    return sum(name in required for name in present), len(present)


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter))


def read_csv(
    source: TableFile,
    labels: Sequence[str],
    value: str,
    cleaning: Cleaning,
    progress: Progress[int, int] | None,
    kind: Kind | None,
) -> Columns:
    """The columns of a whole file, as numbers or texts according to the kind."""
    parse, taken = csv_form(source, labels, value)
    if cleaning.of_values:
        return _read_csv_as_text(source, labels, value, parse, taken)
    label_type = pa.dictionary(pa.int32(), pa.string())
    lines = csv_lines(source, parse.delimiter)
    types = dict.fromkeys(taken, label_type)
    if kind is None and set(OPTIONAL_COLUMNS) <= set(taken):
        kind = "choice"  # codes such as 0 and 1 too: devices chose among options
    # Without a kind, values are read as numbers first, because most are, and then as texts.
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
    """The slow way: in one thread, everything as text, noting rows with the wrong number of fields."""
    source.check_text()  # Arrow prints a traceback about a row that it cannot pass to `note`
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


def csv_columns(table: pa.Table, labels: Sequence[str], value: str, name: str) -> Columns:
    """The columns of a CSV file; its labels may be numbers, or begin with the mark against running them as formulas."""
    columns = pick(table, labels, value, name)
    values = as_written_column(columns.values) if pa.types.is_dictionary(columns.values.type) else columns.values
    written = [as_written_column(column) for column in columns.labels]
    return replace(columns, labels=written, values=values, numerals=True)
