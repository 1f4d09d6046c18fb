"""Participants: joining by an invitation, and withdrawing."""

import secrets
from hashlib import sha256

from sqlalchemy import Connection, delete, func, insert, select, update

from sottovoce.protocol.problems import Problem
from sottovoce.protocol.tokens import new_token, participant_token, same_hash, token_hash
from sottovoce.server.clock import moment
from sottovoce.server.storage.engine import mark_erased
from sottovoce.server.storage.invitations import full, invitation_with
from sottovoce.server.storage.rows import InvitationRow, ParticipantRow, row_or_none
from sottovoce.server.storage.tables import campaigns, invitations, joinings, participants, readings, reports, tasks


def enrol(connection: Connection, invitation: str, enrolment_key: str | None, now: int) -> tuple[str, str]:
    """Campaign id and participant token for an invitation.

    A response can get lost after the commit, so the same call must get the same response again, although only hashes
    are stored. With an enrolment key, a secret that the device draws and keeps, the token follows from that key and the
    invitation (HMAC-SHA256), and the server can compute it again from what the device sends. Somebody who has only the
    link, for example from a photograph of its QR code, cannot: without the key they learn only that the invitation is
    spent. Without a key the token is random, and a lost response costs the invitation.

    The invitation keeps a hash over both secrets and the participant a hash of the token. Neither can be computed from
    the other, so the tables do not reveal which participant used which invitation.
    """
    row, campaign = invitation_with(connection, invitation)
    secret = enrolment_key or new_token()
    mark = sha256(f"sottovoce enrolment\n{invitation}\n{secret}".encode()).hexdigest()
    token = participant_token(invitation, secret)
    if _is_used(connection, row, mark):
        if enrolment_key is None:
            raise Problem("invitation_spent", f"invitation {row.key}: it has been used, with another enrolment key")
        return campaign.id, token
    refuse_if_over(row, now)
    if campaign.deadline is not None and campaign.deadline <= now:
        raise Problem("deadline_passed", f"campaign {campaign.id!r}: its deadline has passed")
    # Locked, so that nobody joins once another process has closed the campaign.
    state = connection.scalar(
        select(campaigns.c.state).where(campaigns.c.key == campaign.key).with_for_update(read=True)
    )
    if state != "open":
        raise Problem("campaign_not_open", f"campaign {campaign.id!r}: it is {state}")
    if not _use(connection, row, mark):  # another process spent, revoked or replaced it just now, so look at it again
        return enrol(connection, invitation, enrolment_key, now)
    connection.execute(
        insert(participants).values(campaign_key=campaign.key, token_hash=token_hash(token), label=secrets.token_hex(8))
    )
    return campaign.id, token


def refuse_if_over(row: InvitationRow, now: int) -> None:
    """Refuse an invitation that admits nobody any more."""
    if row.revoked_at is not None:
        raise Problem("invitation_revoked", f"invitation {row.key}: it was revoked")
    if row.expires_at is not None and row.expires_at <= now:
        raise Problem("invitation_expired", f"invitation {row.key}: it was valid until {moment(row.expires_at)}")
    if row.most is not None and row.joined >= row.most:
        raise full(row)


def _is_used(connection: Connection, row: InvitationRow, mark: str) -> bool:
    """Whether these secrets were used before. A link for one person that was used with others is refused."""
    if row.kind == "open":
        same = select(joinings.c.mark).where(joinings.c.invitation_key == row.key, joinings.c.mark == mark)
        return connection.scalar(same) is not None
    if row.spent_by is not None and not same_hash(row.spent_by, mark):
        raise Problem("invitation_spent", f"invitation {row.key}: it has been used, with another enrolment key")
    return row.spent_by is not None


def _use(connection: Connection, row: InvitationRow, mark: str) -> bool:
    """Spend an invitation, or one of the places of an open link."""
    free = invitations.c.spent_by.is_(None) if row.most is None else invitations.c.joined < row.most
    used = connection.execute(
        update(invitations)
        .where(
            invitations.c.key == row.key,
            invitations.c.token_hash == row.token_hash,
            invitations.c.revoked_at.is_(None),
            free,
        )
        .values({"spent_by": mark} if row.most is None else {"joined": invitations.c.joined + 1})
    )
    if used.rowcount == 1 and row.most is not None:
        connection.execute(insert(joinings).values(invitation_key=row.key, mark=mark))
    return used.rowcount == 1


def withdraw(connection: Connection, campaign_id: str, token: str, now: int) -> None:
    """Erase a participant's readings. The ids of their reports stay, so that none of them can be sent again."""
    participant = participant_of(connection, campaign_id, token, locked=True)
    if participant.withdrawn_at is not None:
        return
    of_participant = (
        readings.c.campaign_key == participant.campaign_key,
        readings.c.participant_key == participant.key,
    )
    places = list(connection.scalars(select(readings.c.place).where(*of_participant)))
    connection.execute(delete(readings).where(*of_participant))
    counted = connection.scalar(
        select(func.count()).where(reports.c.participant_key == participant.key, reports.c.content_hash.is_not(None))
    )
    # The hash of a short report could be reversed by trying all values, so it is erased as well.
    connection.execute(
        update(reports).where(reports.c.participant_key == participant.key).values(content_hash=None, readings=0)
    )
    connection.execute(update(participants).where(participants.c.key == participant.key).values(withdrawn_at=now))
    mark_erased(connection)
    if places:
        connection.execute(
            update(tasks)
            .where(
                tasks.c.campaign_key == participant.campaign_key,
                tasks.c.place.in_(places),
                tasks.c.quota.is_not(None),
            )
            .values(taken=tasks.c.taken - 1)
        )
        connection.execute(
            update(campaigns)
            .where(campaigns.c.key == participant.campaign_key)
            .values(reports=campaigns.c.reports - counted, changes=campaigns.c.changes + 1, changed_at=now)
        )


def unknown_participant() -> Problem:
    """The problem with a token of no participant. Such tokens are never revoked, so the catalogue's fix is no help."""
    return Problem(
        "unauthorised",
        "the token: it does not belong to any participant of this server",
        fix="use the token that you received on joining, or join again with a new invitation",
    )


def participant_of(connection: Connection, campaign_id: str, token: str, *, locked: bool = False) -> ParticipantRow:
    """The participant with this token; if ``locked``, none of their reports is stored or erased in the meantime."""
    hashed = token_hash(token)
    query = select(participants).where(participants.c.token_hash == hashed)
    if locked:
        query = query.with_for_update(key_share=True)
    participant = row_or_none(connection, ParticipantRow, query)
    if participant is None or not same_hash(participant.token_hash, hashed):
        raise unknown_participant()
    own = connection.scalar(select(campaigns.c.id).where(campaigns.c.key == participant.campaign_key))
    if own != campaign_id:
        raise Problem("forbidden", f"campaign {campaign_id!r}: the token is for another campaign")
    return participant
