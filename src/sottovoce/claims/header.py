"""The columns that a table must have."""

from collections import Counter
from collections.abc import Iterable, Sequence

from sottovoce.errors import MissingColumn

# Tables of claims with noise name the noise law in this column, the same in every row.
NOISE_COLUMN = "noise_law"
# If claims are choices, this column says among how many options the device chose.
CHOICES_COLUMN = "choices"
OPTIONAL_COLUMNS = (NOISE_COLUMN, CHOICES_COLUMN)
_LONGEST_SHOWN = 300  # characters of a column's name or of a row, in an error message


_IN_A_FILE = "add a header line, or name the columns with user=, object=, value= (--user, --object, --value)"
IN_A_FRAME = "name the columns: Claims.from_frame(frame, user=..., object=..., value=...), and fit the result"


def require(required: Iterable[str], present: Sequence[str], name: str, fix: str = _IN_A_FILE) -> None:
    """Refuse a table that lacks a required column or has it twice; ``name`` is the table's name in messages."""
    required = list(required)
    check_unique([column for column in present if column in required], name)
    for column in required:
        if column not in present:
            similar = [other for other in present if other.strip().casefold() == column.strip().casefold()]
            columns = ", ".join(map(shown, present))
            raise MissingColumn(
                f"{name}: there is no column {column!r}{f' among {columns}' if columns else ''}; "
                + (f"did you mean {shown(similar[0])}? Otherwise {fix}" if similar else fix)
            )


def check_unique(columns: Iterable[str], name: str) -> None:
    """Refuse a table with several columns of the same name."""
    column, count = next(iter(Counter(columns).most_common(1)), ("", 0))
    if count > 1:
        many = "two" if count == 2 else f"{count:,}"
        raise MissingColumn(
            f"{name}: there are {many} columns {shown(column)}, but column names must be unique; rename all but one"
        )


def shown(text: str) -> str:
    """A text from a file as an error message shows it: quoted, and cut off if it is long."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
