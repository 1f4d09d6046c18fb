"""``sottovoce backup`` and ``sottovoce restore``: checked copies of a server's database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.output import JsonOption, console, print_json
from sottovoce.digits import counted
from sottovoce.errors import MissingExtra

if TYPE_CHECKING:
    from types import ModuleType

    from sottovoce.server.storage.backup import BackupContents

DatabaseOption = Annotated[
    str, typer.Option("--database", envvar="SOTTOVOCE_DATABASE", help="The server's database, sqlite:///FILE.")
]


def backup(
    out: Annotated[Path, typer.Option(help="New file for the copy.")],
    database: DatabaseOption = "sqlite:///sottovoce.db",
    json: JsonOption = False,
) -> None:
    """Copy the database of a server, which may be running, and check the copy.

    The copy holds every report that was acknowledged before the command began. Only its owner can read it.
    """
    _print_contents(_copying().back_up(database, out), out, json)


def restore(
    file: Annotated[Path, typer.Argument(help="A copy made by sottovoce backup.", show_default=False)],
    database: DatabaseOption = "sqlite:///sottovoce.db",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing database.")] = False,
    json: JsonOption = False,
) -> None:
    """Restore a copy after checking it. The server must not be running.

    Reports that arrived after the copy was made are lost: devices do not send a report again once it has been accepted.
    """
    _print_contents(_copying().restore(file, database, replace=replace), database, json)


def _copying() -> "ModuleType":
    try:
        from sottovoce.server.storage import backup
    except ImportError as missing:
        raise MissingExtra(
            f"backups need {missing.name}, which is not installed; install it with pip install 'sottovoce[server]'"
        ) from missing
    return backup


def _print_contents(contents: "BackupContents", place: Path | str, json: bool) -> None:
    if json:
        print_json({"out": str(place), **vars(contents)})
        return
    console.print(
        f"{place}: {counted(contents.campaigns, 'campaign')}, {counted(contents.reports, 'report')}, "
        f"{contents.bytes:,} bytes; complete, "
        f"schema {contents.revision}"
        + ("." if contents.current else ", which the server brings up to date when it starts."),
        highlight=False, soft_wrap=True,
    )  # fmt: skip
