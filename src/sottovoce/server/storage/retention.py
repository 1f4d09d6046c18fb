"""Erasing the readings of campaigns that closed long ago. Results and the ids of reports stay."""

from sqlalchemy import BigInteger, Connection, cast, delete, or_, select, update

from sottovoce.server.storage.engine import mark_erased
from sottovoce.server.storage.results import COMPLETE
from sottovoce.server.storage.rows import ErasableCampaign, all_rows
from sottovoce.server.storage.tables import campaigns, participants, readings, reports

_DAY = 86_400_000
_PARTICIPANTS_AT_ONCE = 500  # small steps: reports of other campaigns are stored in between


def erasable_campaigns(connection: Connection, now: int, days: int | None) -> list[ErasableCampaign]:
    """Campaigns that closed long enough ago and are not erased yet.

    Long enough is the number of days that the server keeps readings, or that the campaign promised, whichever is less.
    """
    promised = campaigns.c.closed_at + cast(campaigns.c.retention_days, BigInteger) * _DAY <= now
    overdue = or_(promised, campaigns.c.closed_at + days * _DAY <= now) if days else promised
    due = select(campaigns.c.key, campaigns.c.step, campaigns.c.erasing_at, COMPLETE.label("complete")).where(
        campaigns.c.state == "closed", overdue, campaigns.c.erased_at.is_(None)
    )
    return all_rows(connection, ErasableCampaign, due)


def begin_erasing(connection: Connection, campaign_key: int, now: int) -> None:
    """Stop computing results: they would be based on whatever readings are left."""
    connection.execute(update(campaigns).where(campaigns.c.key == campaign_key).values(erasing_at=now))


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
            .order_by(participants.c.key)
            .limit(_PARTICIPANTS_AT_ONCE)
            .with_for_update(key_share=True)  # a withdrawal at the same moment happens before or after
        )
    )
    if not some:
        connection.execute(update(campaigns).where(campaigns.c.key == campaign_key).values(erased_at=now))
        return True
    connection.execute(
        delete(readings).where(readings.c.campaign_key == campaign_key, readings.c.participant_key.in_(some))
    )
    connection.execute(update(reports).where(reports.c.participant_key.in_(some)).values(content_hash=None))
    mark_erased(connection)
    return False
