"""The logo of a campaign, which everybody may see once the campaign is open."""

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from sottovoce.protocol.pictures import cleaned_logo
from sottovoce.server import logos as actions
from sottovoce.server.problems import problems
from sottovoce.server.rights import Operator
from sottovoce.server.routes.campaigns import Campaign, CampaignId, whole_campaign
from sottovoce.server.routes.plans import PICTURE_RESPONSES, PICTURES, UNREADABLE_PICTURE, shown_picture
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import published_campaign
from sottovoce.server.storage.pictures import LOGOS

router = APIRouter(prefix="/api/campaigns/{campaign}/logo", tags=["plans"])


@router.put(
    "",
    responses=problems("unauthorised", "not_found", "frozen", "bad_picture", "bad_manifest", *UNREADABLE_PICTURE),
    openapi_extra={"requestBody": {"required": True, "content": PICTURES}},
)
async def put(operator: Operator, campaign: CampaignId, request: Request, server: Server) -> Campaign:
    """Give a draft a logo: PNG, JPEG or SVG, recognised by its content and rewritten, like a plan but smaller."""
    picture = await run_in_threadpool(cleaned_logo, await request.body())
    return await server.write(
        lambda connection: whole_campaign(connection, actions.set_logo(connection, operator.key, campaign, picture))
    )


@router.delete("", responses=problems("unauthorised", "not_found", "frozen", "bad_request"))
async def delete(operator: Operator, campaign: CampaignId, server: Server) -> Campaign:
    """Remove the logo from a draft."""
    return await server.write(
        lambda connection: whole_campaign(connection, actions.clear_logo(connection, operator.key, campaign))
    )


@router.get("", response_class=Response, responses={**PICTURE_RESPONSES, **problems("not_found", "bad_request")})
async def get(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The logo of a campaign that is or was open; no token is needed. Its ETag is its SHA-256, as in the manifest."""
    return await shown_picture(request, server, LOGOS, lambda connection: published_campaign(connection, campaign))
