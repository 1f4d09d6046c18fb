"""Options for tables as spreadsheets write them, and the report of rows that were left out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.output import notes

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 3  # rows that were left out, in the terminal
_IN_JSON = 20

DecimalOption = Annotated[
    str | None,
    typer.Option(help="Decimal sign of the values, ',' or '.'; the marks between thousands are then accepted too."),
]
StripUnitsOption = Annotated[
    bool, typer.Option("--strip-units", help="Accept a unit beside each value, such as 12.5 m; all in the same unit.")
]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of a text file that is neither UTF-8 nor UTF-16, such as windows-1252."),
]
LeftOutOption = Annotated[
    Path | None, typer.Option(help="With --skip-bad: write all rows that were left out here, with the reasons.")
]


def left_out_summary(rows: "pa.Table") -> dict[str, Any]:
    """For programs: how many rows were left out, and the first of them."""
    return {"rows": rows.num_rows, "first": rows.slice(0, _IN_JSON).to_pylist()}


def print_left_out(rows: "pa.Table") -> None:
    """The first rows that were left out, each with its reason."""
    count = rows.num_rows
    notes.print(f"[yellow]{count:,} row{'s' * (count != 1)} left out:[/]", highlight=False)
    for row in rows.slice(0, _SHOWN).to_pylist():
        where = f"line {row['line']}" if row["line"] else f"row {row['row']}"
        notes.print(f"  {where}: {escape(row['reason'])}", highlight=False, soft_wrap=True)
    if count > _SHOWN:
        notes.print(f"  … and {count - _SHOWN:,} more; --left-out FILE writes them all.", highlight=False)
