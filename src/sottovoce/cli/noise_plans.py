"""``sottovoce plan``: the noise law that keeps a promise at the least cost in accuracy."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli import claim_files
from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import (
    JsonOption,
    console,
    notes,
    number,
    plain_table,
    print_json,
    printed_warnings,
    progress_bar,
)
from sottovoce.cli.privacy import DELTA, DISTANCE, DistanceOption, UnitName
from sottovoce.cli.ranges import parse_range
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, UnwiseChoice
from sottovoce.privacy.parameters import check_range

if TYPE_CHECKING:
    from sottovoce.claims.kinds import Kind
    from sottovoce.planning.comparisons import ComparisonPlan
    from sottovoce.planning.planner import NoisePlan


@grouped
def plan(
    epsilon: Annotated[float, typer.Option(help="The promise: ε.")] = 1.0,
    delta: Annotated[
        float | None, typer.Option(help="The promise: δ.", show_default=f"{DELTA}; with --choices, 0")
    ] = None,
    distance: DistanceOption = None,
    range: Annotated[
        str | None,
        typer.Option(
            "--range",
            help="Instead of --distance: the promise covers any two values in this range, LO:HI. Plans noise as wide "
            "as the range, and comparisons.",
        ),
    ] = None,
    choices: Annotated[
        int | None,
        typer.Option(help="Plan for answers to questions with this many choices, instead of numbers."),
    ] = None,
    readings: Annotated[int, typer.Option(help="Readings per participant; with --choices, questions.")] = 30,
    participants: Annotated[int, typer.Option(help="Participants who measure each object.")] = 150,
    unit: Annotated[
        UnitName, typer.Option(help="What the promise protects: one reading, or all of a participant's together.")
    ] = UnitName.READING,
    grid: Annotated[
        list[float] | None,
        typer.Option(
            help="Grid step of the tasks: devices round readings to it and draw noise in multiples of it; repeat the "
            "option for several.",
            show_default="none: continuous noise",
        ),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            help="Target error: show how many participants it needs. With --choices, the share of wrong results."
        ),
    ] = None,
    error_rate: Annotated[
        float | None, typer.Option(help="Quality of raw readings: rate λ1 of their error variances.")
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(
            help="Claims from which the quality of raw readings or answers is estimated; not with --error-rate."
        ),
    ] = None,
    columns: claim_files.ColumnOptions = claim_files.USUAL_COLUMNS,
    cleaning: claim_files.CleaningOptions = claim_files.USUAL_CLEANING,
    duplicates: claim_files.DuplicatesOption = claim_files.Duplicates.ERROR,
    left_out: claim_files.LeftOutOption = None,
    simulations: Annotated[
        int | None,
        typer.Option(
            help="Simulated worlds per law; 0 for none.",
            show_default="8 to 40, until the error is known to within a tenth; with --choices, 40; for comparisons, 1",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot error against ε, one line per law (.png, .svg, .pdf).")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulations.")] = 0,
    json: JsonOption = False,
) -> None:
    """Find the noise law that keeps a promise at the least cost in accuracy.

    With --choices, the promise is for any two answers: the plan shows how often the crowd is wrong at several ε, and
    whether answers should report sets of choices, and of what size. Then --delta needs --unit participant.
    """
    from sottovoce.cli.choice_plans import show_choice_plan
    from sottovoce.planning import plan as find_plans
    from sottovoce.planning import trade_off
    from sottovoce.planning.choices import WORLDS
    from sottovoce.planning.comparisons import SPREADS_PER_RANGE, plan_comparisons
    from sottovoce.planning.information import by_error

    claims = None
    if pilot:
        kind: Kind = "number" if choices is None else "choice"
        claims = claim_files.read_claims(pilot, kind, columns, cleaning, duplicates, left_out)
    if choices is not None:
        for name, given in (("range", range), ("grid", grid), ("error-rate", error_rate), ("distance", distance)):
            if given is not None:
                raise BadParameter(
                    f"{name} {given} with choices {choices}: a plan for choices promises the same for any two answers "
                    f"and does not use {name}; leave one of them out"
                )
        show_choice_plan(
            epsilon, delta or 0.0, choices, readings, participants, unit.value, claims, error,
            WORLDS if simulations is None else simulations, seed, plot, json,
        )  # fmt: skip
        return
    if range is not None and distance is not None:
        raise BadParameter(
            f"distance {distance:g} with range {range}: a range takes the place of a distance; leave one of them out"
        )
    if plot:
        from sottovoce.lab.plots import check_picture, draw_trade_off

        check_picture(plot)
    delta, distance = DELTA if delta is None else delta, DISTANCE if distance is None else distance
    low, high = map(float, parse_range(range)) if range else (None, None)
    assumed = False
    if low is not None and high is not None:
        check_range(low, high)
        distance = high - low
        if assumed := error_rate is None and claims is None:
            error_rate = (SPREADS_PER_RANGE / distance) ** 2
    with printed_warnings(UnwiseChoice), progress_bar() as progress:
        progress.add_task("planning", total=None)
        plans = find_plans(
            epsilon, delta, distance, readings, participants, unit=unit.value, grid=grid, error=error,
            error_rate=error_rate, pilot=claims, simulations=simulations, seed=seed,
        )  # fmt: skip
        if assumed:
            plans = replace(plans, error_rate_source=f"assumed: readings vary by 1/{SPREADS_PER_RANGE} of the range")
        if plot:
            epsilons = [epsilon * 10 ** (step / 6) for step in (-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6)]
            lines = trade_off(epsilons, delta, distance, readings, participants, unit.value, plans.error_rate, grid)
            draw_trade_off(epsilons, lines, epsilon, delta, distance, readings, participants, unit.value, plot)
        compared = None
        if low is not None and high is not None:
            compared = plan_comparisons(
                epsilon, low, high, readings, participants, unit=unit.value, error_rate=plans.error_rate, error=error,
                simulations=1 if simulations is None else simulations, seed=seed,
            )  # fmt: skip
    if json:
        asked = {
            "epsilon": epsilon,
            "delta": delta,
            "distance": distance,
            "unit": unit.value,
            "readings": readings,
            "grid": grid,
        }
        quality = {"error_rate": plans.error_rate, "error_rate_source": plans.error_rate_source}
        print_json(
            {
                **asked,
                "participants": participants,
                "error": error,
                **quality,
                "plans": [p.summary() for p in plans],
                "left_out": plans.left_out,
                **({"range": [low, high], "comparisons": compared.summary()} if compared else {}),
            }
        )
        return
    console.print(
        f"Promise per {unit.value}: ε = {epsilon:g}, δ ≤ {delta:g}, for values up to {distance:g} apart; "
        f"{counted(participants, 'participant')} with {counted(readings, 'reading')} each.\n"
        + (
            f"Noise as devices draw it on a grid of {' or '.join(f'{step:g}' for step in grid)}.\n"
            if grid
            else "Figures for continuous noise; give --grid for the noise that devices draw on a grid.\n"
        )
        + f"Quality of raw readings: λ1 = {plans.error_rate:.4g} ({plans.error_rate_source}).\n",
        highlight=False,
    )
    figures = ["δ", "mean variance", "any number of\nreadings", "predicted error", "simulated"]
    table = plain_table("law", numbers=[*figures, f"participants for {error:g}"] if error else figures)
    options: list[Any] = [*plans, *([compared] if compared else [])]
    ranked = by_error(options, lambda option: option.predicted_error, lambda option: option.delta)
    for option in ranked:
        simulated = option.simulated_error
        shown = f"{number(simulated.mean, 3)} ± {number(simulated.high - simulated.mean, 3)}" if simulated else "–"
        needed = [f"{option.participants_needed:,}"] if error else []
        sizes = (
            ["comparisons", "0", "–", "–"]
            if option is compared
            else [
                option.law.name,
                f"{option.delta:g}",
                number(option.mean_variance),
                number(option.mean_variance_any_n),
            ]
        )
        table.add_row(*sizes, number(option.predicted_error), shown, *needed)
    console.print(table)
    for name, reason in plans.left_out.items():
        console.print(f"{name} is left out: {escape(reason)}", highlight=False)
    best = ranked[0]
    if compared:
        console.print(
            f"\nComparisons have {compared.levels} levels; with {compared.participants_to_find:,} participants, they "
            "find the truth in nine out of ten campaigns.",
            highlight=False,
        )
        if warning := compared.warning(participants):
            notes.print(f"[yellow]Warning:[/] {escape(warning)}", highlight=False)
    console.print(f"\nBest: [bold]--noise {best.law}[/]\n{escape(best.sentence())}", highlight=False)
    few = by_error(options, _few_error, lambda option: option.delta)[0]
    few_error = _few_error(few)
    if few.answer is not None and few.answer < readings and few_error < best.predicted_error:
        those = "that one" if few.answer == 1 else "those"
        console.print(
            f"\nBetter: let each device draw {few.answer} of its {readings} tasks at random, before anything is "
            f"measured, and answer only {those}, with [bold]--noise {few.answer_noise}[/]: the same promise, and an "
            f"error of {number(few_error)} instead of {number(best.predicted_error)}.",
            highlight=False,
        )
    if plot:
        notes.print(f"wrote {escape(str(plot))}", highlight=False)


def _few_error(option: "NoisePlan | ComparisonPlan") -> float:
    """The error to expect if devices answer as few tasks as is best."""
    return option.predicted_error / (option.answer_gain or 1)
