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
    """Take an invitation back. One that is spent cannot be: nothing tells which participant it became."""
    found = _unspent(connection, campaign_key, key)
    if found.revoked_at is None:
        connection.execute(update(invitations).where(invitations.c.key == key).values(revoked_at=now))


def rotate_invitation(connection: Connection, campaign: Row[Any], key: int, now: int) -> str:
    """A new token for an invitation that went astray; the old link is void."""
    _require_open(campaign)
    _unspent(connection, campaign.key, key)
    token = new_token()
    connection.execute(
        update(invitations)
        .where(invitations.c.key == key)
        .values(token_hash=token_hash(token), created_at=now, revoked_at=None)
    )
    return token


def _require_open(campaign: Row[Any]) -> None:
    if campaign.state != "open":
        raise Problem(
            "campaign_not_open", f"campaign {campaign.id!r}: it is {campaign.state}; invitations need it open"
        )


def _unspent(connection: Connection, campaign_key: int, key: int) -> Row[Any]:
    found = connection.execute(
        select(invitations).where(invitations.c.key == key, invitations.c.campaign_key == campaign_key)
    ).one_or_none()
    if found is None:
        raise Problem("not_found", f"invitation {key}: the campaign has no such invitation")
    if found.spent_by is not None:
        raise Problem("invitation_spent", f"invitation {key}: it has been used")
    return found


def invitation_with(connection: Connection, token: str) -> tuple[Row[Any], Row[Any]]:
    """The invitation with this token, and its campaign; revoked ones are refused."""
    wanted = token_hash(token)
    found = connection.execute(select(invitations).where(invitations.c.token_hash == wanted)).one_or_none()
    if found is None or not same_hash(found.token_hash, wanted):
        raise Problem("invitation_unknown", "the invitation: there is none with this token")
    if found.revoked_at is not None:
        raise Problem("invitation_revoked", f"invitation {found.key}: it was taken back")
    return found, connection.execute(select(campaigns).where(campaigns.c.key == found.campaign_key)).one()
