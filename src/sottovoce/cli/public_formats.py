"""``sottovoce claims convert`` and ``formats``: claims in the formats of public data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sottovoce.cli.claim_files import (
    USUAL_CLEANING,
    CleaningOptions,
    Duplicates,
    DuplicatesOption,
    KindOption,
    LeftOutOption,
    check_left_out,
    left_out_summary,
    print_left_out,
)
from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import JsonOption, console, plain_table, print_json
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, UnreadableFile

if TYPE_CHECKING:
    from sottovoce.claims.public_formats import PublicFormat


@grouped
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="File of claims; or the folder of a data set, whose format follows from the names of its files.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(help="New folder for claims.csv, and for truth.csv if truths are given."),
    ],
    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Format of the file, one of those that `sottovoce claims formats` lists."),
    ] = None,
    truth: Annotated[Path | None, typer.Option(help="File of known truths, in the same format.")] = None,
    column: Annotated[
        str | None,
        typer.Option(
            help="In fusion: number of the column of values, from 1. In matrix: name of the column of truths."
        ),
    ] = None,
    duplicates: DuplicatesOption = Duplicates.ERROR,
    cleaning: CleaningOptions = USUAL_CLEANING,
    left_out: LeftOutOption = None,
    kind: Annotated[
        KindOption | None, typer.Option(help="What the values are; by default, the format or the values decide.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Convert claims from the format of a public data set to the format that the other commands read."""
    import pyarrow as pa

    from sottovoce.claims import Claims
    from sottovoce.claims.cleaning import Cleaning
    from sottovoce.claims.kinds import kind_of
    from sottovoce.claims.labels import texts
    from sottovoce.claims.public_formats import ReadOptions
    from sottovoce.claims.rows import NOTHING_LEFT_OUT
    from sottovoce.claims.writing import whole_folder, write_table

    check_left_out(left_out, cleaning.skip_bad)
    form, claims_file, truth_file = _files(source, format, truth, column)
    with whole_folder(out) as folder:
        claims = Claims.read_format(
            claims_file, form.name, column=column, duplicates=duplicates.value, kind=kind.value if kind else None,
            **vars(cleaning),
        )  # fmt: skip
        claims.write(folder / "claims.csv")
        known = {}
        if truth_file:
            as_written = Cleaning(cleaning.decimal, cleaning.strip_units, cleaning.encoding)
            how = ReadOptions(claims.kind, cleaning=as_written, column=column)
            known = form.truths(truth_file, how).by_label(str(truth_file))
            write_table(pa.table({"object": list(known), "value": list(known.values())}), folder / "truth.csv")
    rows = NOTHING_LEFT_OUT if claims.left_out is None else claims.left_out
    if left_out:
        write_table(rows, left_out)
    if json:
        print_json(
            {"format": form.name, "folder": str(out), "kind": claims.kind, "claims": len(claims),
             "users": claims.n_users, "objects": claims.n_objects, "truths": len(known),
             **({"left_out": left_out_summary(rows)} if cleaning.skip_bad else {})}
        )  # fmt: skip
        return
    if rows.num_rows:
        print_left_out(rows)
    truths = f", and {counted(len(known), 'truth')} in {out}/truth.csv" if known else ""
    console.print(
        escape(
            f"{counted(len(claims), 'claim')} by {counted(claims.n_users, 'user')} about "
            f"{counted(claims.n_objects, 'object')} in {out}/claims.csv{truths}."
        ),
        highlight=False,
        soft_wrap=True,
    )
    if claims.answers is not None and kind_of(pa.array(texts(claims.answers.labels))) == "number":
        console.print("The choices look like numbers: add --kind choice to commands that read them.", highlight=False)


def _files(
    source: Path, name: str | None, truth: Path | None, column: str | None
) -> "tuple[PublicFormat, Path, Path | None]":
    """The format, the file of claims and the file of truths."""
    from sottovoce.claims.public_formats import FORMATS, format_named, format_of_folder

    form = format_named(name) if name else None
    if not source.exists():
        raise UnreadableFile(f"{source}: there is no such file or folder; check the name and the folder it is in")
    if not source.is_dir():
        if form is None:
            raise BadParameter(
                f"{source}: a format is recognised only from the files of a folder, not from a single file; name it "
                f"with --format {'|'.join(FORMATS)}"
            )
        return form, source, truth or (source if form.truths_inside and column else None)
    if form is not None and form.files is None:
        raise UnreadableFile(
            f"{source}: it is a folder, but the format {form.name} is that of a single file; give the file of claims"
        )
    form = form or format_of_folder(source)
    if form is None or form.files is None:
        known = "; ".join(f"{one}: {' and '.join(form.files)}" for one, form in FORMATS.items() if form.files)
        raise UnreadableFile(
            f"{source}: its format is not recognised from the names of its files ({known}); give the file of claims "
            "instead of the folder, and its --format"
        )
    claims_file, truth_file = (source / file for file in form.files)
    return form, claims_file, truth or (truth_file if truth_file.is_file() else None)


def formats(json: JsonOption = False) -> None:
    """List the formats of public data sets that `convert` reads."""
    from sottovoce.claims.public_formats import FORMATS

    if json:
        print_json({name: {"words": form.words, "files": form.files} for name, form in FORMATS.items()})
        return
    table = plain_table("format", "claims and truths", "files in a folder")
    for name, form in FORMATS.items():
        table.add_row(name, form.words, " and ".join(form.files or ()))
    console.print(table)
