"""The three steps to a campaign: question and tasks, privacy, check and open. A draft is kept after each of them."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.errors import SottovoceError
from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.task_table import COLUMNS, read_choices, read_quota, read_tasks, write_tasks
from sottovoce.server import campaigns as actions
from sottovoce.server.campaigns import CampaignChange, CampaignDraft
from sottovoce.server.console import questions
from sottovoce.server.console.about import ABOUT, SHOWN, about_of, first_about, typed_about
from sottovoce.server.console.instruments import instruments_for, sensors_reachable
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.planner import EPSILONS, PlanRequest, first_noise
from sottovoce.server.console.session import Form, Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.console.whole_range import WholeRange, comparisons_for, other_strengths
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import draft_of, quotas_of
from sottovoce.server.storage.rows import CampaignRow

router = APIRouter(prefix="/campaigns", route_class=PageRoute, include_in_schema=False)
MOST_TYPED = 20  # tasks in fields of their own; more come as a table
_EMPTY_ROWS = 3
Action = Callable[[Connection], CampaignRow]


@router.get("/new")
async def new(request: Request, session: Session) -> Response:
    return _question(request, None, first_about(session.operator.name), [], "")


@router.post("/new")
async def create(request: Request, session: Session, form: Form, server: Server) -> Response:
    now = server.clock()

    def prepare(tasks: list[dict[str, Any]]) -> Action:
        with reported_as("bad_request"):
            draft = CampaignDraft.model_validate(
                {**typed_about(form), **_target(form), "tasks": tasks, **first_noise(tasks)}
            )
        return lambda connection: actions.create(connection, session.operator, draft, now)

    return await _keep(request, server, None, form, prepare)


@router.get("/{campaign}/tasks")
async def question(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    def load(connection: Connection) -> tuple[CampaignRow, dict[str, int]]:
        row = draft_of(connection, session.key, campaign)
        return row, quotas_of(connection, row.key)

    row, quotas = await server.read(load)
    manifest = parsed(row.manifest)
    tasks = [{**dict.fromkeys(COLUMNS, ""), **task, "quota": quotas.get(task["id"], "")} for task in manifest["tasks"]]
    about = about_of(manifest, row.target)
    many = len(tasks) > MOST_TYPED
    if not many:
        tasks = [task | {"choices": " | ".join(task["choices"])} for task in tasks]
    return _question(request, row, about, [] if many else tasks, write_tasks(tasks) if many else "")


@router.post("/{campaign}/tasks")
async def change(campaign: CampaignId, request: Request, session: Session, form: Form, server: Server) -> Response:
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    before = parsed(row.manifest)

    def prepare(tasks: list[dict[str, Any]]) -> Action:
        raw = Manifest.parse(row.manifest).content()
        kept = {task["id"]: task for task in raw["tasks"]}
        asked = [_with_the_rest(task, kept.get(task["id"], {})) for task in tasks]
        about = _with_the_rest(typed_about(form, raw), raw, only=ABOUT)
        fields: dict[str, Any] = {**about, **_target(form), "tasks": asked, **_missing_noise(raw, tasks)}
        distances = [task["distance"] for task in raw["tasks"] if "distance" in task]
        if distances and "levels" not in raw:
            fields["distance"] = distances[0]  # of numbers that are new
        if before["readings"] == len(before["tasks"]):  # all of them, as before
            fields["readings"] = len(tasks)
        with reported_as("bad_request"):
            changes = CampaignChange.model_validate(fields, strict=False)  # places are tuples
        return lambda connection: actions.change(connection, session.key, campaign, changes)

    return await _keep(request, server, row, form, prepare)


@router.get("/{campaign}/privacy")
async def privacy(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """The planner. Its figures are loaded by script, or with the form where scripts are off."""
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
    """One line of the chart: the error to expect with one participant, at every promise."""
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
            asked = questions.change(form, manifest)
            await server.write(lambda connection: actions.change(connection, session.key, campaign, asked))
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
    """What the page shows of a plan: noise and comparisons, and the promise of what is chosen."""
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
    form: Mapping[str, str],
    prepare: Callable[[list[dict[str, Any]]], Action],
) -> Response:
    """Save the form, or show it again with its mistake or with more rows."""
    typed = _typed_rows(form)
    if "more" not in form:
        try:
            tasks = read_tasks("the table", form["table"]) if form.get("table") else _typed_tasks(typed)
            if not tasks:
                raise Problem("bad_request", "tasks: there are none; add at least one thing to measure")
            kept = await server.write(prepare(tasks))
            return RedirectResponse(f"/campaigns/{kept.id}/privacy", 303)
        except SottovoceError as error:
            mistake = words_of(error)
    else:
        mistake = None
    about = {name: form.get(name, "") for name in SHOWN}
    return _question(request, row, about, typed, form.get("table", ""), mistake, more="more" in form)


def _question(
    request: Request,
    row: CampaignRow | None,
    about: Mapping[str, str],
    tasks: list[dict[str, Any]],
    table: str,
    mistake: str | None = None,
    more: bool = False,
) -> Response:
    empty = [dict.fromkeys(COLUMNS, "")] * (_EMPTY_ROWS if more or not tasks else 1)
    rows = [*tasks, *empty][:MOST_TYPED]
    status = 200 if mistake is None else 422
    return render(
        request,
        "question.html",
        status=status,
        row=row,
        about=about,
        tasks=rows,
        columns=COLUMNS,
        instruments=instruments_for(rows),
        sensors_reachable=sensors_reachable(request),
        table=table,
        mistake=mistake,
    )


def _with_the_rest(typed: dict[str, Any], kept: dict[str, Any], only: tuple[str, ...] = ()) -> dict[str, Any]:
    """What was typed, with what the form does not show: other languages of an unchanged text, and other fields."""
    same_kind = bool(typed.get("choices")) == bool(kept.get("choices"))
    rest = {} if only or not same_kind else {name: entry for name, entry in kept.items() if name not in COLUMNS}
    shown = dict(typed)
    for name in typed.keys() & kept.keys():
        if isinstance(kept[name], dict) and typed[name] in kept[name].values():
            shown[name] = kept[name]
    if same_kind and typed.get("choices") and len(typed["choices"]) == len(kept["choices"]):
        shown["choices"] = [
            before if isinstance(before, dict) and now in before.values() else now
            for now, before in zip(typed["choices"], kept["choices"], strict=True)
        ]
    return rest | shown


def _missing_noise(kept: dict[str, Any], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """The law to begin with for a kind of task that was not there before; none for one that is gone."""
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
    """What the truth of a number is, where the operator was asked."""
    return {"target": form["target"]} if form.get("target") else {}


def _typed_rows(form: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows that are not empty."""
    rows = [{name: form.get(f"{name}-{place}", "") for name in COLUMNS} for place in range(MOST_TYPED)]
    return [row for row in rows if any(entry for name, entry in row.items() if name not in ("id", "instrument"))]


def _typed_tasks(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tasks from typed rows: those without a name of their own get one from their title."""
    used = {row["id"] for row in rows if row["id"]}
    tasks = []
    for place, row in enumerate(rows, start=1):
        task = {
            name: entry.replace(",", ".") if name in ("low", "high", "grid") else entry for name, entry in row.items()
        }
        for name in ("low", "high", "grid"):
            if task["choices"] and task[name]:
                raise Problem(
                    "bad_request", f"task {place}: it has choices and a {_CALLED[name]}; leave one of them empty"
                )
            if not task["choices"] and not task[name]:
                raise Problem("bad_request", f"task {place}: its {_CALLED[name]} is missing, or its choices")
        if not task["id"]:
            plain = re.sub(r"[^a-z0-9]+", "-", task["title"].lower()).strip("-")[:60] or f"task-{place}"
            task["id"] = next(name for name in (plain, *(f"{plain}-{n}" for n in range(2, 99))) if name not in used)
            used.add(task["id"])
        task["quota"] = read_quota(task["quota"], f"task {place}") if task["quota"] else None
        if task["choices"]:
            question = {name: task[name] for name in ("id", "title", "quota")}
            tasks.append(question | {"choices": read_choices(task["choices"])})
        else:
            left_out = ("choices",) if task["instrument"] else ("choices", "instrument")
            tasks.append({name: entry for name, entry in task.items() if name not in left_out})
    return tasks


_CALLED = {"low": "lowest value", "high": "highest value", "grid": "step"}


def words_of(mistake: SottovoceError) -> str:
    """A mistake as a sentence of the page."""
    message = mistake.detail if isinstance(mistake, Problem) else str(mistake)
    return f"{re.sub(r'^tasks[.][0-9]+: ', '', message)}."
