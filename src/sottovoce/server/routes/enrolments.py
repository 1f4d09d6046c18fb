"""Joining a campaign, and leaving it."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.invitations import refuse_unusable
from sottovoce.server.problems import problems
from sottovoce.server.rights import ParticipantToken
from sottovoce.server.routes.campaigns import UNREADABLE, CampaignId, PublicState, public_state
from sottovoce.server.state import Server
from sottovoce.server.storage.invitations import invitation_with
from sottovoce.server.storage.participants import enrol, withdraw

router = APIRouter(prefix="/api", tags=["taking part"])
_NOT_ADMITTED = (
    "invitation_unknown", "invitation_spent", "invitation_revoked", "invitation_expired", "invitation_full",
)  # fmt: skip
Secret = Annotated[str, Field(min_length=16, max_length=128, pattern=r"^[A-Za-z0-9_-]+$")]


class InvitationLookup(RequestBody):
    """The invitation to look up."""

    invitation: Secret


class Enrolment(RequestBody):
    """The invitation, and a secret that makes the call safe to repeat: at least 128 random bits, 22 characters."""

    invitation: Secret
    enrolment_key: Annotated[str, Field(min_length=22, max_length=128, pattern=r"^[A-Za-z0-9_-]+$")] | None = None


class Invited(BaseModel):
    campaign_id: str
    manifest_sha256: str
    state: PublicState


class Enrolled(BaseModel):
    campaign_id: str
    participant_token: str


@router.post(
    "/invitations/look-up",
    responses=problems(*_NOT_ADMITTED, *UNREADABLE),
    openapi_extra=described(InvitationLookup),
)
async def look_up(body: Annotated[InvitationLookup, Depends(body_of(InvitationLookup))], server: Server) -> Invited:
    """The campaign that an invitation is for. Looking it up does not spend it.

    The token is sent in the body, which is not logged. If the campaign is closed, the response says so, even if the
    invitation is spent or has expired. Operators know the tokens that they handed out, so an invitation is reported as
    spent only once the list of invitations shows it as spent.
    """
    row, campaign = await server.read(lambda connection: invitation_with(connection, body.invitation))
    now = server.clock()
    state = public_state(campaign, now)
    if state == "open":
        refuse_unusable(row, now)
    return Invited(campaign_id=campaign.id, manifest_sha256=campaign.fixed_sha256, state=state)


@router.post(
    "/enrolments",
    status_code=201,
    responses=problems(
        *_NOT_ADMITTED, "campaign_not_open", "deadline_passed", *UNREADABLE,
    ),
    openapi_extra=described(Enrolment),
)  # fmt: skip
async def enrolment(body: Annotated[Enrolment, Depends(body_of(Enrolment))], server: Server) -> Enrolled:
    """Spend an invitation and become a participant. The same call with the same key gets the same response."""
    now = server.clock()
    campaign_id, token = await server.write(
        lambda connection: enrol(connection, body.invitation, body.enrolment_key, now)
    )
    return Enrolled(campaign_id=campaign_id, participant_token=token)


@router.delete(
    "/campaigns/{campaign}/participation",
    status_code=204,
    responses=problems("unauthorised", "forbidden", "bad_request"),
)
async def withdrawal(campaign: CampaignId, token: ParticipantToken, server: Server) -> None:
    """Withdraw: your readings are erased at once, and leave the results of each task with its next step."""
    now = server.clock()
    await server.write(lambda connection: withdraw(connection, campaign, token, now))
