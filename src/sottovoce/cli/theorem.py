"""``sottovoce theorem``: the original paper's theorems, as printed and as corrected."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sottovoce.cli.output import JsonOption, console, number, print_json

if TYPE_CHECKING:
    from sottovoce.planning.paper import Frontier, Levels, TheoremReport, TheoremVerdict


def theorem(
    lambda1: Annotated[float, typer.Option(help="Rate λ1 of the users' error variances.")],
    alpha: Annotated[float, typer.Option(help="Size α of an error of the aggregates that should be rare.")],
    beta: Annotated[float, typer.Option(help="How rare: the probability β of an error of α or more.")],
    participants: Annotated[int, typer.Option(help="Users in the crowd (S).")],
    epsilon: Annotated[float, typer.Option(help="Privacy ε of one reading.")],
    delta: Annotated[float, typer.Option(help="Privacy δ of one reading.")],
    lambda2: Annotated[
        float | None,
        typer.Option(
            help="Rate λ2 of the noise variances; by default the largest with this ε and δ.", show_default=False
        ),
    ] = None,
    b: Annotated[
        float, typer.Option(help="Number of standard deviations (b) between two readings that Δ_s covers.")
    ] = 3.0,
    eta: Annotated[float, typer.Option(help="Share η of the users that Δ_s covers.")] = 0.95,
    json: JsonOption = False,
) -> None:
    """Show the original paper's theorems as printed and as corrected.

    Rely on the corrected column, as long as the remaining assumptions hold.
    """
    from sottovoce.planning.paper import compare

    report = compare(lambda1, lambda2, alpha, beta, participants, epsilon, delta, b, eta)
    if json:
        print_json(report.summary())
    else:
        _print_report(report)


def _print_report(report: "TheoremReport") -> None:
    console.print(
        f"Noise level c = λ1/λ2 = {number(report.level)}, noise rate λ2 = {number(report.noise_rate)}.", highlight=False
    )
    console.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("quantity")
    for heading in ("as printed", "as corrected"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("what differs")
    for row in report.rows:
        table.add_row(
            escape(f"{row.name}, {row.symbol}"), _shown(row.printed), f"[bold]{_shown(row.corrected)}[/]",
            escape(row.difference),
        )  # fmt: skip
    console.print(table)
    console.print()
    for way, verdict in (("printed", report.printed_verdict), ("corrected", report.corrected_verdict)):
        console.print(f"As {way}, {_kept(verdict)}.", highlight=False)
    console.print(
        f"Noise levels at which both guarantees hold: as printed {_span(report.printed_levels)}, "
        f"as corrected {_span(report.corrected_levels)}.",
        highlight=False,
    )
    printed, corrected = report.printed_frontier, report.corrected_frontier
    console.print(
        "With the least noise for this privacy, the least error that can be guaranteed at this β is: "
        f"as printed {_least(printed)}, as corrected {_least(corrected)}.",
        highlight=False,
    )
    console.print()
    console.print("Remaining assumptions:", style="bold")
    for sentence in report.assumed:
        console.print(f"• {escape(sentence)}", highlight=False)


def _kept(verdict: "TheoremVerdict") -> str:
    privacy, utility = ("holds" if kept else "does not hold" for kept in (verdict.privacy, verdict.utility))
    return f"at this noise level the privacy guarantee (ε, δ) {privacy}, and the utility guarantee (α, β) {utility}"


def _shown(quantity: float | None) -> str:
    return "–" if quantity is None else number(quantity)


def _span(levels: "Levels | None") -> str:
    if levels is None:
        return "none"
    without = ", ".join(f"{number(gap.low)} to {number(gap.high)}" for gap in levels.gaps)
    return f"{number(levels.low)} to {number(levels.high)}" + (f" except {without}" if without else "")


def _least(frontier: "Frontier") -> str:
    alpha = "none" if frontier.alpha is None else f"α = {number(frontier.alpha)}"
    return f"{alpha} (at c = {number(frontier.level)})"
