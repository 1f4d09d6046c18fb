"""``sottovoce discover``: from a table of claims to truths."""

import os
import sys
from collections.abc import Set
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sottovoce.cli import claim_files
from sottovoce.cli.comparing import print_comparison, write_report
from sottovoce.cli.comparisons import discover_comparisons
from sottovoce.cli.methods import ALL, MethodOption, method_name
from sottovoce.cli.option_groups import grouped
from sottovoce.cli.output import (
    JsonOption,
    notes,
    print_json,
    printed_warnings,
    progress_bar,
)
from sottovoce.cli.truths import print_result
from sottovoce.errors import BadParameter, ConvergenceWarning

if TYPE_CHECKING:
    import pyarrow as pa

    from sottovoce.discovery import Checkpoint, State
    from sottovoce.engines import Engine

_OF_COMPARISONS = {
    "claims", "noise", "user", "object", "skip_bad", "range", "truth", "out", "weights", "level", "json",
}  # fmt: skip
_OF_READING = {
    "user", "duplicates", "skip_bad", "decimal", "strip_units", "encoding", "left_out", "kind", "choices",
}  # fmt: skip


class TargetOption(StrEnum):
    VALUE = "value"
    MEAN = "mean"


class EngineOption(StrEnum):
    AUTO = "auto"
    MEMORY = "memory"
    DISK = "disk"
    SPARK = "spark"


@grouped
def discover(
    context: typer.Context,
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
            "default, the value if the claims have noise, and otherwise inferred from the claims."
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            help="File of known truths (object, value), from which the method estimates how accurate users are."
        ),
    ] = None,
    columns: claim_files.ColumnOptions = claim_files.USUAL_COLUMNS,
    duplicates: claim_files.DuplicatesOption = claim_files.Duplicates.ERROR,
    cleaning: claim_files.CleaningOptions = claim_files.USUAL_CLEANING,
    range: Annotated[
        str | None,
        typer.Option(
            help="For comparisons: range of the truths, LO:HI; by default, the range of the cuts, extended by half its "
            "width on either side."
        ),
    ] = None,
    left_out: claim_files.LeftOutOption = None,
    kind: claim_files.KindOfValues = None,
    choices: Annotated[
        int | None,
        typer.Option(
            help="Number of options that users chose from; by default, the number that the file declares or contains."
        ),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="File of known truths (object, value), used only to measure the error.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the truths here (.csv, .parquet, .arrow, .jsonl).")] = None,
    weights: Annotated[Path | None, typer.Option(help="Write the users' weights here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Save a plot of the truths here (.png, .svg, .pdf).")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a report here: the result on one self-contained page (.html).")
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    max_iter: Annotated[int, typer.Option(help="Maximum number of iterations.")] = 1000,
    tol: Annotated[
        float,
        typer.Option(
            help="Stop when truths move less than this, in units of their spread; for choices, when chances move less "
            "than 1000 times this."
        ),
    ] = 1e-6,
    engine: Annotated[
        EngineOption,
        typer.Option(
            help="Where to compute: in memory or, for packs only, on disk (block by block) or with Spark. For a pack, "
            "auto chooses memory or disk and prints the reason."
        ),
    ] = EngineOption.AUTO,
    spark_master: Annotated[
        str | None,
        typer.Option(
            help="With --engine spark: address of the Spark master, such as spark://host:7077; by default, this "
            "machine."
        ),
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
        typer.Option(
            help="On a pack: factor (above 0, at most 1) that multiplies a round's losses once for each later round, "
            "so that a user's recent claims count more. Some methods only."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Find the truth in conflicting claims.

    Prints the truth of each object with an interval, next to the plain mean and median. For choices, prints the most
    probable answer with its chance, next to the majority.
    """
    from sottovoce.claims.blocks import is_pack
    from sottovoce.claims.writing import check_file, check_place, write_table
    from sottovoce.comparisons.table import is_comparisons
    from sottovoce.discovery import METHODS, Checkpoint, discovered, known_among, make_method, takes
    from sottovoce.discovery.base import check_level
    from sottovoce.discovery.comparison import Comparison
    from sottovoce.lab.plots import check_picture, draw_discovery

    check_level(level)
    packed, of_comparisons = is_pack(claims), is_comparisons(claims)
    if of_comparisons:
        ignored = context.params.keys() - _OF_COMPARISONS
        _refuse_ignored(
            context, ignored, f"{claims} holds comparisons, and this option is not for comparisons; omit it"
        )
    if packed:
        _refuse_ignored(
            context,
            _OF_READING if truth or known else _OF_READING | {"object", "value"},
            f"{claims} is a pack, and this option is not for packs; omit it here, because `sottovoce claims pack` "
            "decides how claims are read",
        )
    names = {"object": columns.object, "value": columns.value}  # in files of truths too
    for path in (out, weights):
        if path:
            check_place(path)
    claim_files.check_left_out(left_out, cleaning.skip_bad)
    if plot:
        check_picture(plot)
    if report:
        check_place(report, (".html",))
    if checkpoint:
        check_file(checkpoint)
    if of_comparisons:
        discover_comparisons(
            claims, noise=noise, range=range, user=columns.user, object=columns.object, skip_bad=cleaning.skip_bad,
            truth=truth, out=out, weights=weights, level=level, json=json,
        )  # fmt: skip
        return
    if range is not None:
        raise BadParameter(f"--range {range}: only comparisons have a range (columns cuts and level); omit it")
    chosen = method_name(method)
    if chosen == ALL:
        _refuse_with_all(
            known=known,
            target=target,
            weights=weights,
            plot=plot,
            report=report,
            checkpoint=checkpoint,
            resume=resume,
            decay=decay,
        )
    if decay is not None and not (takes(chosen, "decay") and packed):
        forgetful = " or ".join(name for name in METHODS if takes(name, "decay"))
        raise BadParameter(
            f"--decay {decay}: {chosen} on {claims}: only {forgetful} supports decay, and only packs have rounds; give "
            f"--method {forgetful} and a pack"
        )
    if chosen != ALL and target is not None and not takes(chosen, "target"):
        aiming = " or ".join(name for name in METHODS if takes(name, "target"))
        raise BadParameter(f"--target {target.value}: {chosen} does not support targets; give --method {aiming}")
    # With choices, methods that weigh users can use known truths; the fit, where the kind is known, refuses the others.
    if chosen != ALL and known is not None and not METHODS[chosen].takes_known and METHODS[chosen].kinds == ("number",):
        learning = " or ".join(name for name, one in METHODS.items() if one.takes_known and "number" in one.kinds)
        raise BadParameter(f"--known {known}: {chosen} cannot use known truths; give --method {learning}")
    if spark_master is not None and engine is not EngineOption.SPARK:
        raise BadParameter(f"--spark-master {spark_master}: only Spark has a master; add --engine spark")
    if checkpoint is None and packed and chosen != ALL and os.access(claims, os.W_OK):
        checkpoint = Path(claims) / f"checkpoint-{chosen}.arrow"
    kept = Checkpoint(checkpoint) if checkpoint else None
    start = _state(kept, chosen) if resume else None
    with printed_warnings(ConvergenceWarning), ExitStack() as stack, progress_bar() as progress:
        if packed:
            source = _open_pack(claims, engine, spark_master, stack)
        else:
            reading = progress.add_task("reading", total=None)
            source = _read_file(
                claims, engine, duplicates=duplicates.value, kind=kind.value if kind else None, choices=choices,
                progress=lambda done, size: progress.update(reading, completed=done, total=size),
                **vars(columns), **vars(cleaning),
            )  # fmt: skip
            progress.remove_task(reading)
        if chosen == ALL:
            comparing = progress.add_task("comparing", total=None)
            compared = Comparison.of(
                source.engine, noise or source.noise, level, truth, max_iter=max_iter, tol=tol, **names,
                progress=lambda name, done, total: progress.update(
                    comparing, description=name, completed=done, total=total
                ),
            )  # fmt: skip
            progress.stop()
            if out:
                compared.write(out)
            if left_out:
                write_table(source.rows_left_out, left_out)
            if json:
                print_json(compared.summary())
            else:
                print_comparison(compared)
            return
        gold = known_among(known, source.engine, **names) if known else None
        iterating = progress.add_task(f"{chosen}: first iteration", total=max_iter)
        options: dict[str, Any] = {} if decay is None else {"decay": decay}
        if target is not None:
            options["target"] = target.value
        fit = make_method(chosen, noise=noise or source.noise, max_iter=max_iter, tol=tol, **options)
        try:
            result = discovered(
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
                known=gold,
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
    scores = result.scores(truth, **names) if truth else None
    measured = result.known(truth, **names) if truth else None

    if out:
        result.write(out)
    if weights:
        result.write_weights(weights)
    if plot:
        draw_discovery(result, plot, measured)
    if report:
        write_report(
            result, claims, source.engine, noise or source.noise, scores, measured, source.rows_left_out.to_pylist(),
            truth, {"max_iter": max_iter, "tol": tol, **names}, report,
        )  # fmt: skip
    if left_out:
        write_table(source.rows_left_out, left_out)
    if json:
        dropped = (
            {"left_out": claim_files.left_out_summary(source.rows_left_out)} if cleaning.skip_bad and not packed else {}
        )
        print_json(result.summary() | dropped | ({"scores": scores} if scores else {}))
    else:
        print_result(result, source.skipped, scores)
        for doubt in result.doubts:
            if doubt["code"] != "not_converged":  # printed already, with what to do
                notes.print(f"[yellow]Warning:[/] {escape(doubt['text'])}", highlight=False)
        if source.rows_left_out.num_rows:
            claim_files.print_left_out(source.rows_left_out)
    for path in (out, weights, plot, left_out, report):
        if path:
            notes.print(f"wrote {escape(str(path))}", highlight=False)


def _refuse_ignored(context: typer.Context, ignored: Set[str], why: str) -> None:
    """Refuse options that would be ignored, unless they have their default value."""
    for option in context.command.get_params(context):
        given = context.params.get(option.name or "")
        if option.name in ignored and given != option.default:
            raise BadParameter(f"{option.opts[0]}{'' if given is True else f' {given}'}: {why}")


def _refuse_with_all(**options: Any) -> None:
    for name, given in options.items():
        if given:
            raise BadParameter(
                f"--{name} with --method all: this option is for a single method; leave it out, or choose a method"
            )


def _state(kept: "Checkpoint | None", method: str) -> "State":
    """What the checkpoint holds."""
    if kept is None:
        raise BadParameter(
            "--resume: only a pack that can be written to has a default checkpoint; name the file with --checkpoint"
        )
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
    left_out: "pa.Table | None" = None

    @property
    def rows_left_out(self) -> "pa.Table":
        from sottovoce.claims.rows import NOTHING_LEFT_OUT

        return NOTHING_LEFT_OUT if self.left_out is None else self.left_out


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
        source, file = ("standard input", "FILE") if path == "-" else (path, path)
        raise BadParameter(
            f"--engine {engine.value}: {source} is not a pack; "
            f"make one with `sottovoce claims pack {file} PACK` and give that"
        )
    if engine is EngineOption.AUTO:
        check_file_fits(path)
    claims = Claims.read(sys.stdin.buffer if path == "-" else path, **options)
    return _Source(MemoryEngine(claims), claims.noise, claims.skipped, claims.left_out)
