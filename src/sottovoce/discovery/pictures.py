"""A fit as a picture and as a table for notebooks. The colours, of Okabe and Ito, suit colour-blind readers."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims.labels import natural_order
from sottovoce.digits import as_percent, counted
from sottovoce.discovery.schema import Estimates, Floats, Place, columns_in, for_people
from sottovoce.errors import MissingExtra

if TYPE_CHECKING:
    from sottovoce.discovery.base import TruthDiscovery

BLUE, ORANGE, GREEN, PURPLE, GREY, BLACK = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#8A8A8A", "#000000"
_NAMED_OBJECTS = 60  # more labels than this cannot be read on an axis
_WIDTH, _LEAST_HEIGHT, _PER_LABEL = 11.0, 5.2, 0.22  # inches
_LONGEST_LABEL = 24
_ROWS_SHOWN = 20
_LINES: Any = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 10}
_MARKS = {"mean": ("|", 9, ORANGE), "median": ("x", 5, GREY)}
Known = tuple[NDArray[np.intp], Sequence[Any]]  # places of objects whose truth is known, and these truths


def require_matplotlib(what: str) -> None:
    if find_spec("matplotlib") is None:
        raise MissingExtra(f"{what}: pictures need matplotlib; install it with pip install 'sottovoce[plot]'")


def canvas(size: tuple[float, float], columns: int, width_ratios: tuple[float, ...] | None = None) -> tuple[Any, Any]:
    """A figure that is independent of matplotlib's global state, and its panels."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_LINES):
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.subplots(1, columns, width_ratios=width_ratios)


def picture(
    estimates: Estimates,
    *,
    averages: Mapping[str, Floats] | None = None,
    shares: Floats | None = None,
    known: Known | None = None,
) -> Any:
    """Truths with intervals or chances, plain averages as faint marks; and how the weight is distributed over users."""
    require_matplotlib("plot")
    count = len(estimates.fit.truths_)
    tall = 1.6 + _PER_LABEL * count if count <= _NAMED_OBJECTS else 0.0
    figure, (left, right) = canvas((_WIDTH, max(_LEAST_HEIGHT, tall)), 2, (2.2, 1))
    if estimates.fit.kind_ == "choice":
        _draw_chances(left, estimates, shares)
    else:
        _draw_truths(left, estimates, averages or {}, known)
    figure.legend(*left.get_legend_handles_labels(), frameon=False, loc="outside lower left", ncols=5)
    _draw_weights(right, estimates.fit.weights_)
    return figure


def _draw_truths(axes: Any, estimates: Estimates, averages: Mapping[str, Floats], known: Known | None) -> None:
    fit, level = estimates.fit, estimates.level
    low, high = estimates.interval
    named = len(fit.truths_) <= _NAMED_OBJECTS
    order = natural_order(fit.objects_) if named else np.argsort(fit.truths_)
    places = np.arange(len(order))
    truths = fit.truths_[order]
    below, above = np.nan_to_num(truths - low[order], posinf=0), np.nan_to_num(high[order] - truths, posinf=0)
    title = f"{type(fit).__name__}: {len(order):,} truth{'s' * (len(order) != 1)}"
    where = np.argsort(order)[known[0]] if known else places[:0]
    if named:
        axes.errorbar(truths, places, xerr=(below, above), fmt="o", ms=4, color=BLUE, zorder=3,
                      label=f"truth, {as_percent(level)} interval")  # fmt: skip
        for name, average in averages.items():
            mark, size, colour = _MARKS[name]
            axes.plot(average[order], places, mark, ms=size, color=colour, label=name)
        if known:
            axes.plot(known[1], where, "D", ms=6, mfc="none", color=BLACK, label="known truth", zorder=4)
        axes.set_yticks(places, shortened([str(label) for label in fit.objects_[order]]))
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set(xlabel="value", title=title)
        axes.grid(axis="y", alpha=0.15)
    else:
        axes.fill_between(places, truths - below, truths + above, color=BLUE, alpha=0.25, lw=0,
                          label=f"{as_percent(level)} interval")  # fmt: skip
        for name, average in averages.items():
            colour = _MARKS[name][2]
            axes.plot(places, average[order], ".", ms=2, color=colour, alpha=0.6, label=name, rasterized=True)
        if known:
            # Small, and behind the line: a thousand outlines would hide the truths that they are compared with.
            axes.plot(where, known[1], ".", ms=3, color=BLACK, label="known truth", rasterized=True)
        axes.plot(places, truths, color=BLUE, lw=1.4, label="truth", zorder=4)
        _limit_axis(axes, truths, below, above)
        axes.set(xlabel="objects, sorted by their truth", ylabel="value", title=title)


def _limit_axis(axes: Any, truths: Floats, below: Floats, above: Floats) -> None:
    """Limit the axis, so that one interval a thousand times as wide as the others does not flatten the rest."""
    low, high = np.quantile(truths - below, 0.01), np.quantile(truths + above, 0.99)
    low, high = min(low, truths.min()), max(high, truths.max())
    room = 0.05 * (high - low) or 1.0
    axes.set_ylim(low - room, high + room)


def _draw_chances(axes: Any, estimates: Estimates, shares: Floats | None) -> None:
    """The chance of each truth, and the share of votes for the same answer."""
    fit = estimates.fit
    named = len(fit.truths_) <= _NAMED_OBJECTS
    order = natural_order(fit.objects_) if named else np.argsort(estimates.chance)
    places = np.arange(len(order))
    title = f"{type(fit).__name__}: {len(order):,} truth{'s' * (len(order) != 1)}"
    if named:
        axes.barh(places, estimates.chance[order], 0.7, color=BLUE, alpha=0.85, label="chance of the truth")
        if shares is not None:
            axes.plot(shares[order], places, "|", ms=11, mew=2, color=ORANGE, label="its share of the votes")
        objects = shortened([str(label) for label in fit.objects_[order]])
        answers = shortened([str(truth) for truth in fit.truths_[order]])
        axes.set_yticks(places, [f"{one}: {answer}" for one, answer in zip(objects, answers, strict=True)])
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.set(xlabel="chance", xlim=(0, 1), title=title)
    else:
        if shares is not None:
            axes.plot(places, shares[order], ".", ms=2, color=ORANGE, alpha=0.6, label="its share of the votes",
                      rasterized=True)  # fmt: skip
        axes.plot(places, estimates.chance[order], color=BLUE, lw=1.4, label="chance of the truth")
        axes.set(xlabel="objects, sorted by the chance of their truth", ylabel="chance", ylim=(0, 1.02), title=title)


def _draw_weights(axes: Any, weights: Floats) -> None:
    share = weights / (weights.mean() or 1.0)
    effective = share.sum() ** 2 / ((share**2).sum() or 1.0)
    bins = np.linspace(0, min(6, max(2, share.max() * 1.05)), 31)
    axes.hist(np.clip(share, 0, 6), bins=bins, color=GREEN, alpha=0.85)
    axes.axvline(1, color=GREY, lw=1, ls=":")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="weight of a user (1 = average)", ylabel="users",
             title=f"{counted(len(share), 'user')}, {effective:,.0f} effective")  # fmt: skip


def shortened(labels: Sequence[str], longest: int = _LONGEST_LABEL) -> list[str]:
    """Labels that are short enough for an axis but still differ from each other.

    >>> shortened(["hall", "a very long name of hall 1", "a very long name of hall 2"], 12)
    ['hall', 'a ver…hall 1', 'a ver…hall 2']
    """
    short = [label if len(label) <= longest else f"{label[: longest - 1]}…" for label in labels]
    if len(set(short)) == len(set(labels)):
        return short
    half = longest // 2
    short = [label if len(label) <= longest else f"{label[: longest - half - 1]}…{label[-half:]}" for label in labels]
    if len(set(short)) == len(set(labels)):
        return short
    return [label if len(label) <= longest else f"{label[: longest - 8]}… ({place})" for place, label in
            enumerate(labels, start=1)]  # fmt: skip


def html_table(estimates: Estimates, rows: int = _ROWS_SHOWN) -> str:
    """The first truths as an HTML table."""
    fit = estimates.fit
    columns = [one for one in for_people(columns_in(Place.FRAME, estimates.schema)) if not one.is_nested]
    entries = {column.name: column.values(estimates) for column in columns}
    order = natural_order(fit.objects_)
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in ("object", *(one.title for one in columns)))
    lines = []
    for place in order[:rows].tolist():
        cells = [str(fit.objects_[place]), *(_cell(entries[column.name][place]) for column in columns)]
        lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    more = len(order) - rows
    below = f"<p>… and {more:,} more</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{below}"


def _cell(entry: Any) -> str:
    return f"{entry:.5g}" if isinstance(entry, float | np.floating) else str(entry)


def notebook_html(fit: "TruthDiscovery") -> str:
    """A fit as a notebook shows it: whether it converged, how many iterations it took, and the first truths."""
    state = "converged" if fit.converged_ else "not converged"
    numbers = {"claim": int(fit.claims_.sum()), "user": len(fit.users_), "object": len(fit.objects_)}
    counts = ", ".join(counted(number, thing) for thing, number in numbers.items())
    heading = f"<p><code>{escape(repr(fit))}</code>: {counts}; {counted(fit.n_iter_, 'iteration')}, {state}</p>"
    return heading + html_table(Estimates(fit))
