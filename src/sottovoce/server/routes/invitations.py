"""Invitations: links and codes, each for one participant, and open links for several."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from sottovoce.protocol.problems import Problem
from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.clock import moment
from sottovoce.server.invitations import (
    MOST_CODES,
    MOST_DAYS,
    MOST_PEOPLE,
    InvitationState,
    MadeInvitation,
    address_of,
    invitation_url,
    make_invitations,
    qr_code,
    state_of,
)
from sottovoce.server.problems import problems
from sottovoce.server.rights import Operator
from sottovoce.server.routes.campaigns import UNREADABLE, CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.invitations import (
    list_invitations,
    revoke_invitation,
    rotate_invitation,
)
from sottovoce.server.storage.rows import CampaignRow, InvitationKind

router = APIRouter(prefix="/api/campaigns/{campaign}/invitations", tags=["invitations"])
InvitationNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


class NewInvitations(RequestBody):
    """How many invitations, of which kind, and whether each comes with a QR code.

    A link is for one person. So is a code, which is short enough to type, does not contain the hash of the campaign's
    terms, and expires after ``days`` (by default 14). An open link is for ``people`` people, and expires only if
    ``days`` is given.
    """

    count: Annotated[int, Field(ge=1, le=1000)] = 1
    qr: bool = False
    kind: InvitationKind = "link"
    people: Annotated[int, Field(ge=1, le=MOST_PEOPLE)] | None = None
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] | None = None

    def check(self) -> None:
        """Refuse fields that do not belong to the kind."""
        if self.kind == "open" and (self.count != 1 or self.people is None):
            raise Problem(
                "bad_request", "an open link: it is a single link for a given number of people",
                fix="leave count out, and give people",
            )  # fmt: skip
        if self.kind != "open" and self.people is not None:
            raise Problem("bad_request", f"people {self.people}: only an open link has this number", fix="leave it out")
        if self.kind == "link" and self.days is not None:
            raise Problem(
                "bad_request", f"days {self.days}: a link for one person does not expire",
                fix="leave it out; a link can be revoked",
            )  # fmt: skip
        if self.kind == "code" and self.count > MOST_CODES:
            raise Problem(
                "bad_request", f"count {self.count}: at most {MOST_CODES} codes are made at once",
                fix="ask for fewer at a time",
            )  # fmt: skip


class Rotation(RequestBody):
    """Whether to include a QR code."""

    qr: bool = False


class Invitation(BaseModel):
    """An invitation with its token and QR code (SVG), which are shown only once: only the token's hash is stored."""

    id: int
    token: str
    url: str
    qr: str | None
    code: str | None = None
    expires_at: str | None = None


class Invitations(BaseModel):
    invitations: list[Invitation]


class InvitationEntry(BaseModel):
    """An invitation; for an open link also how many people it admits, and how many had joined by the last step."""

    id: int
    kind: InvitationKind
    state: InvitationState
    created_at: str
    expires_at: str | None
    people: int
    joined: int


class InvitationList(BaseModel):
    invitations: list[InvitationEntry]


def _invitation(
    made: MadeInvitation, campaign: CampaignRow, base: str, qr: bool, expires_at: int | None = None
) -> Invitation:
    url = invitation_url(base, made.token, campaign)
    return Invitation(
        id=made.number,
        token=made.token,
        url=url,
        qr=qr_code(url) if qr else None,
        code=made.code,
        expires_at=None if expires_at is None else moment(expires_at),
    )


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
    """Create invitations. Their links contain the hash of the manifest, so the campaign must be open."""
    body.check()
    base = address_of(server, request)
    row, made, expires_at = await make_invitations(
        server, operator.key, campaign, body.kind, body.count, body.people, body.days
    )
    return Invitations(invitations=[_invitation(one, row, base, body.qr, expires_at) for one in made])


@router.get("", responses=problems("unauthorised", "not_found", "bad_request"))
async def list_all(operator: Operator, campaign: CampaignId, server: Server) -> InvitationList:
    """All invitations of a campaign; spent ones are shown as of the last step. Who used which is not recorded."""
    now = server.clock()
    rows = await server.read(
        lambda connection: list_invitations(connection, campaign_of(connection, operator.key, campaign).key)
    )
    return InvitationList(
        invitations=[
            InvitationEntry(
                id=row.key,
                kind=row.kind,
                state=state_of(row, now),
                created_at=moment(row.created_at),
                expires_at=None if row.expires_at is None else moment(row.expires_at),
                people=row.most or 1,
                joined=row.shown_joined if row.most else int(row.shown_spent),
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
    """Revoke an invitation. Whoever has joined with it remains a participant."""
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
    """Replace a link for one person that was lost; the old link stops working."""
    now, base = server.clock(), address_of(server, request)

    def replace(connection: Connection) -> tuple[CampaignRow, tuple[int, str]]:
        row = campaign_of(connection, operator.key, campaign)
        return row, rotate_invitation(connection, row, invitation, now)

    row, made = await server.write(replace)
    return _invitation(MadeInvitation(*made), row, base, body.qr)
