"""``sottovoce demo``: the whole idea in a few seconds."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sottovoce.cli.output import JsonOption, console, print_json


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the data and the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="The same seed gives the same demo.")] = 0,
    json: JsonOption = False,
) -> None:
    """Show the idea: a noisy crowd still tells the truth."""
    from sottovoce.lab.demo import run_demo

    outcome = run_demo(out, seed)
    if json:
        print_json(outcome.summary())
        return
    console.print(
        f"{outcome.participants} people each measured {outcome.objects} things between 0 and 10, "
        "some well and some badly.\n"
        f"Then every device drew a noise variance of its own (law {outcome.noise}) and disturbed what it sent:\n"
        f"the mean disturbance is [bold]{outcome.mean_noise:.2f}[/].",
        highlight=False,
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("mean absolute error against the truth")
    table.add_column("before noise", justify="right")
    table.add_column("after noise", justify="right")
    table.add_column("moved by noise", justify="right")
    for row in outcome.rows:
        table.add_row(row.method, f"{row.before:.3f}", f"{row.after:.3f}", f"{row.moved:.3f}")
    console.print()
    console.print(table)
    console.print(f"\nData and picture are in {out}/: claims.csv, truth.csv, demo.png", highlight=False)
    console.print(f"Next: sottovoce discover {out}/claims.csv --truth {out}/truth.csv", highlight=False)
