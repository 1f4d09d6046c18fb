"""``sottovoce plan --choices``: which randomised response, and how often the crowd is then wrong."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from sottovoce.cli.output import console, notes, print_json, progress_bar
from sottovoce.digits import counted
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.claims import Claims
    from sottovoce.planning.plans import Simulated
    from sottovoce.privacy.laws import Unit


def show_choice_plan(
    epsilon: float,
    delta: float,
    choices: int,
    readings: int,
    participants: int,
    unit: "Unit",
    pilot: "Claims | None",
    error: float | None,
    simulations: int,
    seed: int,
    plot: Path | None,
    json: bool,
) -> None:
    """The plan, and the error to expect at smaller and larger ε."""
    from sottovoce.planning.choices import choice_trade_off, plan_choices

    if delta and unit == "reading":
        raise BadParameter(
            f"delta {delta:g} with choices {choices}: the promise for one answer holds without exception; leave "
            "delta out, or plan for a participant (--unit participant)"
        )
    if plot:
        from sottovoce.lab.plots import check_picture, draw_choice_trade_off

        check_picture(plot)
        if not simulations:
            raise BadParameter(
                "plot with simulations 0: the plot shows errors found by simulation; leave out one of the two options"
            )
    with progress_bar() as progress:
        progress.add_task("planning", total=None)
        found = plan_choices(
            epsilon, choices, readings, participants, delta=delta, unit=unit, error=error, simulations=simulations,
            seed=seed, pilot=pilot,
        )  # fmt: skip
        rows = choice_trade_off(
            epsilon, choices, readings, participants, delta=delta, unit=unit, quality=found.quality,
            simulations=simulations, seed=seed,
        )  # fmt: skip
        if plot:
            draw_choice_trade_off(rows, epsilon, choices, readings, participants, unit, plot)
    if json:
        print_json(
            {"epsilon": epsilon, "delta": delta, "choices": choices, "unit": unit, "readings": readings,
             "participants": participants, "error": error, "plans": [found.summary()], "trade_off": rows}
        )  # fmt: skip
        return
    console.print(
        f"Promise per {unit}: ε = {epsilon:g}, {f'δ ≤ {delta:g}' if delta else 'without exception'}, for any two "
        f"answers out of {choices}; {counted(participants, 'participant')} with {counted(readings, 'question')} each.\n"
        f"Participants' own answers are right {100 * found.quality.mean:.0f} times out of 100 "
        f"({found.quality.source}).\n",
        highlight=False,
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("ε", "noise", "wrong results"):
        table.add_column(heading, justify="left" if heading == "noise" else "right")
    for row in rows:
        style = "bold" if row["epsilon"] == epsilon else None
        table.add_row(f"{row['epsilon']:g}", row["noise"], _share(row["simulated_error"]), style=style)
    console.print(table)
    if error and found.participants_needed is not None:
        console.print(
            f"\nWith about {counted(found.participants_needed, 'participant')}, at most {100 * error:g}% of the "
            "results are wrong.",
            highlight=False,
        )
    console.print(f"\nBest: [bold]--noise {found.law}[/]\n{escape(found.sentence())}", highlight=False)
    if found.law.cells_reported > 1:
        console.print(
            f"\nAn answer reports a set of {found.law.cells_reported} choices, which carries more information than one "
            f"choice at the same ε{_beside(found.simulated_error, 'with one choice', found.without_sets)}.",
            highlight=False,
        )
    if found.answer is not None and found.answer < readings:
        console.print(
            f"\nBetter: let each device draw {found.answer} of its {readings} questions at random and answer only "
            f"{'that one' if found.answer == 1 else 'those'}, with [bold]--noise {found.answer_noise}[/]: the same "
            "promise"
            f"{_beside(found.answer_error, 'answering all', found.simulated_error)}.",
            highlight=False,
        )
    if plot:
        notes.print(f"wrote {escape(str(plot))}", highlight=False)


def _share(simulated: dict[str, Any] | None) -> str:
    if simulated is None:
        return "–"
    return f"{100 * simulated['mean']:.1f} ± {50 * (simulated['high'] - simulated['low']):.1f}%"


def _beside(error: "Simulated | None", otherwise: str, other: "Simulated | None") -> str:
    if error is None or other is None:
        return ""
    return f" (wrong results: {100 * error.mean:.1f}%; {otherwise}: {100 * other.mean:.1f}%)"
