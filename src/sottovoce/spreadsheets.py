"""Tables as people keep them: XLSX, text with separators in any usual encoding, or cells copied from a spreadsheet.

Cells stay text, and nothing in a file is run. No file can make the reader use much memory: an XLSX file is a ZIP
archive of XML, so it is unpacked only up to a limit, whatever sizes it states. XML entities are refused, because the
format forbids them and they can grow without limit. openpyxl reads the unpacked XLSX.
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
# XML elements: enough for ten thousand rows. Each takes hundreds of bytes of memory, however small it is in the file.
_MOST_ELEMENTS = 800_000
_MOST_STYLES = 50_000  # elements in the description of styles; each takes longer to read than a cell
_MOST_SHEETS = 10_000  # elements in the list of sheets; each takes longer still
# In bytes. A text may be as long as a spreadsheet allows, with every character written as an entity. A tag may list
# many cells. A tag that describes a style must be shorter, because openpyxl's time grows with the square of its length.
_LONGEST_TEXT, _LONGEST_TAG, _LONGEST_STYLE = 1 << 18, 1 << 16, 1 << 13
_MOST_TEXT = 32 << 20  # characters of all cells: many cells may share a text that is stored once
_AT_ONCE = 1 << 16
_MOST_COLUMNS = 100
_MOST_ROWS = 20_000
_LONGEST_CELL = 32_767  # as in a spreadsheet
_LONGEST_SHOWN = 40
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


class NumberCell(str):
    """A cell that the file stores as a number, so that its decimal sign is known."""

    __slots__ = ()


@dataclass(frozen=True)
class CellRow:
    """The non-empty cells of a row, by column, and the row's number as an editor or a spreadsheet shows it."""

    number: int
    cells: dict[str, str]


@dataclass(frozen=True)
class Cells:
    """A table with the requested columns."""

    rows: list[CellRow]
    titles: dict[str, str]  # of the columns, as written in the first row
    counted: str  # what row numbers count: each "row" of a spreadsheet or "line" of a text
    notes: tuple[str, ...] = ()


def read_cells(name: str, content: bytes | str, columns: Mapping[str, str], encoding: str | None = None) -> Cells:
    """The table in a file or a text; ``columns`` gives the column for each heading, in lower case.

    >>> read_cells("t.csv", "Task;Highest;Remark\\nHall;2,5;-\\n", {"task": "title", "highest": "high"}).rows
    [CellRow(number=2, cells={'title': 'Hall', 'high': '2,5'})]
    """
    notes: list[str] = []
    counted = "line"
    if len(content) > MOST_BYTES:
        raise UnreadableFile(f"{name}: it has more than {MOST_BYTES:,} bytes; split the table")
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
    """A heading as it is looked up: in lower case, without punctuation or anything in brackets.

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
            raise UnreadableFile(f"{name}: it has more than {_MOST_ROWS:,} rows; split the table")
        if any(cells[width:]):
            raise UnreadableFile(
                f"{name}: {counted} {number} has more cells than columns; quote text that contains separators"
            )
        yield number, cells


def _decoded(name: str, content: bytes, encoding: str | None, notes: list[str]) -> str:
    """The text, decoded as named, as its first bytes indicate, or as UTF-8 or windows-1252, whichever fits."""
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
    except (LookupError, ValueError):  # an unknown name, or one that no encoding can have
        raise BadParameter(
            f"encoding {encoding!r}: it must be a text encoding; utf-8, utf-16 and windows-1252 are common"
        ) from None
    notes.append("The text is not in UTF-8. It was read as windows-1252: check its accents and umlauts.")
    return content.decode("windows-1252", errors="replace")


def _rows_of_text(name: str, text: str, columns: Mapping[str, str]) -> Iterator[tuple[int, list[str]]]:
    text = text.removeprefix("\ufeff")
    before = len(text) - len(text.lstrip("\r\n"))
    first = re.split(r"\r\n|\r|\n", text[before:], maxsplit=1)[0]
    if len(first) > _LONGEST_CELL * 4:
        raise UnreadableFile(f"{name}: its first line is too long; it must name the columns")

    def named(delimiter: str) -> tuple[int, int]:
        cells = next(csv.reader([first], delimiter=delimiter), [])
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
        unpacked = _unpacked(name, content)
        import openpyxl

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about cell styles and rules, which do not matter here
            book = openpyxl.load_workbook(unpacked, read_only=True, data_only=True, keep_links=False)
            sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
            if not sheets:
                raise UnreadableFile(f"{name}: it has no visible sheet with cells; save the table as CSV")
            sheet = sheets[0]
            sheet.reset_dimensions()  # the size that a file states need not be true
            bounds = {"max_col": _MOST_COLUMNS, "max_row": _MOST_ROWS + 2}
            rows, text = [], 0
            for number, cells in enumerate(sheet.iter_rows(values_only=True, **bounds), 1):
                if any(cell is not None for cell in cells):
                    rows.append((number, [_text_of(name, number, cell) for cell in cells]))
                    text += sum(map(len, rows[-1][1]))
                if text > _MOST_TEXT:
                    raise UnreadableFile(
                        f"{name}: its cells have more than {_MOST_TEXT:,} characters in all; split the table"
                    )
    except UnreadableFile:
        raise
    except Exception as mistake:  # openpyxl raises errors of many kinds for a damaged file
        raise UnreadableFile(
            f"{name}: it cannot be read as a spreadsheet ({type(mistake).__name__}); {advice}"
        ) from None
    yield from rows


def _unpacked(name: str, content: bytes) -> io.BytesIO:
    """The archive with its parts uncompressed, so that no header can misstate their sizes.

    An archive that would grow too large is refused. So is XML with a document type, which may define entities, and XML
    with more or longer elements than a table needs.
    """
    unpacked, left, elements = io.BytesIO(), _MOST_UNPACKED, 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(unpacked, "w") as checked:
        parts = archive.infolist()
        if len(parts) > _MOST_PARTS:
            raise UnreadableFile(f"{name}: it has more than {_MOST_PARTS:,} parts; save only the table, as CSV")
        if "xl/workbook.xml" not in {part.filename for part in parts}:
            raise UnreadableFile(f"{name}: it is not an XLSX file; save it as XLSX or as CSV")
        for part in parts:
            whole = _part_of(archive, part, left)
            left -= len(whole)
            if left < 0:
                raise UnreadableFile(f"{name}: it unpacks to more than {_MOST_UNPACKED:,} bytes; split the table")
            plain = whole.replace(b"\0", b"")
            if b"<!DOCTYPE" in plain.upper():
                raise UnreadableFile(f"{name}: it contains a document type, which XLSX forbids; save it again")
            if part.filename.lower().endswith((".xml", ".rels")):
                elements += _elements_of(name, part.filename, plain)
            if elements > _MOST_ELEMENTS:
                raise _too_much(name)
            checked.writestr(part.filename, whole)
    unpacked.seek(0)
    return unpacked


def _part_of(archive: zipfile.ZipFile, part: zipfile.ZipInfo, most: int) -> bytes:
    """A part, or a little more than its first ``most`` bytes: all at once, it could take any amount of memory."""
    chunks, size = [], 0
    with archive.open(part) as stream:
        while size <= most and (chunk := stream.read(_AT_ONCE)):
            chunks.append(chunk)
            size += len(chunk)
    return b"".join(chunks)


def _elements_of(name: str, part: str, plain: bytes) -> int:
    count = plain.count(b"<")
    has_styles = "styles" in part
    most = _MOST_STYLES if has_styles else _MOST_SHEETS if "workbook" in part else _MOST_ELEMENTS
    if count > most:
        raise _too_much(name)
    pieces = plain.split(b"<")  # with a regular expression, long pieces could take hours
    tags = (len(piece.partition(b">")[0]) for piece in pieces)
    if max(map(len, pieces)) > _LONGEST_TEXT or max(tags) > (_LONGEST_STYLE if has_styles else _LONGEST_TAG):
        raise _too_much(name)
    return count


def _too_much(name: str) -> UnreadableFile:
    return UnreadableFile(
        f"{name}: it has too many cells or cell styles, or one that is too long; save only the table, as CSV"
    )


def _text_of(name: str, row: int, cell: Any) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).upper()
        case int() | float():
            return NumberCell(f"{cell:.15g}")
        case datetime() | date() | time():
            return cell.isoformat()
    if len(str(cell)) > _LONGEST_CELL:
        raise UnreadableFile(f"{name}: row {row} has a cell with more than {_LONGEST_CELL:,} characters; shorten it")
    return as_written(unicodedata.normalize("NFC", str(cell)).strip())


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
