"""The deadline of a campaign, for calendars."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.server.calendar import MEDIA_TYPE, calendar_file
from sottovoce.server.clock import moment
from sottovoce.server.console.speaking import wanted_language
from sottovoce.server.console.stored import parsed
from sottovoce.server.invitations import address_of
from sottovoce.server.problems import problems
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import published_campaign

Language = Annotated[str, Query(max_length=20, description="language of the event; by default the browser's")]
router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["campaigns"])


@router.get(
    "/deadline.ics",
    response_class=Response,
    responses={
        200: {"content": {MEDIA_TYPE.partition(";")[0]: {"schema": {"type": "string"}}}},
        **problems("not_found", "bad_request"),
    },
)
async def deadline(campaign: CampaignId, request: Request, server: Server, lang: Language = "") -> Response:
    """The deadline as a calendar event, with a reminder a day before. No token is needed."""
    row = await server.read(lambda connection: published_campaign(connection, campaign))
    if row.deadline is None or row.opened_at is None:
        raise Problem("not_found", f"campaign {campaign!r}: it has no deadline")
    manifest = Manifest.trusted(parsed(row.manifest))
    language = wanted_language({"lang": lang}, request.headers.get("accept-language", ""))
    address = f"{address_of(server, request)}/c/{campaign}"
    content = calendar_file(manifest, address, moment(row.opened_at), language)
    name = f'attachment; filename="campaign-{campaign}.ics"'
    return Response(content, media_type=MEDIA_TYPE, headers={"Content-Disposition": name, "Vary": "Accept-Language"})
