"""Invitations: links for participants, each for one of them."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.clock import moment
from sottovoce.server.invitations import address_of, invitation_url, qr_code, state_of
from sottovoce.server.problems import problems
from sottovoce.server.rights import Operator
from sottovoce.server.routes.campaigns import UNREADABLE, CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.invitations import (
    create_invitations,
    list_invitations,
    revoke_invitation,
    rotate_invitation,
)
from sottovoce.server.storage.rows import CampaignRow

router = APIRouter(prefix="/api/campaigns/{campaign}/invitations", tags=["invitations"])
InvitationNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


class NewInvitations(RequestBody):
    """How many, and whether each comes with a QR code."""

    count: Annotated[int, Field(ge=1, le=1000)] = 1
    qr: bool = False


class Rotation(RequestBody):
    """Whether with a QR code."""

    qr: bool = False


class Invitation(BaseModel):
    """Shown once: only the hash of the token is stored. So the QR code (SVG) can only be sent with it."""

    id: int
    token: str
    url: str
    qr: str | None


class Invitations(BaseModel):
    invitations: list[Invitation]


class InvitationEntry(BaseModel):
    id: int
    state: Literal["unspent", "spent", "revoked"]
    created_at: str


class InvitationList(BaseModel):
    invitations: list[InvitationEntry]


def _invitation(number: int, token: str, campaign: CampaignRow, base: str, qr: bool) -> Invitation:
    url = invitation_url(base, token, campaign)
    return Invitation(id=number, token=token, url=url, qr=qr_code(url) if qr else None)


@router.post(
    "",
    status_code=201,
    responses=problems("unauthorised", "not_found", "campaign_not_open", *UNREADABLE),
    openapi_extra=described(NewInvitations),
)
async def create(
    operator: Operator,
    campaign: CampaignId,
    body: Annotated[NewInvitations, Depends(body_of(NewInvitations))],
    request: Request,
    server: Server,
) -> Invitations:
    """Create invitations. Their links carry the hash of the manifest, so the campaign must be open."""
    now, base = server.clock(), address_of(server, request)

    def make(connection: Connection) -> tuple[CampaignRow, list[tuple[int, str]]]:
        row = campaign_of(connection, operator.key, campaign)
        return row, create_invitations(connection, row, body.count, now)

    row, made = await server.write(make)
    return Invitations(invitations=[_invitation(number, token, row, base, body.qr) for number, token in made])


@router.get("", responses=problems("unauthorised", "not_found", "bad_request"))
async def list_all(operator: Operator, campaign: CampaignId, server: Server) -> InvitationList:
    """All invitations of a campaign, spent ones as of the last step. Who used one is not recorded."""
    rows = await server.read(
        lambda connection: list_invitations(connection, campaign_of(connection, operator.key, campaign).key)
    )
    return InvitationList(
        invitations=[
            InvitationEntry(
                id=row.key,
                state=state_of(row),
                created_at=moment(row.created_at),
            )
            for row in rows
        ]
    )


@router.delete(
    "/{invitation}",
    status_code=204,
    responses=problems("unauthorised", "not_found", "invitation_spent", "bad_request"),
)
async def revoke(operator: Operator, campaign: CampaignId, invitation: InvitationNumber, server: Server) -> None:
    """Revoke an invitation; without effect on somebody who has used it since the last step."""
    now = server.clock()
    await server.write(
        lambda connection: revoke_invitation(
            connection, campaign_of(connection, operator.key, campaign).key, invitation, now
        )
    )


@router.post(
    "/{invitation}/rotate",
    responses=problems("unauthorised", "not_found", "invitation_spent", "campaign_not_open", *UNREADABLE),
    openapi_extra=described(Rotation, required=False),
)
async def rotate(
    operator: Operator,
    campaign: CampaignId,
    invitation: InvitationNumber,
    body: Annotated[Rotation, Depends(body_of(Rotation, required=False))],
    request: Request,
    server: Server,
) -> Invitation:
    """Replace an invitation that was lost; the old link stops working."""
    now, base = server.clock(), address_of(server, request)

    def replace(connection: Connection) -> tuple[CampaignRow, tuple[int, str]]:
        row = campaign_of(connection, operator.key, campaign)
        return row, rotate_invitation(connection, row, invitation, now)

    row, made = await server.write(replace)
    return _invitation(*made, row, base, body.qr)
