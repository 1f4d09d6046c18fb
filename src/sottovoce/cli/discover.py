"""``sottovoce discover``: from a table of claims to truths."""

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sottovoce.cli.methods import MethodOption
from sottovoce.cli.output import (
    JsonOption,
    cell,
    console,
    decimals_for,
    notes,
    number,
    print_json,
    printed_warnings,
    progress_bar,
)
from sottovoce.errors import BadParameter, ConvergenceWarning

if TYPE_CHECKING:
    from sottovoce.discovery import Checkpoint, Result, State, TruthDiscovery
    from sottovoce.engines import Engine

_ROWS_SHOWN = 20


class Duplicates(StrEnum):
    ERROR = "error"
    MEAN = "mean"
    LAST = "last"


class TargetOption(StrEnum):
    VALUE = "value"
    MEAN = "mean"


class EngineOption(StrEnum):
    AUTO = "auto"
    MEMORY = "memory"
    DISK = "disk"
    SPARK = "spark"


def discover(
    claims: Annotated[
        str,
        typer.Argument(
            help="Claims: CSV, Parquet, Arrow or JSON Lines; a pack (see `sottovoce claims`); - reads CSV from "
            "standard input."
        ),
    ],
    method: MethodOption = None,
    noise: Annotated[
        str | None,
        typer.Option(help="Noise law of the claims, such as shared:0.5; by default the one recorded in the file."),
    ] = None,
    target: Annotated[
        TargetOption | None,
        typer.Option(
            help="What the truth is: the value that a careful person would measure, or the mean of all opinions; by "
            "default the claims decide."
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="Truths that are known beforehand (object, value): they show how accurate users are."),
    ] = None,
    user: Annotated[str, typer.Option(help="Name of the column that says who claims.")] = "user",
    object: Annotated[str, typer.Option(help="Name of the column that says about what.")] = "object",
    value: Annotated[str, typer.Option(help="Name of the column with the claimed value.")] = "value",
    duplicates: Annotated[
        Duplicates, typer.Option(help="What to do when a user claims an object twice.")
    ] = Duplicates.ERROR,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Drop and count rows that are not claims.")] = False,
    truth: Annotated[Path | None, typer.Option(help="Known truths (object, value), to measure the error.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the truths here (.csv, .parquet, .arrow, .jsonl).")] = None,
    weights: Annotated[Path | None, typer.Option(help="Write the users' weights here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the truths here (.png, .svg, .pdf).")] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    max_iter: Annotated[int, typer.Option(help="Largest number of iterations.")] = 1000,
    tol: Annotated[float, typer.Option(help="Stop when truths move less than this, in units of their spread.")] = 1e-6,
    engine: Annotated[
        EngineOption,
        typer.Option(
            help="Where to compute: in memory; on disk, block by block, or with Spark (packs only); auto chooses and "
            "says why."
        ),
    ] = EngineOption.AUTO,
    spark_master: Annotated[
        str | None,
        typer.Option(help="With --engine spark: its master, such as spark://host:7077; by default this machine."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the state of the run here; for a pack, by default in its folder."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the checkpoint: after an interruption, or with new claims.")
    ] = False,
    decay: Annotated[
        float | None,
        typer.Option(help="On a pack: losses of each earlier round count this much less (0 to 1). Some methods only."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Find the truth in conflicting claims.

    Prints the truth of each object with an interval, and the plain mean and median beside it.
    """
    from sottovoce.claims.blocks import is_pack
    from sottovoce.claims.writing import check_file, check_place
    from sottovoce.discovery import DEFAULT, METHODS, Checkpoint, Result, known_truths, make_method, takes
    from sottovoce.discovery.base import check_level
    from sottovoce.lab.plots import check_picture, draw_discovery

    check_level(level)
    for path in (out, weights):
        if path:
            check_place(path)
    if plot:
        check_picture(plot)
    if checkpoint:
        check_file(checkpoint)
    chosen, packed = method or DEFAULT, is_pack(claims)
    if decay is not None and not (takes(chosen, "decay") and packed):
        forgetful = " or ".join(name for name in METHODS if takes(name, "decay"))
        raise BadParameter(
            f"--decay {decay}: {chosen} on {claims}: only {forgetful} supports decay, and only packs have rounds; give "
            f"--method {forgetful} and a pack"
        )
    if target is not None and not takes(chosen, "target"):
        aiming = " or ".join(name for name in METHODS if takes(name, "target"))
        raise BadParameter(f"--target {target.value}: {chosen} has no such choice; give --method {aiming}")
    if known is not None and not METHODS[chosen].takes_known:
        learning = " or ".join(name for name in METHODS if METHODS[name].takes_known)
        raise BadParameter(f"--known {known}: {chosen} cannot use known truths; give --method {learning}")
    if spark_master is not None and engine is not EngineOption.SPARK:
        raise BadParameter(f"--spark-master {spark_master}: only Spark has a master; add --engine spark")
    if checkpoint is None and packed and os.access(claims, os.W_OK):
        checkpoint = Path(claims) / f"checkpoint-{chosen}.arrow"
    kept = Checkpoint(checkpoint) if checkpoint else None
    start = _state(kept, chosen) if resume else None
    with printed_warnings(ConvergenceWarning), ExitStack() as stack, progress_bar() as progress:
        if packed:
            source = _open_pack(claims, engine, spark_master, stack)
        else:
            reading = progress.add_task("reading", total=None)
            source = _read_file(
                claims, engine, user=user, object=object, value=value, duplicates=duplicates.value, skip_bad=skip_bad,
                progress=lambda done, size: progress.update(reading, completed=done, total=size),
            )  # fmt: skip
            progress.remove_task(reading)
        iterating = progress.add_task(f"{chosen}: first iteration", total=max_iter)
        options: dict[str, Any] = {} if decay is None else {"decay": decay}
        if target is not None:
            options["target"] = target.value
        fit = make_method(chosen, noise=noise or source.noise, max_iter=max_iter, tol=tol, **options)
        try:
            result = Result.of(
                fit,
                source.engine,
                level,
                progress=lambda done, move: progress.update(
                    iterating,
                    completed=done,
                    description=f"{chosen}: iteration {done}, largest move {move:.1e}",
                ),
                start=start,
                checkpoint=kept,
                known=known_truths(known, source.engine.object_labels, object=object, value=value) if known else None,
            )
        except KeyboardInterrupt:
            progress.stop()
            if kept and kept.iteration:
                notes.print(
                    f"Stopped. Iteration {kept.iteration} is saved in {escape(str(kept.path))}; "
                    "the same command with --resume continues from it.",
                    highlight=False,
                )
            raise typer.Exit(130) from None
    scores = result.scores(truth, object=object, value=value) if truth else None

    if out:
        result.write(out)
    if weights:
        result.write_weights(weights)
    if plot:
        draw_discovery(result, plot)
    if json:
        print_json(result.summary() | ({"scores": scores} if scores else {}))
    else:
        _print_result(result, source.skipped, scores)
    for path in (out, weights, plot):
        if path:
            notes.print(f"wrote {escape(str(path))}", highlight=False)


def _state(kept: "Checkpoint | None", method: str) -> "State":
    """What the checkpoint holds."""
    if kept is None:
        raise BadParameter("--resume: only a pack has a default checkpoint; name the file with --checkpoint")
    checkpoint = kept.read()
    if checkpoint.method != method:
        raise BadParameter(
            f"--resume: the checkpoint {kept.path} was made by {checkpoint.method}; give --method {checkpoint.method}, "
            "or start again without --resume"
        )
    notes.print(f"continuing from iteration {checkpoint.iteration} of {escape(str(kept.path))}", highlight=False)
    return checkpoint


@dataclass(frozen=True)
class _Source:
    """Claims, in memory or in a pack."""

    engine: "Engine"
    noise: str | None
    skipped: int


def _open_pack(path: str, engine: EngineOption, spark_master: str | None, stack: ExitStack) -> _Source:
    from sottovoce.claims.blocks import Pack
    from sottovoce.engines import SparkEngine, choose_engine

    pack = Pack(path)
    choice = choose_engine(pack, engine.value, spark_master=spark_master)
    if engine is EngineOption.AUTO:
        notes.print(f"engine {choice.name}: {choice.reason}", highlight=False)
    if isinstance(choice.engine, SparkEngine):
        stack.enter_context(choice.engine)
    return _Source(choice.engine, pack.noise, pack.manifest.skipped)


def _read_file(path: str, engine: EngineOption, **options: Any) -> _Source:
    from sottovoce.claims import Claims
    from sottovoce.engines import MemoryEngine
    from sottovoce.engines.choosing import check_file_fits

    if engine in (EngineOption.DISK, EngineOption.SPARK):
        raise BadParameter(
            f"--engine {engine.value}: {path} is not a pack; "
            f"make one with `sottovoce claims pack {path} PACK` and give that"
        )
    if engine is EngineOption.AUTO:
        check_file_fits(path)
    claims = Claims.read(sys.stdin.buffer if path == "-" else path, **options)
    return _Source(MemoryEngine(claims), claims.noise, claims.skipped)


def _print_result(result: "Result", skipped: int, scores: dict[str, Any] | None) -> None:
    from sottovoce.claims.table import skipped_text
    from sottovoce.discovery.schema import Place, columns_in, for_people

    fit: TruthDiscovery = result.fit
    state = "converged" if fit.converged_ else "not converged"
    console.print(
        f"{fit.claims_.sum():,} claims by {len(fit.users_):,} users about {len(fit.objects_):,} objects"
        f"{skipped_text(skipped)}. {type(fit).__name__}: {fit.n_iter_} iteration{'s' * (fit.n_iter_ != 1)}, {state}; "
        f"{result.effective_users:,.1f} effective users.",
        highlight=False,
    )
    for line in (result.reason, result.aim, result.few):
        if line:
            console.print(escape(line), highlight=False, soft_wrap=True)
    console.print()
    columns, entries = for_people(columns_in(Place.COMMAND)), result.columns(Place.COMMAND)
    low, high = result.interval
    decimals = decimals_for(median((high - low).tolist()) / 2)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("object")
    for column in columns:
        table.add_column(f"{result.level:.0%} low" if column.name == "low" else column.title, justify="right")
    for n in range(min(_ROWS_SHOWN, len(fit.truths_))):
        cells = [cell(column, entries[column.name][n], decimals) for column in columns]
        table.add_row(escape(str(fit.objects_[n])), f"[bold]{cells[0]}[/]", *cells[1:])
    console.print(table)
    if len(fit.truths_) > _ROWS_SHOWN:
        console.print(f"… and {len(fit.truths_) - _ROWS_SHOWN:,} more; --out FILE writes them all.", highlight=False)
    if scores:
        errors = Table(box=None, header_style="bold", pad_edge=False)
        errors.add_column(f"error over {scores['objects']:,} known truths")
        errors.add_column("MAE", justify="right")
        errors.add_column("RMSE", justify="right")
        for name, score in (
            (type(fit).__name__, scores),
            ("mean", scores["mean"]),
            ("median", scores["median"]),
        ):
            errors.add_row(name, number(score["mae"]), number(score["rmse"]))
        console.print()
        console.print(errors)
