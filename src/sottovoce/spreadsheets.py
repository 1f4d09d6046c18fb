"""Tables as people keep them: XLSX, text with separators in any usual encoding, or cells copied from a spreadsheet.

Cells stay text. Nothing is run, and no file can make the reader use more than a little memory: an XLSX file is a ZIP
archive of XML, so its unpacked size is bounded before anything is unpacked, and entities, which the format forbids and
which can grow without limit, are refused. XLSX itself is left to openpyxl.
"""

import codecs
import csv
import io
import re
import unicodedata
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from sottovoce.errors import BadParameter, MissingColumn, UnreadableFile
from sottovoce.text_tables import as_written

MOST_BYTES = 8 << 20  # of a file, or of a text
_MOST_UNPACKED = 16 << 20
_MOST_PARTS = 1000  # of an archive
# Elements of XML: those of ten thousand rows. Each takes some hundred bytes of memory, however small it is in the file.
_MOST_ELEMENTS = 800_000
_MOST_LOOKS = 50_000  # of them in the description of looks, each of which takes longer than a cell
_MOST_COLUMNS = 100
_MOST_ROWS = 20_000
_LONGEST_CELL = 32_767  # as in a spreadsheet
_LONGEST_SHOWN = 40
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


class NumberCell(str):
    """A number that the file stores as one, so that its decimal sign is known."""

    __slots__ = ()


@dataclass(frozen=True)
class CellRow:
    """Cells that are not empty, by column; the number is the one that an editor or a spreadsheet shows."""

    number: int
    cells: dict[str, str]


@dataclass(frozen=True)
class Cells:
    """A table by the columns that were asked for."""

    rows: list[CellRow]
    titles: dict[str, str]  # of the columns, as they stand in the first row
    counted: str  # "row" of a spreadsheet, or "line" of a text
    notes: tuple[str, ...] = ()


def read_cells(name: str, content: bytes | str, columns: Mapping[str, str], encoding: str | None = None) -> Cells:
    """The table in a file or a text; ``columns`` gives the column for each heading, in lower case.

    >>> read_cells("t.csv", "Task;Highest;Remark\\nHall;2,5;-\\n", {"task": "title", "highest": "high"}).rows
    [CellRow(number=2, cells={'title': 'Hall', 'high': '2,5'})]
    """
    notes: list[str] = []
    counted = "line"
    if len(content) > MOST_BYTES:
        raise UnreadableFile(f"{name}: it has more than {MOST_BYTES:,} bytes; divide the table")
    if isinstance(content, bytes) and content[:4] in (b"PK\3\4", _OLD_EXCEL):
        rows, counted = _rows_of_archive(name, content), "row"
    else:
        text = content if isinstance(content, str) else _decoded(name, content, encoding, notes)
        if "\0" in text:
            raise UnreadableFile(f"{name}: it is neither a spreadsheet nor text; save it as XLSX or as CSV")
        rows = _rows_of_text(name, text, columns)
    try:
        heading = next(((number, cells) for number, cells in rows if any(cells)), None)
        if heading is None:
            raise UnreadableFile(f"{name}: it is empty; give a table whose first {counted} names the columns")
        taken, titles = _columns(name, heading[1], columns, notes)
        found = [
            CellRow(
                number, {column: cells[place] for place, column in taken.items() if place < len(cells) and cells[place]}
            )
            for number, cells in _checked(name, rows, len(heading[1]), counted)
        ]
    except csv.Error as mistake:
        raise UnreadableFile(f"{name}: {mistake}; it must be a table with short cells, one row per line") from None
    return Cells([row for row in found if row.cells], titles, counted, tuple(notes))


def plain_heading(text: str) -> str:
    """A heading as it is looked for: without case, marks and what is in brackets.

    >>> plain_heading(" Lowest value (m):")
    'lowest value'
    """
    return " ".join(re.sub(r"\(.*?\)|\[.*?\]|[*:_]", " ", text).lower().split())


def _columns(
    name: str, heading: list[str], columns: Mapping[str, str], notes: list[str]
) -> tuple[dict[int, str], dict[str, str]]:
    taken: dict[int, str] = {}
    titles: dict[str, str] = {}
    for place, title in enumerate(heading):
        column = columns.get(plain_heading(title))
        if column in titles:
            raise MissingColumn(
                f"{name}: columns {_short(titles[column])} and {_short(title)} mean the same; remove one of them"
            )
        if column is not None:
            taken[place], titles[column] = column, title
        elif title:
            notes.append(f"Column {_short(title)} is not read.")
    return taken, titles


def _checked(
    name: str, rows: Iterator[tuple[int, list[str]]], width: int, counted: str
) -> Iterator[tuple[int, list[str]]]:
    for several, (number, cells) in enumerate(rows, 1):
        if several > _MOST_ROWS:
            raise UnreadableFile(f"{name}: it has more than {_MOST_ROWS:,} rows; divide the table")
        if any(cells[width:]):
            raise UnreadableFile(
                f"{name}: {counted} {number} has more cells than columns; put quotes around text with separators"
            )
        yield number, cells


def _decoded(name: str, content: bytes, encoding: str | None, notes: list[str]) -> str:
    """Text in the encoding that is named, that its first bytes mark, or that fits."""
    marks = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    marked = next((named for mark, named in marks.items() if content.startswith(mark)), None)
    try:
        return content.decode(encoding or marked or "utf-8")
    except UnicodeError:
        if encoding or marked or b"\0" in content:
            raise UnreadableFile(
                f"{name}: it is not text in {encoding or marked or 'UTF-8'}; save it as CSV in UTF-8, or name its "
                "encoding"
            ) from None
    except (LookupError, ValueError):  # a name that nobody knows, or that cannot be one
        raise BadParameter(
            f"encoding {encoding!r}: it is not an encoding of text; utf-8, utf-16 and windows-1252 are usual"
        ) from None
    notes.append("The text is not in UTF-8. It was read as windows-1252: look at its accents and umlauts.")
    return content.decode("windows-1252", errors="replace")


def _rows_of_text(name: str, text: str, columns: Mapping[str, str]) -> Iterator[tuple[int, list[str]]]:
    text = text.removeprefix("\ufeff")
    before = len(text) - len(text.lstrip("\r\n"))
    first = re.split(r"\r\n|\r|\n", text[before:], maxsplit=1)[0]
    if len(first) > _LONGEST_CELL * 4:
        raise UnreadableFile(
            f"{name}: field larger than {_LONGEST_CELL:,} characters; its first line must name columns"
        )

    def named(sign: str) -> tuple[int, int]:
        cells = next(csv.reader([first], delimiter=sign), [])
        return sum(plain_heading(cell) in columns for cell in cells), len(cells)

    table = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t|", key=named))
    begins = 1
    for cells in table:
        yield begins, [as_written(cell.strip()) for cell in cells]
        begins = table.line_num + 1


def _rows_of_archive(name: str, content: bytes) -> Iterator[tuple[int, list[str]]]:
    advice = "save it as XLSX or as CSV"
    if content.startswith(_OLD_EXCEL):
        raise UnreadableFile(f"{name}: it is in an old format or has a password; {advice}, without a password")
    try:
        _refuse_bombs(name, content)
        import openpyxl

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about looks and rules of cells, which nobody asked for
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
            sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
            if not sheets:
                raise UnreadableFile(f"{name}: it has no sheet with cells; {advice}")
            sheet = sheets[0]
            sheet.reset_dimensions()  # what a file says about its size need not be true
            bounds = {"max_col": _MOST_COLUMNS, "max_row": _MOST_ROWS + 2}
            rows = [
                (number, [_text_of(cell) for cell in cells])
                for number, cells in enumerate(sheet.iter_rows(values_only=True, **bounds), 1)
                if any(cell is not None for cell in cells)
            ]
    except UnreadableFile:
        raise
    except Exception as mistake:  # whatever the library makes of a damaged file
        raise UnreadableFile(
            f"{name}: it cannot be read as a spreadsheet ({type(mistake).__name__}); {advice}"
        ) from None
    yield from rows


def _refuse_bombs(name: str, content: bytes) -> None:
    """Refuse an archive that would grow too large, and XML with a document type, which may define entities."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > _MOST_UNPACKED:
            raise UnreadableFile(f"{name}: unpacked it is larger than {_MOST_UNPACKED:,} bytes; divide the table")
        if "xl/workbook.xml" not in {part.filename for part in parts}:
            raise UnreadableFile(f"{name}: it is not an XLSX file; save it as XLSX or as CSV")
        elements = 0
        for part in parts:
            content = archive.read(part).replace(b"\0", b"")  # never more bytes than its header says
            if b"<!DOCTYPE" in content.upper():
                raise UnreadableFile(f"{name}: it contains a document type, which XLSX forbids; save it again")
            count = content.count(b"<") if part.filename.lower().endswith((".xml", ".rels")) else 0
            elements += count
            if elements > _MOST_ELEMENTS or (count > _MOST_LOOKS and "styles" in part.filename):
                raise UnreadableFile(f"{name}: it has too many cells or looks of cells; save the table alone as CSV")


def _text_of(cell: Any) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).upper()
        case int() | float():
            return NumberCell(f"{cell:.15g}")
        case datetime() | date() | time():
            return cell.isoformat()
    return as_written(unicodedata.normalize("NFC", str(cell)).strip())


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
