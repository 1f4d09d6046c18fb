"""Erasing the readings of campaigns that closed long ago. Results and the ids of reports stay."""

from sqlalchemy import Connection, delete, select, update

from sottovoce.server.storage.engine import mark_erased
from sottovoce.server.storage.results import COMPLETE
from sottovoce.server.storage.rows import ErasableCampaign, all_rows
from sottovoce.server.storage.tables import campaigns, participants, readings, reports

_PARTICIPANTS_AT_ONCE = 500  # small steps: reports of other campaigns are stored in between


def erasable_campaigns(connection: Connection, closed_before: int) -> list[ErasableCampaign]:
    """Closed long enough and not erased yet, with ``step`` and whether the last results are ``complete``."""
    due = select(campaigns.c.key, campaigns.c.step, campaigns.c.erasing_at, COMPLETE.label("complete")).where(
        campaigns.c.state == "closed", campaigns.c.closed_at <= closed_before, campaigns.c.erased_at.is_(None)
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
            .with_for_update(key_share=True)  # a withdrawal at this moment happens before or after
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
