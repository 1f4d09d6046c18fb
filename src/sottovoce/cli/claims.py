"""``sottovoce claims``: packs, for more claims than memory."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sottovoce.cli.discover import Duplicates
from sottovoce.cli.output import JsonOption, console, print_json, progress_bar
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.claims.blocks import Pack
    from sottovoce.claims.sorting import ClaimSource

app = typer.Typer(help="Pack claims that are more than memory holds, and look at packs.", no_args_is_help=True)


@app.command()
def pack(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Claims: CSV, Parquet, Arrow or JSON Lines files, patterns such as 'claims-*.csv', "
            "or the database of a campaign server (sqlite:///FILE, postgresql://USER@HOST/NAME).",
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Folder of the pack; a new one, unless with --append.")],
    append: Annotated[
        bool, typer.Option("--append", help="Add the claims to the pack that is there, as one more round.")
    ] = False,
    campaign: Annotated[str | None, typer.Option(help="Id of the campaign whose claims a database gives.")] = None,
    user: Annotated[str, typer.Option(help="Name of the column that says who claims.")] = "user",
    object: Annotated[str, typer.Option(help="Name of the column that says about what.")] = "object",
    value: Annotated[str, typer.Option(help="Name of the column with the claimed value.")] = "value",
    duplicates: Annotated[
        Duplicates, typer.Option(help="What to do when a user claims an object twice.")
    ] = Duplicates.ERROR,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Drop and count rows that are not claims.")] = False,
    memory: Annotated[str, typer.Option(help="Memory that sorting may take; the rest is sorted on the disk.")] = "1GB",
    json: JsonOption = False,
) -> None:
    """Sort claims into a pack: blocks on disk that `sottovoce discover` reads one after the other."""
    from sottovoce.claims.packing import files
    from sottovoce.claims.packing import pack as write_pack

    databases = [name for name in inputs if "://" in name]
    if databases and (len(inputs) > 1 or campaign is None):
        raise BadParameter(
            f"{databases[0]}: a database is packed alone, one campaign of it; name it with --campaign ID"
        )
    if campaign is not None and not databases:
        raise BadParameter(f"--campaign {campaign}: only a database holds campaigns; give its URL, or leave it out")
    with progress_bar() as progress:
        task = progress.add_task("reading", total=1.0)

        def report(stage: str, share: float) -> None:
            progress.update(task, description=stage, completed=share)

        sources: Iterable[ClaimSource]
        if campaign is not None:
            sources = _campaign(databases[0], campaign)
        else:
            sources = files(inputs, user=user, object=object, value=value, skip_bad=skip_bad, progress=report)
        packed = write_pack(
            sources, out, append=append, duplicates=duplicates.value, memory=memory, progress=report
        )  # fmt: skip
    _tell(packed, json)


@app.command()
def info(
    pack: Annotated[Path, typer.Argument(help="Folder of the pack.")],
    json: JsonOption = False,
) -> None:
    """Say what a pack holds, after checking every file of it."""
    from sottovoce.claims.blocks import Pack

    found = Pack(pack)
    with progress_bar() as progress:
        for number in progress.track(range(len(found.manifest.blocks)), description="checking"):
            found.block(number)
        _ = found.user_table, found.object_table
    _tell(found, json)


def _campaign(database: str, campaign: str) -> "list[ClaimSource]":
    from sottovoce.claims.sorting import ClaimSource
    from sottovoce.server.storage.claims import stream_claims
    from sottovoce.server.storage.engine import open_existing

    return [ClaimSource(f"campaign {campaign}", stream_claims(open_existing(database), campaign))]


def _tell(pack: "Pack", json: bool) -> None:
    from sottovoce.claims.table import skipped_text

    said = pack.manifest
    size = sum(entry.bytes for entry in (*said.blocks, said.user_table, said.object_table))
    if json:
        print_json(
            {"pack": said.pack, "folder": str(pack.folder), "claims": said.claims, "users": said.users,
             "objects": said.objects, "blocks": len(said.blocks), "rounds": said.round, "bytes": size,
             "noise": said.noise, "skipped": said.skipped}
        )  # fmt: skip
        return
    law = f", noise law {said.noise}" if said.noise else ""
    console.print(
        f"{escape(str(pack.folder))}: {said.claims:,} claims by {said.users:,} users about {said.objects:,} objects"
        f"{law}{skipped_text(said.skipped)}; {said.round} round{'s' * (said.round != 1)}, {len(said.blocks)} "
        f"block{'s' * (len(said.blocks) != 1)}, {size / 1e6:,.1f} MB.",
        highlight=False,
        soft_wrap=True,
    )
