"""Results for other systems: their addresses, and a webhook to set or remove."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import Form, Session
from sottovoce.server.console.stored import parsed
from sottovoce.server.invitations import address_of
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.routes.webhooks import webhook_state
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.rows import CampaignRow, WebhookRow
from sottovoce.server.storage.webhooks import remove_webhook, set_webhook, webhook_of
from sottovoce.server.webhooks import check_webhook, signing_key

router = APIRouter(prefix="/campaigns/{campaign}/sharing", route_class=PageRoute, include_in_schema=False)


@router.get("")
async def page(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """Addresses and events for other systems."""
    return await _page(campaign, request, session, server)


@router.post("/webhook")
async def change(campaign: CampaignId, request: Request, session: Session, form: Form, server: Server) -> Response:
    """Set the webhook. Its secret is shown once, so the response to the form is the page itself."""
    url = form.get("url", "")
    await server.read(lambda connection: campaign_of(connection, session.key, campaign))
    check_webhook(url, server.settings)
    made = await server.write(
        lambda connection: set_webhook(connection, campaign_of(connection, session.key, campaign).key, url)
    )
    return await _page(campaign, request, session, server, signing_key(made.secret))


@router.post("/webhook/remove")
async def remove(campaign: CampaignId, session: Session, _: Form, server: Server) -> Response:
    """Send no more events."""
    await server.write(
        lambda connection: remove_webhook(connection, campaign_of(connection, session.key, campaign).key)
    )
    return RedirectResponse(f"/campaigns/{campaign}/sharing", 303)


async def _page(
    campaign: str, request: Request, session: Session, server: Server, secret: str | None = None
) -> Response:
    def load(connection: Connection) -> tuple[CampaignRow, WebhookRow | None]:
        row = campaign_of(connection, session.key, campaign)
        return row, webhook_of(connection, row.key)

    row, webhook = await server.read(load)
    return render(
        request,
        "sharing.html",
        row=row,
        manifest=parsed(row.manifest),
        webhook=webhook,
        state=webhook and webhook_state(webhook),
        secret=secret,
        address=address_of(server, request),
    )
