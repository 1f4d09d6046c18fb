"""Results on the plan of the place: tasks coloured by their truth, and by how certain it is.

The picture is an image; the marks lie over it in an SVG of 10,000 by 10,000 units that stretches with it. Lines keep
their width, and a point is drawn as a line of length zero, so the size of the picture need not be known. No script is
needed, and the table of results has the same figures for people who cannot see the plan. The stylesheet plan.css sets
the colours.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from sottovoce.protocol.format_2 import WIDTH_OF_PLAN
from sottovoce.server.console.charts import measured, percent
from sottovoce.server.results import kind_of
from sottovoce.texts import Texts, texts_in

Row = Mapping[str, Any]

_MOST_MAPS = 6  # per page; the stylesheet has rules for this many
_MOST_MARKS = 2_000  # per map
_SHADES = 7
_LONGEST = 40  # characters of answers in a title
_ANSWERS = 7  # with a colour of their own
_ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class _Map:
    """One picture of the plan: a colour for each task, and what the colours mean."""

    title: str
    note: str
    colours: dict[str, str]  # classes of the stylesheet, by task
    legend: list[tuple[str, str]]  # class and words


def plan_maps(results: Mapping[str, Any], manifest: Mapping[str, Any], language: str = "en") -> Markup:
    """The results on the plan; nothing if the campaign has no plan, or no task on it has a truth."""
    texts = texts_in(language)
    places = {task["id"]: task["place"] for task in manifest["tasks"] if task.get("place")}
    rows = [row for row in results["results"] if row["task"] in places]
    if not manifest.get("plan") or not any(row["truth"] is not None for row in rows):
        return Markup("")
    shown = rows[:_MOST_MARKS]
    groups = list(_groups(shown))
    unknown = [row for row in shown if row["truth"] is None]
    maps = [(one, [*unknown, *group]) for group in groups for one in _maps(group, texts, apart=len(groups) > 1)][
        :_MOST_MAPS
    ]
    picture = f"/api/campaigns/{results['campaign']}/plan"
    switches = Markup("").join(
        Markup('<input type="radio" name="map" id="map-{n}"{checked}><label for="map-{n}">{title}</label>').format(
            n=number, checked=Markup(" checked") if not number else "", title=one.title
        )
        for number, (one, _) in enumerate(maps)
    )
    left_out = len(rows) - len(shown)
    return Markup('<section class="on-plan"><h2>{}</h2><div class="maps">{}{}</div>{}</section>').format(
        texts.say("results.plan.title"),
        switches,
        Markup("").join(_figure(one, on_it, places, picture, texts) for one, on_it in maps),
        Markup("<p class=quiet>{}</p>").format(texts.say("results.plan.leftOut", count=left_out)) if left_out else "",
    )


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows with a truth, grouped by scale: numbers of one unit, or questions with the same answers."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row["truth"] is not None:
            kind = kind_of(dict(row))
            groups.setdefault((kind, *(row["chances"] if kind == "choice" else (row.get("unit") or "",))), []).append(
                row
            )
    yield from groups.values()


def _maps(rows: Sequence[Row], texts: Texts, *, apart: bool) -> Iterator[_Map]:
    """Two maps of rows that share a scale; if there are other scales, the titles say which rows these are."""
    if kind_of(dict(rows[0])) == "choice":
        answers = " / ".join(rows[0]["chances"])
        which = f": {answers if len(answers) <= _LONGEST else answers[:_LONGEST] + '…'}" if apart else ""
        yield _answers(rows, which, texts)
        yield _scale(
            texts.say("results.plan.chance") + which, texts.say("results.plan.chanceNote"), "sure",
            {row["task"]: row["chance"] for row in rows if row["chance"] is not None}, percent_edges, texts,
        )  # fmt: skip
        return
    unit = rows[0].get("unit") or ""
    yield _scale(
        texts.say("results.plan.truth", unit=unit) if unit else texts.say("results.plan.truthPlain"),
        texts.say("results.plan.truthNote"), "truth",
        {row["task"]: row["truth"] for row in rows}, nice_edges, texts, unit,
    )  # fmt: skip
    widths = {
        row["task"]: (row["high"] - row["low"]) / 2
        for row in rows
        if row["low"] is not None and row["high"] is not None and math.isfinite(row["high"] - row["low"])
    }
    yield _scale(
        texts.say("results.plan.sure") + (f" ({unit})" if apart and unit else ""),
        texts.say("results.plan.sureNote"), "sure",
        widths, nice_edges, texts, unit, turned=True, before="± ",
    )  # fmt: skip


def _answers(rows: Sequence[Row], which: str, texts: Texts) -> _Map:
    """A colour for each answer that is the truth somewhere, the most frequent first."""
    truths = [row["truth"] for row in rows]
    ranked = sorted(set(truths), key=lambda answer: (-truths.count(answer), list(rows[0]["chances"]).index(answer)))
    colour = {answer: f"answer-{min(place, _ANSWERS)}" for place, answer in enumerate(ranked)}
    legend = [(colour[answer], answer) for answer in ranked[:_ANSWERS]]
    if len(ranked) > _ANSWERS:
        legend.append((f"answer-{_ANSWERS}", texts.say("results.plan.others")))
    return _Map(
        texts.say("results.plan.answer") + which, texts.say("results.plan.answerNote"),
        {row["task"]: colour[row["truth"]] for row in rows}, legend,
    )  # fmt: skip


def _scale(
    title: str, note: str, name: str, figures: Mapping[str, float], edges_of: Any, texts: Texts, unit: str = "",
    *, turned: bool = False, before: str = "",
) -> _Map:  # fmt: skip
    """Figures in shades, from the lowest to the highest; turned if low figures are to be the darkest."""
    if not figures:
        return _Map(title, note, {}, [])
    edges = edges_of(list(figures.values()))
    steps = len(edges) - 1

    def shade(place: int) -> str:
        share = place / (steps - 1) if steps > 1 else 0.5
        return f"{name}-{round((1 - share if turned else share) * (_SHADES - 1))}"

    def words(place: int) -> str:
        low, high = (_edge_text(edge, edges, texts) for edge in edges[place : place + 2])
        if edges_of is percent_edges:
            low, high = (texts.say("percent", percent=f"{100 * edge:.0f}") for edge in edges[place : place + 2])
        return f"{before}{texts.say('results.plan.range', low=low, high=high)}" + (f" {unit}" if unit else "")

    placed = {
        task: shade(min(max(sum(figure >= edge for edge in edges) - 1, 0), steps - 1))
        for task, figure in figures.items()
    }
    return _Map(title, note, placed, [(shade(place), words(place)) for place in range(steps)])


def nice_edges(figures: Sequence[float]) -> list[float]:
    """Round edges of at most seven steps that cover all figures.

    >>> nice_edges([3.7, 4.1, 9.9]), nice_edges([5.0]), nice_edges([0, 0.001])
    ([3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], [4.95, 5.05], [0.0, 0.0002, 0.0004, 0.0006, 0.0008, 0.001])
    """
    low, high = min(figures), max(figures)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        margin = abs(low) / 100 or 1.0
        return [low - margin, high + margin]
    tenth = 10.0 ** math.floor(math.log10((high - low) / _SHADES))
    for step in (nice * power for power in (tenth, 10 * tenth) for nice in _ROUND_STEPS):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= _SHADES:
            break
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def percent_edges(chances: Sequence[float]) -> list[float]:
    """The edges of steps of a tenth, upwards from the lowest chance; at most seven steps."""
    first = min(math.floor(10 * min(chances) + 1e-9), 9)
    return [place / 10 for place in range(max(first, 10 - _SHADES), 11)]


def _edge_text(edge: float, edges: Sequence[float], texts: Texts) -> str:
    step = edges[1] - edges[0]
    decimals = max(0, min(12, -math.floor(math.log10(step) + 1e-9)))
    while decimals < 12 and abs(round(step, decimals) - step) > 1e-9 * step:
        decimals += 1
    return texts.decimal(f"{edge:.{decimals}f}")


def _figure(
    one: _Map, rows: Sequence[Row], places: Mapping[str, Any], picture: str, texts: Texts
) -> Markup:  # fmt: skip
    unknown = [row for row in rows if row["task"] not in one.colours]
    legend = [*one.legend, *([("unknown", texts.say("results.plan.unknown"))] if unknown else [])]
    listed = Markup("").join(
        Markup(
            '<li><svg class="swatch" width="30" height="16" aria-hidden="true">'
            '<path class="mark-edge" d="M8 8h14"/><path class="mark {}" d="M8 8h14"/></svg>{}</li>'
        ).format(name, words)
        for name, words in legend
    )
    marks = Markup("").join(
        Markup('<path class="mark-edge" d="{0}"/><path class="mark {1}" d="{0}"><title>{2}</title></path>').format(
            mark_path(places[row["task"]]), one.colours.get(row["task"], "unknown"), _words(row, texts)
        )
        for row in [*unknown, *(row for row in rows if row["task"] in one.colours)]
    )
    return Markup(
        '<figure class="map"><figcaption><h3>{title}</h3><p class="quiet">{note}</p><ul class="legend">{legend}</ul>'
        '</figcaption><div class="plan-picture"><img src="{picture}" alt="">'
        '<svg viewBox="0 0 {width} {width}" preserveAspectRatio="none" role="img" aria-label="{label}">{marks}</svg>'
        "</div></figure>"
    ).format(
        title=one.title, note=one.note, legend=listed, picture=picture, width=WIDTH_OF_PLAN, marks=marks,
        label=texts.say("results.plan.described", title=one.title),
    )  # fmt: skip


def mark_path(place: Sequence[Sequence[int]]) -> str:
    """A place as a path; a point becomes a line of length zero.

    >>> mark_path([[1, 2]]), mark_path([[1, 2], [3, 4]])
    ('M1 2L1 2', 'M1 2L3 4')
    """
    points = [f"{x} {y}" for x, y in place]
    return "M" + "L".join(points if len(points) > 1 else points * 2)


def _words(row: Row, texts: Texts) -> str:
    name = row.get("title") or row["task"]
    if row["truth"] is None:
        return f"{name}: {texts.say('results.plan.unknown')}"
    if kind_of(dict(row)) == "choice":
        return f"{name}: {row['truth']}, {percent(row['chance'])}"
    unit = f" {row['unit']}" if row.get("unit") else ""
    between = (
        f" ({measured(row['low'], row)} – {measured(row['high'], row)})"
        if row["low"] is not None and row["high"] is not None
        else ""
    )
    return f"{name}: {measured(row['truth'], row)}{unit}{between}"
