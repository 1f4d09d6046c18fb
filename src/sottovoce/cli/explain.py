"""``sottovoce explain``: which claims, with which weights, make up the truth of an object."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sottovoce.cli import claim_files
from sottovoce.cli.methods import ALL, OneMethodOption, method_name
from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import JsonOption, console, number, print_json, printed_warnings
from sottovoce.digits import as_percent, counted, decimals_for
from sottovoce.errors import BadParameter, ConvergenceWarning

if TYPE_CHECKING:
    from sottovoce.discovery.explanation import Explanation

_SHOWN = 30  # claims


@grouped
def explain(
    claims: Annotated[
        str, typer.Argument(help="Claims: CSV, Parquet, Arrow or JSON Lines; - reads CSV from standard input.")
    ],
    thing: Annotated[str, typer.Argument(metavar="OBJECT", help="Label of the object to explain.")],
    method: OneMethodOption = None,
    noise: Annotated[
        str | None, typer.Option(help="Noise law of the claims; by default the one recorded in the file.")
    ] = None,
    columns: claim_files.ColumnOptions = claim_files.USUAL_COLUMNS,
    duplicates: claim_files.DuplicatesOption = claim_files.Duplicates.ERROR,
    cleaning: claim_files.CleaningOptions = claim_files.USUAL_CLEANING,
    kind: claim_files.KindOfValues = None,
    level: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    json: JsonOption = False,
) -> None:
    """Show who claimed what about an object, with which weight, and what the weights changed.

    The truth is compared with the plain mean, or, for choices, with the majority.
    """
    from sottovoce.claims import Claims
    from sottovoce.discovery import discovered, make_method
    from sottovoce.discovery.base import check_level
    from sottovoce.discovery.explanation import explain as explained

    check_level(level)
    chosen = method_name(method)
    if chosen == ALL:
        raise BadParameter("--method all: one method is explained at a time; name it")
    table = Claims.read(
        sys.stdin.buffer if claims == "-" else claims,
        duplicates=duplicates.value,
        kind=kind.value if kind else None,
        **vars(columns),
        **vars(cleaning),
    )
    with printed_warnings(ConvergenceWarning):
        result = discovered(make_method(chosen, noise=noise or table.noise), table, level)
    explanation = explained(result, table, thing)
    if json:
        print_json(explanation.summary())
    else:
        _print(explanation, level)


def _print(explanation: "Explanation", level: float) -> None:
    numbers = explanation.low is not None and explanation.high is not None
    decimals = None
    if explanation.low is not None and explanation.high is not None:
        decimals = decimals_for((explanation.high - explanation.low) / 2)
        found = f"{number(explanation.truth, decimals)} ({as_percent(level)} interval "
        found += f"{number(explanation.low, decimals)} to {number(explanation.high, decimals)})"
    else:
        found = f"{explanation.truth} (chance {explanation.chance:.0%})"
    beside = ", ".join(
        f"{name} {number(entry, decimals) if numbers else entry}" for name, entry in explanation.plain.items()
    )
    console.print(
        f"{escape(explanation.object)}: [bold]{escape(found)}[/] from {counted(len(explanation.claims), 'claim')}; "
        f"{escape(beside)}.",
        highlight=False,
    )
    console.print(escape(explanation.why), highlight=False)
    console.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("user", overflow="fold")
    for heading in ("claim", "weight", *(("from the truth",) if numbers else ())):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("")
    for claim in explanation.claims[:_SHOWN]:
        cells = [number(claim.value, decimals) if numbers else escape(str(claim.value)), f"{claim.weight:.1%}"]
        if claim.difference is not None:
            cells.append(
                f"{claim.difference:+,.{decimals or 0}f}" if decimals is not None else number(claim.difference)
            )
        table.add_row(escape(claim.user), *cells, ("far off" if numbers else "other answer") if claim.far_off else "")
    console.print(table)
    if len(explanation.claims) > _SHOWN:
        console.print(f"… and {len(explanation.claims) - _SHOWN:,} with less weight; --json shows them all.")
