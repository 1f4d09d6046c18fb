"""``sottovoce bench``: the speed of truth discovery on this machine, as ratios."""

from dataclasses import asdict
from typing import Annotated

import typer

from sottovoce.cli.output import JsonOption, console, plain_table, print_json, progress_bar


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Small crowds only; takes a few seconds.")] = False,
    json: JsonOption = False,
) -> None:
    """Measure an iteration against NumPy and against one plain read of the claims.

    This covers the mean, and the methods that alternate between weights from losses and truths from weights.
    """
    from sottovoce.lab import bench as measure

    with progress_bar() as progress:
        task = progress.add_task("starting", total=None)

        def show(what: str) -> None:
            progress.update(task, description=what)

        crowds = measure.QUICK if quick else measure.FULL
        rows = [row for crowd in crowds for row in measure.iteration_ratios(crowd, show)]
        growth = measure.growth(show, quick)
    if json:
        print_json({"iterations": [asdict(row) for row in rows], "growth": dict(growth)})
        return
    table = plain_table("claims", "method", numbers=("NumPy / ours", "ours / plain read", "ns per claim"))
    for row in rows:
        table.add_row(
            row.crowd, row.method, f"{row.numpy_over_ours:.1f}", f"{row.ours_over_read:.1f}",
            f"{row.nanoseconds_per_claim:.2f}",
        )  # fmt: skip
    console.print("One iteration, beside NumPy's bincount on the same arrays and one plain read of the claims:\n")
    console.print(table)
    console.print("\nTime per claim of a CRH iteration, relative to that at 10⁶ claims:", highlight=False)
    console.print("  ".join(f"{size:.0e}: {ratio:.2f}".replace("e+0", "e") for size, ratio in growth), highlight=False)
