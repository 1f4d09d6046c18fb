"""Results, version by version, and which campaigns are due for new ones."""

from itertools import accumulate
from typing import Any

from sqlalchemy import Connection, Select, and_, delete, func, insert, or_, select, update

from sottovoce.protocol.problems import Problem
from sottovoce.server.storage.rows import OutdatedCampaign, ResultsRow, VersionRow, all_rows, one_row, row_or_none
from sottovoce.server.storage.tables import campaigns, results

# With ten thousand tasks one version is over a megabyte, and there may be one for every few reports. So the newest is
# kept, with as many earlier ones as fit into this together with it: practically all of them for a small campaign.
MOST_BYTES = 4 << 20
_CONSIDERED = and_(
    campaigns.c.computed >= campaigns.c.changes,
    or_(campaigns.c.state != "closed", func.coalesce(campaigns.c.computed_at, 0) > campaigns.c.closed_at),
)
COMPLETE = and_(_CONSIDERED, campaigns.c.published >= campaigns.c.step)


def newest_results(connection: Connection, campaign_key: int) -> ResultsRow:
    """The newest version; there is one as soon as a campaign opens."""
    of_campaign = select(results).where(results.c.campaign_key == campaign_key)
    return one_row(connection, ResultsRow, of_campaign.order_by(results.c.version.desc()).limit(1))


def results_version(connection: Connection, campaign_key: int, version: int) -> ResultsRow:
    one = select(results).where(results.c.campaign_key == campaign_key, results.c.version == version)
    row = row_or_none(connection, ResultsRow, one)
    if row is None:
        raise Problem(
            "not_found",
            f"version {version}: there is no such version of the results, or it was not kept",
            fix="choose one of the versions that are kept",
        )
    return row


def list_versions(connection: Connection, campaign_key: int) -> list[VersionRow]:
    """The versions that are kept, without their content, newest first."""
    return all_rows(connection, VersionRow, _versions(campaign_key))


def contents_up_to(connection: Connection, campaign_key: int, version: int, most: int) -> list[bytes]:
    """The results of at most this many versions up to one, evenly spread over those that are kept, oldest first."""
    numbers = [row.version for row in reversed(list_versions(connection, campaign_key)) if row.version <= version]
    last = len(numbers) - 1
    chosen = {numbers[round(place * last / max(most - 1, 1))] for place in range(most)} if numbers else set()
    query = select(results.c.content).where(results.c.campaign_key == campaign_key, results.c.version.in_(chosen))
    return list(connection.execute(query.order_by(results.c.version)).scalars())


def newest_versions(connection: Connection, campaign_key: int, first: int, most: int) -> list[VersionRow]:
    """At most this many versions from an offset, newest first, without their content."""
    return all_rows(connection, VersionRow, _versions(campaign_key).offset(first).limit(most))


def count_versions(connection: Connection, campaign_key: int) -> int:
    return connection.scalar(select(func.count()).where(results.c.campaign_key == campaign_key)) or 0


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
    sizes = connection.execute(
        select(results.c.version, func.length(results.c.content))
        .where(results.c.campaign_key == campaign_key)
        .order_by(results.c.version.desc())
    ).all()
    totals = accumulate(size for _, size in sizes)
    too_much = [old for (old, _), total in zip(sizes, totals, strict=True) if total > MOST_BYTES and old != version]
    if too_much:
        connection.execute(
            delete(results).where(results.c.campaign_key == campaign_key, results.c.version <= too_much[0])
        )


def mark_published(connection: Connection, campaign_key: int, step: int) -> None:
    """Record that the newest results are those of this step, without an error."""
    connection.execute(
        update(campaigns).where(campaigns.c.key == campaign_key).values(published=step, trouble=None, trouble_at=None)
    )


def mark_trouble(connection: Connection, campaign_key: int, trouble: str, now: int) -> None:
    """Record why results could not be computed; the time of the first failure stays until they can."""
    connection.execute(
        update(campaigns)
        .where(campaigns.c.key == campaign_key)
        .values(trouble=trouble, trouble_at=func.coalesce(campaigns.c.trouble_at, now))
    )


def outdated_campaigns(connection: Connection) -> list[OutdatedCampaign]:
    columns = [campaigns.c[name] for name in ("key", "state", "changes", "computed", "changed_at")]
    outdated = (campaigns.c.state != "draft", campaigns.c.erasing_at.is_(None), ~COMPLETE)
    return all_rows(connection, OutdatedCampaign, select(*columns, ~_CONSIDERED).where(*outdated))
