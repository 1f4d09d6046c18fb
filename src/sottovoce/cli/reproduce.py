"""``sottovoce reproduce``: every figure of the paper, and what the paper could not show."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.output import JsonOption, console, print_json, progress_bar
from sottovoce.errors import BadParameter
from sottovoce.lab.reproduce import FIGURES


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE...", help=f"Any of {', '.join(FIGURES)}; all by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for figures (PNG, SVG), tables (CSV) and the page.")] = Path(
        "reproduction"
    ),
    floorplan: Annotated[
        Path | None,
        typer.Option(help="Folder with a real floorplan: claims.csv and truth.csv, or the published pair of files."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="Folder with real answers: a folder for each set, with claims.csv and truth.csv."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few runs on small grids, in seconds.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")] = 0,
    lambda1: Annotated[float | None, typer.Option(help="Rate λ1 of the users' error variances.")] = None,
    epsilons: Annotated[str | None, typer.Option(help="ε on the axis, such as 0.5,1,2.")] = None,
    deltas: Annotated[str | None, typer.Option(help="δ of the lines, such as 0.1,0.2.")] = None,
    participants: Annotated[int | None, typer.Option(help="Users in the crowd (S).")] = None,
    objects: Annotated[int | None, typer.Option(help="Objects they measure (N).")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Repetitions of each point.")] = None,
    method: Annotated[str | None, typer.Option(help="Another method than the figure's.")] = None,
    b: Annotated[float | None, typer.Option(help="Standard deviations by which two readings may differ, in Δ.")] = None,
    eta: Annotated[float | None, typer.Option(help="Share η of the users that Δ is made for.")] = None,
    processes: Annotated[int | None, typer.Option(help="Processes that work; one per core by default.")] = None,
    json: JsonOption = False,
) -> None:
    """Make the paper's figures and say which of its claims hold; interrupted work is taken up again.

    Options from --lambda1 to --eta replace what the trade-off figures and the floorplan choose; other figures use those
    that they have.
    """
    from sottovoce.discovery import METHODS
    from sottovoce.lab.reproduce.experiment import Setting
    from sottovoce.lab.reproduce.runner import reproduce as make

    if method is not None and method not in METHODS:
        raise BadParameter(f"method {method!r}: there is no such method; choose among {', '.join(METHODS)}")
    setting = Setting(
        seed, quick, str(floorplan) if floorplan else None, lambda1, _numbers("epsilons", epsilons),
        _numbers("deltas", deltas), participants, objects, runs, method, b, eta,
        str(answers) if answers else None,
    )  # fmt: skip
    with progress_bar() as progress:
        task = progress.add_task("starting", total=None)

        def show(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        made = make(figures or [], out, setting, processes, show)
    if json:
        print_json({"page": str(made.page), "computed": made.computed, "left_out": made.left_out,
                    "figures": [_summary(one) for one in made.outcomes]})  # fmt: skip
        return
    words = {True: "[green]holds[/]", False: "[red]does not hold[/]", None: "[cyan]measured[/]"}
    for one in made.outcomes:
        console.print(f"[bold]{one.experiment.heading}[/] ({one.experiment.name}): {words[one.verdict.holds]}")
        console.print(f"  {escape(one.verdict.sentence)}\n", highlight=False)
    for name, why in made.left_out.items():
        console.print(f"[bold]{name}[/]: left out. {escape(why)}\n", highlight=False)
    console.print(f"Page: {made.page}", highlight=False, soft_wrap=True)


def _numbers(name: str, text: str | None) -> tuple[float, ...] | None:
    try:
        return tuple(float(part) for part in text.split(",")) if text else None
    except ValueError as error:
        raise BadParameter(f"{name} {text!r}: numbers are separated by commas; write for example 0.5,1,2") from error


def _summary(one: Any) -> dict[str, Any]:
    return {
        "name": one.experiment.name,
        "title": one.experiment.heading,
        "choices": one.experiment.choices(one.table),
        "claim": one.experiment.claim,
        "of_the_paper": one.experiment.of_the_paper,
        "holds": one.verdict.holds,
        "sentence": one.verdict.sentence,
        "files": one.files,
    }
