"""The cuts that readings are compared with: the same whole list for everybody, to be fetched without a token."""

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from sottovoce.protocol.canonical import sha256_of
from sottovoce.server.clock import moment
from sottovoce.server.etags import tagged
from sottovoce.server.problems import problems
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import published_campaign
from sottovoce.server.storage.offers import current_offers

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"])


class PublishedCuts(BaseModel):
    """What devices compare readings with. A compared task that is not listed has enough readings."""

    as_of: str | None = Field(description="when the cuts last changed; null if no task is listed")
    tasks: dict[str, list[list[int]]] = Field(
        description="for each task, alternatives of which a device draws one; each is an ascending list of cuts, in "
        "half grid steps"
    )


@router.get(
    "/{campaign}/cuts",
    response_class=Response,
    responses={
        200: {"model": PublishedCuts},
        304: {"description": "Not changed"},
        **problems("not_found", "bad_request"),
    },
)
async def cuts(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The cuts to compare readings with. They need no token, and change in the same steps as the results."""
    content = await server.read(lambda connection: _content(connection, campaign))
    return tagged(request, content, sha256_of(content), "application/json")


def _content(connection: Connection, campaign: str) -> bytes:
    by_task, as_of = current_offers(connection, published_campaign(connection, campaign).key)
    tasks = {task: [_numbers(cuts) for cuts in alternatives] for task, alternatives in by_task.items()}
    return PublishedCuts(as_of=moment(as_of) if by_task else None, tasks=tasks).model_dump_json().encode()


def _numbers(cuts: str) -> list[int]:
    return [int(cut) for cut in cuts.strip("[]").split(",")]
