"""Small tables that people write by hand or in a spreadsheet: CSV in which every cell stays text.

Claims, of which there may be millions, are read by `sottovoce.claims.reading`. This module is for the readings of one
participant and the tasks of one campaign, and for machines without NumPy or Arrow.

A spreadsheet would run a cell such as ``=HYPERLINK(…)`` as a formula. A text that looks like a formula gets an
apostrophe in front, so that spreadsheets do not run it; our own readers remove the apostrophe again. Numbers stay
unchanged, even if they are written as text.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator

from sottovoce.errors import MissingColumn, UnreadableFile

_FORMULA = re.compile(r"'*(?![+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$)[=+\-@\t\r]")
_LONGEST_SHOWN = 40


def read_rows(
    name: str, text: str, needed: Collection[str], optional: Collection[str] | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table, each with its line number; empty cells are left out.

    Cells are separated by commas, or by semicolons or tabs as in some spreadsheets. Error messages begin with ``name``.
    Without ``optional``, columns that are not needed are ignored; with it, any other column is an error.

    >>> list(read_rows("tasks.csv", "id;low\\nhall;0\\n", ["id"]))
    [(2, {'id': 'hall'})]
    """
    head = text.partition("\n")[0]
    delimiter = next((sign for sign in "\t;" if sign in head), ",")
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = table.fieldnames or ()
        for column in needed:
            if column not in columns:
                raise MissingColumn(f"{name}: there is no column {column!r}; add it, and name it in the first line")
        taken = {*needed, *(optional or ())}
        for column in columns:
            if optional is not None and column not in taken:
                known = ", ".join([*needed, *(entry for entry in optional if entry not in needed)])
                raise MissingColumn(f"{name}: column {column[:_LONGEST_SHOWN]!r} is unknown; the columns are {known}")
        for row in table:
            if None in row:
                sign = {"\t": "tabs", ";": "semicolons", ",": "commas"}[delimiter]
                raise UnreadableFile(
                    f"{name}: line {table.line_num} has more cells than columns; quote text that contains {sign}"
                )
            cells = {column: as_written(cell.strip()) for column, cell in row.items() if cell and column in taken}
            yield table.line_num, cells
    except csv.Error as mistake:
        raise UnreadableFile(f"{name}: {mistake}; it must be a table with short cells, one row per line") from None


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet runs as a formula.

    >>> harmless("=1+1"), harmless("-5"), harmless("'=1+1"), harmless("hall-1")
    ("'=1+1", '-5', "''=1+1", 'hall-1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def as_written(text: str) -> str:
    """The text that a cell stands for: the inverse of `harmless`.

    >>> as_written("'=1+1"), as_written("'quoted'")
    ('=1+1', "'quoted'")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


BLANKS = "\\s\u00a0\u202f"
# Marks between thousands, by decimal sign.
THOUSANDS = {",": f"[.'’{BLANKS}]", ".": f"[,'’{BLANKS}]"}


def with_point(text: str, decimal: str) -> str:
    """A number with a decimal point and without thousands separators; a text that is not a number stays unchanged.

    >>> with_point("1.234,5", ","), with_point("−2,7", ","), with_point("1,234.5", "."), with_point("2,7", ".")
    ('1234.5', '-2.7', '1234.5', '2,7')
    """
    number, mark, sign = text.strip().replace("−", "-"), THOUSANDS[decimal], re.escape(decimal)
    if re.fullmatch(rf"[+-]?([0-9]{{1,3}}({mark}[0-9]{{3}})+|[0-9]+)?({sign}[0-9]*)?([eE][+-]?[0-9]+)?", number):
        return re.sub(mark, "", number).replace(decimal, ".")
    return text


def decimal_sign(texts: Iterable[str]) -> str | None:
    """The decimal sign of a table's numbers; None if no number shows it, or if the numbers differ.

    >>> decimal_sign(["0", "2,7", "1.234"]), decimal_sign(["0.5", "1,234"]), decimal_sign(["1,234"])
    (',', '.', None)
    """
    signs = set()
    for text in texts:
        plain = text.strip().lstrip("+-−")
        if re.fullmatch(r"[0-9]*[.,][0-9]*", plain) and not re.fullmatch(r"[1-9][0-9]{0,2}[.,][0-9]{3}", plain):
            signs.add("," if "," in plain else ".")
        elif "," in plain and "." in plain:  # the last one is the decimal sign
            signs.add(max(",.", key=plain.rfind))
    return signs.pop() if len(signs) == 1 else None
