"""``sottovoce reproduce``: every figure of the paper, and what the paper could not show."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.output import JsonOption, console, notes, print_json, progress_bar
from sottovoce.errors import BadParameter
from sottovoce.lab.reproduce import FIGURES


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE", help=f"Any of {', '.join(FIGURES)}; all by default.")
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
        typer.Option(help="Folder with real answers: one folder per data set, with claims.csv and truth.csv."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few runs on small grids; all figures take about a minute.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")] = 0,
    lambda1: Annotated[
        str | None,
        typer.Option(help="Rate λ1 of the users' error variances; several (2,5,10) make the axis of Fig. 3."),
    ] = None,
    epsilons: Annotated[str | None, typer.Option(help="ε on the axis, such as 0.5,1,2.")] = None,
    deltas: Annotated[str | None, typer.Option(help="δ of the lines, such as 0.1,0.2.")] = None,
    participants: Annotated[
        str | None,
        typer.Option(help="Users in the crowd (S); several (50,100,200) make the axis of Fig. 4 and of whole-range."),
    ] = None,
    objects: Annotated[int | None, typer.Option(help="Objects that the users measure (N).")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Repetitions of each point.")] = None,
    method: Annotated[str | None, typer.Option(help="Method to use instead of the figure's own.")] = None,
    b: Annotated[
        float | None, typer.Option(help="Number of standard deviations (b) between two readings that Δ covers.")
    ] = None,
    eta: Annotated[float | None, typer.Option(help="Share η of the users that Δ covers.")] = None,
    processes: Annotated[int | None, typer.Option(help="Number of processes; one per core by default.")] = None,
    json: JsonOption = False,
) -> None:
    """Make the paper's figures and report which of its claims hold; the same command resumes an interrupted run.

    Options from --lambda1 to --eta replace the figures' own parameters. Not every figure has all of them; an option
    without effect is reported.
    """
    from sottovoce.discovery import METHODS
    from sottovoce.lab.reproduce.experiment import Setting
    from sottovoce.lab.reproduce.runner import reproduce as make

    if method is not None and method not in METHODS:
        raise BadParameter(f"method {method!r}: there is no such method; choose among {', '.join(METHODS)}")
    setting = Setting(
        seed,
        quick,
        str(floorplan) if floorplan else None,
        _numbers("lambda1", lambda1),
        _numbers("epsilons", epsilons),
        _numbers("deltas", deltas),
        _counts("participants", participants),
        objects,
        runs,
        method,
        b,
        eta,
        str(answers) if answers else None,
    )
    with progress_bar() as progress:
        task = progress.add_task("starting", total=None)

        def show(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        made = make(figures or [], out, setting, processes, show)
    for option in made.unused:
        names = ", ".join(one.experiment.name for one in made.outcomes)
        notes.print(f"[yellow]Note:[/] --{option} has no effect on {names}", highlight=False)
    if json:
        print_json({"page": str(made.page), "computed": made.computed, "left_out": made.left_out, "unused": made.unused,
                    "figures": [_summary(one) for one in made.outcomes]})  # fmt: skip
        return
    words = {True: "[green]holds[/]", False: "[red]does not hold[/]", None: "[cyan]measured[/]"}
    for one in made.outcomes:
        console.print(f"[bold]{one.experiment.heading}[/] ({one.experiment.name}): {words[one.verdict.holds]}")
        console.print(f"  {escape(one.verdict.sentence)}\n", highlight=False)
    for name, why in made.left_out.items():
        console.print(f"[bold]{name}[/]: left out. {escape(why)}\n", highlight=False)
    console.print(f"Page: {made.page}", highlight=False, soft_wrap=True)


def _numbers(name: str, text: str | None, rule: str = "numbers", example: str = "0.5,1,2") -> tuple[float, ...] | None:
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise BadParameter(f"{name} {text!r}: it must be {rule} separated by commas; for example {example}") from error


def _counts(name: str, text: str | None) -> tuple[int, ...] | None:
    rule, example = "whole numbers", "50,100"
    counts = _numbers(name, text, rule, example)
    if counts is not None and not all(count.is_integer() for count in counts):
        raise BadParameter(f"{name} {text!r}: it must be {rule} separated by commas; for example {example}")
    return None if counts is None else tuple(int(count) for count in counts)


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
