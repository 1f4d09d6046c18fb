"""Invitations: each admits one participant, once; an open link admits as many as its limit allows."""

from collections.abc import Sequence

from sqlalchemy import Connection, select, update

from sottovoce.protocol.problems import Problem
from sottovoce.protocol.tokens import new_token, same_hash, token_hash
from sottovoce.server.fast.bulk import insert_rows
from sottovoce.server.storage.rows import CampaignRow, InvitationKind, InvitationRow, all_rows, one_row, row_or_none
from sottovoce.server.storage.tables import campaigns, invitations


def create_invitations(connection: Connection, campaign: CampaignRow, count: int, now: int) -> list[tuple[int, str]]:
    """Number and token of each. The link contains the hash of the manifest, so the campaign must be open."""
    return store_invitations(connection, campaign, [new_token() for _ in range(count)], now)


def create_open_link(
    connection: Connection, campaign: CampaignRow, most: int, expires_at: int | None, now: int
) -> tuple[int, str]:
    """Number and token of a link with which this many people can join."""
    (made,) = store_invitations(
        connection, campaign, [new_token()], now, kind="open", expires_at=expires_at, most=most
    )  # fmt: skip
    return made


def store_invitations(
    connection: Connection,
    campaign: CampaignRow,
    tokens: Sequence[str],
    now: int,
    *,
    kind: InvitationKind = "link",
    expires_at: int | None = None,
    most: int | None = None,
) -> list[tuple[int, str]]:
    """Number and token of each new invitation, in the order of the tokens."""
    _require_open(campaign)
    hashes = [token_hash(token) for token in tokens]
    insert_rows(
        connection,
        invitations,
        ("campaign_key", "token_hash", "created_at", "kind", "expires_at", "most"),
        [(campaign.key, hashed, now, kind, expires_at, most) for hashed in hashes],
    )
    made = connection.execute(
        select(invitations.c.key, invitations.c.token_hash).where(invitations.c.token_hash.in_(hashes))
    )
    number = {row.token_hash: row.key for row in made}
    return sorted((number[hashed], token) for hashed, token in zip(hashes, tokens, strict=True))


def list_invitations(connection: Connection, campaign_key: int) -> list[InvitationRow]:
    of_campaign = select(invitations).where(invitations.c.campaign_key == campaign_key)
    return all_rows(connection, InvitationRow, of_campaign.order_by(invitations.c.key))


def newest_invitations(connection: Connection, campaign_key: int, first: int, most: int) -> list[InvitationRow]:
    """At most this many invitations from an offset, newest first."""
    of_campaign = select(invitations).where(invitations.c.campaign_key == campaign_key)
    newest = of_campaign.order_by(invitations.c.key.desc()).offset(first).limit(most)
    return all_rows(connection, InvitationRow, newest)


def revoke_invitation(connection: Connection, campaign_key: int, key: int, now: int) -> None:
    """Revoke an invitation. A spent one cannot be revoked: nothing records which participant used it.

    Whether it is spent is shown only at the next step. Until then it can still be revoked, which has no effect on the
    participant who used it.
    """
    if _unspent(connection, campaign_key, key).revoked_at is None:
        connection.execute(update(invitations).where(invitations.c.key == key).values(revoked_at=now))


def rotate_invitation(connection: Connection, campaign: CampaignRow, key: int, now: int) -> tuple[int, str]:
    """Number and token of a new invitation in place of one that was lost; the old link stops working."""
    _require_open(campaign)
    before = _unspent(connection, campaign.key, key)
    if before.kind != "link":
        raise Problem(
            "bad_request",
            f"invitation {key}: only a link for one person can be replaced",
            fix="revoke it, and make a new one",
        )
    revoke_invitation(connection, campaign.key, key, now)
    ((number, token),) = create_invitations(connection, campaign, 1, now)
    return number, token


def _require_open(campaign: CampaignRow) -> None:
    if campaign.state != "open":
        state = "a draft" if campaign.state == "draft" else campaign.state
        raise Problem(
            "campaign_not_open", f"campaign {campaign.id!r}: it is {state}, and only open ones get new invitations"
        )


def _unspent(connection: Connection, campaign_key: int, key: int) -> InvitationRow:
    named = select(invitations).where(invitations.c.key == key, invitations.c.campaign_key == campaign_key)
    # Locked, or it might be spent before it is revoked or renewed.
    invitation = row_or_none(connection, InvitationRow, named.with_for_update())
    if invitation is None:
        raise Problem("not_found", f"invitation {key}: the campaign has no such invitation", fix="check its number")
    if invitation.shown_spent:
        raise Problem(
            "invitation_spent",
            f"invitation {key}: it has been used",
            fix="leave it as it is, and make another if one is needed",
        )
    return invitation


def full(link: InvitationRow) -> Problem:
    """The problem with an open link that has admitted as many people as it can."""
    people = "1 person, who has joined" if link.most == 1 else f"{link.most:,} people, who have all joined"
    return Problem("invitation_full", f"invitation {link.key}: it admits {people}")


def invitation_with(connection: Connection, token: str) -> tuple[InvitationRow, CampaignRow]:
    """The invitation with this token, and its campaign; one that was revoked before anybody used it is refused."""
    hashed = token_hash(token)
    invitation = row_or_none(connection, InvitationRow, select(invitations).where(invitations.c.token_hash == hashed))
    if invitation is None or not same_hash(invitation.token_hash, hashed):
        raise Problem("invitation_unknown", "the invitation: there is none with this token")
    if invitation.revoked_at is not None and invitation.spent_by is None and invitation.kind != "open":
        raise Problem("invitation_revoked", f"invitation {invitation.key}: it was revoked")
    its_campaign = select(campaigns).where(campaigns.c.key == invitation.campaign_key)
    return invitation, one_row(connection, CampaignRow, its_campaign)
