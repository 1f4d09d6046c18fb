"""``sottovoce campaign texts``: a campaign's texts in several languages."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.connection import CampaignArgument, connected
from sottovoce.cli.output import console, plain_table, print_json

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient


@connected
def texts(
    client: "OperatorClient",
    campaign: CampaignArgument,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Translations as CSV: a column for each language, named by its tag; empty cells change nothing.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="Record in the draft that its own texts are in this language, such as en or de.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write all texts to this CSV file, for translators.", show_default=False)
    ] = None,
    json: bool = False,
) -> None:
    """Show which texts are missing in which language, or add translations to a draft."""
    from sottovoce.operators.drafts import read_translations, write_translations

    entry = client.texts(campaign)
    if language:
        entry = client.translate(campaign, {}, language)
    if file:
        entry = client.translate(campaign, read_translations(file, entry["language"]))
    if out:
        write_translations(entry, out)
    if json:
        print_json({"campaign": campaign, **entry, "out": out and str(out)})
        return
    table = plain_table("language", "missing")
    table.add_row(entry["language"], "the campaign's own language")
    for tag, count in entry["missing"].items():
        table.add_row(tag, f"{count:,} of {len(entry['texts']):,} texts" if count else "nothing")
    console.print(table)
