"""``sottovoce discover --method all`` and ``--report``: every method on the same claims, and one page about them."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from sottovoce.cli.output import console, number
from sottovoce.digits import as_percent, counted

if TYPE_CHECKING:
    from sottovoce.discovery import ChoiceResult, Result
    from sottovoce.discovery.comparison import Comparison
    from sottovoce.discovery.pictures import Known
    from sottovoce.engines import Engine


def print_comparison(compared: "Comparison") -> None:
    """A row per method; with known truths, its error and how often its intervals contain them."""
    rows, first = compared.rows(), compared.results[0]
    fit = first.fit
    console.print(
        f"{counted(int(fit.claims_.sum()), 'claim')} by {counted(len(fit.users_), 'user')} about "
        f"{counted(len(fit.objects_), 'object')}.",
        highlight=False,
    )
    console.print()
    numbers = fit.kind_ == "number"
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("method")
    for heading in ("iter.", "effective", "away" if numbers else "other"):
        table.add_column(heading, justify="right")
    table.add_column("most at")
    scored = {"mae": "MAE", "rmse": "RMSE", "coverage": f"within {as_percent(first.level)}", "accuracy": "accuracy"}
    headings = {name: title for name, title in scored.items() if name in rows[0]}
    for title in headings.values():
        table.add_column(title, justify="right")
    for row in rows:
        cells = [f"{row[name]:.1%}" if name in ("coverage", "accuracy") else number(row[name]) for name in headings]
        table.add_row(
            row["method"],
            f"{'' if row['converged'] else '>'}{row['n_iter']:,}",
            f"{row['effective_users']:,.1f}",
            number(row["apart"]) if numbers else f"{row['apart']:.1%}",
            escape(row["furthest"] or "–"),
            *cells,
        )
    console.print(table)
    console.print()
    away = f"away: mean distance from {fit.name}" if numbers else f"other: share of truths that differ from {fit.name}"
    stopped = "" if all(row["converged"] for row in rows) else "; >: not converged after this many iterations"
    console.print(
        f"{away}; most at: object that differs most; effective: equivalent number of users with equal weights"
        f"{stopped}.",
        highlight=False,
    )


def write_report(
    result: "Result | ChoiceResult", source: str, engine: "Engine", noise: str | None, scores: dict[str, Any] | None,
    known: "Known | None", left_out: list[dict[str, Any]], truth: Path | None, options: dict[str, Any], path: Path,
) -> None:  # fmt: skip
    """Write the page of a result; all methods are compared on it if the claims are in memory."""
    from sottovoce.discovery.comparison import Comparison
    from sottovoce.engines import MemoryEngine
    from sottovoce.lab.report import ResultReport

    compared = None
    if isinstance(engine, MemoryEngine):
        compared = Comparison.of(engine, noise, result.level, truth, **options)
    name = "standard input" if source == "-" else Path(source).name
    command = shlex.join(["sottovoce", *sys.argv[1:]])
    ResultReport(result, name, command, noise, compared, scores, known, left_out).write(path)
