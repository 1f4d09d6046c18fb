"""Results, version by version, and which campaigns are due for new ones."""

from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from sottovoce.protocol.problems import Problem
from sottovoce.server.storage.tables import campaigns, results


def newest_results(connection: Connection, campaign_key: int) -> Row[Any]:
    """The newest version; there is one from the opening of a campaign on."""
    return connection.execute(
        select(results).where(results.c.campaign_key == campaign_key).order_by(results.c.version.desc()).limit(1)
    ).one()


def results_version(connection: Connection, campaign_key: int, version: int) -> Row[Any]:
    found = connection.execute(
        select(results).where(results.c.campaign_key == campaign_key, results.c.version == version)
    ).one_or_none()
    if found is None:
        raise Problem("not_found", f"version {version}: there is no such version of the results")
    return found


def list_versions(connection: Connection, campaign_key: int) -> list[Row[Any]]:
    """All versions without their content, the newest first."""
    return list(connection.execute(_versions(campaign_key)))


def newest_versions(connection: Connection, campaign_key: int, first: int, most: int) -> list[Row[Any]]:
    """So many versions after the first few, the newest first, without their content."""
    return list(connection.execute(_versions(campaign_key).offset(first).limit(most)))


def _versions(campaign_key: int) -> Select[Any]:
    columns = (results.c.version, results.c.method, results.c.reports, results.c.as_of)
    return select(*columns).where(results.c.campaign_key == campaign_key).order_by(results.c.version.desc())


def newest_version(connection: Connection, campaign_key: int) -> int:
    """The number of the newest version; 0 before there is any."""
    return connection.scalar(select(func.max(results.c.version)).where(results.c.campaign_key == campaign_key)) or 0


def next_version(connection: Connection, campaign_key: int) -> int:
    return newest_version(connection, campaign_key) + 1


def add_results(
    connection: Connection, campaign_key: int, version: int, method: str, reports: int, as_of: int, content: bytes
) -> None:
    connection.execute(
        insert(results).values(
            campaign_key=campaign_key, version=version, method=method, reports=reports, as_of=as_of, content=content
        )
    )


def mark_computed(connection: Connection, campaign_key: int, changes: int) -> None:
    """The newest results include so many changes."""
    connection.execute(update(campaigns).where(campaigns.c.key == campaign_key).values(computed=changes))


def outdated_campaigns(connection: Connection) -> list[Row[Any]]:
    """Campaigns with changes that no results include yet."""
    columns = (campaigns.c.key, campaigns.c.changes, campaigns.c.computed, campaigns.c.changed_at)
    return list(
        connection.execute(
            select(*columns).where(campaigns.c.state != "draft", campaigns.c.changes > campaigns.c.computed)
        )
    )
