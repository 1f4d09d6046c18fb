"""The steps in which a campaign shows new reports, kept in the database so that a restart changes nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, case, func, or_, select, update

from sottovoce.server.fast.bulk import insert_rows
from sottovoce.server.steps import IncludedClaims
from sottovoce.server.storage.rows import CampaignRow, one_row
from sottovoce.server.storage.tables import campaigns, included, invitations, participants, reports

Cohorts = dict[int, dict[int, bool]]  # by cohort and participant: whether they have withdrawn


def advance(connection: Connection, campaign_key: int, least: int, now: int) -> None:
    """End the current cohort if at least ``least`` participants reported in it.

    A step is due when a cohort ends, or when this many participants have withdrawn. Later reports belong to the next
    cohort.
    """
    locked = select(campaigns).where(campaigns.c.key == campaign_key).with_for_update()
    campaign = one_row(connection, CampaignRow, locked)
    gathered = (
        reports.c.campaign_key == campaign_key,
        reports.c.cohort == campaign.cohort + 1,
        reports.c.content_hash.is_not(None),
    )
    people, waiting = connection.execute(
        select(func.count(reports.c.participant_key.distinct()), func.count()).where(*gathered)
    ).one()
    gone = (participants.c.campaign_key == campaign_key, participants.c.withdrawn_at.is_not(None))
    left = connection.scalar(select(func.count()).where(*gone)) or 0
    changed: dict[str, int] = {"computed": campaign.changes, "computed_at": max(now, (campaign.closed_at or 0) + 1)}
    if people >= least:
        changed |= {"cohort": campaign.cohort + 1, "step": campaign.step + 1, "shown_reports": campaign.reports}
    if left - campaign.shown_withdrawn >= least:
        changed |= {"step": campaign.step + 1, "shown_withdrawn": left}
        if people < least:
            changed["shown_reports"] = campaign.reports - waiting
    connection.execute(update(campaigns).where(campaigns.c.key == campaign_key).values(changed))


def load_included(connection: Connection, campaign_key: int) -> IncludedClaims:
    rows = connection.execute(
        select(included.c.place, included.c.cohort, included.c.claims)
        .where(included.c.campaign_key == campaign_key)
        .order_by(included.c.place, included.c.cohort)
    ).all()
    return IncludedClaims(*np.array([tuple(row) for row in rows], np.int64).reshape(-1, 3).T)


def keep_included(connection: Connection, campaign_key: int, before: IncludedClaims, after: IncludedClaims) -> None:
    """Store what has changed."""
    most = after.cohorts.max(initial=0) + 1
    new = np.isin(after.places * most + after.cohorts, before.places * most + before.cohorts, invert=True)
    names = ("campaign_key", "place", "cohort", "claims")
    insert_rows(connection, included, names, [(campaign_key, *row) for row in _rows(after, new)])
    fewer = np.flatnonzero(~new)[after.claims[~new] != before.claims]
    for place, cohort, claims in _rows(after, fewer):
        of_task = (included.c.campaign_key == campaign_key, included.c.place == place, included.c.cohort == cohort)
        connection.execute(update(included).where(*of_task).values(claims=claims))


def _rows(some: IncludedClaims, mask: NDArray[Any]) -> list[tuple[int, int, int]]:
    columns = (some.places[mask], some.cohorts[mask], some.claims[mask])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def cohorts_with_withdrawals(connection: Connection, campaign_key: int) -> Cohorts:
    """Cohorts in which somebody has withdrawn: all their members, and whether each has."""
    of_campaign = reports.c.campaign_key == campaign_key
    affected = select(reports.c.cohort).where(of_campaign, reports.c.content_hash.is_(None))
    query = select(reports.c.cohort, reports.c.participant_key, reports.c.content_hash.is_(None)).where(
        of_campaign, reports.c.cohort.in_(affected)
    )
    cohorts: Cohorts = {}
    for cohort, participant, withdrawn in connection.execute(query):
        cohorts.setdefault(cohort, {})[participant] = withdrawn
    return cohorts


def show_spent(connection: Connection, campaign_keys: list[int]) -> None:
    """Show the operators all invitations that are spent by now, and how many joined by open links."""
    of_campaigns = invitations.c.campaign_key.in_(campaign_keys)
    connection.execute(update(invitations).where(of_campaigns, *_UNSEEN).values(shown_spent=True))
    connection.execute(
        update(invitations)
        .where(of_campaigns, invitations.c.joined > invitations.c.shown_joined)
        .values(shown_joined=invitations.c.joined)
    )


def spent_unseen(connection: Connection, least: int) -> list[int]:
    """Campaigns that at least ``least`` people have joined since their operators were last shown how many."""
    new = func.sum(case((and_(*_UNSEEN), 1), else_=invitations.c.joined - invitations.c.shown_joined))
    either = or_(and_(*_UNSEEN), invitations.c.joined > invitations.c.shown_joined)
    query = select(invitations.c.campaign_key).where(either).group_by(invitations.c.campaign_key)
    return list(connection.scalars(query.having(new >= least)))


_UNSEEN = (invitations.c.spent_by.is_not(None), ~invitations.c.shown_spent)
