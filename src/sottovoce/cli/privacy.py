"""``sottovoce perturb``, ``guarantee`` and ``plan``: noise, what it promises, and how to choose it."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sottovoce.cli.claim_files import (
    USUAL_CLEANING,
    USUAL_COLUMNS,
    CleaningOptions,
    ColumnOptions,
    Duplicates,
    DuplicatesOption,
    LeftOutOption,
    read_claims,
)
from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import (
    JsonOption,
    console,
    figures_table,
    notes,
    number,
    plain_table,
    print_json,
    printed_warnings,
    progress_bar,
)
from sottovoce.cli.ranges import parse_range
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, UnwiseChoice
from sottovoce.privacy.laws import forms

if TYPE_CHECKING:
    from sottovoce.claims.kinds import Kind
    from sottovoce.planning.comparisons import ComparisonPlan
    from sottovoce.planning.planner import NoisePlan

_DISTANCE, _DELTA = 1.0, 1e-5

NoiseOption = Annotated[str, typer.Option("--noise", help=f"Noise law: {forms()}.")]

# Without a default, so that it can be refused where a promise has no distance.
DistanceOption = Annotated[
    float | None,
    typer.Option("--distance", help="How far apart two values of a reading may be (Δ).", show_default=f"{_DISTANCE}"),
]


class UnitName(StrEnum):
    READING = "reading"
    PARTICIPANT = "participant"


@grouped
def perturb(
    readings: Annotated[
        Path, typer.Argument(help="Readings (user, object, value): CSV, Parquet, Arrow or JSON Lines.")
    ],
    noise: NoiseOption,
    out: Annotated[Path, typer.Option(help="Write the noisy claims here (.csv, .parquet, .arrow, .jsonl).")],
    range: Annotated[
        str | None, typer.Option("--range", help="Public range LO:HI to which readings are clipped.")
    ] = None,
    grid: Annotated[str | None, typer.Option(help="Public grid step; by default much finer than the noise.")] = None,
    choices: Annotated[
        str | None,
        typer.Option(help="Perturb answers among these options: yes,no or a text file with one option per line."),
    ] = None,
    columns: ColumnOptions = USUAL_COLUMNS,
    cleaning: CleaningOptions = USUAL_CLEANING,
    duplicates: DuplicatesOption = Duplicates.ERROR,
    left_out: LeftOutOption = None,
    json: JsonOption = False,
) -> None:
    """Add noise with the exact sampler, as devices do: clip to the range, round to the grid, add integer noise.

    With --choices the readings are answers, and a law such as response:1 reports another one now and then. The options
    are yours to list: those that the file happens to contain would reveal what was answered.

    Each run draws new noise. Send only one of the outcomes: several noisy copies of a reading can be averaged.
    """
    from sottovoce.cli.answers import perturb_choices
    from sottovoce.privacy.laws import parse_law, parse_noise_law
    from sottovoce.privacy.sampler import Sampler, exact_number
    from sottovoce.worlds import devices

    reading = (columns, cleaning, duplicates, left_out)
    if choices is not None:
        if cleaning.decimal is not None or cleaning.strip_units:
            raise BadParameter(
                f"--choices {choices} with --decimal or --strip-units: these are about numbers, not answers; omit them"
            )
        perturb_choices(read_claims(readings, "choice", *reading), noise, choices, out, json)
        return
    if "choice" in parse_law(noise).kinds:
        raise BadParameter(
            f"noise law {noise!r}: it is for answers; name all options that could be chosen, such as --choices yes,no"
        )
    law = parse_noise_law(noise)
    low, high = parse_range(range) if range else (None, None)
    sampler = Sampler(law, exact_number(grid) if grid else devices.usual_grid(law), low, high)
    claims = read_claims(readings, "number", *reading)
    with progress_bar() as progress:
        task = progress.add_task("drawing noise", total=len(claims))
        noisy = devices.perturb(claims, sampler, lambda done, _: progress.update(task, completed=done))
    noisy.write(out)
    clipped = sum(
        (low is not None and reading < low) or (high is not None and reading > high)
        for reading in claims.values.tolist()
    )
    if json:
        print_json(
            {
                "out": str(out),
                "noise": str(law),
                "grid": float(sampler.grid),
                "readings": len(noisy),
                "clipped": clipped,
            }
        )
        return
    console.print(
        f"{counted(len(noisy), 'reading')} of {counted(noisy.n_users, 'user')}, noise {law}, "
        f"grid {float(sampler.grid):g}, in {out}"
        + (f"; {clipped:,} were clipped to the range" if clipped else ""),
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def guarantee(
    noise: NoiseOption,
    distance: DistanceOption = None,
    readings: Annotated[int, typer.Option(help="Readings per participant under one variance.")] = 30,
    unit: Annotated[
        UnitName, typer.Option(help="What the promise protects: one reading, or a participant.")
    ] = UnitName.READING,
    grid: Annotated[float | None, typer.Option(help="Grid step of the exact sampler.")] = None,
    choices: Annotated[int | None, typer.Option(help="Answers to questions with this many choices.")] = None,
    levels: Annotated[
        int | None, typer.Option(help="Numbers that are compared with public cuts: levels between and beside them.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Ask for δ at this ε.")] = None,
    delta: Annotated[float | None, typer.Option(help="Ask for ε at this δ.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what a law promises: exactly, for any number of readings, and as printed in the paper.

    With --choices or --levels it is a law for answers, such as response:1, and the promise holds for any two answers.
    """
    from sottovoce.cli.answers import show_answer_guarantee
    from sottovoce.privacy.laws import parse_law, parse_noise_law

    if epsilon is not None and delta is not None:
        raise BadParameter(f"epsilon {epsilon} and delta {delta}: one follows from the other; give one of them")
    if choices is not None or levels is not None:
        for name, given in (("distance", distance), ("grid", grid)):
            if given is not None:
                raise BadParameter(
                    f"{name} {given} with choices or levels: their promise holds for any two answers; leave it out"
                )
        show_answer_guarantee(noise, choices, levels, readings, unit.value, epsilon, delta, json)
        return
    if "choice" in parse_law(noise).kinds:
        raise BadParameter(
            f"noise law {noise!r}: it is for answers, and its promise depends on how many there are; give --choices N, "
            "or --levels 2 if numbers are compared"
        )
    distance = _DISTANCE if distance is None else distance
    with printed_warnings(UnwiseChoice):
        promise = parse_noise_law(noise).guarantee(distance, readings, unit.value, grid)
    pure = promise.pure_epsilon
    if epsilon is None:
        if delta is None:
            delta = 0.0 if pure is not None else 1e-5
        epsilon = promise.epsilon(delta)
    exact = promise.delta(epsilon)
    any_number, paper = promise.delta_any_n(epsilon), promise.paper_delta(epsilon)
    if json:
        print_json({
            "noise": str(promise.law), "distance": distance, "readings": readings, "unit": unit.value, "grid": grid,
            "epsilon": epsilon, "delta": exact, "delta_any_n": any_number, "pure_epsilon": pure, "paper_delta": paper,
            "sentence": promise.sentence(epsilon=epsilon),
        })  # fmt: skip
        return
    table = figures_table()
    table.add_row("ε", number(epsilon), "")
    exactly = (
        f"exact for {readings} readings"
        if grid is None
        else "summed over the sampler's own law, for any number of readings"
    )
    table.add_row("δ", number(exact), exactly)
    table.add_row("δ, any number", number(any_number), "however many readings share a variance (continuous noise)")
    table.add_row("pure ε", number(pure) if pure is not None else "none", "the ε that holds without exception")
    if paper is not None:
        table.add_row("δ as printed", number(paper), "Theorem 4.8 of the paper")
    console.print(f"{promise.law}, for values up to {distance:g} apart, per {unit.value}", highlight=False)
    console.print(table)
    console.print()
    console.print(promise.sentence(epsilon=epsilon), highlight=False)


@grouped
def plan(
    epsilon: Annotated[float, typer.Option(help="The promise: ε.")] = 1.0,
    delta: Annotated[
        float | None, typer.Option(help="The promise: δ.", show_default=f"{_DELTA}; with --choices, 0")
    ] = None,
    distance: DistanceOption = None,
    range: Annotated[
        str | None,
        typer.Option(
            "--range",
            help="Promise for any two values in this range, LO:HI, instead of --distance: noise as wide as the range, "
            "and comparisons beside it.",
        ),
    ] = None,
    choices: Annotated[
        int | None,
        typer.Option(help="Plan for answers to questions with this many choices, instead of numbers."),
    ] = None,
    readings: Annotated[int, typer.Option(help="Readings per participant; with --choices, questions.")] = 30,
    participants: Annotated[int, typer.Option(help="Participants who read each object.")] = 150,
    unit: Annotated[
        UnitName, typer.Option(help="What the promise protects: one reading, or a participant.")
    ] = UnitName.READING,
    grid: Annotated[
        list[float] | None,
        typer.Option(
            help="Grid of the tasks, on which devices round and draw noise; repeat it for several.",
            show_default="none: continuous noise",
        ),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            help="Target error: how many participants does it take? With --choices, the share of wrong questions."
        ),
    ] = None,
    error_rate: Annotated[
        float | None, typer.Option(help="Quality of raw readings: rate λ1 of their error variances.")
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(help="Claims from which to estimate the quality of raw readings, or of answers, instead."),
    ] = None,
    columns: ColumnOptions = USUAL_COLUMNS,
    cleaning: CleaningOptions = USUAL_CLEANING,
    duplicates: DuplicatesOption = Duplicates.ERROR,
    left_out: LeftOutOption = None,
    simulations: Annotated[
        int | None,
        typer.Option(
            help="Simulated worlds per law; 0 for none.", show_default="enough to know the error within a tenth"
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot error against ε, one line per law (.png, .svg, .pdf).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulations.")] = 0,
    json: JsonOption = False,
) -> None:
    """Find the noise law that keeps a promise at the least cost in accuracy.

    With --choices it is a promise for any two answers: the plan says how often the crowd is wrong at several ε, whether
    answers should report sets of choices, and of what size. With --unit participant it may have a --delta.
    """
    from sottovoce.cli.choice_plans import show_choice_plan
    from sottovoce.planning import plan as find_plans
    from sottovoce.planning import trade_off
    from sottovoce.planning.choices import WORLDS
    from sottovoce.planning.comparisons import SPREADS_PER_RANGE, plan_comparisons

    claims = None
    if pilot:
        kind: Kind = "number" if choices is None else "choice"
        claims = read_claims(pilot, kind, columns, cleaning, duplicates, left_out)
    if choices is not None:
        for name, given in (("range", range), ("grid", grid), ("error-rate", error_rate), ("distance", distance)):
            if given is not None:
                raise BadParameter(
                    f"{name} {given} with choices {choices}: a plan for choices keeps its promise for any two answers, "
                    "and needs none of this; leave one of them out"
                )
        show_choice_plan(
            epsilon, delta or 0.0, choices, readings, participants, unit.value, claims, error,
            WORLDS if simulations is None else simulations, seed, plot, json,
        )  # fmt: skip
        return
    if plot:
        from sottovoce.lab.plots import check_picture, draw_trade_off

        check_picture(plot)
    delta, distance = _DELTA if delta is None else delta, _DISTANCE if distance is None else distance
    low, high = map(float, parse_range(range)) if range else (None, None)
    assumed = False
    if low is not None and high is not None:
        if not low < high:
            raise BadParameter(f"range {range}: the low end must be below the high end; swap them")
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
        f"{participants:,} participants with {readings} readings each.\n"
        + (
            f"Noise as devices draw it on a grid of {' or '.join(f'{step:g}' for step in grid)}.\n"
            if grid
            else "Figures of continuous noise; --grid gives those of what devices draw on a grid.\n"
        )
        + f"Quality of raw readings: λ1 = {plans.error_rate:.4g} ({plans.error_rate_source}).\n",
        highlight=False,
    )
    figures = ["δ", "mean variance", "any number", "predicted error", "simulated"]
    table = plain_table("law", numbers=[*figures, f"participants for {error:g}"] if error else figures)
    for option in sorted([*plans, *([compared] if compared else [])], key=lambda option: option.predicted_error):
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
    best = plans[0]
    if compared:
        if compared.predicted_error < best.predicted_error:
            best = compared
        console.print(
            f"\nComparisons with {compared.levels} levels; {compared.participants_to_find:,} participants find the "
            "truth in nine campaigns of ten.",
            highlight=False,
        )
        if warning := compared.warning(participants):
            notes.print(f"[yellow]Warning:[/] {escape(warning)}", highlight=False)
    console.print(f"\nBest: [bold]--noise {best.law}[/]\n{escape(best.sentence())}", highlight=False)
    # Of almost equal ones the first: with one answer per device, several laws are the same but for their δ.
    few = min([*plans, *([compared] if compared else [])], key=lambda option: float(f"{_few_error(option):.3g}"))
    few_error = _few_error(few)
    if few.answer is not None and few.answer < readings and few_error < best.predicted_error:
        those = "that one" if few.answer == 1 else "those"
        console.print(
            f"\nBetter: let each device draw {few.answer} of its {readings} tasks at random, before it measures, and "
            f"answer only {those}, with [bold]--noise {few.answer_noise}[/]: the same promise, and an error of "
            f"{number(few_error)} instead of {number(best.predicted_error)}.",
            highlight=False,
        )
    if plot:
        notes.print(f"wrote {escape(str(plot))}", highlight=False)


def _few_error(option: "NoisePlan | ComparisonPlan") -> float:
    """The error to expect if devices answer as few tasks as is best."""
    return option.predicted_error / (option.answer_gain or 1)
