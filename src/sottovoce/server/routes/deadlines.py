"""The deadline of a campaign, for calendars."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.server.calendar import MEDIA_TYPE, calendar_file
from sottovoce.server.clock import moment
from sottovoce.server.console.stored import parsed
from sottovoce.server.invitations import address_of
from sottovoce.server.problems import problems
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import published_campaign

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["campaigns"])


@router.get(
    "/deadline.ics",
    response_class=Response,
    responses={
        200: {"content": {MEDIA_TYPE.partition(";")[0]: {"schema": {"type": "string"}}}},
        **problems("not_found", "bad_request"),
    },
)
async def deadline(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The deadline as an event with a reminder a day before, for everybody."""
    row = await server.read(lambda connection: published_campaign(connection, campaign))
    if row.deadline is None or row.opened_at is None:
        raise Problem("not_found", f"campaign {campaign!r}: it has no deadline")
    manifest = Manifest.trusted(parsed(row.manifest))
    content = calendar_file(manifest, f"{address_of(server, request)}/c/{campaign}", moment(row.opened_at))
    name = f'attachment; filename="campaign-{campaign}.ics"'
    return Response(content, media_type=MEDIA_TYPE, headers={"Content-Disposition": name})
