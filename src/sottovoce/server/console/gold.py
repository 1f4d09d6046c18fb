"""The truths that an operator knows: one field per task, or a table if there are many tasks."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from sottovoce.errors import SottovoceError
from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.known_truths import names_of, read_truths, with_points, write_truths
from sottovoce.protocol.manifest import Manifest
from sottovoce.server import campaigns as actions
from sottovoce.server.campaigns import CampaignChange
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import Form, Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.console.task_form import MOST_TYPED, words_of
from sottovoce.server.gold import Known, from_stored
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.rows import CampaignRow

router = APIRouter(prefix="/campaigns/{campaign}/known", route_class=PageRoute, include_in_schema=False)


@router.get("")
async def page(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    row = await server.read(lambda connection: campaign_of(connection, session.key, campaign))
    return _page(request, row, from_stored(row.known))


@router.post("")
async def keep(campaign: CampaignId, request: Request, session: Session, form: Form, server: Server) -> Response:
    row = await server.read(lambda connection: campaign_of(connection, session.key, campaign))
    known: Known = {}
    try:
        known = _typed(row, form)
        with reported_as("bad_request"):
            changes = CampaignChange.model_validate({"known": known})
        await server.write(lambda connection: actions.change(connection, session.key, campaign, changes))
    except SottovoceError as mistake:
        return _page(request, row, known, form.get("table"), words_of(mistake))
    return RedirectResponse(f"/campaigns/{campaign}", 303)


def _typed(row: CampaignRow, form: Mapping[str, str]) -> Known:
    tasks = parsed(row.manifest)["tasks"]
    if "table" in form:
        typed = read_truths("the table", form["table"], names_of(tasks)) if form["table"].strip() else {}
    else:
        typed = {task["id"]: form.get(f"truth-{place}", "").strip() for place, task in enumerate(tasks)}
    return with_points(typed, tasks)


def _page(
    request: Request, row: CampaignRow, known: Known, table: str | None = None, mistake: str | None = None
) -> Response:
    manifest = parsed(row.manifest)
    many = len(manifest["tasks"]) > MOST_TYPED
    whole = Manifest.trusted(manifest)
    compared = [whole.is_compared(task) for task in whole.tasks]
    if table is None and many:
        titles = names_of(manifest["tasks"])
        usable = [task.id for task, is_out in zip(whole.tasks, compared, strict=True) if not is_out]
        table = write_truths(known, {name: titles[name] for name in usable})
    return render(
        request, "known.html", status=200 if mistake is None else 422,
        row=row, manifest=manifest, known=known, compared=compared, table=table if many else None, mistake=mistake,
    )  # fmt: skip
