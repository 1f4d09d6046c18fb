"""Charts made on the server: SVG that needs no script, stretches to its page, prints, and works with screen readers.

Horizontal positions are in per cent of the width, vertical ones in pixels, so a chart fills any screen while its text
keeps its size. The stylesheet results.css sets the colours, because pages allow no style attributes.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from markupsafe import Markup

from sottovoce.server.console.speaking import say, written

Row = Mapping[str, Any]  # a task as in the results; `others` may hold the estimates of other methods

_MIDDLE, _LINE = 15, 13  # pixels from the top of a row to its first interval, and from one interval to the next
_MARGIN = 0.04  # of the range, left free on both sides
_SMALL = 0.08  # of the range of the truths: intervals narrower than this would be hidden by their own dots
_BARS = 120  # pixels

# Numbers of shapes and colours without a common factor, so that few methods look alike.
_SHAPES = (
    '<circle r="4.5"/>',
    '<path d="M-4.5-4.5h9v9h-9z"/>',
    '<path d="M0-6 6 0 0 6-6 0z"/>',
    '<path d="M0-6 5.5 4h-11z"/>',
    '<path d="M0 6-5.5-4h11z"/>',
    '<path d="M-6-2h4v-4h4v4h4v4h-4v4h-4v-4h-4z"/>',
    '<path d="M-6 0l3-5h6l3 5-3 5h-6z"/>',
)
_COLOURS = 5
_MEAN = Markup('<path class="mean" d="M0-8V8"/>')
_MEDIAN = Markup('<path class="median" d="M-4-8h8L0-3z"/>')


def measured(number: float | None, row: Row | None = None) -> str:
    """A number rounded so that its last two digits lie within the uncertainty of its row.

    >>> measured(41.66317, {"low": 41.2, "high": 42.1}), measured(-0.5), measured(None)
    ('41.66', '−0.5000', '–')
    """
    if number is None or not math.isfinite(number):
        return "–"
    low, high = (row.get("low"), row.get("high")) if row else (None, None)
    half = (high - low) / 2 if low is not None and high is not None else 0.0
    if not (0 < half < math.inf):
        half = abs(number) / 100 or 1.0
    decimals = max(0, min(12, 1 - math.floor(math.log10(half))))
    return written(f"{number:.{decimals}f}" if abs(number) < 1e15 else f"{number:.6g}")


def forest_plot(rows: Iterable[Row], *, methods: Sequence[str] = (), level: float = 0.95) -> Markup:
    """Truths with their intervals, one below the other, with the plain mean and median as faint marks.

    A list with a strip of SVG in each row: names wrap, rows stay together in print, and each has a text description.
    Tasks in different units get separate scales. Where truths are too far apart for intervals to be
    visible, each task is drawn around its own truth. Tasks without a truth are left to the table.
    """
    units: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("truth") is not None and "chances" not in row:
            units.setdefault(row.get("unit") or "", []).append(row)
    if not units:
        return Markup("")
    plots = Markup("").join(_forest(members, unit) for unit, members in units.items())
    legend = _legend(methods or (say("results.legend.truth"),), level)
    return Markup('<figure class="chart">{}{}</figure>').format(legend, plots)


def answer_bars(rows: Iterable[Row]) -> Markup:
    """For each question, one bar per answer, as long as its chance; the most frequent answer is marked.

    Questions without a truth are left to the table.
    """
    questions = [row for row in rows if row.get("chances")]
    if not questions:
        return Markup("")
    listed = Markup("").join(
        Markup('<li><h3>{}</h3><ul class="answers">{}</ul></li>').format(
            str(row.get("title") or row["task"]), Markup("").join(_answer(row, answer) for answer in row["chances"])
        )
        for row in questions
    )
    note = Markup('<figcaption class="quiet">{}</figcaption>').format(say("results.bars"))
    return Markup('<figure class="chart">{}<ol class="questions">{}</ol></figure>').format(note, listed)


def _answer(row: Row, answer: str) -> Markup:
    chance, is_truth, is_majority = row["chances"][answer], answer == row["truth"], answer == row.get("majority")
    described = say("results.bar", answer=answer, chance=percent(chance))
    description = say("results.barOfMost", bar=described) if is_majority else described
    return Markup(
        '<li class="{state}"><span>{answer}{mark}</span>'
        '<svg role="img" width="100%" height="18"><title>{description}</title>'
        '<rect class="whole" width="100%" height="18" rx="3"/><rect width="{width}" height="18" rx="3"/></svg>'
        '<span class="figures">{chance}</span></li>'
    ).format(
        state="truth" if is_truth else "other",
        answer=answer,
        mark=Markup(' <b class="majority" aria-hidden="true">▾</b>') if is_majority else "",
        description=description,
        width=_percent(100 * chance),
        chance=percent(chance),
    )


def percent(chance: float | None) -> str:
    """A chance for people; never 0% or 100%.

    >>> percent(0.934), percent(0.9999), percent(0.0001), percent(None)
    ('93%', 'over 99%', 'below 1%', '–')
    """
    if chance is None:
        return "–"
    if chance > 0.995:
        return say("results.percent.over", percent=99)
    return say("results.percent.below", percent=1) if chance < 0.005 else say("percent", percent=f"{100 * chance:.0f}")


def weights_chart(histogram: Mapping[str, Sequence[Any]], description: str | None = None) -> Markup:
    """How many participants have which weight, relative to the mean weight; the last bar is open to the right.

    ``description`` is for screen readers; the default is about participants, in the language of the page. Its
    placeholders ``count``, ``total`` and ``range`` are those of the largest group.
    """
    edges, counts = histogram["edges"], histogram["counts"]
    total, most, width = sum(counts), max(counts, default=0) or 1, 100 / max(len(counts), 1)
    bars = Markup("")
    for place, count in enumerate(counts):
        height = max(2.0, round(_BARS * count / most, 1)) if count else 0.0  # one among thousands is still visible
        inside = {"x": _percent(place * width + 0.6), "middle": _percent((place + 0.5) * width)}
        bars += Markup(
            '<g><title>{description}</title><rect x="{x}" y="{y}" width="{w}" height="{height}" rx="2"/>'
            '<text x="{middle}" y="{above}">{count}</text></g>'
        ).format(
            description=say("results.weights.bar", range=weight_range(edges, place), count=count, total=total),
            y=20 + _BARS - height,
            w=_percent(width - 1.2),
            height=height,
            above=14 + _BARS - height,
            count=written(f"{count}") if count else "",
            **inside,
        )
        if place:
            bars += Markup('<text class="tick" x="{}" y="{}">{}</text>').format(
                _percent(place * width), _BARS + 36, written(f"{edges[place]:g}")
            )
    typical = max(range(len(counts)), key=lambda place: counts[place]) if total else 0
    largest = counts[typical] if total else 0
    described: dict[str, Any] = {"count": largest, "total": total, "range": weight_range(edges, typical)}
    description = description.format(**described) if description else say("results.weights.description", **described)
    return Markup(
        '<figure class="chart"><svg class="bars" role="img" width="100%" height="{height}">'
        "<title>{title}</title><desc>{description}</desc>"
        '<line class="axis" x2="100%" y1="{base}" y2="{base}"/>{bars}</svg></figure>'
    ).format(height=_BARS + 46, title=say("results.weights.title"), description=description, base=_BARS + 20, bars=bars)


def weight_range(edges: Sequence[float | None], place: int) -> str:
    """A bar of the histogram in words.

    >>> weight_range([0, 0.5, 1, None], 1), weight_range([0, 0.5, 1, None], 2)
    ('0.5 to 1 times', 'over 1 times')
    """
    low, high = edges[place], edges[place + 1]
    if high is None:
        return say("results.weights.over", low=written(f"{low:g}"))
    return say("results.weights.range", low=written(f"{low:g}"), high=written(f"{high:g}"))


@dataclass(frozen=True)
class _Scale:
    """Maps numbers to per cent of the width."""

    low: float
    high: float

    @classmethod
    def around(cls, rows: Sequence[Row]) -> "_Scale":
        """A scale with every truth and interval. A far-off mean may at most double it, so that they stay readable."""
        inside = [entry[end] for row in rows for entry in _estimates(row) for end in ("truth", "low", "high")]
        known = [number for number in inside if number is not None and math.isfinite(number)]
        low, high = min(known), max(known)
        reach = (high - low) / 2
        beside = [row[name] for row in rows for name in ("mean", "median") if row.get(name) is not None]
        low = max(low - reach, min([low, *beside]))
        high = min(high + reach, max([high, *beside]))
        margin = _MARGIN * (high - low) or abs(low) * _MARGIN or 1.0
        return cls(low - margin, high + margin)

    def __call__(self, number: float) -> str:
        share = (number - self.low) / (self.high - self.low)
        return _percent(100 * min(max(share, 0.0), 1.0))

    def holds(self, number: float) -> bool:
        return self.low <= number <= self.high

    def ticks(self) -> list[float]:
        """Round numbers within the scale, few enough for a phone."""
        raw = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [number * step for number in range(first, last + 1)]


def _percent(share: float) -> str:
    return f"{share:.2f}%"


def _estimates(row: Row) -> list[Row]:
    return [row, *row.get("others", ())]


def _far_apart(rows: Sequence[Row]) -> bool:
    truths = [row["truth"] for row in rows]
    widths = [row["high"] - row["low"] for row in rows if row["low"] is not None and row["high"] is not None]
    return bool(widths) and median(widths) < _SMALL * (max(truths) - min(truths))


def _moved(row: Row, by: float) -> dict[str, Any]:
    """The figures of a row that are drawn, shifted."""
    names = ("truth", "low", "high", "mean", "median")
    placed: dict[str, Any] = {name: None if row.get(name) is None else row[name] + by for name in names}
    return placed | {"others": [_moved(other, by) for other in row.get("others", ())]}


def _forest(rows: Sequence[Row], unit: str) -> Markup:
    apart = _far_apart(rows)
    drawn = [_moved(row, -row["truth"] if apart else 0.0) for row in rows]
    scale = _Scale.around(drawn)
    ticks = scale.ticks()
    grid = Markup("").join(
        Markup('<line class="grid" x1="{x}" x2="{x}" y2="100%"/>').format(x=scale(at)) for at in ticks
    )
    lines = Markup("").join(
        Markup(
            '<li><span>{label}</span><svg role="img" width="100%" height="{height}"><title>{description}</title>'
            '{grid}{marks}</svg><span class="figures"><b>{truth}</b> <span>n {claims}</span></span></li>'
        ).format(
            label=str(row.get("title") or row["task"]),
            height=2 * _MIDDLE + _LINE * len(placed["others"]),
            description=_in_words(row, unit),
            grid=grid,
            marks=_marks(placed, scale),
            truth=f"{measured(row['truth'], row)} {unit}".rstrip(),
            claims=written(str(row["claims"])),
        )
        for row, placed in zip(rows, drawn, strict=True)
    )
    note = Markup('<p class="quiet">{}</p>').format(say("results.apart")) if apart else Markup("")
    return Markup('{}<ol class="forest">{}</ol>{}').format(note, lines, _axis(scale, ticks, unit, signed=apart))


def _marks(row: Row, scale: _Scale) -> Markup:
    marks = Markup("")
    for name, shape in (("mean", _MEAN), ("median", _MEDIAN)):
        if row[name] is None:
            continue
        if scale.holds(row[name]):
            marks += _at(scale(row[name]), _MIDDLE, shape)
        else:  # off the scale: an arrow shows the direction
            at, arrow = ("0%", "‹") if row[name] < scale.low else ("100%", "›")
            marks += Markup('<text class="beyond" x="{}" y="{}">{}</text>').format(at, _MIDDLE + 5, arrow)
    for number, estimate in enumerate(_estimates(row)):
        marks += _interval(estimate, _MIDDLE + number * _LINE, number, scale)
    return marks


def _interval(estimate: Row, y: int, number: int, scale: _Scale) -> Markup:
    if estimate["truth"] is None:
        return Markup("")
    low, high = estimate["low"], estimate["high"]
    if low is None or high is None:
        line = Markup('<line class="interval endless" x2="100%" y1="{y}" y2="{y}"/>').format(y=y)
    else:
        line = Markup(
            '<line class="interval" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
            '<line class="interval" x1="{low}" x2="{low}" y1="{up}" y2="{down}"/>'
            '<line class="interval" x1="{high}" x2="{high}" y1="{up}" y2="{down}"/>'
        ).format(low=scale(low), high=scale(high), y=y, up=y - 4, down=y + 4)
    point = _at(scale(estimate["truth"]), y, _shape(number))
    return Markup('<g class="found-{}">{}{}</g>').format(number % _COLOURS, line, point)


def _shape(number: int) -> Markup:
    return Markup(_SHAPES[number % len(_SHAPES)])


def _at(x: str, y: int, shape: Markup) -> Markup:
    return Markup('<svg x="{}" y="{}" overflow="visible">{}</svg>').format(x, y, shape)


def _axis(scale: _Scale, ticks: Sequence[float], unit: str, signed: bool) -> Markup:
    step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(ticks[0]) or 1.0
    decimals = next((n for n in range(12) if math.isclose(step * 10**n, round(step * 10**n), rel_tol=1e-6)), 12)
    drawn = Markup("")
    for at in ticks:
        text = written(f"{at:.{decimals}f}" if abs(at) < 1e9 else f"{at:.4g}")
        text = ("+" if signed and at > step / 2 else "") + text
        drawn += Markup('<text x="{}" y="14">{}</text>').format(
            scale(at), f"{text} {unit}" if unit and at == ticks[-1] else text
        )
    return Markup('<div class="forest-axis" aria-hidden="true"><svg width="100%" height="20">{}</svg></div>').format(
        drawn
    )


def _legend(methods: Sequence[str], level: float) -> Markup:
    found = Markup('<g class="found-{}"><path class="interval" d="M-14 0H14"/>{}</g>')
    keys = [
        Markup('<svg class="key" viewBox="-15 -9 30 18" width="30" height="18" aria-hidden="true">{}</svg>{}').format(
            found.format(number % _COLOURS, _shape(number)), name
        )
        for number, name in enumerate(methods)
    ]  # fmt: skip
    if len(keys) == 1:
        keys[0] += say("results.legend.interval", percent=written(f"{level * 100:g}"))
    else:
        keys.append(Markup("{}").format(say("results.legend.lines", percent=written(f"{level * 100:g}"))))
    beside = Markup('<svg class="key" viewBox="{}" width="12" height="18" aria-hidden="true">{}</svg>{}')
    keys += [
        beside.format("-6 -9 12 18", _MEAN, say("results.legend.mean")),
        beside.format("-6 -14 12 18", _MEDIAN, say("results.legend.median")),
    ]
    listed = Markup("").join(Markup("<li>{}</li>").format(key) for key in [*keys, say("results.legend.claims")])
    return Markup('<figcaption><ul class="legend">{}</ul></figcaption>').format(listed)


def _in_words(row: Row, unit: str) -> str:
    """A row of the plot in words."""
    text = f"{measured(row['truth'], row)} {unit}".rstrip()
    if row["low"] is not None and row["high"] is not None:
        text += f" ({say('results.between', low=measured(row['low'], row), high=measured(row['high'], row))})"
    names = {"mean": say("results.column.mean"), "median": say("results.column.median")}
    beside = [f"{name} {measured(row[key], row)}" for key, name in names.items() if row.get(key) is not None]
    return ", ".join([text, *beside])
