"""``sottovoce discover``: from a table of claims to truths."""

import sys
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sottovoce.cli.output import (
    JsonOption,
    console,
    decimals_for,
    notes,
    number,
    print_json,
    progress_bar,
    told_warnings,
)
from sottovoce.errors import ConvergenceWarning

if TYPE_CHECKING:
    from sottovoce.claims import Claims
    from sottovoce.discovery import Comparison, TruthDiscovery

_ROWS_SHOWN = 20


class Method(StrEnum):
    NOISE_AWARE = "noise-aware"
    CRH = "crh"
    GTM = "gtm"
    CATD = "catd"
    LFCN = "lfcn"
    MEAN = "mean"
    MEDIAN = "median"


class Duplicates(StrEnum):
    ERROR = "error"
    MEAN = "mean"
    LAST = "last"


class EngineName(StrEnum):
    AUTO = "auto"
    MEMORY = "memory"


def discover(
    claims: Annotated[
        str, typer.Argument(help="Claims: CSV, Parquet, Arrow or JSON Lines; - reads CSV from the input.")
    ],
    method: Annotated[Method, typer.Option(help="How to find the truths.")] = Method.NOISE_AWARE,
    noise: Annotated[
        str | None,
        typer.Option(help="Noise law of the claims, such as shared:0.5; by default what the file itself says."),
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
    max_iter: Annotated[int, typer.Option(help="Largest number of iterations.")] = 200,
    tol: Annotated[float, typer.Option(help="Stop when truths move less than this, in units of their spread.")] = 1e-6,
    engine: Annotated[EngineName, typer.Option(help="Where to compute.")] = EngineName.AUTO,
    json: JsonOption = False,
) -> None:
    """Find the truth in conflicting claims.

    Prints the truth of each object with an interval, and the plain mean and median beside it.
    """
    from sottovoce.claims import Claims
    from sottovoce.discovery import METHODS, Comparison, NoiseAware

    with told_warnings(ConvergenceWarning), progress_bar() as progress:
        reading = progress.add_task("reading", total=None)
        table = Claims.read(
            sys.stdin.buffer if claims == "-" else claims,
            user=user, object=object, value=value, duplicates=duplicates.value, skip_bad=skip_bad,
            progress=lambda done, size: progress.update(reading, completed=done, total=size),
        )  # fmt: skip
        progress.remove_task(reading)
        law = noise or table.noise
        chosen = method.value
        iterating = progress.add_task(f"{chosen}: first iteration", total=max_iter)
        options = {"noise": law} if chosen == NoiseAware.name else {}
        fit = METHODS[chosen](max_iter=max_iter, tol=tol, **options)
        comparison = Comparison.of(
            fit,
            table,
            progress=lambda done, move: progress.update(
                iterating,
                completed=done,
                description=f"{chosen}: iteration {done}, largest move {move:.1e}",
            ),
        )
    fit.intervals(level)  # a bad level is told before anything is written
    scores = comparison.scores(truth, object=object, value=value) if truth else None

    if out:
        comparison.write(out, level)
    if weights:
        comparison.write_weights(weights)
    if plot:
        from sottovoce.lab.plots import draw_discovery

        draw_discovery(comparison, plot, level)
    if json:
        print_json(comparison.summary(level) | ({"scores": scores} if scores else {}))
    else:
        _print_result(comparison, table, level, scores)
    for path in (out, weights, plot):
        if path:
            notes.print(f"wrote {escape(str(path))}", highlight=False)


def _print_result(comparison: "Comparison", claims: "Claims", level: float, scores: dict[str, Any] | None) -> None:
    fit: TruthDiscovery = comparison.fit
    skipped = f", {claims.skipped:,} bad rows skipped" if claims.skipped else ""
    state = "converged" if fit.converged_ else "not converged"
    console.print(
        f"{len(claims):,} claims by {claims.n_users:,} users about {claims.n_objects:,} objects{skipped}. "
        f"{type(fit).__name__}: {fit.n_iter_} iteration{'s' * (fit.n_iter_ != 1)}, {state}; "
        f"{comparison.effective_users:,.1f} effective users.",
        highlight=False,
    )
    reason = comparison.reason(level)
    if reason:
        console.print(escape(reason), highlight=False, soft_wrap=True)
    console.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("object")
    for heading in ("truth", f"{level:.0%} low", "high", "mean", "median", "claims", "effective"):
        table.add_column(heading, justify="right")
    low, high = fit.intervals(level)
    decimals = decimals_for(median((high - low).tolist()) / 2)
    for n in range(min(_ROWS_SHOWN, len(fit.truths_))):
        table.add_row(
            escape(str(fit.objects_[n])),
            f"[bold]{number(fit.truths_[n], decimals)}[/]",
            *(number(column[n], decimals) for column in (low, high, comparison.means, comparison.medians)),
            str(fit.claims_[n]),
            f"{fit.effective_users_[n]:.1f}",
        )
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
