"""The columns of a table that make up a claim, picked by their names."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sottovoce.claims.header import CHOICES_COLUMN, NOISE_COLUMN, require
from sottovoce.claims.label_columns import columns_needed, label_column_of
from sottovoce.claims.rows import Columns
from sottovoce.errors import BadRow

# With large blocks, there are few label dictionaries to merge.
BLOCK_BYTES = 1 << 24


def pick(table: pa.Table, labels: Sequence[str], value: str, name: str) -> Columns:
    """The label columns and the value column, with the noise law and the numbers of choices if the table has them."""
    needed = columns_needed(labels, value, table.column_names)
    require(needed, table.column_names, name)
    for column in needed:
        nested = pa.types.is_nested(table[column].type)
        if nested and (column != value or pa.types.is_struct(table[column].type)):
            raise BadRow(
                f"{name}: column {column!r} holds lists or records, but a label or value must be a single text or "
                "number; write one row per claim"
            )
    choices = table[CHOICES_COLUMN] if CHOICES_COLUMN in table.column_names else None
    columns = [label_column_of(table, label, name) for label in labels]
    return Columns(columns, table[value], noise=noise_law(table, name), choices=choices)


def noise_law(table: pa.Table, name: str) -> str | None:
    """The law that a table names, the same in all rows."""
    if NOISE_COLUMN not in table.column_names:
        return None
    laws = [law for law in pc.unique(pc.unique(table[NOISE_COLUMN]).cast(pa.string())).to_pylist() if law]
    if len(laws) > 1:
        raise BadRow(
            f"{name}: {NOISE_COLUMN} is {laws[0]!r} and {laws[1]!r}, but all claims of a table must have the same law; "
            "put claims with different laws into separate tables"
        )
    return laws[0] if laws else None


def as_text(entries: Iterable[Any]) -> pa.Array:
    """Entries of any type as a column of texts."""
    return pa.array([None if entry is None else str(entry) for entry in entries], pa.string())
