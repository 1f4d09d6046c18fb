"""The plan of a campaign: its picture, which everybody may see once the campaign is open, and the places of tasks."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.protocol.canonical import first_repeated
from sottovoce.protocol.geojson import Place
from sottovoce.protocol.pictures import cleaned_picture
from sottovoce.protocol.problems import Problem
from sottovoce.server import plans as actions
from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.etags import tagged
from sottovoce.server.problems import problems
from sottovoce.server.rights import Operator
from sottovoce.server.routes.campaigns import UNREADABLE, Campaign, CampaignId, whole_campaign
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import published_campaign
from sottovoce.server.storage.pictures import PLANS, Pictures
from sottovoce.server.storage.rows import CampaignRow

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["plans"])
# Opened on its own, a picture is a document without rights: nothing in it runs or loads, and it has its own origin.
_SANDBOX = {
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TYPES = ("image/png", "image/jpeg", "image/svg+xml")
UNREADABLE_PICTURE = ("bad_request", "too_large", "request_timeout")
PICTURES = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in _TYPES}


class TaskPlace(RequestBody):
    """Where a task lies: coordinates in ten-thousandths of the plan's width and height, from its upper left corner."""

    task: Annotated[str, Field(max_length=100)]
    place: Annotated[
        Annotated[list[list[int]], Field(max_length=1000)] | None,
        Field(description="one point, or the points of a line; null removes the task from the plan"),
    ]


class NewPlaces(RequestBody):
    """Where tasks lie on the plan."""

    places: Annotated[list[TaskPlace], Field(fail_fast=True, max_length=10_000)]

    def by_task(self) -> dict[str, Place | None]:
        twice = first_repeated(entry.task for entry in self.places)
        if twice is not None:
            raise Problem("repeated_task", f"task {twice!r}: it has more than one place on the plan")
        return {entry.task: entry.place for entry in self.places}


async def shown_picture(
    request: Request, server: ServerState, pictures: Pictures, campaign: Callable[[Connection], CampaignRow]
) -> Response:
    """The stored picture of a campaign, always served as an image."""
    picture = await server.read(lambda connection: pictures.of(connection, campaign(connection).key))
    answer = tagged(request, picture.content, picture.sha256, picture.type)
    answer.headers.update(_SANDBOX)
    return answer


@router.put(
    "/plan",
    responses=problems("unauthorised", "not_found", "frozen", "bad_picture", "bad_manifest", *UNREADABLE_PICTURE),
    openapi_extra={"requestBody": {"required": True, "content": PICTURES}},
)
async def put(operator: Operator, campaign: CampaignId, request: Request, server: Server) -> Campaign:
    """Give a draft a picture of the place: PNG, JPEG or SVG, recognised by its content and rewritten.

    Metadata is removed, including the position at which a photograph was taken, and so are links. A picture with
    scripts, or that refers to anything else outside itself, is refused.
    """
    picture = await run_in_threadpool(cleaned_picture, await request.body())
    return await server.write(
        lambda connection: whole_campaign(connection, actions.set_plan(connection, operator.key, campaign, picture))
    )


@router.delete("/plan", responses=problems("unauthorised", "not_found", "frozen", "bad_request"))
async def delete(operator: Operator, campaign: CampaignId, server: Server) -> Campaign:
    """Remove the picture from a draft, and the places of all its tasks."""
    return await server.write(
        lambda connection: whole_campaign(connection, actions.clear_plan(connection, operator.key, campaign))
    )


@router.put(
    "/places",
    responses=problems(
        "unauthorised", "not_found", "frozen", "unknown_task", "repeated_task", "bad_manifest", *UNREADABLE
    ),
    openapi_extra=described(NewPlaces),
)
async def place(
    operator: Operator, campaign: CampaignId, body: Annotated[NewPlaces, Depends(body_of(NewPlaces))], server: Server
) -> Campaign:
    """Put tasks of a draft on its plan. Tasks that are not named stay where they are."""
    places = body.by_task()
    return await server.write(
        lambda connection: whole_campaign(connection, actions.place_tasks(connection, operator.key, campaign, places))
    )


PICTURE_RESPONSES: dict[int | str, dict[str, Any]] = {200: {"content": PICTURES}, 304: {"description": "Not changed"}}


@router.get("/plan", response_class=Response, responses={**PICTURE_RESPONSES, **problems("not_found", "bad_request")})
async def get(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The plan of a campaign that is or was open; no token is needed. Its ETag is its SHA-256, as in the manifest."""
    return await shown_picture(request, server, PLANS, lambda connection: published_campaign(connection, campaign))
