"""Options of every command that reads a file of claims, and the report of rows that were left out."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.output import notes
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    import pyarrow as pa

    from sottovoce.claims import Claims
    from sottovoce.claims.kinds import Kind

_SHOWN = 3  # rows that were left out, in the terminal
_IN_JSON = 20


class Duplicates(StrEnum):
    ERROR = "error"
    MEAN = "mean"
    LAST = "last"


class KindOption(StrEnum):
    NUMBER = "number"
    CHOICE = "choice"


@dataclass(frozen=True)
class ColumnOptions:
    """The names of the columns in a table of claims."""

    user: Annotated[str, typer.Option(help="Column that identifies the user of each claim.")] = "user"
    object: Annotated[
        str,
        typer.Option(
            help="Column that identifies the object; sensor+room joins two columns, and sensor+time@hour rounds times "
            "down to the hour."
        ),
    ] = "object"
    value: Annotated[str, typer.Option(help="Column with the claimed value.")] = "value"


@dataclass(frozen=True)
class CleaningOptions:
    """What is accepted in a table of claims."""

    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Drop rows that are not claims, and count them.")] = False
    decimal: Annotated[
        str | None,
        typer.Option(help="Decimal sign of the values, ',' or '.'; thousands separators are then accepted too."),
    ] = None
    strip_units: Annotated[
        bool,
        typer.Option("--strip-units", help="Accept a unit beside each value, such as 12.5 m; all in the same unit."),
    ] = False
    encoding: Annotated[
        str | None,
        typer.Option(help="Encoding of a text file that is neither UTF-8 nor UTF-16, such as windows-1252."),
    ] = None


USUAL_COLUMNS, USUAL_CLEANING = ColumnOptions(), CleaningOptions()
DuplicatesOption = Annotated[Duplicates, typer.Option(help="What to do if a user makes two claims about an object.")]
KindOfValues = Annotated[
    KindOption | None,
    typer.Option(
        help="What the values are; by default, they are choices if they are text, and numbers otherwise, even 0 and 1."
    ),
]
LeftOutOption = Annotated[
    Path | None, typer.Option(help="With --skip-bad: file for all rows that were left out, with the reasons.")
]


def check_left_out(path: Path | None, skip_bad: bool) -> None:
    """Before anything is read, refuse a file that cannot be written, and one that would stay empty."""
    from sottovoce.claims.writing import check_place

    if path is None:
        return
    check_place(path)
    if not skip_bad:
        raise BadParameter(f"--left-out {path}: rows are left out only with --skip-bad; add --skip-bad")


def read_claims(
    path: Path,
    kind: "Kind",
    columns: ColumnOptions,
    cleaning: CleaningOptions,
    duplicates: Duplicates,
    left_out: Path | None,
) -> "Claims":
    """Read the claims of a file, and report the rows that were left out."""
    from sottovoce.claims import Claims
    from sottovoce.claims.writing import write_table

    check_left_out(left_out, cleaning.skip_bad)
    claims = Claims.read(path, kind=kind, duplicates=duplicates.value, **vars(columns), **vars(cleaning))
    if left_out:
        write_table(claims.left_out, left_out)
    if claims.skipped:
        print_left_out(claims.left_out)
    return claims


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
