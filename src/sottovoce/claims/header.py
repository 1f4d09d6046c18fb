"""The columns that a table must have."""

from collections.abc import Iterable, Sequence

from sottovoce.errors import MissingColumn

# Claims that went through a device's noise say so in a column of this name, the same law in every row.
NOISE_COLUMN = "noise_law"
_LONGEST_SHOWN = 300  # of a column's name or a row, in the words of an error


def require(wanted: Iterable[str], present: Sequence[str], name: str) -> None:
    """Refuse a table that lacks a column, or has it twice; ``name`` says which table."""
    for column in wanted:
        if list(present).count(column) > 1:
            raise MissingColumn(
                f"{name}: there are two columns {column!r}: each name has one column; rename one of them"
            )
        if column not in present:
            raise MissingColumn(
                f"{name}: there is no column {column!r} among {', '.join(map(shown, present)) or 'none'}; "
                f"add a header line, or name the columns with user=, object=, value= (--user, --object, --value)"
            )


def shown(text: str) -> str:
    """Somebody's text in the words of an error: quoted, and not too much of it."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
