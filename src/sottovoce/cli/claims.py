"""``sottovoce claims``: packs, for claims that do not fit into memory, and claims in public formats."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sottovoce.cli import claim_files
from sottovoce.cli.command_line import CommandLine
from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import JsonOption, console, print_json, progress_bar
from sottovoce.cli.public_formats import convert, formats
from sottovoce.digits import counted
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Engine

    from sottovoce.claims.blocks import Pack
    from sottovoce.claims.kinds import Kind
    from sottovoce.claims.sorting import ClaimSource
    from sottovoce.claims.streaming import Chunk

app = CommandLine(
    help="Pack claims that do not fit into memory, inspect packs, and convert claims from public formats."
)
app.command()(convert)
app.command()(formats)


@app.command()
@grouped
def pack(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Claims: CSV, Parquet, Arrow or JSON Lines files, patterns such as 'claims-*.csv', "
            "or the database of a campaign server (sqlite:///FILE, postgresql://USER@HOST/NAME).",
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Folder of the pack; it must be new, except with --append.")],
    append: Annotated[
        bool, typer.Option("--append", help="Add the claims to the existing pack, as one more round.")
    ] = False,
    campaign: Annotated[
        str | None, typer.Option(help="Id of the campaign whose claims are read from a database.")
    ] = None,
    columns: claim_files.ColumnOptions = claim_files.USUAL_COLUMNS,
    duplicates: claim_files.DuplicatesOption = claim_files.Duplicates.ERROR,
    cleaning: claim_files.CleaningOptions = claim_files.USUAL_CLEANING,
    left_out: claim_files.LeftOutOption = None,
    kind: claim_files.KindOfValues = None,
    memory: Annotated[str, typer.Option(help="Memory that sorting may use; the rest is sorted on disk.")] = "1GB",
    json: JsonOption = False,
) -> None:
    """Sort claims into a pack: blocks on disk that `sottovoce discover` reads one by one."""
    import pyarrow as pa

    from sottovoce.claims.cleaning import Cleaning
    from sottovoce.claims.packing import files
    from sottovoce.claims.packing import pack as write_pack
    from sottovoce.claims.rows import NOTHING_LEFT_OUT
    from sottovoce.claims.writing import write_table

    claim_files.check_left_out(left_out, cleaning.skip_bad)
    bad = [NOTHING_LEFT_OUT]

    databases = [name for name in inputs if "://" in name]
    if databases and (len(inputs) > 1 or campaign is None):
        raise BadParameter(
            f"{databases[0]}: a pack holds one campaign of one database; give only the database, and --campaign ID"
        )
    if campaign is not None and not databases:
        raise BadParameter(
            f"--campaign {campaign}: only a database holds campaigns; give the URL of one, or leave --campaign out"
        )
    with progress_bar() as progress:
        task = progress.add_task("reading", total=1.0)

        def report(stage: str, share: float) -> None:
            progress.update(task, description=stage, completed=share)

        sources: Iterable[ClaimSource]
        if campaign is not None:
            sources = _campaign(databases[0], campaign, kind.value if kind else None)
        else:
            sources = files(
                inputs, skip_bad=cleaning.skip_bad, progress=report, kind=kind.value if kind else None,
                cleaning=Cleaning(cleaning.decimal, cleaning.strip_units, cleaning.encoding), left_out=bad.append,
                **vars(columns),
            )  # fmt: skip
        packed = write_pack(
            sources, out, append=append, duplicates=duplicates.value, memory=memory, progress=report
        )  # fmt: skip
    rows = pa.concat_tables(bad)
    if left_out:
        write_table(rows, left_out)
    if rows.num_rows and not json:
        claim_files.print_left_out(rows)
    _print_pack(packed, json, rows)


@app.command()
def info(
    pack: Annotated[Path, typer.Argument(help="Folder of the pack.")],
    json: JsonOption = False,
) -> None:
    """Check every file of a pack and show what it holds."""
    from sottovoce.claims.blocks import Pack

    checked = Pack(pack)
    with progress_bar() as progress:
        for number in progress.track(range(len(checked.manifest.blocks)), description="checking"):
            checked.block(number)
        _ = checked.user_table, checked.object_table, checked.answers
    _print_pack(checked, json)


def _campaign(database: str, campaign: str, kind: "Kind | None") -> "list[ClaimSource]":
    from sottovoce.claims.sorting import ClaimSource
    from sottovoce.server.storage.engine import open_existing

    return [ClaimSource(f"campaign {campaign}", _stored_claims(open_existing(database), campaign, kind))]


def _stored_claims(database: "Engine", campaign: str, kind: "Kind | None") -> "Iterator[Chunk]":
    from sottovoce.server.storage.claims import stream_claims

    try:
        yield from stream_claims(database, campaign, kind)
    finally:
        database.dispose()


def _print_pack(pack: "Pack", json: bool, left_out: "pa.Table | None" = None) -> None:
    from sottovoce.claims.table import skipped_text

    manifest = pack.manifest
    size = sum(entry.bytes for entry in (*manifest.blocks, *manifest.tables))
    if json:
        dropped = (
            {"left_out": claim_files.left_out_summary(left_out)} if left_out is not None and left_out.num_rows else {}
        )
        print_json(
            {"pack": manifest.pack, "folder": str(pack.folder), "claims": manifest.claims, "users": manifest.users,
             "objects": manifest.objects, "blocks": len(manifest.blocks), "rounds": manifest.round, "bytes": size,
             "kind": pack.kind, "noise": manifest.noise, "skipped": manifest.skipped,
             **dropped}
        )  # fmt: skip
        return
    law = f", noise law {manifest.noise}" if manifest.noise else ""
    console.print(
        f"{escape(str(pack.folder))}: {counted(manifest.claims, 'claim')} by {counted(manifest.users, 'user')} "
        f"about {counted(manifest.objects, 'object')}{law}{skipped_text(manifest.skipped)}; "
        f"{manifest.round} round{'s' * (manifest.round != 1)}, "
        f"{len(manifest.blocks)} block{'s' * (len(manifest.blocks) != 1)}, {size / 1e6:,.1f} MB.",
        highlight=False,
        soft_wrap=True,
    )
