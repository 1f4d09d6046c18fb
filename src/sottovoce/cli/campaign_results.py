"""``sottovoce campaign results`` and ``export``: what the crowd found, in the terminal or in a file."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.connection import CampaignArgument, connected
from sottovoce.cli.output import cell, console, plain_table, print_done, print_json, promise_words
from sottovoce.digits import as_percent, counted, decimals_for
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient


@connected
def results(
    client: "OperatorClient",
    campaign: CampaignArgument,
    version: Annotated[
        int | None, typer.Option(help="An earlier version of the results; the newest by default.")
    ] = None,
    json: bool = False,
) -> None:
    """Show the results: truths with intervals, how they were computed, and what participants were promised."""
    with _draft_explained(client, campaign):
        results = client.results(campaign, version)
    if json:
        print_json(results)
        return
    for kind in ("number", "choice"):
        _print_results([entry for entry in results["results"] if ("chances" in entry) == (kind == "choice")], kind)
    withheld, many = sum(entry["truth"] is None for entry in results["results"]), len(results["results"])
    console.print(
        f"\nVersion {results['version']} of {results['as_of']}: {counted(results['reports'], 'report')}, "
        + ("comparisons" if _only_compares(results) else f"method {results['method']}")
        + (f" ({counted(results['iterations'], 'iteration')})" if results.get("iterations") else "")
        + f", {as_percent(results['level'])} intervals."
        + (
            f" Withheld, with fewer than {counted(results['least_claims'], 'claim')}: {withheld} of "
            f"{counted(many, 'task')}."
            if withheld
            else ""
        ),
        highlight=False,
    )
    console.print(f"[bold]Promise:[/] {promise_words(results['guarantee'])}", highlight=False)


def _print_results(entries: list[dict[str, Any]], kind: str) -> None:
    """The tasks of one kind, as a table."""
    from sottovoce.discovery.schema import SCHEMAS, Place, columns_in, for_people

    if not entries:
        return
    columns = for_people(columns_in(Place.FILE, SCHEMAS[kind]))
    table = plain_table("task", numbers=[column.title for column in columns])
    table.add_column("unit" if kind == "number" else "majority")
    for entry in entries:
        shown = entry.get("low") is not None and entry.get("high") is not None
        places = decimals_for((entry["high"] - entry["low"]) / 2) if shown else None
        cells = [
            escape(found) if isinstance(found := entry.get(column.name), str) else cell(column, found, places)
            for column in columns
        ]
        table.add_row(
            escape(entry["task"]), *cells, escape(entry["unit"] if kind == "number" else entry["majority"] or "")
        )
    console.print(table)


def _only_compares(results: dict[str, Any]) -> bool:
    """Whether all tasks are numbers under a law for answers: comparisons are evaluated in their own way."""
    from sottovoce.privacy.laws import answer_laws

    numbers = all("chances" not in entry for entry in results["results"])
    return numbers and results["guarantee"]["noise"].partition(":")[0] in answer_laws()


@contextmanager
def _draft_explained(client: "OperatorClient", campaign: str) -> Iterator[None]:
    """Say that a campaign is a draft; the server does not reveal drafts where anybody may ask."""
    from sottovoce.protocol.problems import Problem

    try:
        yield
    except Problem as problem:
        with suppress(Problem):  # another operator's campaign may have public results, but its state is not public
            if problem.code == "not_found" and client.campaign(campaign)["state"] == "draft":
                raise BadParameter(
                    f"campaign {campaign!r}: it is a draft, which has no results; open it first"
                ) from None
        raise


@connected
def export(
    client: "OperatorClient",
    campaign: CampaignArgument,
    what: Annotated[str, typer.Argument(help="claims or results.", show_default=False)],
    out: Annotated[Path, typer.Option(help="File; its suffix .csv, .parquet or .jsonl sets the format.")],
    json: bool = False,
) -> None:
    """Write the newest results to a file, or the noisy claims that they are based on.

    If a campaign has both numbers and choices, the claims are the numbers; the API also exports the choices.
    """
    if what not in ("claims", "results"):
        raise BadParameter(f"export {what!r}: it must be claims or results; choose one of them")
    with _draft_explained(client, campaign):
        size = client.export(campaign, what, out)
    print_done(json, {"out": str(out), "bytes": size}, f"{what.capitalize()} are in {out}")
