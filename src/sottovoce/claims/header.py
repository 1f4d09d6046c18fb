"""The columns that a table must have."""

from collections.abc import Iterable, Sequence

from sottovoce.errors import MissingColumn

# Claims to which a device added noise name the law in this column, the same in every row.
NOISE_COLUMN = "noise_law"
# Beside it, where claims are choices: among how many options the device chose.
CHOICES_COLUMN = "choices"
OPTIONAL_COLUMNS = (NOISE_COLUMN, CHOICES_COLUMN)
_LONGEST_SHOWN = 300  # characters of a column's name or of a row, in an error message


def require(required: Iterable[str], present: Sequence[str], name: str) -> None:
    """Refuse a table that lacks a column, or has it twice; ``name`` says which table."""
    for column in required:
        if list(present).count(column) > 1:
            raise MissingColumn(
                f"{name}: there are two columns {column!r}: names of columns must be unique; rename one of them"
            )
        if column not in present:
            raise MissingColumn(
                f"{name}: there is no column {column!r} among {', '.join(map(shown, present)) or 'none'}; "
                f"add a header line, or name the columns with user=, object=, value= (--user, --object, --value)"
            )


def shown(text: str) -> str:
    """A text from a file as an error message shows it: quoted, and cut if it is long."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
