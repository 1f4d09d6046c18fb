"""Pictures. Colours are Okabe and Ito's, which colour-blind readers can tell apart."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.claims.writing import check_place, whole_file
from sottovoce.digits import counted
from sottovoce.discovery import ChoiceResult, Result
from sottovoce.discovery.pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, Known, canvas, picture, require_matplotlib
from sottovoce.privacy.laws import noise_laws
from sottovoce.worlds.building import Building

if TYPE_CHECKING:
    from sottovoce.lab.crowd import MethodErrors
    from sottovoce.lab.whole_range import Moment


def check_picture(path: str | Path) -> None:
    """Refuse a path where no picture can be drawn."""
    check_place(path, (".png", ".svg", ".pdf"))
    require_matplotlib(str(path))


def draw_discovery(result: Result | ChoiceResult, path: str | Path, known: Known | None = None) -> None:
    """Write the picture of a result."""
    check_picture(path)
    _save(discovery_figure(result, known), path)


def discovery_figure(result: Result | ChoiceResult, known: Known | None = None) -> Any:
    """A result as `fit.plot()` draws it, with the plain averages or votes, and the known truths."""
    if isinstance(result, ChoiceResult):
        return picture(result, shares=result.vote_shares)
    return picture(result, averages={"mean": result.means, "median": result.medians}, known=known)


def draw_demo(
    claims: Claims, truths: Mapping[str, float], found: Sequence[Mapping[str, Any]], errors: "Sequence[MethodErrors]",
    path: str | Path,
) -> None:  # fmt: skip
    """What the server received, what it estimated from it, and what the noise cost."""
    figure, (left, right) = _canvas(path, (11, 5.2), columns=2, width_ratios=(2.6, 1))
    order = sorted(truths, key=truths.__getitem__)
    rank = {task: place for place, task in enumerate(order)}
    places = np.array([rank[str(label)] for label in claims.object_labels.tolist()])[claims.objects]
    left.scatter(places, claims.values, s=7, color=GREY, alpha=0.4, linewidths=0, zorder=1, label="what devices sent")
    middles, lows, highs = (np.array([entry[name] for entry in found]) for name in ("truth", "low", "high"))
    left.errorbar(
        [rank[entry["task"]] for entry in found], middles, yerr=(middles - lows, highs - middles), fmt="o", ms=3,
        color=BLUE, elinewidth=1, zorder=3, label="what the server found, 95% interval",
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


def draw_whole_range(
    moments: "Sequence[Moment]", truths: Mapping[str, float], ends: tuple[float, float], path: str | Path
) -> None:
    """How estimates approach the truth as people answer, and the error beside that of noise as wide as the range."""
    figure, (left, right) = _canvas(path, (11, 4.8), columns=2, width_ratios=(1.5, 1))
    people = [0, *(moment.people for moment in moments)]
    rows = [{row["task"]: row for row in moment.results} for moment in moments]
    colours = cycle((BLUE, GREEN, PURPLE))
    for task, truth in truths.items():
        colour = next(colours)
        low, high = ([end, *(row[task][name] for row in rows)] for end, name in zip(ends, ("low", "high"), strict=True))
        left.fill_between(people, low, high, step="post", color=colour, alpha=0.2, linewidth=0)
        left.plot(people[1:], [row[task]["truth"] for row in rows], color=colour, lw=1.2, drawstyle="steps-post")
        left.axhline(truth, color=ORANGE, lw=1, ls=":")
    left.plot([], [], color=ORANGE, ls=":", label="true length")
    left.plot([], [], color=BLUE, label="published estimate, 95% interval")
    left.set(
        xlabel="people who have answered",
        ylabel="metres",
        title="The estimates approach the truth",
        xlim=(0, people[-1]),
        ylim=ends,
    )
    left.legend(frameon=False, loc="upper right")
    right.plot(
        people[1:],
        [moment.wide_error for moment in moments],
        color=GREY,
        marker=".",
        label="noise as wide as the range",
    )
    right.plot(people[1:], [moment.error for moment in moments], color=BLUE, marker=".", label="comparisons")
    right.set(
        xlabel="people who have answered", ylabel="mean error in metres", yscale="log", title="The same promise, ε = 1"
    )
    right.grid(alpha=0.15, which="both")
    right.legend(frameon=False)
    _save(figure, path)


def draw_on_plan(building: Building, found: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """The hallways of a building, coloured by estimated length and by its uncertainty; grey if there is no result."""
    figure, panels = _canvas(path, (11, 5.6), columns=2)
    lengths = {entry["task"]: entry["truth"] for entry in found}
    doubts = {entry["task"]: (entry["high"] - entry["low"]) / 2 for entry in found}
    for axes, title, figures, colours in (
        (panels[0], "Estimated length, metres", lengths, "viridis_r"),
        (panels[1], "How certain: ± metres", doubts, "Blues_r"),
    ):
        scale = axes.scatter([], [], c=[], cmap=colours, vmin=min(figures.values()), vmax=max(figures.values()))
        for name, (x1, y1, x2, y2) in building.halls.items():
            axes.plot([x1, x2], [y1, y2], color="#333333", lw=4.4, solid_capstyle="round", zorder=1)
            colour = scale.to_rgba(figures[name]) if name in figures else "#dddddd"
            axes.plot([x1, x2], [y1, y2], color=colour, lw=3, solid_capstyle="round", zorder=2)
        axes.set(title=title, aspect="equal", xlim=(0, building.width), ylim=(0, building.height))
        axes.axis("off")
        figure.colorbar(scale, ax=axes, shrink=0.8)
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
        title=f"{counted(participants, 'participant')}, {counted(readings, 'reading')} each, distance {distance:g}, "
        f"per {unit}",
    )  # fmt: skip
    axes.grid(alpha=0.15, which="both")
    axes.legend(frameon=False)
    _save(figure, path)


def draw_choice_trade_off(
    rows: list[dict[str, Any]], epsilon: float, choices: int, readings: int, participants: int, unit: str,
    path: str | Path,
) -> None:  # fmt: skip
    """Share of wrong results against ε, with 95% intervals."""
    figure, axes = _canvas(path, (7.5, 5), columns=1)
    epsilons = [row["epsilon"] for row in rows]
    means, lows, highs = ([100 * row["simulated_error"][name] for row in rows] for name in ("mean", "low", "high"))
    axes.plot(epsilons, means, color=BLUE, marker="o", ms=4, lw=1.5, label="noise-aware")
    axes.fill_between(epsilons, lows, highs, color=BLUE, alpha=0.15, lw=0)
    axes.axhline(100 * (1 - 1 / choices), color=GREY, lw=1, ls="--", label="a guess")
    axes.axvline(epsilon, color=GREY, lw=1, ls=":")
    for row, mean in zip(rows, means, strict=True):
        axes.annotate(row["noise"], (row["epsilon"], mean), xytext=(5, 6), textcoords="offset points", fontsize=8)
    axes.set(
        xscale="log", xlabel="ε (smaller is more private)", ylabel="wrong results, %",
        title=f"{counted(participants, 'participant')}, {counted(readings, 'question')} with {choices} choices, "
        f"per {unit}",
    )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_xlim(right=1.6 * epsilons[-1])  # room for the last name
    axes.set_xticks(epsilons, [f"{place:g}" for place in epsilons])
    axes.minorticks_off()
    axes.grid(alpha=0.15, which="both")
    axes.legend(frameon=False)
    _save(figure, path)


def _canvas(
    path: str | Path, size: tuple[float, float], columns: int, width_ratios: tuple[float, ...] | None = None
) -> tuple[Any, Any]:
    check_picture(path)
    return canvas(size, columns, width_ratios)


def _save(figure: Any, path: str | Path) -> None:
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=160)
