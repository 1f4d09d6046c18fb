"""The cuts that a campaign publishes: the current ones, and all earlier ones, which stay valid until it closes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, and_, func, or_, select, update

from sottovoce.server.fast.bulk import insert_rows
from sottovoce.server.storage.tables import details, offers, readings, tasks

Offers = Mapping[
    int, Iterable[Sequence[int]]
]  # by the place of the task: alternatives, each of which is a list of cuts
_OFFER = ("campaign_key", "place", "cuts", "is_current", "published_at")
_PLACES_AT_ONCE = 500  # in a query


class CountedAnswers(NamedTuple):
    """How many participants of a cohort gave the same answer."""

    place: int
    cuts: str
    level: int
    cohort: int
    people: int


def cuts_text(cuts: Sequence[int]) -> str:
    """Cuts as text, as they are stored and as they are in reports."""
    return f"[{','.join(map(str, cuts))}]"


def publish_offers(connection: Connection, campaign_key: int, new: Offers, now: int) -> None:
    """Publish cuts, which devices compare readings with from now on. The cuts of other tasks stay as they are."""
    places = sorted(new)
    for first in range(0, len(places), _PLACES_AT_ONCE):
        some = places[first : first + _PLACES_AT_ONCE]
        of_places = and_(offers.c.campaign_key == campaign_key, offers.c.place.in_(some))
        known = {(row.place, row.cuts) for row in connection.execute(select(offers).where(of_places))}
        connection.execute(update(offers).where(of_places, offers.c.is_current).values(is_current=False))
        wanted = {(place, cuts_text(cuts)) for place in some for cuts in new[place]}
        added = [(campaign_key, place, cuts, True, now) for place, cuts in sorted(wanted - known)]
        insert_rows(connection, offers, _OFFER, added)
        again = [and_(offers.c.place == place, offers.c.cuts == cuts) for place, cuts in sorted(wanted & known)]
        if again:
            condition = and_(offers.c.campaign_key == campaign_key, or_(*again))
            connection.execute(update(offers).where(condition).values(is_current=True, published_at=now))


def current_offers(connection: Connection, campaign_key: int) -> tuple[dict[str, list[str]], int]:
    """The current alternatives by task, without tasks that have enough readings, and when they last changed."""
    full = and_(tasks.c.quota.is_not(None), tasks.c.taken >= tasks.c.quota)
    rows = connection.execute(
        select(tasks.c.id, offers.c.cuts, offers.c.published_at)
        .join(tasks, and_(tasks.c.campaign_key == offers.c.campaign_key, tasks.c.place == offers.c.place))
        .where(offers.c.campaign_key == campaign_key, offers.c.is_current, ~full)
        .order_by(offers.c.place, offers.c.cuts)
    ).all()
    by_task: dict[str, list[str]] = {}
    for task, cuts, _ in rows:
        by_task.setdefault(task, []).append(cuts)
    return by_task, max((row.published_at for row in rows), default=0)


def was_offered(connection: Connection, campaign_key: int, place: int, cuts: str) -> bool:
    """Whether these cuts were ever published."""
    one = (offers.c.campaign_key == campaign_key, offers.c.place == place, offers.c.cuts == cuts)
    return connection.scalar(select(func.count()).where(*one)) == 1


def has_offers(connection: Connection, campaign_key: int) -> bool:
    """Whether a campaign has tasks that are answered by comparison."""
    return connection.scalar(select(offers.c.place).where(offers.c.campaign_key == campaign_key).limit(1)) is not None


def counted_answers(connection: Connection, campaign_key: int, cohort: int) -> list[CountedAnswers]:
    """The answers to comparisons up to a cohort; equal ones are counted, so that a million of them are few rows."""
    same = and_(
        details.c.campaign_key == readings.c.campaign_key,
        details.c.participant_key == readings.c.participant_key,
        details.c.place == readings.c.place,
    )
    columns = (readings.c.place, details.c.content, readings.c.value, readings.c.cohort)
    query = (
        select(*columns, func.count())
        .join(details, same)
        .where(readings.c.campaign_key == campaign_key, readings.c.cohort <= cohort)
        .group_by(*columns)
    )
    return [CountedAnswers(*row) for row in connection.execute(query)]
