"""How figures look: the colours of Okabe and Ito, and a different marker and line style for every line.

So figures can be read by colour-blind readers and in greyscale print. They are drawn on Figure objects, without global
state.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sottovoce.claims.writing import whole_file, write_table
from sottovoce.discovery import METHODS
from sottovoce.errors import MissingExtra
from sottovoce.lab.reproduce.tables import Table, column, headings
from sottovoce.privacy.laws import noise_laws

if TYPE_CHECKING:
    from sottovoce.lab.reproduce.experiment import Experiment

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE, GREY = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#7A7A7A",
)  # fmt: skip


@dataclass(frozen=True)
class LineStyle:
    """How one line looks."""

    colour: str
    marker: str
    dashes: Any = "-"

    @property
    def options(self) -> dict[str, Any]:
        return {"color": self.colour, "marker": self.marker, "ls": self.dashes, "ms": 4, "lw": 1.3}


_STYLES = (
    LineStyle(BLUE, "o"),
    LineStyle(VERMILION, "s", (0, (5, 1.5))),
    LineStyle(GREEN, "^", (0, (3, 1, 1, 1))),
    LineStyle(PURPLE, "D", (0, (1, 1))),
    LineStyle(YELLOW, "P", (0, (2, 2))),
    LineStyle(ORANGE, "v", (0, (6, 1, 1, 1, 1, 1))),
    LineStyle(SKY, "X", (0, (4, 2))),
)
LINES = (*_STYLES[:4], _STYLES[5])  # for figures that are not about methods


def law_styles() -> dict[str, LineStyle]:
    """How the lines of noise laws look, in the order of their registry."""
    return dict(zip(noise_laws(), cycle((LINES[1], LINES[0], *LINES[2:])), strict=False))


ORACLE = LineStyle(BLACK, "", (0, (1, 1.2)))
_MORE_COLOURS = (GREY, BLACK)
_MORE_MARKERS = ("h", "<", ">", "p", "*")


def style_of(method: str) -> LineStyle:
    """How a method is drawn, by its place among those that are registered."""
    place = [*METHODS].index(method)
    if place < len(_STYLES):
        return _STYLES[place]
    more = place - len(_STYLES)
    return LineStyle(
        _MORE_COLOURS[more % len(_MORE_COLOURS)], _MORE_MARKERS[more % len(_MORE_MARKERS)], (0, (3 + more, 1))
    )


def label_of(method: str) -> str:
    """What a method is called in a legend."""
    return METHODS[method].title


_STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.22,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "sottovoce",  # the same figure, the same file
    "svg.fonttype": "path",
}

_NOTE_WIDTH = 116  # characters


def require_matplotlib() -> None:
    """Say at once what is missing, not after minutes of work."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtra("figures need matplotlib; install it with pip install 'sottovoce[plot]'") from error


def draw_files(experiment: "Experiment", table: Table, out: Path) -> None:
    """Write the table as CSV and the figure as PNG and SVG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    whole = [dict.fromkeys(headings(table)) | row for row in table]
    write_table(pa.Table.from_pylist(whole), out / f"{experiment.name}.csv")
    with rc_context(_STYLE):
        figure = Figure(figsize=experiment.size, layout="constrained")
        experiment.draw(figure, table)
        figure.supxlabel(_balanced(experiment.note(table)), fontsize=7.5, color="#444444")
        for suffix, options in (("png", {"dpi": 180}), ("svg", {"metadata": {"Date": None}})):
            with whole_file(out / f"{experiment.name}.{suffix}") as temporary:
                figure.savefig(temporary, **options)
            figure.set_layout_engine("none")  # everything has its place now


def _balanced(note: str) -> str:
    """The note in as few lines as possible, all of about the same length."""
    note = note.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    lines = math.ceil(len(note) / _NOTE_WIDTH)
    return fill(note, math.ceil(len(note) / lines) + 8)


def plot_line(
    axes: Any, table: Table, x: str, y: str, style: LineStyle, label: str | None = None, shade: float = 0.18
) -> None:
    """A line with the band of its 95% intervals."""
    places = column(table, x)
    axes.plot(places, column(table, y), label=label, **style.options)
    axes.fill_between(
        places, column(table, f"{y}_low"), column(table, f"{y}_high"), color=style.colour, alpha=shade, lw=0
    )


def legend_above(figure: Any, axes: Any, columns: int) -> None:
    """One legend for all panels, above them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, handlelength=2.8, columnspacing=1.4)


def panel_title(axes: Any, number: int, text: str) -> None:
    """A title that says what is seen, with the panel's letter."""
    axes.set_title(f"({'abcdefghijkl'[number]}) {text}", loc="left")


def ticks(axes: Any, places: Sequence[float], which: str = "x") -> None:
    """Plain numbers at these places of a logarithmic axis."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks(list(places), [f"{place:g}" for place in places])
    axis.set_minor_locator(_no_ticks())


def spread_ticks(axes: Any, usual: Sequence[float], values: Sequence[float]) -> None:
    """The usual places of a logarithmic axis, or, where its values lie beyond them, about five of the values."""
    low, high = min(values), max(values)
    if low < usual[0] or high > usual[-1]:
        usual = sorted(set(values))[:: math.ceil(len(set(values)) / 5)]
    ticks(axes, [place for place in usual if low <= place <= high])


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()
