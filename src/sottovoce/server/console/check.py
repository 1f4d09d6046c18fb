"""The last step of the wizard: what the crowd will find, what to reconsider, and what participants will see."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from sottovoce.digits import counted
from sottovoce.errors import BadParameter
from sottovoce.planning.choice_errors import predicted_wrong
from sottovoce.planning.comparisons import plan_comparisons
from sottovoce.planning.information import predicted_error
from sottovoce.privacy.laws import parse_answer_law, parse_noise_law
from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.manifest import Manifest, NumberTask, Task
from sottovoce.server import campaigns as actions
from sottovoce.server.campaigns import CampaignChange
from sottovoce.server.console.instruments import sensor_warning
from sottovoce.server.console.pages import PageRoute, figure, render
from sottovoce.server.console.planner import MOST_PARTICIPANTS, PARTICIPANTS, typed_count
from sottovoce.server.console.session import Form, Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.results import guarantee_of
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import draft_of
from sottovoce.server.storage.rows import CampaignRow
from sottovoce.texts import LANGUAGES, texts_in

router = APIRouter(prefix="/campaigns/{campaign}", route_class=PageRoute, include_in_schema=False)
_SHOWN = 10  # tasks and expectations
_ERRORS_PER_RANGE = 50  # without a distance, the error of readings is assumed to be the range divided by this
_HOUR = 3_600_000
# The preview is the participant's page in a frame of the console; nobody else may frame it, and it sends nothing.
_PREVIEW_POLICY = (
    "default-src 'self'; base-uri 'none'; connect-src 'self'; form-action 'none'; frame-ancestors 'self'; "
    "object-src 'none'"
)


@dataclass(frozen=True)
class Expectation:
    """How far off the truths of similar tasks will be, on average."""

    tasks: tuple[str, ...]
    readings: int  # of each task
    error: str
    noise: str


async def draft_page(request: Request, row: CampaignRow, quotas: Mapping[str, int], server: ServerState) -> Response:
    """The page of a draft; its figures take a moment."""
    return await run_in_threadpool(_draft_page, request, row, quotas, server)


def _draft_page(request: Request, row: CampaignRow, quotas: Mapping[str, int], server: ServerState) -> Response:
    manifest = parsed(row.manifest)
    # It was checked when it was stored: parsing ten thousand tasks again would take longer than the page.
    known = Manifest.trusted(manifest)
    participants = typed_count(request.query_params, "participants", PARTICIPANTS, MOST_PARTICIPANTS)
    expected = expectations(known, quotas, participants)
    return render(
        request,
        "draft.html",
        row=row,
        manifest=manifest,
        promise=guarantee_of(known),
        shown=_SHOWN,
        quotas=quotas,
        participants=participants,
        distances=distances_of(known),
        expectations=expected[:_SHOWN],
        hidden_expectations=max(0, len(expected) - _SHOWN),
        warnings=[
            *filter(None, [sensor_warning(manifest, request)]),
            *warnings_of(known, quotas, server.settings.least_claims, row.deadline, server.clock()),
        ],
    )


def expectations(manifest: Manifest, quotas: Mapping[str, int], participants: int) -> list[Expectation]:
    """One expectation for each group of similar tasks, in the unit of their readings."""
    each = max(1, participants * manifest.most_readings // len(manifest.tasks))  # readings of each task
    groups: dict[tuple[Any, ...], list[Task]] = {}
    for task in manifest.tasks:
        readings = min(each, quotas.get(task.id, each))
        scale = (task.unit, task.low, task.high) if isinstance(task, NumberTask) else ()
        shown = scale if manifest.is_compared(task) else scale[:1]
        groups.setdefault((manifest.part_of(task), readings, *map(str, shown)), []).append(task)
    return [_expectation(manifest, tasks, readings) for (_, readings, *_), tasks in groups.items()]


def _expectation(manifest: Manifest, tasks: list[Task], readings: int) -> Expectation:
    part, first = manifest.part_of(tasks[0]), tasks[0]
    names = tuple(manifest.words(task.title) or task.id for task in tasks)
    unit = manifest.words(first.unit) if isinstance(first, NumberTask) else ""
    if part.protected_distance is not None:
        law = parse_noise_law(part.noise)
        own = min(manifest.parts[part], manifest.most_readings)  # readings of one participant under this noise
        error = predicted_error(law, 2 / float(part.protected_distance) ** 2, readings, own)
        return Expectation(names, readings, _measured(error, unit), _measured(math.sqrt(law.mean_variance), unit))
    channel = parse_answer_law(part.noise).channel(part.cells or 2)
    changed = f"changes {100 * (1 - channel.hit):.0f}% of answers"
    if isinstance(first, NumberTask):
        return Expectation(names, readings, _compared(first, part.noise, readings, unit), changed)
    wrong = predicted_wrong(parse_answer_law(part.noise), part.cells or 2, readings)
    share = "less than 1" if wrong < 0.005 else f"about {100 * wrong:.0f}"
    return Expectation(names, readings, f"{share}% of such questions come out wrong", changed)


def _compared(task: NumberTask, noise: str, readings: int, unit: str) -> str:
    low, high = float(task.low), float(task.high)
    rate = (_ERRORS_PER_RANGE / (high - low)) ** 2
    epsilon = float(parse_answer_law(noise).exact("epsilon"))
    try:
        plan = plan_comparisons(epsilon, low, high, 1, readings, error_rate=rate, simulations=0)
    except BadParameter:
        return "not known"
    if not plan.enough:
        return f"too few readings: about {2 * plan.participants_to_find:,} are needed"
    return _measured(plan.predicted_error, unit)


def _measured(amount: float, unit: str) -> str:
    return f"± {figure(amount, 2)} {unit}".strip()


def warnings_of(
    manifest: Manifest, quotas: Mapping[str, int], least_claims: int, deadline: int | None, now: int
) -> Iterator[str]:
    """What an operator probably did not mean."""
    numbers = [task for task in manifest.tasks if isinstance(task, NumberTask) and not manifest.is_compared(task)]

    def named(tasks: Iterable[Task]) -> str:
        names = [f"“{manifest.words(task.title) or task.id}”" for task in tasks]
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"

    wide = [task for task in numbers if _deviation(manifest, task) > _width(task)]
    if wide:
        first = wide[0]
        unit = manifest.words(first.unit)
        yield (
            f"The noise is wider than the range of {named(wide)}: {_measured(_deviation(manifest, first), unit)} on "
            f"readings from {first.low} to {first.high} {unit}".rstrip()
            + ". Choose a smaller protected distance or a larger ε, or expect to need very many participants."
        )
    distances = [manifest.part_of(task).protected_distance or "0" for task in numbers]
    widest: dict[str, float] = {}
    for task, distance in zip(numbers, distances, strict=True):
        widest[distance] = max(widest.get(distance, 0.0), _width(task))
    far = [task for task, distance in zip(numbers, distances, strict=True) if float(distance) > widest[distance]]
    if far:
        yield (
            f"The protected distance is larger than the range of {named(far)}. No two readings of a task differ by "
            "more than its range, so a distance equal to the widest range promises the same and needs less noise."
        )
    units: dict[tuple[str, str], Task] = {}
    for task, distance in zip(numbers, distances, strict=True):
        units.setdefault((distance, manifest.words(task.unit)), task)
    for distance in {pair[0] for pair in units}:
        sharing = [unit or "no unit" for shared, unit in units if shared == distance]
        if len(sharing) > 1:
            yield (
                f"Tasks with different units ({', '.join(sharing)}) share the protected distance {distance} and the "
                "same noise. Give each unit a distance of its own below, or ask in separate campaigns."
            )
    few = [task for task in manifest.tasks if quotas.get(task.id, least_claims) < least_claims]
    if few:
        yield (
            f"The quota of {named(few)} is too small: a truth is shown only once its task has {least_claims} "
            "readings, so none would be shown. Raise the quota."
        )
    if deadline is not None and deadline <= now:
        yield "The deadline has passed. Choose a later one, or none."
    elif deadline is not None and deadline - now < _HOUR:
        yield f"The deadline is only {counted(max(1, (deadline - now) // 60_000), 'minute')} away."


def _deviation(manifest: Manifest, task: NumberTask) -> float:
    return math.sqrt(parse_noise_law(manifest.part_of(task).noise).mean_variance)


def _width(task: NumberTask) -> float:
    return float(task.high) - float(task.low)


@router.get("/preview")
async def preview(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """The participant's page showing the draft, for a frame on the draft's page. Its buttons do nothing."""
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    page = render(
        request, "preview.html", row=row, languages={tag: texts_in(tag).say("language.name") for tag in LANGUAGES}
    )
    page.headers["Content-Security-Policy"] = _PREVIEW_POLICY
    page.headers["X-Frame-Options"] = "SAMEORIGIN"
    return page


@router.get("/preview/manifest")
async def preview_manifest(campaign: CampaignId, session: Session, server: Server) -> Response:
    """The terms as they would be if the campaign were opened now."""
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    return Response(row.manifest, media_type="application/json")


@router.post("/distances")
async def distances(campaign: CampaignId, session: Session, form: Form, server: Server) -> Response:
    """Set a protected distance for each unit of measurement."""
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    manifest = Manifest.parse(row.manifest)
    chosen = {unit: form[f"distance-{place}"] for place, (unit, _) in enumerate(distances_of(manifest))
              if form.get(f"distance-{place}")}  # fmt: skip
    tasks = []
    for task in manifest.content()["tasks"]:
        known = manifest.task_of[task["id"]]
        own = chosen.get(manifest.words(known.unit)) if isinstance(known, NumberTask) else None
        tasks.append(task | ({"distance": own.replace(",", ".")} if own else {}))
    with reported_as("bad_request"):
        changes = CampaignChange.model_validate({"tasks": tasks})
    await server.write(lambda connection: actions.change(connection, session.key, campaign, changes))
    return RedirectResponse(f"/campaigns/{campaign}", 303)


def distances_of(manifest: Manifest) -> list[tuple[str, str]]:
    """The units of measurement of numbers with noise, each with the protected distance of its first task."""
    found: dict[str, str] = {}
    for task in manifest.tasks:
        distance = manifest.part_of(task).protected_distance
        if isinstance(task, NumberTask) and distance is not None:
            found.setdefault(manifest.words(task.unit), distance)
    return list(found.items())
