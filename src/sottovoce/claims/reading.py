"""Reading tables of labels and one value column from files and frames.

Arrow does the reading, in parallel. If it fails, the file is read again as text, to report which row is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from sottovoce.claims.bounded import read_parquet
from sottovoce.claims.budget import Budget
from sottovoce.claims.cleaning import AS_WRITTEN, Cleaning
from sottovoce.claims.csv_tables import read_csv
from sottovoce.claims.header import IN_A_FRAME, OPTIONAL_COLUMNS, require
from sottovoce.claims.jsonl_tables import read_jsonl
from sottovoce.claims.kinds import Kind, check_kind, kind_of, missing_answers, one_by_one
from sottovoce.claims.label_columns import columns_needed
from sottovoce.claims.labels import Labels, compact, encode, texts
from sottovoce.claims.picking import as_text, pick
from sottovoce.claims.rows import Columns, check_choices, check_rows, declared_choices, left_out_rows
from sottovoce.claims.table_file import TableFile, unreadable
from sottovoce.digits import counted
from sottovoce.errors import BadRow, NoClaims, SottovoceError, UnreadableFile
from sottovoce.progress import Progress


@dataclass
class Table:
    """Label columns as ids and sorted labels, and values: finite numbers, or ids of answers."""

    ids: list[NDArray[np.int32]]
    labels: list[Labels]
    values: NDArray[Any]
    skipped: int
    rows: NDArray[np.int64] | None  # number of each row in the source, if rows were left out
    noise: str | None  # the noise law that the source names
    answers: Labels | None = None  # sorted, if values are choices
    size: int = 1  # answers in each row
    choices: NDArray[np.int64] | None = None  # number of options in each row, if the source declares it
    left_out: pa.Table | None = None  # the rows that are not claims, with the reasons

    def by_label(self, source: str) -> dict[str, Any]:
        """The only value of each label, by the label as text, if there is one label column; answers become text too."""
        (ids,), (labels,) = self.ids, self.labels
        names = texts(labels)
        values = self.values.tolist() if self.answers is None else np.array(texts(self.answers))[self.values].tolist()
        known = {names[place]: truth for place, truth in zip(ids.tolist(), values, strict=True)}
        if len(known) < len(ids):
            twice = next(names[place] for place, count in enumerate(np.bincount(ids).tolist()) if count > 1)
            raise BadRow(
                f"{source}: object {twice!r} has more than one truth, but each object must have only one; "
                "remove the others"
            )
        return known


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

    ``cleaning`` describes how values are written; if ``kind`` is None, the values decide. ``progress`` gets the number
    of bytes read and the total. A ``budget`` is for uploaded files: the format of a stream then follows from its name,
    no more is read than the budget allows, and only readers that a broken file cannot crash are used.
    """
    if cleaning.of_values:
        kind = kind or "number"
    check_kind(kind)
    source = TableFile.of(path, by_name=budget is not None, encoding=cleaning.encoding)
    try:
        if source.format == "csv":
            columns = read_csv(source, labels, value, cleaning, progress, kind)
        elif source.format == "jsonl":
            columns = read_jsonl(source, labels, value, budget)
        else:
            columns = pick(_read_typed(source, labels, value, budget), labels, value, source.name)
    except (pa.ArrowInvalid, UnicodeError) as error:
        source.check_text()
        raise unreadable(source.name, source.format, error) from error
    except OSError as error:
        if error.errno or isinstance(error, SottovoceError):  # otherwise Arrow reports damaged compressed bytes
            raise
        raise unreadable(source.name, f"compressed {source.format}", error) from error
    if budget is not None:
        budget.check_rows(source.name, len(columns.values))
        for name, column in zip([*labels, value], [*columns.labels, columns.values], strict=True):
            budget.check_texts(source.name, name, column)
    columns = cleaning.cleaned(columns, value, source.name)
    return check_columns(columns, [*labels, value], source.name, skip_bad, kind, budget)


def read_frame(frame: Any, labels: Sequence[str], value: str, skip_bad: bool, kind: Kind | None = "number") -> Table:
    """Read a pandas, polars, pyarrow or duckdb table."""
    try:
        native = nw.from_native(frame)
    except TypeError as error:
        raise TypeError(
            f"{type(frame).__name__}: a frame must come from pandas, polars, pyarrow or duckdb; "
            "for lists and arrays use Claims.from_arrays(users, objects, values)"
        ) from error
    present = native.collect_schema().names()
    required = columns_needed(labels, value, present)
    require(required, present, "the frame", IN_A_FRAME)
    native = native.select([name for name in present if name in (*required, *OPTIONAL_COLUMNS)])
    table = native.collect("pyarrow").to_native() if isinstance(native, nw.LazyFrame) else native.to_arrow()
    return check_columns(pick(table, labels, value, "the frame"), [*labels, value], "the frame", skip_bad, kind)


def same_kind_of_frame(table: pa.Table, frame: Any) -> Any:
    """A table as a frame of the same kind as another frame."""
    original = nw.from_native(frame)
    if isinstance(original, nw.LazyFrame):
        return nw.from_native(table, eager_only=True).lazy(original.implementation).to_native()
    return nw.from_arrow(table, backend=original.implementation).to_native()


def check_arrays(
    labels: Sequence[Any], values: Any, names: Sequence[str], skip_bad: bool, kind: Kind | None = "number"
) -> Table:
    """Check label columns of any type, and an array of values."""
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else _values_array(values, kind)
    return check_columns(Columns(list(labels), array), names, "the arrays", skip_bad, kind)


def _values_array(values: Any, kind: Kind | None) -> Any:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        # Mixed types: answers of any type are labels; for numbers, the check finds the bad row.
        return list(values) if kind == "choice" else as_text(values)


def _read_typed(source: TableFile, labels: Sequence[str], value: str, budget: Budget | None) -> pa.Table:
    """The required columns of a Parquet file, which may have any number of others; all columns of an Arrow file."""
    if budget is not None:
        if source.format == "parquet":
            return read_parquet(source.content or b"", source.name, labels, value, OPTIONAL_COLUMNS, budget)
        raise UnreadableFile(
            f"{source.name}: an Arrow file may unpack to any size and is not accepted here; "
            "write it as Parquet, or use the command line instead"
        )
    if source.format == "parquet":
        present = pa.parquet.read_schema(source.path).names
        required = columns_needed(labels, value, present)
        require(required, present, source.name)
        return pa.parquet.read_table(
            source.path, columns=[name for name in (*required, *OPTIONAL_COLUMNS) if name in present]
        )
    return pa.feather.read_table(source.path)


def check_columns(
    columns: Columns,
    names: Sequence[str],
    source: str,
    skip_bad: bool,
    kind: Kind | None = "number",
    budget: Budget | None = None,
) -> Table:
    """Check every row: it is a claim, raises an error, or is dropped and counted."""
    check_kind(kind)
    values, size, answers = columns.values, 1, None
    declared = columns.noise is not None and columns.choices is not None
    by_values = kind_of(values) if isinstance(values, pa.Array | pa.ChunkedArray) else "choice"
    chosen = kind or ("choice" if declared else by_values)
    if chosen == "choice":
        values, size = one_by_one(values, source, budget)
    lengths = [*map(len, columns.labels), len(values) // size]
    if len(set(lengths)) > 1:
        described = ", ".join(counted(length, name) for name, length in zip(names, lengths, strict=True))
        raise BadRow(f"{source}: {described}, but every claim needs one of each; give columns of equal length")

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
    choices = None if columns.noise is None or chosen == "number" else declared_choices(columns.choices, source, rows)
    if checked.keep is not None:
        rows = (np.arange(1, len(checked.keep) + 1) if rows is None else rows)[checked.keep]
        values = values[checked.keep]
        choices = None if choices is None else choices[checked.keep]
        encoded = [compact(ids[checked.keep], labels) for ids, labels in encoded]
    left_out = left_out_rows(columns, missing, checked, names)
    if not len(values):
        valid, why = ("valid ", f". The first row left out: {left_out['reason'][0]}") if left_out else ("", "")
        needed = f"{', '.join(names[:-1])} and {names[-1]}"
        raise NoClaims(f"{source}: there is no {valid}row; at least one with {needed} is needed{why}")
    ids, labels = [ids for ids, _ in encoded], [labels for _, labels in encoded]
    if answers is not None:
        values, answers = compact(values.reshape(-1), answers)
    return Table(ids, labels, values, checked.skipped, rows, columns.noise, answers, size, choices, left_out)
