"""The three steps to a campaign: question and tasks, privacy, check and open. A draft is saved after each of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.errors import SottovoceError
from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.format_2 import TASK_FIELDS
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.task_rows import COLUMNS, TABLE_COLUMNS
from sottovoce.protocol.task_table import TaskTable, cells_of, changed_tasks, with_other_languages, write_tasks
from sottovoce.server import campaigns as actions
from sottovoce.server.campaigns import CampaignChange, CampaignDraft
from sottovoce.server.console import questions
from sottovoce.server.console.about import SHOWN, about_of, first_about, typed_about
from sottovoce.server.console.instruments import instruments_for, instruments_with_sensors, sensors_reachable
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.planner import EPSILONS, PlanRequest, first_noise
from sottovoce.server.console.session import FileForm, Form, Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.console.task_form import (
    ENCODINGS,
    MOST_SHOWN,
    MOST_TYPED,
    FieldMistake,
    TaskForm,
    about_mistakes,
    texts_of,
    typed_rows,
    words_of,
)
from sottovoce.server.console.uploads import UploadForm
from sottovoce.server.console.whole_range import WholeRange, comparisons_for, other_strengths
from sottovoce.server.gold import from_stored
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import draft_of
from sottovoce.server.storage.rows import CampaignRow

router = APIRouter(prefix="/campaigns", route_class=PageRoute, include_in_schema=False)
_EMPTY_ROWS = 3
Action = Callable[[Connection], CampaignRow]


@router.get("/new")
async def new(request: Request, session: Session) -> Response:
    return _question(request, None, first_about(session.operator.name), TaskForm([]))


@router.post("/new")
async def create(request: Request, session: Session, sent: FileForm, server: Server) -> Response:
    now, form = server.clock(), texts_of(sent)

    def prepare(table: TaskTable) -> Action:
        fields = {**typed_about(form), **_target(form), "tasks": table.tasks, **first_noise(table.tasks)}
        with reported_as("bad_request"):
            draft = CampaignDraft.model_validate(fields | ({"known": table.known} if table.known else {}))
        return lambda connection: actions.create(connection, session.operator, draft, now)

    return await _keep(request, server, None, sent, prepare)


@router.get("/{campaign}/tasks")
async def question(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    def load(connection: Connection) -> tuple[CampaignRow, list[dict[str, Any]]]:
        row = draft_of(connection, session.key, campaign)
        return row, actions.with_quotas(connection, row, parsed(row.manifest)["tasks"])

    row, tasks = await server.read(load)
    about = about_of(parsed(row.manifest), row.target)
    if len(tasks) > MOST_TYPED:
        return _question(request, row, about, TaskForm([], write_tasks(tasks, from_stored(row.known) or None)))
    return _question(request, row, about, TaskForm(list(map(cells_of, tasks))))


@router.post("/{campaign}/tasks")
async def change(campaign: CampaignId, request: Request, session: Session, sent: FileForm, server: Server) -> Response:
    form = texts_of(sent)

    def load(connection: Connection) -> tuple[CampaignRow, dict[str, Any]]:
        row = draft_of(connection, session.key, campaign)
        content = Manifest.parse(row.manifest).content()
        return row, content | {"tasks": actions.with_quotas(connection, row, content["tasks"])}

    row, before = await server.read(load)

    def prepare(table: TaskTable) -> Action:
        about = with_other_languages(typed_about(form, before), before)
        noise = _missing_noise(before, table.tasks)
        fields = {**about, **_target(form), **noise, **changed_tasks(before, table)}
        return lambda connection: actions.change_fields(connection, session.key, campaign, fields)

    return await _keep(request, server, row, sent, prepare)


@router.get("/{campaign}/privacy")
async def privacy(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """The planner. A script loads its figures; without scripts, they come when the form is sent."""
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    if questions.applies(parsed(row.manifest)):
        return await run_in_threadpool(questions.page, request, row)
    manifest = parsed(row.manifest)
    plan_request = PlanRequest.of(request.query_params, manifest)
    shown = await run_in_threadpool(_plan, plan_request, manifest) if request.query_params else _NOT_PLANNED
    return render(request, "privacy.html", row=row, plan=plan_request, mistake=None, **shown)


@router.get("/{campaign}/privacy/plan")
async def plan(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """The laws that keep the promise, and the promise in words."""
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    manifest = parsed(row.manifest)
    try:
        plan_request = PlanRequest.of(request.query_params, manifest)
        shown = await run_in_threadpool(_plan, plan_request, manifest)
    except SottovoceError as mistake:
        return render(request, "_plan.html", plan=None, mistake=words_of(mistake), **_NOT_PLANNED)
    return render(request, "_plan.html", plan=plan_request, mistake=None, **shown)


@router.get("/{campaign}/privacy/line/{law}")
async def line(campaign: CampaignId, law: str, request: Request, session: Session, server: Server) -> Response:
    """One line of the chart: the expected error with one participant, at every strength of the promise."""
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    plan_request = PlanRequest.of({**request.query_params, "participants": "1"}, parsed(row.manifest))
    if law not in plan_request.laws:
        raise Problem("not_found", f"law {law[:20]!r}: it cannot be used here")
    return JSONResponse({"epsilons": EPSILONS, "errors": await run_in_threadpool(plan_request.line, law)})


@router.post("/{campaign}/privacy")
async def promise(campaign: CampaignId, request: Request, session: Session, form: Form, server: Server) -> Response:
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    manifest = parsed(row.manifest)
    if questions.applies(manifest):
        try:
            changes = questions.change(form, manifest)
            await server.write(lambda connection: actions.change(connection, session.key, campaign, changes))
        except SottovoceError as mistake:
            return await run_in_threadpool(questions.page, request, row, form, words_of(mistake))
        return RedirectResponse(f"/campaigns/{campaign}", 303)
    try:
        plan_request = PlanRequest.of(form, manifest)
        fields = await run_in_threadpool(_promised, plan_request, manifest)
        changes = CampaignChange.model_validate(fields)
        await server.write(lambda connection: actions.change(connection, session.key, campaign, changes))
    except SottovoceError as mistake:
        before = PlanRequest.of({}, manifest)
        return render(
            request, "privacy.html", status=422,
            row=row, plan=before, mistake=words_of(mistake), **_NOT_PLANNED,
        )  # fmt: skip
    return RedirectResponse(f"/campaigns/{campaign}", 303)


_NOT_PLANNED: dict[str, Any] = {"offers": None, "sentence": None, "whole": None, "strengths": None}


def _plan(plan_request: PlanRequest, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows of a plan: noise and comparisons, and the promise of the chosen one."""
    offers, whole = plan_request.offers(), comparisons_for(plan_request)
    if plan_request.values == "any":
        promise = whole.sentence(plan_request, manifest) if whole else None
        return {"offers": offers, "whole": whole, "sentence": promise, "strengths": other_strengths(plan_request)}
    kept = plan_request.law in {offer["name"] for offer in offers}
    return {**_NOT_PLANNED, "offers": offers, "whole": whole, "sentence": plan_request.sentence() if kept else None}


def _promised(plan_request: PlanRequest, manifest: Mapping[str, Any]) -> dict[str, Any]:
    if plan_request.values == "any":
        return WholeRange.of(plan_request).change(plan_request, manifest)
    return plan_request.change(manifest)


async def _keep(
    request: Request,
    server: ServerState,
    row: CampaignRow | None,
    sent: UploadForm,
    prepare: Callable[[TaskTable], Action],
) -> Response:
    """Save the form, or show it again: with a table as it was understood, with all mistakes, or with more rows."""
    form = texts_of(sent)
    about = {name: form.get(name, "") for name in SHOWN}
    if "more" in form:
        return _question(request, row, about, TaskForm(typed_rows(form), form.get("table", "")), more=True)
    ids = {} if row is None else {task["title"]: task["id"] for task in reversed(parsed(row.manifest)["tasks"])}
    task_form = await run_in_threadpool(TaskForm.of, form, sent.files.get("file"), ids)
    mistakes = task_form.mistakes
    if "read" not in form:
        mistakes = [*_about_mistakes(form), *mistakes]
    if not mistakes and task_form.read is not None:
        try:
            kept = await server.write(prepare(task_form.read))
            return RedirectResponse(f"/campaigns/{kept.id}/privacy", 303)
        except SottovoceError as error:
            mistakes = [FieldMistake(None, words_of(error))]
    return _question(request, row, about, task_form, mistakes)


def _about_mistakes(form: Mapping[str, str]) -> list[FieldMistake]:
    try:
        return list(about_mistakes(typed_about(form)))
    except Problem as wrong:  # in the deadline or its time zone
        target = "zone" if wrong.detail.startswith("time zone") else "deadline"
        rest = typed_about({name: text for name, text in form.items() if name != "deadline"})
        return [*about_mistakes(rest), FieldMistake(target, words_of(wrong))]


def _question(
    request: Request,
    row: CampaignRow | None,
    about: Mapping[str, str],
    task_form: TaskForm,
    mistakes: Sequence[FieldMistake] = (),
    more: bool = False,
) -> Response:
    empty = [dict.fromkeys(COLUMNS, "")] * (_EMPTY_ROWS if more or not task_form.typed else 1)
    rows = [*task_form.typed, *empty][:MOST_TYPED]
    return render(
        request,
        "question.html",
        status=422 if mistakes else 200,
        row=row,
        about=about,
        loaded=request.method == "GET",  # otherwise the page shows what was typed
        tasks=rows,
        fields=[field for name, field in TASK_FIELDS.items() if name in COLUMNS and name != "id"],
        columns=TABLE_COLUMNS,
        options={"instrument": instruments_for(rows)},
        sensors=instruments_with_sensors(),
        sensors_reachable=sensors_reachable(request),
        task_form=task_form,
        encodings=ENCODINGS,
        shown=MOST_SHOWN,
        mistakes=mistakes,
        wrong={one.target: one.rule or one.words for one in mistakes if one.target},
    )


def _missing_noise(kept: dict[str, Any], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """An initial law for each new kind of task; a kind without tasks loses its law."""
    kinds = {"choice" if task.get("choices") else "number" for task in tasks}
    had = {task.get("kind", "number") for task in kept["tasks"]}
    if kinds == had:
        return {}
    usual = first_noise(tasks)
    laws = kept["noise"] if isinstance(kept["noise"], dict) else dict.fromkeys(had, kept["noise"])
    first = usual["noise"] if isinstance(usual["noise"], dict) else dict.fromkeys(kinds, usual["noise"])
    noise = {kind: laws.get(kind, first[kind]) for kind in kinds}
    return {**usual, "noise": noise if len(set(noise.values())) > 1 else next(iter(noise.values()))}


def _target(form: Mapping[str, str]) -> dict[str, str]:
    """What the truth of a number is, if the form says so."""
    return {"target": form["target"]} if form.get("target") else {}
