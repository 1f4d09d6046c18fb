"""Line numbers as editors show them. Row numbers differ: they skip headers, blank lines and line breaks in cells."""

import csv
import io
from collections.abc import Callable, Sequence
from functools import partial

from sottovoce.claims.table_file import TableFile

Lines = Callable[[Sequence[int]], list[int | None]]  # from ascending row numbers to line numbers


def csv_lines(source: TableFile, delimiter: str) -> Lines:
    """The lines in which rows of a CSV file begin; the file is read again when they are needed."""
    return partial(_csv_lines, source, delimiter)


def text_lines(source: TableFile) -> Lines:
    """The same for a file with one row per line, in which blank lines do not count."""
    return partial(_text_lines, source)


def _csv_lines(source: TableFile, delimiter: str, rows: Sequence[int]) -> list[int | None]:
    lines: list[int | None] = []
    with source.stream() as stream:
        table = csv.reader(
            io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline=""), delimiter=delimiter
        )
        wanted, row, begins = iter(rows), -1, 1
        place = next(wanted, None)
        try:
            for cells in table:
                row += bool(cells)  # the header is row 0
                while place is not None and cells and row == place:
                    lines.append(begins)
                    place = next(wanted, None)
                if place is None:
                    break
                begins = table.line_num + 1
        except csv.Error:  # a cell that is too long for this reader
            pass
    return lines + [None] * (len(rows) - len(lines))


def _text_lines(source: TableFile, rows: Sequence[int]) -> list[int | None]:
    wanted = set(rows)
    found: dict[int, int] = {}
    with source.stream() as stream:
        row = 0
        for number, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8", errors="replace"), start=1):
            row += bool(line.strip())
            if row in wanted:
                found.setdefault(row, number)
            if len(found) == len(wanted):
                break
    return [found.get(row) for row in rows]
