"""Erasing the readings of campaigns that closed long ago. Results and the ids of reports stay."""

from sqlalchemy import Connection, delete, select, update

from sottovoce.server.storage.tables import campaigns, participants, readings, reports

_PARTICIPANTS_AT_ONCE = 500  # small steps: reports of other campaigns are stored in between


def erasable_campaigns(connection: Connection, closed_before: int) -> list[int]:
    """Closed long enough, not erased yet, and with results that include everything."""
    found = select(campaigns.c.key).where(
        campaigns.c.state == "closed",
        campaigns.c.closed_at <= closed_before,
        campaigns.c.erased_at.is_(None),
        campaigns.c.computed == campaigns.c.changes,
    )
    return list(connection.scalars(found))


def erase_some(connection: Connection, campaign_key: int, now: int) -> bool:
    """Erase readings of some participants; True when there are none left and the campaign is marked as erased."""
    some = list(
        connection.scalars(
            select(participants.c.key)
            .where(participants.c.campaign_key == campaign_key)
            .where(
                select(reports.c.report_id)
                .where(reports.c.participant_key == participants.c.key, reports.c.content_hash.is_not(None))
                .exists()
            )
            .limit(_PARTICIPANTS_AT_ONCE)
        )
    )
    if not some:
        connection.execute(update(campaigns).where(campaigns.c.key == campaign_key).values(erased_at=now))
        return True
    connection.execute(
        delete(readings).where(readings.c.campaign_key == campaign_key, readings.c.participant_key.in_(some))
    )
    connection.execute(update(reports).where(reports.c.participant_key.in_(some)).values(content_hash=None))
    return False
