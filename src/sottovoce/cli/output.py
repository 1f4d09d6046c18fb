"""What the commands print: tables for people, JSON for programs, progress for long work."""

import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from sottovoce.discovery.schema import Column

console = Console()
notes = Console(stderr=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables for people.")]


def print_json(content: Any) -> None:
    """Strict JSON: what is infinite or not a number becomes null."""
    sys.stdout.write(json.dumps(_finite(content), ensure_ascii=False, allow_nan=False) + "\n")


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _finite(entry) for key, entry in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(entry) for entry in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def print_done(json: bool, content: dict[str, Any], sentence: str) -> None:
    """Report what was done: a sentence for people, or JSON for programs."""
    if json:
        print_json(content)
    else:
        console.print(escape(sentence), highlight=False, soft_wrap=True)


def plain_table(*texts: str, numbers: Iterable[str] = ()) -> Table:
    """A table without lines: columns of texts, then columns of numbers, all folded rather than cut."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in texts:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def figures_table() -> Table:
    """A table without headings: name, figure, remark."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    return table


def number(quantity: float, decimals: int | None = None) -> str:
    """A number for a table, with this many decimals, or with five significant digits."""
    if not math.isfinite(quantity):
        return {math.inf: "∞", -math.inf: "−∞"}.get(quantity, "–")
    if decimals is not None:
        return f"{quantity:,.{decimals}f}"
    if quantity == 0 or 1e-4 <= abs(quantity) < 10**9:
        decimals = 0 if quantity == 0 else max(0, 4 - math.floor(math.log10(abs(quantity))))
        return f"{quantity:,.{decimals}f}"
    return f"{quantity:.4e}"


def cell(column: "Column", entry: Any, decimals: int | None) -> str:
    """An entry of a result's column; measured values get this many decimals."""
    if entry is None:
        return "–"
    if column.measured:
        return number(entry, decimals)
    return str(entry) if column.decimals is None else f"{entry:.{column.decimals}f}"


def promise_words(guarantee: dict[str, Any]) -> str:
    """The promise to participants as the server states it, in words and in figures."""
    from sottovoce.privacy.sentence import figures

    return escape(f"{guarantee['sentence']} ({figures(guarantee['epsilon'], guarantee['delta'])})")


@contextmanager
def printed_warnings(*kinds: type[Warning]) -> Iterator[None]:
    """Warnings of these kinds are printed after the work, in one line each."""
    with warnings.catch_warnings(record=True) as caught:
        for kind in kinds:
            warnings.simplefilter("always", kind)
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        notes.print(f"[yellow]Warning:[/] {escape(text)}", highlight=False)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on stderr, shown only in a terminal and removed at the end."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=notes,
        transient=True,
        disable=not notes.is_terminal,
    ) as progress:
        yield progress
