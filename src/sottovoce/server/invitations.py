"""Invitations as people see them: links, QR codes, short codes, states."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from fastapi import Request
from sqlalchemy import Connection

from sottovoce.protocol.links import InvitationLink, server_address
from sottovoce.protocol.problems import Problem
from sottovoce.server.codes import SALT, code_token, new_code
from sottovoce.server.state import ServerState
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.invitations import create_invitations, create_open_link, full, store_invitations
from sottovoce.server.storage.rows import CampaignRow, InvitationKind, InvitationRow
from sottovoce.server.storage.secrets import server_secret

MOST_CODES = 100  # at once: each takes a twentieth of a second
MOST_PEOPLE = 100_000  # by one open link
MOST_DAYS = 365
_DAYS_OF_CODES = 14
_DAY = 86_400_000


@dataclass(frozen=True)
class MadeInvitation:
    """A new invitation, with its secrets, which are shown once."""

    number: int
    token: str
    code: str | None = None


def address_of(server: ServerState, request: Request) -> str:
    """The address of the server as participants see it."""
    return server_address(server.settings.public_url or str(request.base_url))


def invitation_url(base: str, token: str, campaign: CampaignRow) -> str:
    """The link, with the hash of the manifest that it leads to."""
    return str(InvitationLink(base, token, campaign.fixed_sha256))


def qr_code(url: str, *, stretches: bool = False) -> str:
    """The link as a QR code (SVG), with a fixed size or filling its container."""
    import segno

    # Trying all eight masks to find the best takes most of the time. Links are random text, for which any of them is
    # good enough.
    return segno.make(url, error="m", micro=False, mask=3).svg_inline(scale=4, border=4, omitsize=stretches)


InvitationState = Literal["unspent", "spent", "revoked", "expired"]


def state_of(invitation: InvitationRow, now: int) -> InvitationState:
    """The state that the operator sees. Spent invitations appear as spent several at a time, never one by one."""
    if invitation.shown_spent or (invitation.most is not None and invitation.shown_joined >= invitation.most):
        return "spent"
    if invitation.revoked_at is not None:
        return "revoked"
    return "expired" if invitation.expires_at is not None and invitation.expires_at <= now else "unspent"


def refuse_unusable(invitation: InvitationRow, now: int) -> None:
    """Refuse an invitation that admits nobody, according to the state that its operator sees."""
    state = state_of(invitation, now)
    if state == "spent" and invitation.kind == "open":
        raise full(invitation)
    if state == "spent":
        raise Problem("invitation_spent", f"invitation {invitation.key}: it has been used")
    if state != "unspent":
        raise Problem(f"invitation_{state}", f"invitation {invitation.key}: it has {_PAST[state]}")


_PAST = {"revoked": "been revoked", "expired": "expired"}


async def make_invitations(
    server: ServerState,
    operator_key: int,
    campaign: str,
    kind: InvitationKind,
    count: int,
    people: int | None,
    days: int | None,
) -> tuple[CampaignRow, list[MadeInvitation], int | None]:
    """New invitations, and when they expire. Codes always expire, open links only if ``days`` are given."""
    now = server.clock()
    days = _DAYS_OF_CODES if kind == "code" and days is None else days
    expires_at = None if days is None or kind == "link" else now + days * _DAY
    codes: dict[str, str] = {}
    if kind == "code":
        await server.read(lambda connection: campaign_of(connection, operator_key, campaign))  # before the long work
        salt = await server.write(lambda connection: server_secret(connection, SALT))
        for code in [new_code() for _ in range(count)]:
            codes[await asyncio.to_thread(code_token, code, salt)] = code

    def make(connection: Connection) -> tuple[CampaignRow, list[tuple[int, str]]]:
        row = campaign_of(connection, operator_key, campaign)
        if kind == "open":
            return row, [create_open_link(connection, row, people or 1, expires_at, now)]
        if kind == "code":
            return row, store_invitations(connection, row, [*codes], now, kind="code", expires_at=expires_at)
        return row, create_invitations(connection, row, count, now)

    row, made = await server.write(make)
    return row, [MadeInvitation(number, token, codes.get(token)) for number, token in made], expires_at
