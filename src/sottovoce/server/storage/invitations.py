"""Invitations: each lets one participant in, once."""

from typing import Any

from sqlalchemy import Connection, Row, select, update

from sottovoce.protocol.problems import Problem
from sottovoce.protocol.tokens import new_token, same_hash, token_hash
from sottovoce.server.storage.bulk import insert_rows
from sottovoce.server.storage.tables import campaigns, invitations


def create_invitations(connection: Connection, campaign: Row[Any], count: int, now: int) -> list[tuple[int, str]]:
    """Number and token of each. The link carries the hash of the manifest, so the campaign must be open."""
    _require_open(campaign)
    tokens = {token_hash(token): token for token in (new_token() for _ in range(count))}
    insert_rows(
        connection,
        invitations,
        ("campaign_key", "token_hash", "created_at"),
        [(campaign.key, found, now) for found in tokens],
    )
    made = connection.execute(
        select(invitations.c.key, invitations.c.token_hash)
        .where(invitations.c.token_hash.in_(tokens))
        .order_by(invitations.c.key)
    )
    return [(row.key, tokens[row.token_hash]) for row in made]


def list_invitations(connection: Connection, campaign_key: int) -> list[Row[Any]]:
    return list(
        connection.execute(
            select(invitations).where(invitations.c.campaign_key == campaign_key).order_by(invitations.c.key)
        )
    )


def newest_invitations(connection: Connection, campaign_key: int, first: int, most: int) -> list[Row[Any]]:
    """So many invitations after the first few, the newest first."""
    found = select(invitations).where(invitations.c.campaign_key == campaign_key).order_by(invitations.c.key.desc())
    return list(connection.execute(found.offset(first).limit(most)))


def revoke_invitation(connection: Connection, campaign_key: int, key: int, now: int) -> None:
    """Take an invitation back. One that is spent cannot be: nothing tells which participant it became.

    Whether it is spent is not to be seen before the next step. Until then it can be taken back as if it were not, which
    is without effect on whoever has spent it.
    """
    found = _unspent(connection, campaign_key, key)
    if found.revoked_at is None:
        connection.execute(update(invitations).where(invitations.c.key == key).values(revoked_at=now))


def rotate_invitation(connection: Connection, campaign: Row[Any], key: int, now: int) -> tuple[int, str]:
    """Number and token of a new invitation in place of one that went astray; the old link is void."""
    _require_open(campaign)
    revoke_invitation(connection, campaign.key, key, now)
    ((number, token),) = create_invitations(connection, campaign, 1, now)
    return number, token


def _require_open(campaign: Row[Any]) -> None:
    if campaign.state != "open":
        raise Problem(
            "campaign_not_open", f"campaign {campaign.id!r}: it is {campaign.state}; invitations need it open"
        )


def _unspent(connection: Connection, campaign_key: int, key: int) -> Row[Any]:
    found = connection.execute(
        select(invitations)
        .where(invitations.c.key == key, invitations.c.campaign_key == campaign_key)
        .with_for_update()  # or it might be spent before it is revoked or renewed
    ).one_or_none()
    if found is None:
        raise Problem("not_found", f"invitation {key}: the campaign has no such invitation")
    if found.shown_spent:
        raise Problem("invitation_spent", f"invitation {key}: it has been used")
    return found


def invitation_with(connection: Connection, token: str) -> tuple[Row[Any], Row[Any]]:
    """The invitation with this token, and its campaign; one that was revoked before anybody used it is refused."""
    wanted = token_hash(token)
    found = connection.execute(select(invitations).where(invitations.c.token_hash == wanted)).one_or_none()
    if found is None or not same_hash(found.token_hash, wanted):
        raise Problem("invitation_unknown", "the invitation: there is none with this token")
    if found.revoked_at is not None and found.spent_by is None:
        raise Problem("invitation_revoked", f"invitation {found.key}: it was taken back")
    return found, connection.execute(select(campaigns).where(campaigns.c.key == found.campaign_key)).one()
