"""The logo of a draft in the console."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from sottovoce.errors import SottovoceError
from sottovoce.protocol.pictures import MOST_LOGO_BYTES, cleaned_logo
from sottovoce.protocol.problems import Problem
from sottovoce.server import logos as actions
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import FileForm, Form, Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.console.task_form import words_of
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.routes.plans import shown_picture
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of, draft_of
from sottovoce.server.storage.pictures import LOGOS
from sottovoce.server.storage.rows import CampaignRow

router = APIRouter(prefix="/campaigns/{campaign}/logo", route_class=PageRoute, include_in_schema=False)


@router.get("")
async def page(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    return _page(request, await server.read(lambda connection: draft_of(connection, session.key, campaign)))


@router.get("/picture")
async def picture(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """The logo of an operator's own campaign, even while it is a draft."""
    return await shown_picture(
        request, server, LOGOS, lambda connection: campaign_of(connection, session.key, campaign)
    )


@router.post("")
async def upload(campaign: CampaignId, request: Request, session: Session, form: FileForm, server: Server) -> Response:
    row = await server.read(lambda connection: draft_of(connection, session.key, campaign))
    try:
        file = form.files.get("logo")
        if file is None:
            raise Problem("bad_request", "the form: no file was chosen; choose a picture")
        new = await run_in_threadpool(cleaned_logo, file.getvalue())
        await server.write(lambda connection: actions.set_logo(connection, session.key, campaign, new))
    except SottovoceError as mistake:
        return _page(request, row, words_of(mistake))
    return RedirectResponse(f"/campaigns/{campaign}/logo", 303)


@router.post("/remove")
async def remove(campaign: CampaignId, session: Session, _: Form, server: Server) -> Response:
    await server.write(lambda connection: actions.clear_logo(connection, session.key, campaign))
    return RedirectResponse(f"/campaigns/{campaign}/logo", 303)


def _page(request: Request, row: CampaignRow, mistake: str | None = None) -> Response:
    return render(
        request, "logo.html", status=200 if mistake is None else 422,
        row=row, manifest=parsed(row.manifest), mistake=mistake, most_bytes=MOST_LOGO_BYTES,
    )  # fmt: skip
