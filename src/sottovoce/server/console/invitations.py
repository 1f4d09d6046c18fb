"""Invitations on the console: a sheet of QR codes to print, and the state of each link."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.protocol.problems import Problem
from sottovoce.server.console.listing import Page
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import Form, Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.invitations import address_of, invitation_url, qr_code, state_of
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.routes.invitations import InvitationNumber
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import campaign_of, counts_of
from sottovoce.server.storage.invitations import (
    create_invitations,
    newest_invitations,
    revoke_invitation,
    rotate_invitation,
)
from sottovoce.server.storage.rows import CampaignRow

router = APIRouter(prefix="/campaigns/{campaign}/invitations", route_class=PageRoute, include_in_schema=False)
MOST_AT_ONCE = 200  # on one sheet


@router.get("")
async def listed(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    def show(connection: Connection) -> Response:
        row = campaign_of(connection, session.key, campaign)
        counts = counts_of(connection, row.key)
        page = Page.of(request, counts["invitations"])
        rows = newest_invitations(connection, row.key, page.first, page.length)
        links = [{"number": link.key, "state": state_of(link), "created_at": link.created_at} for link in rows]
        return render(
            request, "invitations.html",
            row=row, manifest=parsed(row.manifest), counts=counts, page=page, links=links, most=MOST_AT_ONCE,
            least=server.settings.least_claims,
        )  # fmt: skip

    return await server.read(show)


@router.post("")
async def invite(campaign: CampaignId, request: Request, session: Session, form: Form, server: Server) -> Response:
    """New links, on a sheet. They are shown only once, so the response to the form is the sheet itself."""
    asked, now = form.get("count", ""), server.clock()
    if not asked.isdecimal() or len(asked) > 4 or not 1 <= int(asked) <= MOST_AT_ONCE:
        raise Problem("bad_request", f"number of invitations {asked[:20]!r}: it must be from 1 to {MOST_AT_ONCE}")

    def make(connection: Connection) -> tuple[CampaignRow, list[tuple[int, str]]]:
        row = campaign_of(connection, session.key, campaign)
        return row, create_invitations(connection, row, int(asked), now)

    row, made = await server.write(make)
    return await _sheet(request, server, row, made)


@router.post("/{invitation}/rotate")
async def rotate(
    campaign: CampaignId, invitation: InvitationNumber, request: Request, session: Session, _: Form, server: Server
) -> Response:
    """Replace an invitation that was lost."""
    now = server.clock()

    def replace(connection: Connection) -> tuple[CampaignRow, tuple[int, str]]:
        row = campaign_of(connection, session.key, campaign)
        return row, rotate_invitation(connection, row, invitation, now)

    row, made = await server.write(replace)
    return await _sheet(request, server, row, [made])


@router.post("/{invitation}/revoke")
async def revoke(
    campaign: CampaignId, invitation: InvitationNumber, session: Session, form: Form, server: Server
) -> Response:
    now = server.clock()
    await server.write(
        lambda connection: revoke_invitation(
            connection, campaign_of(connection, session.key, campaign).key, invitation, now
        )
    )
    page = form.get("page", "1")
    back = f"?page={page}" if page.isdecimal() and page != "1" else ""
    return RedirectResponse(f"/campaigns/{campaign}/invitations{back}", 303)


async def _sheet(request: Request, server: ServerState, row: CampaignRow, made: list[tuple[int, str]]) -> Response:
    base = address_of(server, request)

    def draw() -> Response:
        links = [(number, invitation_url(base, token, row)) for number, token in made]
        cards = [{"number": number, "url": url, "qr": Markup(qr_code(url, stretches=True))} for number, url in links]
        return render(request, "sheet.html", row=row, manifest=parsed(row.manifest), cards=cards)

    return await run_in_threadpool(draw)
