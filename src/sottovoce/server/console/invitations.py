"""Invitations on the console: a sheet of QR codes to print, and the state of each link."""

from typing import cast, get_args

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.protocol.links import why_out_of_reach
from sottovoce.protocol.problems import Problem
from sottovoce.server.console.listing import Page
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import Form, Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.invitations import (
    MOST_CODES,
    MOST_DAYS,
    MOST_PEOPLE,
    MadeInvitation,
    address_of,
    invitation_url,
    make_invitations,
    qr_code,
    state_of,
)
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.routes.invitations import InvitationNumber
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import campaign_of, counts_of
from sottovoce.server.storage.invitations import (
    newest_invitations,
    revoke_invitation,
    rotate_invitation,
)
from sottovoce.server.storage.rows import CampaignRow, InvitationKind

router = APIRouter(prefix="/campaigns/{campaign}/invitations", route_class=PageRoute, include_in_schema=False)
MOST_AT_ONCE = 200  # on one sheet


@router.get("")
async def listed(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    def show(connection: Connection) -> Response:
        row = campaign_of(connection, session.key, campaign)
        counts = counts_of(connection, row.key)
        page = Page.of(request, counts["invitations"])
        rows = newest_invitations(connection, row.key, page.first, page.length)
        links = [{"row": link, "number": link.key, "state": state_of(link, server.clock())} for link in rows]
        return render(
            request, "invitations.html",
            row=row, manifest=parsed(row.manifest), counts=counts, page=page, links=links, most=MOST_AT_ONCE,
            least=server.settings.least_claims, address=address_of(server, request), most_codes=MOST_CODES,
            most_people=MOST_PEOPLE, most_days=MOST_DAYS, trouble=why_out_of_reach(address_of(server, request)),
        )  # fmt: skip

    return await server.read(show)


@router.post("")
async def invite(campaign: CampaignId, request: Request, session: Session, form: Form, server: Server) -> Response:
    """New invitations, on a sheet. They are shown only once, so the response to the form is the sheet itself."""
    await server.read(lambda connection: campaign_of(connection, session.key, campaign))
    kind = form.get("kind", "link")
    if kind not in get_args(InvitationKind):
        raise Problem("bad_request", f"kind {kind[:20]!r}: an invitation is a link, a code or an open link")
    most = MOST_CODES if kind == "code" else MOST_AT_ONCE
    count = 1 if kind == "open" else _number(form.get("count", ""), "number of invitations", most)
    people = _number(form.get("people", ""), "number of people", MOST_PEOPLE) if kind == "open" else None
    days = _number(form["days"], "number of days", MOST_DAYS) if form.get("days") and kind != "link" else None
    row, made, expires_at = await make_invitations(
        server, session.key, campaign, cast(InvitationKind, kind), count, people, days
    )
    return await _sheet(request, server, row, made, people, expires_at, kiosk=form.get("kiosk") == "yes")


def _number(text: str, what: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise Problem("bad_request", f"{what} {text[:20]!r}: it must be a whole number from 1 to {most:,}")
    return int(text)


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
    return await _sheet(request, server, row, [MadeInvitation(*made)])


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


async def _sheet(
    request: Request,
    server: ServerState,
    row: CampaignRow,
    made: list[MadeInvitation],
    people: int | None = None,
    expires_at: int | None = None,
    kiosk: bool = False,
) -> Response:
    base = address_of(server, request)

    def draw() -> Response:
        cards = []
        for one in made:
            url = invitation_url(base, one.token, row) + ("&kiosk" if kiosk and people else "")
            scanned = f"{base}/j/#code" if one.code else url
            qr = Markup(qr_code(scanned, stretches=True))
            cards.append({"number": one.number, "url": url, "code": one.code, "qr": qr})
        return render(
            request,
            "sheet.html",
            row=row,
            manifest=parsed(row.manifest),
            cards=cards,
            address=base,
            people=people,
            expires_at=expires_at,
            kiosk=kiosk and people is not None,
            trouble=why_out_of_reach(base),
        )

    return await run_in_threadpool(draw)
