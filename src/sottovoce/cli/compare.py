"""``sottovoce compare``: methods × worlds × noise laws, with standard errors."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sottovoce.cli.claim_files import KindOption
from sottovoce.cli.output import JsonOption, console, notes, number, plain_table, print_json, progress_bar


def compare(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER",
            help="Folders of real data sets, each with claims.csv and truth.csv or with the files of a public format "
            "that `sottovoce claims formats` lists; or folders that contain such folders.",
        ),
    ] = None,
    worlds: Annotated[
        str | None,
        typer.Option(help="Simulated worlds, such as synthetic,floorplan; synthetic if no folder is given."),
    ] = None,
    noise: Annotated[str, typer.Option(help="Noise laws, such as none,shared:0.5,fresh:0.5.")] = "none",
    methods: Annotated[
        str | None, typer.Option(help="Methods, such as crh,gtm or FILE.py:CLASS; all by default.")
    ] = None,
    kind: Annotated[
        KindOption | None,
        typer.Option(help="What the values in the folders are; by default, the format or the values decide."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Number of runs, each with new random numbers.")] = 10,
    participants: Annotated[int, typer.Option(help="Users of the synthetic world.")] = 150,
    objects: Annotated[int, typer.Option(help="Objects of the synthetic world.")] = 30,
    error_rate: Annotated[
        float, typer.Option(help="Rate λ1 of the users' error variances in the synthetic world.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the table here (.csv, .parquet, .arrow, .jsonl).")] = None,
    json: JsonOption = False,
) -> None:
    """Compare methods on simulated worlds and real data sets, under several noise laws, with standard errors."""
    import pyarrow as pa

    from sottovoce.claims.writing import check_place, write_table
    from sottovoce.cli.methods import method_name
    from sottovoce.lab.compare import NONE, nothing_to_compare, sets_in, simulated
    from sottovoce.lab.compare import compare as compared

    if out:
        check_place(out)
    laws = _list(noise) or [NONE]
    names = [method_name(text) for text in _list(methods)]
    chosen = _list(worlds) or ([] if data else ["synthetic"])
    crowds = [simulated(name, participants, objects, error_rate) for name in chosen]
    for folder in data or ():
        crowds += sets_in(folder, kind.value if kind else None)
    with progress_bar() as progress:
        task = progress.add_task("comparing", total=None)
        rows = compared(
            crowds, names or None, laws, runs, seed,
            progress=lambda what, done, total: progress.update(task, description=what),
        )  # fmt: skip
    if not rows:
        raise nothing_to_compare(crowds, names, laws)
    if out:
        write_table(pa.Table.from_pylist(rows, schema=_schema(rows)), out)
    if json:
        print_json({"rows": rows, "seed": seed})
    else:
        _print(rows)
    if out:
        notes.print(f"wrote {out}", highlight=False)


def _list(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _schema(rows: list[dict[str, Any]]) -> Any:
    """All columns that any row has: rows about answers have other columns than rows about numbers."""
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    texts = ("world", "noise", "method")
    return pa.schema([(n, pa.string() if n in texts else pa.int64() if n == "runs" else pa.float64()) for n in names])


def _print(rows: list[dict[str, Any]]) -> None:
    for measures in (("mae", "rmse", "coverage"), ("accuracy",)):
        own = [row for row in rows if measures[0] in row]
        if not own:
            continue
        headings = {"mae": "MAE", "rmse": "RMSE", "coverage": "within 95%"}
        scores = [headings.get(measure, measure) for measure in measures]
        table = plain_table("world", "noise", "method", numbers=scores)
        before: tuple[str, str] | None = None
        for row in own:
            place = (row["world"], row["noise"])
            table.add_row(
                *(place if place != before else ("", "")), row["method"], *(_cell(row, one) for one in measures)
            )
            before = place
        console.print(table)
    console.print()
    console.print(
        "± is the standard error over the runs; a real data set without noise is run only once.", highlight=False
    )


def _cell(row: dict[str, Any], measure: str) -> str:
    error = row[f"{measure}_se"]
    if measure in ("coverage", "accuracy"):
        return f"{row[measure]:.1%}" + ("" if error is None else f" ± {error:.1%}")
    return number(row[measure]) if error is None else f"{row[measure]:.4g} ± {error:.2g}"
