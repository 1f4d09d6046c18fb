"""A result of truth discovery as tables for people."""

from statistics import median
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from sottovoce.cli.output import cell, console, number, plain_table
from sottovoce.digits import as_percent, counted, decimals_for

if TYPE_CHECKING:
    from sottovoce.discovery import ChoiceResult, Result, TruthDiscovery

_ROWS_SHOWN = 20


def print_result(result: "Result | ChoiceResult", skipped: int, scores: dict[str, Any] | None) -> None:
    """The first rows of a result, how it was found, and its errors where truths are known."""
    from sottovoce.claims.labels import natural_order
    from sottovoce.claims.table import skipped_text
    from sottovoce.discovery.schema import Place, columns_in, for_people

    fit: TruthDiscovery = result.fit
    state = "converged" if fit.converged_ else "not converged"
    console.print(
        f"{counted(int(fit.claims_.sum()), 'claim')} by {counted(len(fit.users_), 'user')} about "
        f"{counted(len(fit.objects_), 'object')}{skipped_text(skipped)}. "
        f"{type(fit).__name__}: {counted(fit.n_iter_, 'iteration')}, {state}; "
        f"{result.effective_users:,.1f} effective users.",
        highlight=False,
    )
    for line in (result.reason, result.aim):
        if line:
            console.print(escape(line), highlight=False)
    console.print()
    columns = [column for column in for_people(columns_in(Place.COMMAND, result.schema)) if not column.is_nested]
    entries = {column.name: column.values(result) for column in columns}
    decimals = None
    if fit.kind_ == "number":
        low, high = result.interval
        decimals = decimals_for(median((high - low).tolist()) / 2)
    table = plain_table("object")
    for column in columns:
        title = f"{as_percent(result.level)} low" if column.name == "low" else column.title
        table.add_column(title, justify="left" if column.is_label else "right", overflow="fold")
    for n in natural_order(fit.objects_)[:_ROWS_SHOWN].tolist():
        cells = [escape(cell(column, entries[column.name][n], decimals)) for column in columns]
        table.add_row(escape(str(fit.objects_[n])), f"[bold]{cells[0]}[/]", *cells[1:])
    console.print(table)
    if len(fit.truths_) > _ROWS_SHOWN:
        console.print(f"… and {len(fit.truths_) - _ROWS_SHOWN:,} more; --out FILE writes them all.", highlight=False)
    if scores and "accuracy" in scores:
        right = plain_table(f"right out of {counted(scores['objects'], 'known truth')}", numbers=["accuracy"])
        for name, score in ((type(fit).__name__, scores), ("majority", scores["majority"])):
            right.add_row(name, f"{score['accuracy']:.2%}")
        console.print()
        console.print(right)
    elif scores:
        headings = ["MAE", "RMSE", f"within {as_percent(result.level)} interval"]
        errors = plain_table(f"error over {counted(scores['objects'], 'known truth')}", numbers=headings)
        for name, score in (
            (type(fit).__name__, scores),
            ("mean", scores["mean"]),
            ("median", scores["median"]),
        ):
            within = f"{score['coverage']:.0%}" if "coverage" in score else ""
            errors.add_row(name, number(score["mae"]), number(score["rmse"]), within)
        console.print()
        console.print(errors)
