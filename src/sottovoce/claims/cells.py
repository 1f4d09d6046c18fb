"""Text in CSV files that people open in a spreadsheet, which would run a cell such as ``=HYPERLINK(…)`` as a formula.

A text that would be taken for a formula gets an apostrophe before it, which spreadsheets do not run; our own readers
take it away again. Numbers stay what they are, also where they are written as text.
"""

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = re.compile(r"'*(?![+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$)[=+\-@\t\r]")
_PERHAPS = r"^'*[=+\-@\t\r]"  # what a look at a whole column finds; Arrow's expressions look nowhere ahead


def harmless(text: str) -> str:
    """A text as a cell that no spreadsheet runs.

    >>> harmless("=1+1"), harmless("-5"), harmless("'=1+1"), harmless("hall-1")
    ("'=1+1", '-5', "''=1+1", 'hall-1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def as_written(text: str) -> str:
    """The text that a cell stands for: the way back from `harmless`.

    >>> as_written("'=1+1"), as_written("'quoted'")
    ('=1+1', "'quoted'")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def harmless_table(table: pa.Table) -> pa.Table:
    """The same table with every text in it harmless."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(place, field, _each(table.column(place), harmless))
    return table


def as_written_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts, perhaps encoded by a dictionary, as its cells were meant."""
    return _each(column, as_written)


def _each(column: pa.ChunkedArray, change: Callable[[str], str]) -> pa.ChunkedArray:
    if not any(_looks_odd(chunk) for chunk in column.chunks):  # as nearly always
        return column
    return pa.chunked_array([pa.array([text and change(text) for text in column.to_pylist()], pa.string())])


def _looks_odd(texts: pa.Array) -> bool:
    plain = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
    return bool(pc.any(pc.match_substring_regex(plain, _PERHAPS)).as_py())
