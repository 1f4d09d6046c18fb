"""Comparisons on the command line, for ``sottovoce discover`` and ``sottovoce simulate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from sottovoce.cli.output import console, notes, number, plain_table, print_json, progress_bar
from sottovoce.cli.ranges import parse_range
from sottovoce.digits import as_percent, counted, decimals_for
from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.comparisons import ByComparison, Comparisons

_ROWS_SHOWN = 20


def discover_comparisons(
    path: str,
    *,
    noise: str | None,
    range: str | None,
    user: str,
    object: str,
    skip_bad: bool,
    truth: Path | None,
    out: Path | None,
    weights: Path | None,
    level: float,
    json: bool,
) -> None:
    """Estimate truths from a file of comparisons."""
    import pyarrow as pa

    from sottovoce.claims.labels import label_column
    from sottovoce.claims.writing import write_table
    from sottovoce.comparisons import ByComparison, Comparisons

    ends = parse_range(range) if range else None
    comparisons = Comparisons.read(path, user=user, object=object, skip_bad=skip_bad)
    fit = ByComparison(noise, range=(float(ends[0]), float(ends[1])) if ends else None).fit(comparisons)
    low, high = fit.intervals(level)
    columns = {"truth": fit.truths_, "low": low, "high": high, "claims": fit.claims_}
    scores = _scores(fit, truth) if truth else None
    if out:
        write_table(pa.table({"object": label_column(fit.objects_), **columns}), out)
    if weights:
        write_table(pa.table({"user": label_column(fit.users_), "weight": fit.weights_}), weights)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]
    if json:
        print_json({
            "method": "comparisons", "users": len(fit.users_), "objects": len(fit.objects_),
            "claims": len(comparisons), "levels": comparisons.levels_each, "level": level,
            "truths": dict(zip(map(str, fit.objects_.tolist()), rows, strict=True)),
            **({"scores": scores} if scores else {}),
        })  # fmt: skip
    else:
        _print_truths(fit, comparisons, rows, level, scores)
    for written in (out, weights):
        if written:
            notes.print(f"wrote {escape(str(written))}", highlight=False)


def _scores(fit: "ByComparison", truth: Path) -> dict[str, Any]:
    import numpy as np

    from sottovoce.claims.labels import texts
    from sottovoce.claims.reading import read_file

    table = read_file(truth, ("object",), "value", skip_bad=False)
    names = texts(table.labels[0])
    known = {names[place]: value for place, value in zip(table.ids[0].tolist(), table.values.tolist(), strict=True)}
    errors = [
        estimate - known[label]
        for label, estimate in zip(map(str, fit.objects_.tolist()), fit.truths_.tolist(), strict=True)
        if label in known
    ]
    if not errors:
        raise BadParameter(
            f"{truth}: none of its objects is in the answers: labels must be the same in both; correct one of the files"
        )
    return {
        "mae": float(np.abs(errors).mean()),
        "rmse": float(np.sqrt(np.square(errors).mean())),
        "objects": len(errors),
    }


def _print_truths(
    fit: "ByComparison", comparisons: "Comparisons", rows: list[dict[str, Any]], level: float, scores: Any
) -> None:
    from statistics import median

    from sottovoce.claims.table import skipped_text

    console.print(
        f"{counted(len(comparisons), 'comparison')} with {comparisons.levels_each} levels by "
        f"{counted(len(fit.users_), 'user')} about "
        f"{counted(len(fit.objects_), 'object')}{skipped_text(comparisons.skipped)}. Truths are posterior medians.\n",
        highlight=False,
    )
    decimals = decimals_for(median(row["high"] - row["low"] for row in rows) / 2)
    table = plain_table("object", numbers=("truth", f"{as_percent(level)} low", "high", "claims"))
    for label, row in zip(fit.objects_[:_ROWS_SHOWN].tolist(), rows, strict=False):
        truth, low, high = (f"{row[name]:.{decimals}f}" for name in ("truth", "low", "high"))
        table.add_row(escape(str(label)), f"[bold]{truth}[/]", low, high, f"{row['claims']:,}")
    console.print(table)
    if len(rows) > _ROWS_SHOWN:
        console.print(f"… and {len(rows) - _ROWS_SHOWN:,} more; --out FILE writes them all.", highlight=False)
    if scores:
        console.print(
            f"\nOver {counted(scores['objects'], 'known truth')}: MAE {number(scores['mae'])}, "
            f"RMSE {number(scores['rmse'])}",
            highlight=False,
        )


def simulate_comparisons(
    out: Path,
    *,
    noise: str,
    range: str,
    participants: int,
    objects: int,
    levels: int | None,
    spread: float | None,
    error_rate: float,
    least_answers: int,
    late: float,
    batch: int,
    liars: float,
    seed: int,
    json: bool,
) -> None:
    """Simulate a campaign of comparisons, in which people answer one after another."""
    from sottovoce.comparisons.policy import Steps, usual_levels
    from sottovoce.privacy.laws import parse_answer_law
    from sottovoce.worlds.sequential import SequentialCrowd

    law = parse_answer_law(noise)
    low, high = map(float, parse_range(range))
    usual = spread if spread is not None else error_rate**-0.5 if error_rate > 0 else 1.0
    chosen = levels or usual_levels(law.guarantee(2, 1).epsilon(0.0), objects)
    crowd = SequentialCrowd(
        law, participants, objects, low, high, chosen, spread=usual,
        error_rate=None if spread is not None else error_rate, steps=Steps(least_answers), late=late, batch=batch,
        liars=liars, seed=seed,
    )  # fmt: skip
    with progress_bar() as bar:
        answering = bar.add_task("people answer", total=participants)
        outcome = crowd.play(lambda done, total: bar.update(answering, completed=done, total=total))
    outcome.write(out)
    figures = {
        "participants": participants, "objects": objects, "levels": chosen, "noise": str(law), "spread": usual,
        "rmse": outcome.rmse * usual, "rmse_over_spread": outcome.rmse, "standard_error": outcome.rmse_error,
        "coverage": outcome.coverage,
    }  # fmt: skip
    if json:
        print_json({"out": str(out), **figures})
        return
    within = f" ± {outcome.rmse_error:.3f}" if objects > 1 else ""
    console.print(
        f"{counted(participants, 'person', 'people')} compared {counted(objects, 'object')}, one person after another, "
        f"with {chosen} levels and "
        f"{law}.\nRoot mean squared error: {outcome.rmse:.3f}{within} times the spread of the readings, which is "
        f"{number(usual)}; {outcome.coverage:.0%} of the 95% intervals contain the truth.\n"
        f"Answers are in {out / 'answers.csv'}, truths in {out / 'truth.csv'}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
