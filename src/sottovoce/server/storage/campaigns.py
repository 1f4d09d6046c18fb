"""Campaigns: draft, then open, then closed. Once open, nothing that participants agreed to can change."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, case, delete, func, insert, select, update

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.server.clock import milliseconds
from sottovoce.server.storage.rows import CampaignRow, all_rows, one_row, row_or_none
from sottovoce.server.storage.tables import campaigns, invitations, tasks

# Known truths count once the campaign is closed, even if nothing else is new.
_STEP_AT_CLOSING = campaigns.c.step + case((campaigns.c.known.is_not(None), 1), else_=0)
Quotas = Mapping[str, int]  # by task id; tasks without one accept any number of readings


def campaign_of(connection: Connection, operator_key: int, id: str) -> CampaignRow:
    """An operator's campaign; another operator's is reported as missing."""
    mine = select(campaigns).where(campaigns.c.id == id, campaigns.c.operator_key == operator_key)
    campaign = row_or_none(connection, CampaignRow, mine)
    if campaign is None:
        raise unknown_campaign(id)
    return campaign


def _locked(connection: Connection, campaign: CampaignRow) -> CampaignRow:
    """A campaign as it is now; no other process changes its state or manifest before the transaction ends."""
    same = select(campaigns).where(campaigns.c.key == campaign.key).with_for_update(key_share=True)
    locked = row_or_none(connection, CampaignRow, same)
    if locked is None:
        raise unknown_campaign(campaign.id)
    return locked


def draft_of(connection: Connection, operator_key: int, id: str) -> CampaignRow:
    """An operator's campaign that has not been opened."""
    campaign = campaign_of(connection, operator_key, id)
    if campaign.state != "draft":
        raise Problem("frozen", f"campaign {id!r}: it is {campaign.state}, and only drafts can be changed")
    return campaign


def published_campaign(connection: Connection, id: str) -> CampaignRow:
    """A campaign that is or was open: the public sees no others."""
    public = select(campaigns).where(campaigns.c.id == id, campaigns.c.state != "draft")
    campaign = row_or_none(connection, CampaignRow, public)
    if campaign is None:
        raise unknown_campaign(id)
    return campaign


def unknown_campaign(id: str) -> Problem:
    return Problem("not_found", f"campaign {id!r}: there is no such campaign", fix="check its id")


def list_campaigns(
    connection: Connection, operator_key: int, first: int = 0, most: int | None = None
) -> list[CampaignRow]:
    """An operator's campaigns, newest first; all of them, or at most ``most`` from an offset."""
    mine = select(campaigns).where(campaigns.c.operator_key == operator_key).order_by(campaigns.c.key.desc())
    return all_rows(connection, CampaignRow, mine.offset(first).limit(most) if most is not None else mine)


def count_campaigns(connection: Connection, operator_key: int) -> int:
    return connection.scalar(select(func.count()).where(campaigns.c.operator_key == operator_key)) or 0


def any_campaign(connection: Connection) -> bool:
    return connection.scalar(select(campaigns.c.key).limit(1)) is not None


def quotas_of(connection: Connection, campaign_key: int) -> dict[str, int]:
    rows = connection.execute(
        select(tasks.c.id, tasks.c.quota).where(tasks.c.campaign_key == campaign_key, tasks.c.quota.is_not(None))
    )
    return {row.id: row.quota for row in rows}


def full_tasks(connection: Connection, campaign_key: int) -> list[str]:
    """The tasks that have enough readings."""
    full = select(tasks.c.id).where(tasks.c.campaign_key == campaign_key, tasks.c.taken >= tasks.c.quota)
    return list(connection.scalars(full.order_by(tasks.c.place)))


def previous_id(connection: Connection, campaign: CampaignRow) -> str | None:
    """The campaign of which this is a new version."""
    if campaign.previous_key is None:
        return None
    return connection.scalar(select(campaigns.c.id).where(campaigns.c.key == campaign.previous_key))


_revoked_unspent = and_(invitations.c.revoked_at.is_not(None), ~invitations.c.shown_spent)
_places = func.coalesce(invitations.c.most, 1)


def counts_of(connection: Connection, campaign_key: int) -> dict[str, int]:
    """How many are invited, and how many joined and withdrew as of the last step: they are shown several at once."""
    invited, spent, revoked, joined, admitted = connection.execute(
        select(
            func.count(),
            func.count(case((invitations.c.shown_spent, 1))),
            func.count(case((~invitations.c.shown_spent, invitations.c.revoked_at))),
            func.coalesce(func.sum(invitations.c.shown_joined), 0),
            func.coalesce(func.sum(case((_revoked_unspent, invitations.c.shown_joined), else_=_places)), 0),
        ).where(invitations.c.campaign_key == campaign_key)
    ).one()
    withdrawn = connection.scalar(select(campaigns.c.shown_withdrawn).where(campaigns.c.key == campaign_key)) or 0
    return {
        "invitations": invited, "spent": spent, "revoked": revoked, "participants": spent + int(joined),
        "withdrawn": withdrawn, "admitted": int(admitted),
    }  # fmt: skip


def create_campaign(
    connection: Connection,
    operator_key: int,
    manifest: Manifest,
    quotas: Quotas,
    analysis: Mapping[str, Any],
    previous_key: int | None,
    now: int,
) -> CampaignRow:
    draft = (
        insert(campaigns)
        .values(
            id=manifest.campaign,
            operator_key=operator_key,
            previous_key=previous_key,
            state="draft",
            manifest=manifest.bytes(),
            created_at=now,
            **analysis,
            **_columns(manifest),
            reports=0,
            changes=0,
            changed_at=now,
            computed=0,
        )
        .returning(campaigns)
    )
    made = one_row(connection, CampaignRow, draft)
    _write_tasks(connection, made.key, manifest, quotas)
    return made


def _columns(manifest: Manifest) -> dict[str, Any]:
    """What queries need of a manifest without parsing it."""
    return {
        "deadline": milliseconds(manifest.deadline) if manifest.deadline else None,
        "public_results": manifest.results_are_public,
        "retention_days": manifest.retention_days,
    }


def change_draft(connection: Connection, campaign: CampaignRow, manifest: Manifest, quotas: Quotas) -> None:
    """Replace the content of a draft."""
    campaign = _locked(connection, campaign)
    if campaign.state != "draft":
        raise Problem("frozen", f"campaign {campaign.id!r}: it is {campaign.state}, and only drafts can be changed")
    connection.execute(
        update(campaigns).where(campaigns.c.key == campaign.key).values(manifest=manifest.bytes(), **_columns(manifest))
    )
    connection.execute(delete(tasks).where(tasks.c.campaign_key == campaign.key))
    _write_tasks(connection, campaign.key, manifest, quotas)


def _write_tasks(connection: Connection, campaign_key: int, manifest: Manifest, quotas: Quotas) -> None:
    rows: Sequence[dict[str, Any]] = [
        {"campaign_key": campaign_key, "place": place, "id": task.id, "quota": quotas.get(task.id), "taken": 0}
        for place, task in enumerate(manifest.tasks)
    ]
    connection.execute(insert(tasks), rows)


def change_analysis(connection: Connection, campaign_key: int, analysis: Mapping[str, Any], anew: bool) -> None:
    """Change how results are computed. Those of a closed campaign are always computed again, from the same claims."""
    step = campaigns.c.step + (1 if anew else case((campaigns.c.state == "closed", 1), else_=0))
    connection.execute(update(campaigns).where(campaigns.c.key == campaign_key).values(**analysis, step=step))


def delete_draft(connection: Connection, campaign: CampaignRow) -> None:
    campaign = _locked(connection, campaign)
    if campaign.state != "draft":
        raise Problem(
            "frozen",
            f"campaign {campaign.id!r}: it is {campaign.state}, and only drafts can be deleted",
            fix="close it instead" if campaign.state == "open" else "keep it",
        )
    connection.execute(delete(campaigns).where(campaigns.c.key == campaign.key))


def open_campaign(connection: Connection, campaign: CampaignRow, manifest: Manifest, guarantee: str, now: int) -> None:
    """Open a draft: from now on its manifest is fixed. It must still be the one that the guarantee was computed for."""
    campaign = _locked(connection, campaign)
    if campaign.state != "draft":
        raise Problem(
            "wrong_state",
            f"campaign {campaign.id!r}: it is {campaign.state}, and only drafts can be opened",
            fix="leave it as it is" if campaign.state == "open" else "make a new version, and open that",
        )
    if campaign.manifest != manifest.bytes():
        raise Problem(
            "wrong_state",
            f"campaign {campaign.id!r}: it was changed while it was being opened, so it is still a draft",
            fix="check the change, then open it",
        )
    if campaign.deadline is not None and campaign.deadline <= now:
        raise Problem(
            "bad_manifest",
            f"deadline {manifest.deadline}: it has passed, and a campaign must open before its deadline",
            fix="choose a later one, or none",
        )
    connection.execute(
        update(campaigns)
        .where(campaigns.c.key == campaign.key)
        .values(state="open", opened_at=now, manifest_sha256=manifest.sha256, guarantee=guarantee)
    )


def close_campaign(connection: Connection, campaign: CampaignRow, now: int) -> None:
    """Close a campaign: it accepts no more reports after those that are being stored."""
    campaign = _locked(connection, campaign)
    if campaign.state != "open":
        state = "a draft" if campaign.state == "draft" else campaign.state
        raise Problem(
            "wrong_state",
            f"campaign {campaign.id!r}: it is {state}, and only open ones can be closed",
            fix="delete it instead" if campaign.state == "draft" else "leave it as it is",
        )
    connection.execute(
        update(campaigns)
        .where(campaigns.c.key == campaign.key)
        .values(state="closed", closed_at=now, step=_STEP_AT_CLOSING)
    )


def close_overdue(connection: Connection, now: int) -> int:
    """Close the campaigns whose deadline has passed; they count as closed at their deadline."""
    closed = connection.execute(
        update(campaigns)
        .where(campaigns.c.state == "open", campaigns.c.deadline <= now)
        .values(state="closed", closed_at=campaigns.c.deadline, step=_STEP_AT_CLOSING)
    )
    return closed.rowcount
