"""Columns of text in CSV files that people open in a spreadsheet; see `sottovoce.text_tables` for single cells."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from sottovoce.text_tables import as_written, harmless

_MAYBE_A_FORMULA = r"^'*[=+\-@\t\r]"  # a quick test for a whole column; Arrow's regular expressions have no lookahead


def harmless_table(table: pa.Table) -> pa.Table:
    """The same table with every text made harmless."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(place, field, _each(table.column(place), harmless))
    return table


def as_written_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts, possibly dictionary-encoded, without the mark that makes cells harmless."""
    return _each(column, as_written)


def _each(column: pa.ChunkedArray, change: Callable[[str], str]) -> pa.ChunkedArray:
    if not any(_may_be_formulas(chunk) for chunk in column.chunks):  # nearly always
        return column
    return pa.chunked_array([pa.array([text and change(text) for text in column.to_pylist()], pa.string())])


def _may_be_formulas(texts: pa.Array) -> bool:
    plain = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
    return bool(pc.any(pc.match_substring_regex(plain, _MAYBE_A_FORMULA)).as_py())
