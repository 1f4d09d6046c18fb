"""Invitations as people see them: links, QR codes, states."""

from typing import Literal

from fastapi import Request

from sottovoce.protocol.links import InvitationLink, server_address
from sottovoce.server.state import ServerState
from sottovoce.server.storage.rows import CampaignRow, InvitationRow


def address_of(server: ServerState, request: Request) -> str:
    """The address of the server as participants see it."""
    return server_address(server.settings.public_url or str(request.base_url))


def invitation_url(base: str, token: str, campaign: CampaignRow) -> str:
    """The link, which names the manifest that it leads to."""
    return str(InvitationLink(base, token, campaign.fixed_sha256))


def qr_code(url: str, *, stretches: bool = False) -> str:
    """The link as a QR code (SVG), with a fixed size or filling its container."""
    import segno

    # Trying all eight masks to find the best takes most of the time. Links are random text, for which any of them is
    # good enough.
    return segno.make(url, error="m", micro=False, mask=3).svg_inline(scale=4, border=4, omitsize=stretches)


def state_of(invitation: InvitationRow) -> Literal["unspent", "spent", "revoked"]:
    """The state that the operator sees: spent invitations are shown several at once."""
    if invitation.shown_spent:
        return "spent"
    return "unspent" if invitation.revoked_at is None else "revoked"
