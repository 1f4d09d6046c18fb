"""Reading tables of claims of any size, chunk by chunk, by the rules of `reading`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from sottovoce.claims.cleaning import AS_WRITTEN, Cleaning
from sottovoce.claims.csv_tables import csv_columns, csv_form
from sottovoce.claims.header import OPTIONAL_COLUMNS, require
from sottovoce.claims.jsonl_tables import could_crash_arrow, jsonl_by_lines
from sottovoce.claims.kinds import Kind, check_kind, kind_of, one_by_one
from sottovoce.claims.label_columns import columns_needed
from sottovoce.claims.labels import missing, plain_integers
from sottovoce.claims.lines import csv_lines, text_lines
from sottovoce.claims.picking import BLOCK_BYTES, pick
from sottovoce.claims.rows import Columns, all_finite, check_choices, check_rows, declared_choices, left_out_rows
from sottovoce.claims.table_file import TableFile, unreadable
from sottovoce.errors import BadRow, SottovoceError
from sottovoce.progress import Progress

_ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Chunk:
    """Consecutive claims. Labels are whole numbers or text; values are finite numbers, or answers as labels."""

    users: pa.Array
    objects: pa.Array
    values: NDArray[np.float64] | pa.Array
    rows: NDArray[np.int64]  # numbers in their source
    skipped: int = 0
    noise: str | None = None
    choices: NDArray[np.int64] | None = None  # number of options, if the source declares it
    size: int = 1  # options in one claim, which follow one another in ``values``

    @property
    def kind(self) -> Kind:
        return "choice" if isinstance(self.values, pa.Array) else "number"


def read_chunks(
    path: str | Path, user: str, object: str, value: str, skip_bad: bool, progress: Progress[float] | None = None,
    kind: Kind | None = None, cleaning: Cleaning = AS_WRITTEN, units: dict[str, int] | None = None,
    left_out: Progress[pa.Table] | None = None,
) -> Iterator[Chunk]:  # fmt: skip
    """The claims of a CSV, Parquet, Arrow or JSON Lines file. If ``kind`` is None, the first chunk decides.

    ``units`` counts the units that ``cleaning`` removes, over all chunks and files. ``left_out`` is called with rows
    that are not claims.
    """
    if cleaning.of_values:
        kind = kind or "number"
    check_kind(kind)
    chosen = kind
    source, labels = TableFile.of(path, encoding=cleaning.encoding), (user, object)
    units = {} if units is None else units
    if source.format == "csv":
        pieces = _csv(source, labels, value, skip_bad, progress, as_text=cleaning.of_values)
    elif source.format == "jsonl":
        pieces = _jsonl(source, labels, value, progress)
    else:
        pieces = _typed(source, labels, value, progress)
    before = 0
    try:
        for written in pieces:
            columns = cleaning.cleaned(written, value, source.name, units)
            declared = columns.noise is not None and columns.choices is not None
            chosen = chosen or ("choice" if declared else kind_of(columns.values))
            arrays = [_labels(column, columns.numerals) for column in columns.labels]
            names, blank = (*labels, value), [missing(array) for array in arrays]
            choices, size = None, 1
            if chosen == "choice":
                _check_answers(columns, source.name, before, mixed=kind is None and not declared)
                options, size = one_by_one(columns.values, source.name, before=before)
                answers = _labels(options, columns.numerals)
                lacking = np.any(missing(answers).reshape(-1, size), axis=1)
                checked = check_choices(columns, [*blank, lacking], names, source.name, skip_bad, before)
                arrays.append(answers)
                choices = declared_choices(columns.choices, source.name, checked.rows) if columns.noise else None
            else:
                checked = check_rows(columns, blank, names, source.name, skip_bad, before, hint=kind is None)
            bad = left_out_rows(columns, blank, checked, names) if left_out else None
            if left_out and bad is not None:
                left_out(bad)
            read = len(arrays[0])
            rows = before + np.arange(1, read + 1) if checked.rows is None else checked.rows
            before += read + len(columns.ragged)
            values = checked.values
            if checked.keep is not None:
                rows, choices = rows[checked.keep], None if choices is None else choices[checked.keep]
                values = values if chosen == "choice" else values[checked.keep]
                arrays[:2] = [array.filter(pa.array(checked.keep)) for array in arrays[:2]]
                arrays[2:] = [array.filter(pa.array(np.repeat(checked.keep, size))) for array in arrays[2:]]
            yield Chunk(arrays[0], arrays[1], arrays[2] if chosen == "choice" else values, rows, checked.skipped,
                        columns.noise, choices, size)  # fmt: skip
    except (pa.ArrowInvalid, UnicodeError) as error:
        source.check_text()
        raise unreadable(source.name, source.format, error) from error
    except OSError as error:
        if error.errno or isinstance(error, SottovoceError):  # otherwise Arrow reports damaged compressed bytes
            raise
        raise unreadable(source.name, f"compressed {source.format}", error) from error


def _check_answers(columns: Columns, source: str, before: int, mixed: bool) -> None:
    """Refuse numbers among texts."""
    values = columns.values
    if mixed and kind_of(values) == "number" and values.null_count < len(values):
        raise BadRow(
            f"{source}, after row {before}: there are numbers among texts, but values must be all numbers or all "
            "choices; if they are choices, say so with kind='choice' (--kind choice)"
        )


def _labels(column: Any, numerals: bool) -> pa.Array:
    """Whole numbers unchanged; everything else as text, which every source can provide."""
    array = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(map(_text, column), pa.string())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_integer(array.type) and array.type != pa.uint64():
        return array.cast(pa.int64())
    if pa.types.is_floating(array.type):
        array = pa.array(np.where(missing(array), None, array.to_numpy(zero_copy_only=False).astype(object)))
    if pa.types.is_timestamp(array.type):  # as Python writes them: without a fraction of zeros
        return pc.replace_substring_regex(array.cast(pa.string()), r"\.0+$", "")
    array = array.cast(pa.string())
    return plain_integers(array) if numerals else array


def _text(label: Any) -> str | None:
    return None if label is None else str(label)


def _csv(
    source: TableFile, labels: Sequence[str], value: str, skip_bad: bool, progress: Progress[float] | None,
    as_text: bool,
) -> Iterator[Columns]:  # fmt: skip
    parse, taken = csv_form(source, labels, value)
    as_text = as_text or set(OPTIONAL_COLUMNS) <= set(taken)  # codes of answers are not numbers
    lines = csv_lines(source, parse.delimiter)
    types = {**dict.fromkeys(taken, pa.string()), value: pa.float64()}
    done = 0
    try:
        # Values that will be cleaned must not be read as numbers first: 1.234 may be more than a thousand.
        for table in _csv_tables(source, parse, types, progress) if not as_text else ():
            columns = replace(csv_columns(table, labels, value, source.name), lines=lines)
            if not (skip_bad or all_finite(columns.values)):
                break
            yield columns
            done += table.num_rows
        else:
            if not as_text:
                return
    except pa.ArrowInvalid:
        pass
    # Something is not a number, or not a row: from here on, everything is read as text, to report the row as written.
    source.check_text()  # Arrow prints a traceback about a row that it cannot pass to `note`
    ragged: dict[int, str] = {}

    def note(row: Any) -> str:
        ragged[row.number - 1] = row.text  # Arrow counts the header as row 1
        return "skip"

    parse.invalid_row_handler = note
    skip = before = done
    for table in _csv_tables(source, parse, dict.fromkeys(taken, pa.string()), progress):
        read_already = min(skip, table.num_rows)
        skip, table = skip - read_already, table.slice(read_already)
        mine: dict[int, str] = {}
        last = before + table.num_rows
        for number in sorted(ragged):  # Arrow may have parsed ahead of this chunk
            if number > last + 1:
                break
            mine[number] = ragged.pop(number)
            last += 1
        before = last
        columns = csv_columns(table, labels, value, source.name)
        yield replace(columns, texts=table[value], ragged=mine, lines=lines)
    if ragged:
        nothing = [pa.array([], pa.string()) for _ in labels]
        yield Columns(nothing, pa.array([], pa.float64()), ragged=ragged, lines=lines)


def _csv_tables(
    source: TableFile, parse: pa.csv.ParseOptions, types: dict[str, pa.DataType], progress: Progress[float] | None
) -> Iterator[pa.Table]:
    report = (lambda done, size: progress(done / max(size, 1))) if progress else None
    with source.stream(report) as stream:
        reader = pa.csv.open_csv(
            stream,
            # Arrow gives the numbers of rows that cannot be split only if it uses a single thread.
            read_options=pa.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=parse.invalid_row_handler is None),
            parse_options=parse,
            convert_options=pa.csv.ConvertOptions(column_types=types, include_columns=list(types)),
        )
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _jsonl(source: TableFile, labels: Sequence[str], value: str, progress: Progress[float] | None) -> Iterator[Columns]:
    report = (lambda done, size: progress(done / max(size, 1))) if progress else None
    done = 0
    if not could_crash_arrow(source):
        try:
            with source.stream(report) as stream:
                for batch in pa.json.open_json(stream, read_options=pa.json.ReadOptions(block_size=BLOCK_BYTES)):
                    columns = pick(pa.Table.from_batches([batch]), labels, value, source.name)
                    yield replace(columns, lines=text_lines(source))
                    done += batch.num_rows
            return
        except pa.ArrowInvalid:
            pass
    yield from jsonl_by_lines(source, labels, value, _ROWS_AT_ONCE, done)


def _typed(source: TableFile, labels: Sequence[str], value: str, progress: Progress[float] | None) -> Iterator[Columns]:
    if source.format == "parquet":
        with pa.parquet.ParquetFile(source.path) as file:
            present = file.schema_arrow.names
            required = columns_needed(labels, value, present)
            require(required, present, source.name)
            taken = [name for name in present if name in (*required, *OPTIONAL_COLUMNS)]
            total, batches = file.metadata.num_rows, file.iter_batches(_ROWS_AT_ONCE, columns=taken)
            yield from _picked(batches, total, labels, value, source.name, progress)
    else:
        with pa.memory_map(str(source.path)) as mapped, pa.ipc.open_file(mapped) as file:
            batches = (file.get_batch(number) for number in range(file.num_record_batches))
            yield from _picked(batches, 0, labels, value, source.name, progress)


def _picked(
    batches: Iterator[pa.RecordBatch], total: int, labels: Sequence[str], value: str, name: str,
    progress: Progress[float] | None,
) -> Iterator[Columns]:  # fmt: skip
    done = 0
    for batch in batches:
        for first in range(0, batch.num_rows, _ROWS_AT_ONCE):
            yield pick(pa.Table.from_batches([batch.slice(first, _ROWS_AT_ONCE)]), labels, value, name)
        done += batch.num_rows
        if progress and total:
            progress(done / total)
