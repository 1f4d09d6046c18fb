"""Webhooks: their addresses, and what was delivered to them."""

import secrets

from sqlalchemy import Connection, Update, delete, func, insert, select, update

from sottovoce.server.storage.results import newest_version
from sottovoce.server.storage.rows import DueEvent, WebhookRow, all_rows, row_or_none
from sottovoce.server.storage.tables import campaigns, results, webhooks

_SECRET_BYTES = 32
_LONGEST_FAILURE = 200


def webhook_of(connection: Connection, campaign_key: int) -> WebhookRow | None:
    return row_or_none(connection, WebhookRow, select(webhooks).where(webhooks.c.campaign_key == campaign_key))


def set_webhook(connection: Connection, campaign_key: int, url: str) -> WebhookRow:
    """Inform this address of all versions of the results that come from now on, signed with a new secret."""
    remove_webhook(connection, campaign_key)
    connection.execute(
        insert(webhooks).values(
            campaign_key=campaign_key,
            url=url,
            secret=secrets.token_bytes(_SECRET_BYTES),
            delivered=newest_version(connection, campaign_key),
            attempts=0,
            next_at=0,
        )
    )
    made = webhook_of(connection, campaign_key)
    assert made is not None
    return made


def remove_webhook(connection: Connection, campaign_key: int) -> bool:
    """Remove the webhook; returns whether there was one."""
    gone = connection.execute(delete(webhooks).where(webhooks.c.campaign_key == campaign_key))
    return gone.rowcount > 0


def due_events(connection: Connection, now: int) -> list[DueEvent]:
    """For each webhook that is due, the oldest version of the results that it has not received."""
    oldest = (
        select(results.c.campaign_key, func.min(results.c.version).label("version"))
        .join(webhooks, webhooks.c.campaign_key == results.c.campaign_key)
        .where(results.c.version > webhooks.c.delivered, webhooks.c.stopped_at.is_(None), webhooks.c.next_at <= now)
        .group_by(results.c.campaign_key)
        .subquery()
    )
    query = (
        select(
            webhooks.c.campaign_key, campaigns.c.id, webhooks.c.url, webhooks.c.secret, webhooks.c.attempts,
            webhooks.c.failing_since, results.c.version, results.c.reports, results.c.as_of,
        )
        .join(oldest, oldest.c.campaign_key == webhooks.c.campaign_key)
        .join(results, (results.c.campaign_key == oldest.c.campaign_key) & (results.c.version == oldest.c.version))
        .join(campaigns, campaigns.c.key == webhooks.c.campaign_key)
        .order_by(webhooks.c.campaign_key)
    )  # fmt: skip
    return all_rows(connection, DueEvent, query)


def mark_delivered(connection: Connection, event: DueEvent) -> None:
    connection.execute(
        _of(event).values(delivered=event.version, attempts=0, next_at=0, failing_since=None, failure=None)
    )


def mark_failed(connection: Connection, event: DueEvent, failure: str, now: int, next_at: int | None) -> None:
    """Record a failed attempt; the next one is due at ``next_at``, and None means never."""
    connection.execute(
        _of(event).values(
            attempts=event.attempts + 1,
            next_at=next_at or 0,
            failing_since=event.failing_since or now,
            failure=failure[:_LONGEST_FAILURE],
            stopped_at=now if next_at is None else None,
        )
    )


def _of(event: DueEvent) -> Update:
    # The secret is compared too: a webhook that was set in the meantime is another one.
    return update(webhooks).where(webhooks.c.campaign_key == event.campaign_key, webhooks.c.secret == event.secret)
