"""``sottovoce perturb`` and ``guarantee``: noise, and what it promises."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli import claim_files
from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import (
    JsonOption,
    console,
    figures_table,
    number,
    print_json,
    printed_warnings,
    progress_bar,
)
from sottovoce.cli.ranges import parse_range, parse_step
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, UnwiseChoice
from sottovoce.privacy.laws import forms
from sottovoce.privacy.parameters import check_one_of

DISTANCE, DELTA = 1.0, 1e-5

NoiseOption = Annotated[str, typer.Option("--noise", help=f"Noise law: {forms()}.")]

# Without a default, so that it can be refused where a promise has no distance.
DistanceOption = Annotated[
    float | None,
    typer.Option(
        "--distance",
        help="Protected distance (Δ): values up to this far apart are hard to distinguish.",
        show_default=f"{DISTANCE}",
    ),
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
    columns: claim_files.ColumnOptions = claim_files.USUAL_COLUMNS,
    cleaning: claim_files.CleaningOptions = claim_files.USUAL_CLEANING,
    duplicates: claim_files.DuplicatesOption = claim_files.Duplicates.ERROR,
    left_out: claim_files.LeftOutOption = None,
    json: JsonOption = False,
) -> None:
    """Add noise with the exact sampler, as devices do: clip to the range, round to the grid, add integer noise.

    With --choices, the readings are answers, and a law such as response:1 reports another one now and then. List all
    options yourself: options taken from the file would reveal what was answered.

    Each run draws new noise. Share only one of the outputs: several noisy copies of a reading can be averaged.
    """
    from sottovoce.cli.answers import perturb_choices
    from sottovoce.privacy.laws import parse_law, parse_noise_law
    from sottovoce.privacy.sampler import Sampler
    from sottovoce.worlds import devices

    reading = (columns, cleaning, duplicates, left_out)
    if choices is not None:
        if cleaning.decimal is not None or cleaning.strip_units:
            raise BadParameter(
                f"--choices {choices} with --decimal or --strip-units: they are for numbers, not answers; omit them"
            )
        perturb_choices(claim_files.read_claims(readings, "choice", *reading), noise, choices, out, json)
        return
    if "choice" in parse_law(noise).kinds:
        raise BadParameter(
            f"noise law {noise!r}: it is for answers; name all options that could be chosen, such as --choices yes,no"
        )
    law = parse_noise_law(noise)
    low, high = parse_range(range) if range else (None, None)
    sampler = Sampler(law, parse_step(grid) if grid else devices.usual_grid(law), low, high)
    claims = claim_files.read_claims(readings, "number", *reading)
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
        f"{counted(len(noisy), 'reading')} from {counted(noisy.n_users, 'user')}, noise {law}, "
        f"grid {float(sampler.grid):g}, in {out}"
        + (f"; {clipped:,} {'was' if clipped == 1 else 'were'} clipped to the range" if clipped else ""),
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def guarantee(
    noise: NoiseOption,
    distance: DistanceOption = None,
    readings: Annotated[
        int, typer.Option(help="Readings or answers per participant; under some laws, they share one noise variance.")
    ] = 30,
    unit: Annotated[
        UnitName, typer.Option(help="What the promise protects: one reading, or all of a participant's together.")
    ] = UnitName.READING,
    grid: Annotated[
        float | None,
        typer.Option(
            help="Step of the grid on which devices draw noise; by default, the noise is taken to be continuous."
        ),
    ] = None,
    choices: Annotated[int | None, typer.Option(help="For answers to questions: how many choices there are.")] = None,
    levels: Annotated[
        int | None,
        typer.Option(help="For numbers that are compared with published values (cuts): the number of cuts plus one."),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Compute δ for this ε.")] = None,
    delta: Annotated[float | None, typer.Option(help="Compute ε for this δ.")] = None,
    json: JsonOption = False,
) -> None:
    """Show what a law promises: exactly, for any number of readings, and as printed in the paper.

    With --choices or --levels, --noise is a law for answers, such as response:1, and the promise holds for any two
    answers.
    """
    from sottovoce.cli.answers import show_answer_guarantee
    from sottovoce.privacy.laws import parse_law, parse_noise_law

    check_one_of(epsilon, delta)
    if choices is not None or levels is not None:
        for name, given in (("distance", distance), ("grid", grid)):
            if given is not None:
                raise BadParameter(
                    f"{name} {given} with choices or levels: their promise holds for any two answers; leave {name} out"
                )
        show_answer_guarantee(noise, choices, levels, readings, unit.value, epsilon, delta, json)
        return
    if "choice" in parse_law(noise).kinds:
        raise BadParameter(
            f"noise law {noise!r}: it is for answers, and its promise depends on how many there are; give --choices N, "
            "or --levels 2 if numbers are compared"
        )
    distance = DISTANCE if distance is None else distance
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
    how = "exact" if promise.is_exact else "an upper bound"
    exactly = (
        f"{how} for {counted(readings, 'reading')}"
        if grid is None or unit is UnitName.PARTICIPANT
        else f"{how} for any number of readings"
    )
    table.add_row("δ", number(exact), exactly)
    continuous = " (continuous noise)" if grid is None else ""
    table.add_row("δ, any number", number(any_number), f"however many readings share a variance{continuous}")
    table.add_row("pure ε", number(pure) if pure is not None else "none", "the ε that holds without exception")
    if paper is not None:
        table.add_row("δ as printed", number(paper), "Theorem 4.8 of the paper")
    console.print(f"{promise.law}, for values up to {distance:g} apart, per {unit.value}", highlight=False)
    console.print(table)
    console.print()
    console.print(promise.sentence(epsilon=epsilon), highlight=False)
