"""Tables of claims in JSON Lines: Arrow reads files that cannot crash it; all others are read line by line."""

import io
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.json

from sottovoce.claims.budget import Budget
from sottovoce.claims.header import NOISE_COLUMN, OPTIONAL_COLUMNS, require
from sottovoce.claims.label_columns import columns_needed, label_column_of, parts_of
from sottovoce.claims.lines import text_lines
from sottovoce.claims.picking import BLOCK_BYTES, as_text, noise_law, pick
from sottovoce.claims.rows import Columns
from sottovoce.claims.table_file import TableFile
from sottovoce.errors import BadParameter, NoClaims

_BARE_NULL = re.compile(rb"\n\s*null")
_LONGEST_NULL = 64  # bytes of a null with the blanks before it: this end of a part is searched again with the next part
_LONGEST_INTEGER = 19  # characters
_MOST_BRACKETS = 500  # in a line that Arrow reads: in a deeply nested line, it recurses until its stack overflows


def read_jsonl(source: TableFile, labels: Sequence[str], value: str, budget: Budget | None) -> Columns:
    """The columns of a whole file, which may have no more rows than the budget allows."""
    if budget is None and not could_crash_arrow(source):
        try:
            with source.stream() as stream:
                table = pa.json.read_json(stream, read_options=pa.json.ReadOptions(block_size=BLOCK_BYTES))
            return replace(pick(table, labels, value, source.name), lines=text_lines(source))
        except pa.ArrowInvalid:  # Arrow cannot read some line: go line by line to report which
            pass
    at_once = sys.maxsize if budget is None else budget.rows + 1
    for columns in jsonl_by_lines(source, labels, value, at_once):
        if budget is not None:
            budget.check_rows(source.name, len(columns.values) + len(columns.ragged), at_least=True)
        if not columns.ragged:
            _require_somewhere(columns, [*labels, value], source)
        return columns
    raise NoClaims(f"{source.name}: the file is empty; it needs at least one line")


def _require_somewhere(columns: Columns, required: Sequence[str], source: TableFile) -> None:
    """Refuse a table with a required column that no line has."""
    texts = columns.texts.to_pylist() if columns.texts is not None else []
    missing = [
        name
        for name, entries in zip(required, (*columns.labels, texts), strict=True)
        if all(entry is None for entry in entries)
    ]
    if missing:
        with source.stream() as stream:
            first = json.loads(next(filter(str.strip, io.TextIOWrapper(stream, encoding="utf-8", errors="replace"))))
        present = [*dict.fromkeys((*first, *(set(required) - set(missing))))]
        require([part.column for name in missing for part in parts_of(name, present)], present, source.name)


def could_crash_arrow(source: TableFile) -> bool:
    """Whether the file could crash Arrow: a line that is only null, as it may begin a block, or is deeply nested."""
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
    """The slow way, ``at_once`` lines at a time after the first ``skip`` lines, noting lines that are not records."""
    with source.stream() as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8", errors="replace")
        later = itertools.islice(enumerate(filter(str.strip, lines), start=1), skip, None)
        while part := list(itertools.islice(later, at_once)):
            records: list[dict[str, Any]] = []
            ragged: dict[int, str] = {}
            for number, line in part:
                try:
                    records.append(_record(line, labels, value))
                except BadParameter:  # a label that is not valid
                    raise
                except (ValueError, RecursionError):
                    ragged[number] = line.strip()
            texts, laws, choices = (
                as_text(record.get(name) for record in records) for name in (value, *OPTIONAL_COLUMNS)
            )
            yield Columns(
                [_labels(records, label, source.name) for label in labels], texts, texts, ragged,
                noise=noise_law(pa.table({NOISE_COLUMN: laws}), source.name),
                rule="a line must be a JSON object with the fields", choices=choices, lines=text_lines(source),
            )  # fmt: skip


def _record(line: str, labels: Sequence[str], value: str) -> dict[str, Any]:
    """The fields of a line that a claim needs."""
    record = json.loads(line, parse_int=_integer)
    if not isinstance(record, dict):
        raise ValueError("a line must be an object")
    joined = [label for label in labels if label not in record]
    needed = {*labels, *columns_needed(joined, value, list(record)), *OPTIONAL_COLUMNS}
    taken = {name: _encodable(entry) for name, entry in record.items() if name in needed}
    if isinstance(taken.get(value), list):  # a reported set
        taken[value] = json.dumps(taken[value])
    if any(isinstance(entry, dict | list) for entry in taken.values()):
        raise ValueError("labels and values must not be nested")
    return taken


def _labels(records: Sequence[Mapping[str, Any]], label: str, source: str) -> Any:
    """The labels of records: one field unchanged, or several fields joined."""
    present = {name for record in records for name in record}
    parts = {part.column for part in parts_of(label, present)}
    if parts == {label}:
        return [record.get(label) for record in records]
    columns = {column: _typed(record.get(column) for record in records) for column in parts}
    return label_column_of(pa.table(columns), label, source)


def _typed(entries: Iterable[Any]) -> pa.Array:
    """A column with the type that Arrow infers, or of texts if types are mixed."""
    entries = list(entries)
    try:
        return pa.array(entries)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return as_text(entries)


def _integer(text: str) -> int | str:
    """A whole number, or its text if it is too large for an array."""
    return int(text) if len(text) < _LONGEST_INTEGER else text


def _encodable(entry: Any) -> Any:
    """A lone surrogate, which only JSON can express, becomes a question mark."""
    return entry.encode(errors="replace").decode() if isinstance(entry, str) and not entry.isascii() else entry
