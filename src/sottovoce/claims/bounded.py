"""Uploaded Parquet files, read within a budget: the unpacked size is added up before anything is unpacked.

A small Parquet file can unpack to a huge table: a name of one megabyte that a million rows repeat is stored once and
compressed. The sizes in the footer need not be true, so the headers of the pages are read, whose sizes Arrow enforces.
Text stays a dictionary, in which a repeated name takes four bytes. Pages in encodings that grow while they are decoded
are refused. Only the requested columns are read.
"""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from sottovoce.claims.budget import Budget, FileTooLarge
from sottovoce.claims.header import require
from sottovoce.claims.label_columns import columns_needed, parts_of
from sottovoce.claims.table_file import unreadable
from sottovoce.errors import SottovoceError, UnreadableFile

_LONGEST_FOOTER_TEXT = 1 << 20
_MOST_FOOTER_ENTRIES = 10_000  # columns, row groups and the like
_DATA, _INDEX, _DICTIONARY, _DATA_V2 = range(4)  # kinds of pages
_ENCODING_FIELD = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_V2: (8, 4)}
# Plain, dictionaries and run lengths of numbers; not the DELTA encodings, in which a page can decode to any size.
_ENCODINGS = {0, 2, 3, 8, 9}
_WIDEST_VALUE = 256  # bits, except for text
_LONGEST_NUMBER = 24  # characters of a number or a time


def read_parquet(
    content: bytes, name: str, labels: Sequence[str], value: str, optional: Sequence[str], budget: Budget
) -> pa.Table:
    """The columns of a file that the labels and values need, and the optional columns that it has."""
    try:
        file = _open(content)
        about, present = file.metadata, file.schema_arrow.names
        groups = [about.row_group(place) for place in range(about.num_row_groups)]
        if min([about.num_rows, *(group.num_rows for group in groups)]) < 0:
            raise pa.ArrowInvalid("its number of rows is negative")
        budget.check_rows(name, max(about.num_rows, sum(group.num_rows for group in groups)))
        required = columns_needed(labels, value, present)
        require(required, present, name)
        taken = [column for column in present if column in (*required, *optional)]
        leaves = [about.schema.column(place) for place in range(about.num_columns)]
        # Arrow also treats a name with a dot as the path to a part of a column.
        places = [
            place
            for place, leaf in enumerate(leaves)
            if any(leaf.path == column or leaf.path.startswith(f"{column}.") for column in taken)
        ]
        text = [leaves[place].path for place in places if leaves[place].physical_type == "BYTE_ARRAY"]
        file = _open(content, read_dictionary=text)
        for column in taken:
            _check_kind(name, file.schema_arrow.field(present.index(column)))
        chunks = [group.column(place) for group in groups for place in places]
        unpacked = sum(_unpacked(content, chunk, name) for chunk in chunks)
        if unpacked > budget.unpacked:
            raise FileTooLarge(
                f"{name}: it unpacks to {unpacked:,} bytes, but at most {budget.unpacked:,} are accepted here; "
                "use the command line instead"
            )
        table = file.read(columns=taken, use_threads=False)
        budget.check_rows(name, table.num_rows)
        table.validate(full=True)  # refuses, for example, text that is not UTF-8
        for column in table.column_names:
            budget.check_texts(name, column, table[column])
        _check_joined(name, table, labels, budget)
        return table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, SottovoceError):
            raise
        raise unreadable(name, "Parquet", error) from None


def _open(content: bytes, **options: Any) -> pa.parquet.ParquetFile:
    return pa.parquet.ParquetFile(
        io.BytesIO(content),
        thrift_string_size_limit=_LONGEST_FOOTER_TEXT,
        thrift_container_size_limit=_MOST_FOOTER_ENTRIES,
        **options,
    )


def _check_kind(name: str, column: pa.Field) -> None:
    kind = column.type
    if pa.types.is_dictionary(kind) or (pa.types.is_primitive(kind) and kind.bit_width <= _WIDEST_VALUE):
        return
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return
    raise UnreadableFile(f"{name}: column {column.name!r} holds {kind}, but it must hold text or numbers; convert it")


def _check_joined(name: str, table: pa.Table, labels: Sequence[str], budget: Budget) -> None:
    """Refuse labels that join several columns if they would take too much memory: they repeat every name in full."""
    size = sum(
        _as_text(table[part.column])
        for label in labels
        if label not in table.column_names
        for part in parts_of(label, table.column_names)
    )
    if size > budget.unpacked:
        raise FileTooLarge(
            f"{name}: its labels that join several columns take {size:,} bytes, but at most {budget.unpacked:,} are "
            "accepted here; use the command line instead"
        )


def _as_text(column: pa.ChunkedArray) -> int:
    """About how many bytes a column takes as text."""
    if not pa.types.is_dictionary(column.type):
        return _LONGEST_NUMBER * len(column)
    lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(pc.sum(length).as_py() or 0 for length in lengths)


def _unpacked(content: bytes, chunk: Any, name: str) -> int:
    """The unpacked size of a column, according to the headers of its pages."""
    total = 0
    for page, size in _pages(content, chunk):
        kind, unpacked = page.get(1), page.get(2)
        if not isinstance(unpacked, int) or not 0 <= unpacked < 1 << 31:
            raise pa.ArrowInvalid("a page has no valid size")
        total += unpacked
        if kind == _INDEX:
            continue
        where, field = _ENCODING_FIELD.get(kind, (0, 0)) if isinstance(kind, int) else (0, 0)
        head = page.get(where)
        if not isinstance(head, dict):
            raise pa.ArrowInvalid("a page is of an unknown kind")
        if head.get(field, 0) not in _ENCODINGS:
            raise FileTooLarge(
                f"{name}: column {chunk.path_in_schema!r} has an encoding that may unpack to any size, but only plain "
                "and dictionary encodings are accepted here; write the file with one of them, or use the command line "
                "instead"
            )
        # Memory for a dictionary is allocated before it is read, and each of its values takes at least four bytes.
        if kind == _DICTIONARY and not 0 <= 4 * head.get(1, 0) <= unpacked:
            raise pa.ArrowInvalid("a dictionary is shorter than its header says")
        if size > len(content):
            raise pa.ArrowInvalid("a page extends beyond the end of the file")
    return total


def _pages(content: bytes, chunk: Any) -> Iterator[tuple[dict[int, Any], int]]:
    """The headers of a column's pages, and where each page ends."""
    at = chunk.data_page_offset
    if chunk.dictionary_page_offset is not None and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end = at + chunk.total_compressed_size
    if not 0 < at <= end <= len(content):
        raise pa.ArrowInvalid("a column lies outside the file")
    while at < end:
        header = _Header(content, at)
        page = header.struct()
        packed = page.get(3)
        if not isinstance(packed, int) or packed < 0:
            raise pa.ArrowInvalid("a page has no valid size")
        at = header.at + packed
        yield page, at


class _Header:
    """A page header in Thrift's compact protocol; it has only numbers, booleans, bytes and structs."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content = content
        self.at = at

    def struct(self, levels: int = 4) -> dict[int, Any]:
        """The values of the fields, by field number."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = self._value(head & 15, levels)
        return fields

    def _value(self, kind: int, levels: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._number()
        if kind == 7:
            return self._skip(8)
        if kind == 8:
            return self._skip(self._unsigned())
        if kind == 12 and levels:
            return self.struct(levels - 1)
        raise pa.ArrowInvalid("the header of a page is broken")

    def _skip(self, size: int) -> None:
        self.at += size

    def _byte(self) -> int:
        if self.at >= len(self._content):
            raise pa.ArrowInvalid("the header of a page is cut off")
        self.at += 1
        return self._content[self.at - 1]

    def _unsigned(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise pa.ArrowInvalid("the header of a page is broken")

    def _number(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)
