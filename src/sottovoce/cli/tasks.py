"""``sottovoce campaign tasks``: the tasks of a campaign as a table."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sottovoce.cli.connection import CampaignArgument, connected
from sottovoce.cli.output import console, plain_table, print_json
from sottovoce.cli.output import notes as note_console

if TYPE_CHECKING:
    from sottovoce.operators.client import OperatorClient

DecimalOption = Annotated[
    str | None,
    typer.Option(help="Decimal sign of the tasks' numbers, ',' or '.'; detected by default.", show_default=False),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of a text file, such as windows-1252; detected by default.", show_default=False),
]


@connected
def tasks(
    client: "OperatorClient",
    campaign: CampaignArgument,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Tasks as XLSX or CSV: they replace those of a draft. Fields without a column keep their values.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the tasks to this CSV file, to edit them.", show_default=False)
    ] = None,
    decimal: DecimalOption = None,
    encoding: EncodingOption = None,
    json: bool = False,
) -> None:
    """Show the tasks of a campaign, or replace those of a draft with a table."""
    from sottovoce.operators.drafts import read_task_file, spoken_task, write_task_file
    from sottovoce.protocol.task_table import changed_tasks, overview

    entry = client.campaign(campaign)
    language = entry["language"] or ""
    if file:
        ids = {spoken_task(task, language)["title"]: task["id"] for task in reversed(entry["tasks"])}
        table = read_task_file(file, decimal, encoding, ids)
        print_notes(table.notes)
        entry = client.change(campaign, changed_tasks(entry, table))
    if out:
        write_task_file(entry, out)
    if json:
        print_json({"campaign": campaign, "tasks": entry["tasks"], "known": entry["known"], "out": out and str(out)})
        return
    columns, rows = overview([spoken_task(task, language) for task in entry["tasks"]], entry["known"])
    shown = plain_table("id", *columns.values())
    for row in rows:
        shown.add_row(*map(escape, (row[name] for name in ("id", *columns))))
    console.print(shown)


def print_notes(notes: Iterable[str]) -> None:
    """Show what was read differently from what the table's author may expect."""
    for note in notes:
        note_console.print(f"Note: {escape(note)}", highlight=False, soft_wrap=True)
