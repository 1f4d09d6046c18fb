"""How a campaign of comparisons closed in on the truths: the published steps as a picture, a strip per task."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from sqlalchemy import Connection

from sottovoce.server.console.charts import measured
from sottovoce.server.console.speaking import say, written
from sottovoce.server.console.stored import parsed
from sottovoce.server.storage.results import contents_up_to
from sottovoce.server.storage.rows import CampaignRow

_MOST_STEPS = 30
_MOST_TASKS = 12  # on a page
_HEIGHT = 84  # pixels
_THINNEST = 2.0  # pixels: a narrow interval is still visible


@dataclass(frozen=True)
class PublishedStep:
    """The result published for a task when it had this many answers."""

    claims: int
    truth: float
    low: float
    high: float


Steps = dict[str, list[PublishedStep]]  # by task


def published_steps(
    connection: Connection, campaign: CampaignRow, version: int, rows: Sequence[Mapping[str, Any]]
) -> Steps:
    """The steps up to a version of the results, by task, for the first compared tasks among these rows."""
    manifest = parsed(campaign.manifest)
    if "levels" not in manifest:
        return {}
    wanted = {row["task"] for row in rows if row["truth"] is not None and "chances" not in row}
    kept = [row["task"] for row in rows if row["task"] in wanted][:_MOST_TASKS]
    steps: dict[str, dict[int, PublishedStep]] = {task: {} for task in kept}
    for content in contents_up_to(connection, campaign.key, version, _MOST_STEPS):
        for row in json.loads(content)["results"]:
            if row["task"] in steps and row["truth"] is not None and row["low"] is not None:
                steps[row["task"]][row["claims"]] = PublishedStep(row["claims"], row["truth"], row["low"], row["high"])
    return {task: sorted(by_claims.values(), key=lambda step: step.claims) for task, by_claims in steps.items()}


def closing_chart(
    steps: Mapping[str, Sequence[PublishedStep]],
    rows: Sequence[Mapping[str, Any]],
    manifest: Mapping[str, Any],
    level: float,
) -> Markup:
    """A strip per task: how the interval narrows within the task's range, from the first answers to the last."""
    ranges = {task["id"]: (float(task["low"]), float(task["high"])) for task in manifest["tasks"] if "low" in task}
    drawn = [row for row in rows if steps.get(row["task"]) and row["task"] in ranges]
    if not drawn:
        return Markup("")
    strips = Markup("").join(_strip(row, steps[row["task"]], *ranges[row["task"]]) for row in drawn)
    return Markup(
        '<section class="closing-in"><h2>{title}</h2><figure class="chart">'
        '<figcaption class="quiet">{note}</figcaption><ol class="forest">{strips}</ol></figure></section>'
    ).format(
        title=say("results.closing.title"),
        note=say("results.closing.note", percent=written(f"{level * 100:g}")),
        strips=strips,
    )


def _strip(row: Mapping[str, Any], steps: Sequence[PublishedStep], low: float, high: float) -> Markup:
    most = steps[-1].claims
    ends = [*(step.claims for step in steps[1:]), most * 1.02]

    def across(claims: float) -> str:
        return f"{100 * claims / (most * 1.02):.2f}%"

    def down(number: float) -> float:
        return round(_HEIGHT * (high - min(max(number, low), high)) / (high - low), 1)

    bands = Markup('<rect class="whole" width="100%" height="{}"/>').format(_HEIGHT)
    for step, end in zip(steps, ends, strict=True):
        top, bottom = down(step.high), down(step.low)
        thickness = max(bottom - top, _THINNEST)
        place = {"x": across(step.claims), "width": across(end - step.claims)}
        bands += Markup(
            '<rect class="band" x="{x}" width="{width}" y="{y}" height="{height}"/>'
            '<line class="estimate" x1="{x}" x2="{end}" y1="{at}" y2="{at}"/>'
        ).format(y=top, height=round(thickness, 1), end=across(end), at=down(step.truth), **place)
    unit = row.get("unit") or ""
    first, last = steps[0], steps[-1]
    described = say(
        "results.closing.described", first=first.claims, last=last.claims, early=_between(first, unit),
        late=_between(last, unit),
    )  # fmt: skip
    return Markup(
        "<li><span>{label}<small>{range}</small></span>"
        '<svg class="closing" role="img" width="100%" height="{height}"><title>{described}</title>{bands}</svg>'
        '<span class="figures"><b>{truth}</b> <span>n {claims}</span></span></li>'
    ).format(
        label=str(row.get("title") or row["task"]),
        range=f"{say('results.between', low=written(f'{low:g}'), high=written(f'{high:g}'))} {unit}".rstrip(),
        height=_HEIGHT,
        described=described,
        bands=bands,
        truth=f"{measured(last.truth, {'low': last.low, 'high': last.high})} {unit}".rstrip(),
        claims=written(str(last.claims)),
    )


def _between(step: PublishedStep, unit: str) -> str:
    row = {"low": step.low, "high": step.high}
    return f"{say('results.between', low=measured(step.low, row), high=measured(step.high, row))} {unit}".rstrip()
