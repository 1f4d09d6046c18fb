"""Pictures. Colours are Okabe and Ito's, which colour-blind readers can tell apart."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.claims.writing import check_place, whole_file
from sottovoce.discovery import ChoiceResult, Result
from sottovoce.errors import MissingExtra
from sottovoce.privacy.laws import noise_laws

if TYPE_CHECKING:
    from sottovoce.lab.crowd import MethodErrors

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#8A8A8A"
_NAMED_OBJECTS = 40  # more labels than this cannot be read on an axis


def check_picture(path: str | Path) -> None:
    """Whether a picture can be drawn there."""
    check_place(path, (".png", ".svg", ".pdf"))
    if find_spec("matplotlib") is None:
        raise MissingExtra(f"{path}: pictures need matplotlib; install it with pip install 'sottovoce[plot]'")


def draw_discovery(result: Result | ChoiceResult, path: str | Path) -> None:
    """Truths with intervals or chances, plain averages as faint marks; and how the weight is spread over users."""
    figure, (left, right) = _canvas(path, (11, 5.2), columns=2, width_ratios=(2.2, 1))
    if isinstance(result, ChoiceResult):
        _draw_chances(left, result)
    else:
        _draw_truths(left, result)
    figure.legend(*left.get_legend_handles_labels(), frameon=False, loc="outside lower left", ncols=4)
    _draw_weights(right, result)
    _save(figure, path)


def draw_demo(
    claims: Claims, truths: Mapping[str, float], found: Sequence[Mapping[str, Any]], errors: "Sequence[MethodErrors]",
    path: str | Path,
) -> None:  # fmt: skip
    """What the server received, what it found in it, and what the noise has cost."""
    figure, (left, right) = _canvas(path, (11, 5.2), columns=2, width_ratios=(2.6, 1))
    order = sorted(truths, key=truths.__getitem__)
    rank = {task: place for place, task in enumerate(order)}
    places = np.array([rank[str(label)] for label in claims.object_labels.tolist()])[claims.objects]
    left.scatter(places, claims.values, s=7, color=GREY, alpha=0.4, linewidths=0, zorder=1, label="what devices sent")
    middles, lows, highs = (np.array([entry[name] for entry in found]) for name in ("truth", "low", "high"))
    left.errorbar(
        [rank[entry["task"]] for entry in found], middles, yerr=(middles - lows, highs - middles), fmt="o", ms=3,
        color=BLUE, elinewidth=1, zorder=3, label="what the server found, 95 % interval",
    )  # fmt: skip
    left.plot([truths[task] for task in order], color=ORANGE, lw=2, zorder=4, label="true length")
    left.set(
        xlabel=f"{len(order)} hallway segments, by their length", ylabel="metres",
        title=f"{claims.n_users} walkers, {len(claims)} noisy readings",
    )  # fmt: skip
    highest = max(truths.values())
    left.set_ylim(-0.15 * highest, max(1.25 * highest, 1.3 * highs.max()))  # room for the legend above
    left.set_xticks([])
    left.legend(frameon=False, loc="upper left", markerscale=1.4)
    _draw_errors(right, errors)
    _save(figure, path)


def _draw_errors(axes: Any, errors: "Sequence[MethodErrors]") -> None:
    places = np.arange(len(errors))[::-1]
    names = [row.method for row in errors]
    axes.barh(places + 0.19, [row.after for row in errors], 0.36, color=BLUE, label="with noise")
    axes.barh(places - 0.19, [row.before for row in errors], 0.36, color=GREY, alpha=0.55, label="without")
    for place, row in zip(places, errors, strict=True):
        for shift, error in ((0.19, row.after), (-0.19, row.before)):
            axes.annotate(f" {error:.2f}", (error, place + shift), va="center", fontsize=9)
    axes.set_yticks(places, names)
    axes.set(xlabel="mean error in metres", title="What privacy costs", ylim=(-0.6, len(errors) - 0.1))
    axes.set_xlim(0, 1.2 * max(row.after for row in errors))
    axes.legend(frameon=False, loc="upper right", ncols=2, fontsize=9)


def draw_trade_off(
    epsilons: list[float], lines: dict[str, list[float]], epsilon: float, delta: float, distance: float, readings: int,
    participants: int, unit: str, path: str | Path,
) -> None:  # fmt: skip
    """Predicted error against ε, a line per noise law."""
    figure, axes = _canvas(path, (7.5, 5), columns=1)
    marks = dict(
        zip(noise_laws(), cycle(((ORANGE, "s"), (BLUE, "o"), (GREEN, "^"), (PURPLE, "D"), (GREY, "v"))), strict=False)
    )
    for name, errors in lines.items():
        colour, mark = marks[name]
        label = f"{name} (δ = {noise_laws()[name].granted(delta):g})"
        axes.plot(epsilons, errors, color=colour, marker=mark, ms=4, lw=1.5, label=label)
    axes.axvline(epsilon, color=GREY, lw=1, ls=":")
    axes.set(
        xscale="log", yscale="log", xlabel="ε (smaller is more private)", ylabel="predicted error of a truth",
        title=f"{participants:,} participants, {readings} readings each, distance {distance:g}, per {unit}",
    )  # fmt: skip
    axes.grid(alpha=0.15, which="both")
    axes.legend(frameon=False)
    _save(figure, path)


def _draw_truths(axes: Any, result: Result) -> None:
    fit, level = result.fit, result.level
    low, high = result.interval
    named = len(fit.truths_) <= _NAMED_OBJECTS
    order = np.arange(len(fit.truths_)) if named else np.argsort(fit.truths_)
    places = np.arange(len(order))
    truths = fit.truths_[order]
    below, above = np.nan_to_num(truths - low[order], posinf=0), np.nan_to_num(high[order] - truths, posinf=0)
    title = f"{type(fit).__name__}: {len(order):,} truths"
    if named:
        axes.errorbar(truths, places, xerr=(below, above), fmt="o", ms=4, color=BLUE, zorder=3,
                      label=f"truth, {level:.0%} interval")  # fmt: skip
        axes.plot(result.means[order], places, "|", ms=9, color=ORANGE, label="mean")
        axes.plot(result.medians[order], places, "x", ms=5, color=GREY, label="median")
        axes.set_yticks(places, [_shorten(str(label)) for label in fit.objects_[order]])
        axes.invert_yaxis()
        axes.set(xlabel="value", title=title)
        axes.grid(axis="y", alpha=0.15)
    else:
        axes.plot(places, result.means[order], ".", ms=2, color=ORANGE, alpha=0.6, label="mean", rasterized=True)
        axes.plot(
            places,
            result.medians[order],
            ".",
            ms=2,
            color=GREY,
            alpha=0.6,
            label="median",
            rasterized=True,
        )
        axes.fill_between(places, truths - below, truths + above, color=BLUE, alpha=0.25, lw=0,
                          label=f"{level:.0%} interval")  # fmt: skip
        axes.plot(places, truths, color=BLUE, lw=1.4, label="truth")
        axes.set(xlabel="objects, by their truth", ylabel="value", title=title)


def _draw_chances(axes: Any, result: ChoiceResult) -> None:
    """The chance of each truth, and the share of votes that the same answer has."""
    fit = result.fit
    named = len(fit.truths_) <= _NAMED_OBJECTS
    order = np.arange(len(fit.truths_)) if named else np.argsort(result.chance)
    places = np.arange(len(order))
    share = result.vote_shares[order]
    title = f"{type(fit).__name__}: {len(order):,} truths"
    if named:
        axes.barh(places, result.chance[order], 0.7, color=BLUE, alpha=0.85, label="chance of the truth")
        axes.plot(share, places, "|", ms=11, mew=2, color=ORANGE, label="its share of the votes")
        labels = [
            f"{_shorten(str(thing))}: {_shorten(str(truth))}"
            for thing, truth in zip(fit.objects_, fit.truths_, strict=True)
        ]
        axes.set_yticks(places, labels)
        axes.invert_yaxis()
        axes.set(xlabel="chance", xlim=(0, 1), title=title)
    else:
        axes.plot(places, share, ".", ms=2, color=ORANGE, alpha=0.6, label="its share of the votes", rasterized=True)
        axes.plot(places, result.chance[order], color=BLUE, lw=1.4, label="chance of the truth")
        axes.set(xlabel="objects, by the chance of their truth", ylabel="chance", ylim=(0, 1.02), title=title)


def _draw_weights(axes: Any, result: Result | ChoiceResult) -> None:
    share = result.fit.weights_ / (result.fit.weights_.mean() or 1.0)
    axes.hist(
        np.clip(share, 0, 6),
        bins=np.linspace(0, min(6, max(2, share.max() * 1.05)), 31),
        color=GREEN,
        alpha=0.85,
    )
    axes.axvline(1, color=GREY, lw=1, ls=":")
    axes.set(xlabel="weight of a user (1 = average)", ylabel="users", title=(
        f"{result.effective_users:,.0f} effective of {len(share):,} users"))  # fmt: skip


def _shorten(label: str) -> str:
    return label if len(label) <= 24 else label[:23] + "…"


def _canvas(
    path: str | Path, size: tuple[float, float], columns: int, width_ratios: tuple[float, ...] | None = None
) -> tuple[Any, Any]:
    check_picture(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 10}):
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.subplots(1, columns, width_ratios=width_ratios)


def _save(figure: Any, path: str | Path) -> None:
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=160)
