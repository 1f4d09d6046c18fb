"""``sottovoce audit``: does the sampler keep its promise?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli.output import JsonOption, console, number, plain_table, print_json, printed_warnings, progress_bar
from sottovoce.errors import BadParameter, UnwiseChoice

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress, TaskID

    from sottovoce.privacy.audit import Audit
    from sottovoce.privacy.audit.inputs import Neighbours
    from sottovoce.privacy.laws import Law

_READINGS = 3


def audit(
    noise: Annotated[
        str | None, typer.Option(help="Noise law, such as fresh:0.5; by default, an example of each law.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Releases to draw for each of the two inputs.")] = 20_000,
    distance: Annotated[float, typer.Option(help="Distance between the inputs in their first reading.")] = 1.0,
    grid: Annotated[float | None, typer.Option(help="Grid step; a tenth of the distance by default.")] = None,
    readings: Annotated[int | None, typer.Option(help="Readings in a release; 3 by default.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Test the promise at this ε and the δ that belongs to it; not with --delta.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Test the promise at this δ and the ε that belongs to it; not with --epsilon. By default, 0 if the "
            "law promises an ε at δ = 0, otherwise half of its δ at ε = 0."
        ),
    ] = None,
    choices: Annotated[
        int | None, typer.Option(help="Audit answers out of this many choices, under a law for answers.")
    ] = None,
    input: Annotated[
        Path | None,
        typer.Option(help="Audit draws made elsewhere: CSV with columns side (0 or 1), release, reading, value."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Try to distinguish two inputs by the output of the sampler.

    The inputs are readings of 0, and the same with the first reading at the distance; or, with --choices, answers that
    are all the first choice, and the same with the second choice as the first answer. Prints a lower bound on ε beside
    the promise, and whether the noise has its law's probabilities. Ends with exit code 1 if the promise is broken or a
    test fails. An audit can find a leak; it can never prove that there is none.
    """
    if input and noise is None:
        raise BadParameter(
            f"input {input}: the draws do not say which law they follow; add --noise, such as --noise fresh:0.5"
        )
    options = {"epsilon": epsilon, "delta": delta}
    audits = []
    with printed_warnings(UnwiseChoice), progress_bar() as progress:
        for text in [noise] if noise else _examples(choices):
            task = progress.add_task(f"auditing {text}", total=None)
            shown = _shown_by(progress, task)
            audits.append(_audit_of(text, distance, grid, choices, readings, input, samples, shown, **options))
            progress.remove_task(task)
    passed = all(audit.passed for audit in audits)
    if json:
        print_json({"passed": passed, "audits": [audit.summary() for audit in audits]})
    else:
        _print_audits(audits)
    if not passed:
        raise typer.Exit(1)


def _examples(choices: int | None) -> list[str]:
    """One of each law that fits: noise of the size of the distance, where a leak shows soonest."""
    from sottovoce.privacy.laws import answer_laws, noise_laws, parse_answer_law

    if choices is None:
        return [law.example for law in noise_laws().values()]
    fitting = []
    for law in answer_laws().values():
        try:
            parse_answer_law(law.example).check_cells(choices)
            fitting.append(law.example)
        except BadParameter as mistake:
            refusal = mistake
    if not fitting:
        raise refusal
    return fitting


def _audit_of(
    noise: str,
    distance: float,
    grid: float | None,
    choices: int | None,
    readings: int | None,
    input: Path | None,
    samples: int,
    progress: "Callable[[int, int], None]",
    **options: float | None,
) -> "Audit":
    """The audit of a law for numbers or answers, on draws made elsewhere or with the devices' sampler."""
    from sottovoce.privacy.audit import AnswerDraws, AnswerSetting, NumberDraws, NumberSetting, audit, audit_draws
    from sottovoce.privacy.laws import parse_answer_law, parse_noise_law

    law: Law = parse_noise_law(noise) if choices is None else parse_answer_law(noise)
    draws = (NumberDraws if choices is None else AnswerDraws).read(input) if input else None
    count = readings if readings is not None else _READINGS if draws is None else draws.readings
    setting: Neighbours[Any] = (
        NumberSetting(distance, grid, count) if choices is None else AnswerSetting(choices, count)
    )
    if draws is not None:
        return audit_draws(draws, law, setting, **options)
    return audit(setting.device(law), law, setting, samples=samples, progress=progress, **options)


def _shown_by(progress: "Progress", task: "TaskID") -> "Callable[[int, int], None]":
    return lambda done, total: progress.update(task, completed=done, total=total)


def _print_audits(audits: "list[Audit]") -> None:
    from sottovoce.privacy.audit import CONFIDENCE
    from sottovoce.privacy.conformity import SMALLEST_P_VALUE

    console.print(f"{audits[0].setting}; {audits[0].samples:,} releases for each.", highlight=False)
    console.print()
    table = plain_table("noise", numbers=("δ", "ε promised", "ε at least"))
    table.add_column("best distinguished by")
    for audit in audits:
        table.add_row(
            str(audit.law),
            f"{audit.delta:.3g}",
            number(audit.promised_epsilon, 3),
            f"[{'red' if audit.leaks else 'green'}]{number(audit.found_epsilon, 3)}[/]",
            escape(audit.event),
        )
    console.print(table)
    console.print()
    laws = [str(audit.law) for audit in audits]
    checks = plain_table(f"p-value (fails below {SMALLEST_P_VALUE:g})", numbers=laws)
    for row in zip(*(audit.checks for audit in audits), strict=True):
        cells = (f"[{'green' if check.passed else 'red'}]{check.p_value:.2g}[/]" for check in row)
        checks.add_row(row[0].name, *cells)
    console.print(checks)
    console.print()
    for audit in audits:
        for reason in audit.faults:
            console.print(f"[bold red]{escape(str(audit.law))} fails:[/] {escape(reason)}", highlight=False)
    if all(audit.passed for audit in audits):
        console.print(
            f"[bold green]No leak found[/] (bounds at {CONFIDENCE:.2%} confidence). "
            "An audit can find a leak; it can never prove that there is none.",
            highlight=False,
        )
