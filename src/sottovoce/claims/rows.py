"""Which rows of a table are claims, and the error about the first row that is not."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sottovoce.claims.cleaning import AS_WRITTEN, Cleaning, advice
from sottovoce.claims.header import CHOICES_COLUMN, shown
from sottovoce.claims.kinds import NUMBER
from sottovoce.claims.lines import Lines
from sottovoce.errors import BadRow

# Squares of larger values would not be finite.
LARGEST_VALUE = 1e150


@dataclass
class Columns:
    """What a source holds, before it is checked."""

    labels: list[Any]
    values: pa.ChunkedArray | pa.Array
    texts: pa.ChunkedArray | pa.Array | None = None  # the values as written, if that is known
    ragged: dict[int, str] = field(default_factory=dict)  # row number → text of rows that could not be split
    numerals: bool = False
    noise: str | None = None
    rule: str = "a row must have the fields"  # that ragged rows break
    lines: Lines | None = None  # of the rows in a file of text
    places: Callable[[int], str] | None = None  # where a row is in the source, if it is one cell of a line
    choices: pa.ChunkedArray | pa.Array | None = None  # number of options, if the source declares it
    cleaning: Cleaning = AS_WRITTEN  # how the values were read


def all_finite(values: pa.ChunkedArray | pa.Array) -> bool:
    return values.null_count == 0 and bool(np.isfinite(values.to_numpy(zero_copy_only=False)).all())


@dataclass
class CheckedRows:
    """Which rows are claims."""

    values: NDArray[Any]  # of all rows
    keep: NDArray[np.bool_] | None  # None: all
    rows: NDArray[np.int64] | None  # numbers of all rows, unless they simply count from 1
    skipped: int


def check_rows(
    columns: Columns, missing: Sequence[NDArray[np.bool_]], names: Sequence[str], source: str, skip_bad: bool,
    before: int = 0, hint: bool = False,
) -> CheckedRows:  # fmt: skip
    """Which rows are claims; without ``skip_bad``, the first that is not raises an error.

    ``before`` is the number of rows of the source that came earlier. With ``hint``, the error about a text mentions
    that values may be choices.
    """
    values = _numbers(columns.values)
    bad = ~(np.abs(values) <= LARGEST_VALUE)
    for mask in missing:
        bad |= mask
    return _checked(columns, missing, bad, values, names, source, skip_bad, before, hint)


def check_choices(
    columns: Columns, missing: Sequence[NDArray[np.bool_]], names: Sequence[str], source: str, skip_bad: bool,
    before: int = 0,
) -> CheckedRows:  # fmt: skip
    """Which rows are claims if values are answers: those that lack nothing."""
    return _checked(columns, missing, np.any(missing, axis=0), np.empty(0), names, source, skip_bad, before, False)


def _checked(
    columns: Columns, missing: Sequence[NDArray[np.bool_]], bad: NDArray[np.bool_], values: NDArray[Any],
    names: Sequence[str], source: str, skip_bad: bool, before: int, hint: bool,
) -> CheckedRows:  # fmt: skip
    n_bad = int(bad.sum()) + len(columns.ragged)
    rows = _row_numbers(len(bad), columns.ragged, before) if columns.ragged or before else None
    if n_bad and not skip_bad:
        raise BadRow(_first_bad(columns, missing, bad, rows, names, source, n_bad, hint))
    return CheckedRows(values, ~bad if bad.any() else None, rows, n_bad)


def declared_choices(
    column: pa.ChunkedArray | pa.Array | None, source: str, rows: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """The number of options in each row; ``rows`` are the rows' numbers, unless they simply count from 1."""
    if column is None or column.null_count == len(column):
        return None
    counts = _numbers(column)
    bad = np.flatnonzero(~((counts == np.floor(counts)) & (counts >= 2) & np.isfinite(counts)))
    if len(bad):
        number = bad[0] + 1 if rows is None else rows[bad[0]]
        raise BadRow(
            f"{source}, row {number}: {CHOICES_COLUMN} {column[int(bad[0])].as_py()!r}: it must be the number of "
            "options, 2 or more, in every row; correct it, or remove the column"
        )
    return counts.astype(np.int64)


def _numbers(values: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
    """Values as floats; what is not a number becomes NaN."""
    if pa.types.is_dictionary(values.type):  # convert each entry only once: unpacked, the texts may have any size
        return np.concatenate([np.empty(0), *map(_numbers_by_entry, _chunks(values))])
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        trimmed = pc.replace_substring_regex(pc.utf8_trim_whitespace(values), r"^\+", "")
        numeric = pc.match_substring_regex(trimmed, NUMBER)
        values = pc.if_else(numeric, trimmed, None).cast(pa.float64())
    elif not (
        pa.types.is_floating(values.type) or pa.types.is_integer(values.type) or pa.types.is_decimal(values.type)
    ):
        return np.full(len(values), np.nan)
    numbers = values.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, np.float64)


def _chunks(values: pa.ChunkedArray | pa.Array) -> list[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


def _numbers_by_entry(values: pa.DictionaryArray) -> NDArray[np.float64]:
    numbers = np.append(_numbers(values.dictionary), np.nan)  # the last is for rows without an entry
    return np.asarray(numbers[values.indices.fill_null(-1).to_numpy(zero_copy_only=False)], np.float64)


def _row_numbers(good: int, ragged: dict[int, str], before: int) -> NDArray[np.int64]:
    """Numbers of the rows that could be split; rows that could not be split are counted too."""
    everything = before + np.arange(1, good + len(ragged) + 1)
    return np.setdiff1d(everything, np.fromiter(ragged, np.int64))


_NAMES_OF_A_TRUTH = 2  # object and value
_LEFT_OUT = pa.schema({"row": pa.int64(), "line": pa.int64(), "reason": pa.string()})
NOTHING_LEFT_OUT = _LEFT_OUT.empty_table()


def left_out_rows(
    columns: Columns, missing: Sequence[NDArray[np.bool_]], checked: CheckedRows, names: Sequence[str]
) -> pa.Table | None:
    """The rows that are not claims, each with its row, its line and the reason; None if there are none."""
    if not checked.skipped:
        return None
    places = [] if checked.keep is None else np.flatnonzero(~checked.keep).tolist()
    counted = (lambda place: place + 1) if checked.rows is None else checked.rows.__getitem__
    bad = [(int(counted(place)), *_fault(columns, missing, names, place)) for place in places]
    bad += [(number, shown(text), _fields(columns, names)) for number, text in columns.ragged.items()]
    bad.sort()
    rows = [number for number, _, _ in bad]
    lines = columns.lines(rows) if columns.lines else [None] * len(rows)
    return pa.table([rows, lines, [f"{what}: {rule}" for _, what, rule in bad]], schema=_LEFT_OUT)


def _fault(columns: Columns, missing: Sequence[NDArray[np.bool_]], names: Sequence[str], place: int) -> tuple[str, str]:
    """What is wrong with a row, and the rule that it breaks."""
    for mask, name in zip(missing, names, strict=False):
        if mask[place]:
            return f"{name} is missing", "every claim needs one"
    written = _written(columns, place)
    quoted = "''" if written is None else shown(written) if isinstance(written, str) else repr(written)
    rule = f"a value must be a finite number between -{LARGEST_VALUE:g} and {LARGEST_VALUE:g}"
    if isinstance(written, date | time):
        written = quoted = written.isoformat()
    return f"{names[-1]} {quoted}", rule + (advice(written, columns.cleaning) if isinstance(written, str) else "")


def _fields(columns: Columns, names: Sequence[str]) -> str:
    return f"{columns.rule} {', '.join(names)}"


def _first_bad(
    columns: Columns,
    missing: Sequence[NDArray[np.bool_]],
    bad: NDArray[np.bool_],
    rows: NDArray[np.int64] | None,
    names: Sequence[str],
    source: str,
    n_bad: int,
    hint: bool,
) -> str:
    more = f" ({n_bad - 1:,} more bad row{'s' * (n_bad > 2)})" if n_bad > 1 else ""
    place = int(bad.argmax()) if bad.any() else -1
    number = int(rows[place] if rows is not None else place + 1) if place >= 0 else None
    first_ragged = min(columns.ragged, default=None)
    if first_ragged is not None and (number is None or first_ragged < number):
        number, what, rule = first_ragged, shown(columns.ragged[first_ragged]), _fields(columns, names)
        place = -1
    else:
        what, rule = _fault(columns, missing, names, place)
    (line,) = columns.lines([number]) if columns.lines and number else (None,)
    where = f"{source}, line {line}, row {number}" if line else f"{source}, row {number}"
    if columns.places and number:
        where = f"{source}, {columns.places(number)}"
    mixed = ""
    if hint and place >= 0 and _is_a_word(_written(columns, place)) and not any(mask[place] for mask in missing):
        mixed = ". If the values are choices, say so with kind='choice' (--kind choice)"
    # Rows of claims can be dropped; rows of truths, which have no user, cannot.
    drop = ", or drop such rows with skip_bad=True (--skip-bad)" if len(names) > _NAMES_OF_A_TRUTH else ""
    return f"{where}: {what}: {rule}{more}; correct it{drop}{mixed}"


def _written(columns: Columns, place: int) -> Any:
    return (columns.values if columns.texts is None else columns.texts)[place].as_py()


def _is_a_word(written: Any) -> bool:
    return isinstance(written, str) and bool(written) and not re.match(NUMBER, written.strip().lstrip("+"))
