"""What an operator can do with campaigns, through the API or the console."""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pydantic import Field
from sqlalchemy import Connection

from sottovoce.discovery.target import Target
from sottovoce.protocol.drafting import drafted, replaced
from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.manifest import MOST_GRIDS, Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.server.bodies import RequestBody
from sottovoce.server.compared import first_offers
from sottovoce.server.gold import as_stored, checked, from_stored
from sottovoce.server.methods import Method, check_method
from sottovoce.server.results import Computation, encode, guarantee_of
from sottovoce.server.state import ServerState
from sottovoce.server.storage import campaigns as stored
from sottovoce.server.storage.offers import publish_offers
from sottovoce.server.storage.pictures import LOGOS, PLANS, Pictures
from sottovoce.server.storage.results import add_results
from sottovoce.server.storage.rows import CampaignRow, OperatorRow
from sottovoce.server.task_models import Number, TaskDraft, Text

Name = (
    Annotated[str, Field(min_length=1, max_length=200)]
    | Annotated[dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=100)]
)
Noise = Annotated[str, Field(max_length=100)] | Annotated[dict[str, str], Field(max_length=2)]


_ANALYSIS = {"method", "target", "known"}  # not part of what participants agree to, and so not in the manifest
_REMOVABLE = ("deadline", "levels", "retention", "plan", "logo", "answer")


class CampaignChange(RequestBody):
    """The fields to change. All but the method, its target and the known truths can be changed only in drafts."""

    title: Name | None = None
    asked_by: Name | None = None
    purpose: Text | None = None
    contact: Text | None = None
    language: Annotated[str, Field(max_length=20)] | None = None
    tasks: Annotated[list[TaskDraft], Field(fail_fast=True, min_length=1, max_length=10_000)] | None = None
    noise: Noise | None = None
    distance: Number | None = None
    levels: Literal[2, 4] | None = None
    unit: Literal["reading", "participant"] | None = None
    readings: Annotated[int, Field(ge=1, le=10_000)] | None = None
    answer: Annotated[int, Field(ge=1, le=10_000)] | None = None
    public_results: bool | None = None
    retention: Annotated[int, Field(ge=0)] | None = None
    plan: dict[str, str] | None = None
    logo: Annotated[str, Field(max_length=64)] | None = None
    deadline: Annotated[str, Field(max_length=40)] | None = None
    method: Method | None = None
    target: Target | None = None
    known: (
        Annotated[
            dict[str, Number],
            Field(max_length=10_000, description="truths that you know, by task: a number, or the text of a choice"),
        ]
        | None
    ) = None


class CampaignDraft(CampaignChange):
    """A new campaign. By default, `asked_by` is the operator's name, and a participant may answer all tasks."""

    title: Name
    tasks: Annotated[list[TaskDraft], Field(fail_fast=True, min_length=1, max_length=10_000)]
    noise: Noise


def create(connection: Connection, operator: OperatorRow, draft: CampaignDraft, now: int) -> CampaignRow:
    """Create a draft."""
    # Devices identify campaigns by their ids, so no two campaigns may ever share one, on any server.
    base = {"campaign": secrets.token_hex(12), "asked_by": operator.name, "readings": len(draft.tasks)}
    manifest = _changed(base, draft)
    analysis = _analysis(dict.fromkeys(_ANALYSIS), draft, manifest)
    return stored.create_campaign(connection, operator.key, manifest, _quotas(draft) or {}, analysis, None, now)


def change(connection: Connection, operator_key: int, campaign: str, changes: CampaignChange) -> CampaignRow:
    """Change a draft, or how the results of any campaign are computed."""
    row = stored.campaign_of(connection, operator_key, campaign)
    manifest = Manifest.parse(row.manifest)
    if changes.model_fields_set - _ANALYSIS:
        quotas = _quotas(changes)
        manifest = _changed(manifest.content(), changes)
        stored.change_draft(
            connection, row, manifest, stored.quotas_of(connection, row.key) if quotas is None else quotas
        )
        for pictures, wanted in _pictures_of(manifest):
            if pictures.hash_of(connection, row.key) != wanted:
                pictures.remove(connection, row.key)
    before = _analysis_of(row)
    analysis = _analysis(before, changes, manifest)
    if analysis != before:
        if row.erasing_at is not None:
            raise Problem("erased", f"campaign {campaign!r}: its readings are erased, so its results stay as they are")
        anew = any(analysis[name] != before[name] for name in _ANALYSIS - {"known"})
        stored.change_analysis(connection, row.key, analysis, anew)
    return stored.campaign_of(connection, operator_key, campaign)


def change_fields(connection: Connection, operator_key: int, campaign: str, fields: dict[str, Any]) -> CampaignRow:
    """Change fields of a draft, given as in its manifest."""
    with reported_as("bad_request"):
        changes = CampaignChange.model_validate(fields, strict=False)  # a manifest has tuples instead of lists
    return change(connection, operator_key, campaign, changes)


def with_quotas(connection: Connection, row: CampaignRow, tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tasks with their quotas, which a manifest of the first format does not have."""
    quotas = stored.quotas_of(connection, row.key)
    return [task | ({"quota": quotas[task["id"]]} if task["id"] in quotas else {}) for task in tasks]


def new_version(
    connection: Connection, operator_key: int, campaign: str, changes: CampaignChange, now: int
) -> CampaignRow:
    """A new draft with the terms of an open or closed campaign."""
    row = stored.campaign_of(connection, operator_key, campaign)
    if row.state == "draft":
        raise Problem(
            "wrong_state",
            f"campaign {campaign!r}: it is a draft, and only open or closed campaigns have new versions",
            fix="change the draft, or duplicate it",
        )
    base = Manifest.parse(row.manifest).content()
    return _copied(connection, row, base | {"version": base["version"] + 1}, changes, row.key, now)


def duplicate(
    connection: Connection, operator_key: int, campaign: str, changes: CampaignChange, now: int
) -> CampaignRow:
    """A new draft with everything of a campaign except its people: no invitations, no readings, no results.

    It is the first version of a campaign of its own. A deadline that has passed is left out.
    """
    row = stored.campaign_of(connection, operator_key, campaign)
    base = Manifest.parse(row.manifest).content() | {"version": 1}
    if row.deadline is not None and row.deadline <= now:
        base["deadline"] = None
    return _copied(connection, row, base, changes, None, now)


def _copied(
    connection: Connection,
    row: CampaignRow,
    base: dict[str, Any],
    changes: CampaignChange,
    previous_key: int | None,
    now: int,
) -> CampaignRow:
    """A draft like a campaign, with its picture, quotas and known truths."""
    quotas, manifest = _quotas(changes), _changed(base | {"campaign": secrets.token_hex(12)}, changes)
    made = stored.create_campaign(
        connection,
        row.operator_key,
        manifest,
        stored.quotas_of(connection, row.key) if quotas is None else quotas,
        _analysis(_analysis_of(row), changes, manifest),
        previous_key,
        now,
    )
    for pictures, wanted in _pictures_of(manifest):
        if wanted is not None and pictures.hash_of(connection, row.key) == wanted:
            pictures.copy(connection, row.key, made.key)
    return made


async def opening(server: ServerState, operator_key: int, campaign: str) -> Callable[[Connection], CampaignRow]:
    """The action that opens a draft: from then on its manifest is fixed and has a hash."""
    row = await server.read(lambda connection: stored.campaign_of(connection, operator_key, campaign))
    manifest = Manifest.parse(row.manifest)
    _check_for_devices(manifest)
    # The exact figures of a guarantee may take a moment, and nothing else should wait for them.
    guarantee = await asyncio.to_thread(guarantee_of, manifest)
    first_cuts = await asyncio.to_thread(first_offers, manifest)

    def open_it(connection: Connection) -> CampaignRow:
        now = server.clock()
        row = stored.campaign_of(connection, operator_key, campaign)
        for pictures, wanted in _pictures_of(manifest):
            if pictures.hash_of(connection, row.key) != wanted:
                raise Problem(
                    "bad_manifest",
                    f"the {pictures.name}: its picture must be uploaded before the campaign opens",
                    fix="upload it, or remove it from the draft",
                )
        stored.open_campaign(connection, row, manifest, json.dumps(guarantee, ensure_ascii=False), now)
        _first_results(connection, row, manifest, guarantee, server, now)
        publish_offers(connection, row.key, first_cuts, now)
        return stored.campaign_of(connection, operator_key, campaign)

    return open_it


def close(connection: Connection, operator_key: int, campaign: str, now: int) -> CampaignRow:
    """Close an open campaign: it accepts no more reports."""
    stored.close_campaign(connection, stored.campaign_of(connection, operator_key, campaign), now)
    return stored.campaign_of(connection, operator_key, campaign)


def delete(connection: Connection, operator_key: int, campaign: str) -> None:
    """Delete a draft. A campaign that has been open stays, as participants were promised."""
    stored.delete_draft(connection, stored.campaign_of(connection, operator_key, campaign))


def _first_results(
    connection: Connection,
    row: CampaignRow,
    manifest: Manifest,
    guarantee: dict[str, Any],
    server: ServerState,
    now: int,
) -> None:
    """Publish results without figures, so that there are results as soon as a campaign opens."""
    empty = Computation.empty(manifest, guarantee, row.method, row.target, server.settings.least_claims)
    content = encode(empty.results({}, version=1, as_of=now))
    add_results(connection, row.key, 1, empty.method_name, 0, now, content)


def _changed(base: dict[str, Any], change: CampaignChange) -> Manifest:
    """The manifest with the changed fields replaced."""
    fields = change.model_dump(exclude_unset=True, exclude=_ANALYSIS)
    if fields.get("tasks"):
        fields["tasks"] = [
            {name: entry for name, entry in task.items() if entry is not None} for task in fields["tasks"]
        ]
    missing = [name for name, entry in fields.items() if entry is None and name not in _REMOVABLE]
    if missing:
        raise Problem("bad_request", f"{missing[0]} null: it cannot be removed", fix="give it a value, or leave it out")
    if "answer" in base and "answer" not in fields:  # all tasks, as before, or as many as before if possible
        whole = base["answer"] == min(base["readings"], len(base["tasks"]))
        most = min(fields.get("readings", base["readings"]), len(fields.get("tasks", base["tasks"])))
        fields["answer"] = most if whole else min(base["answer"], most)
    manifest = drafted(replaced(base, fields))
    _check_for_devices(manifest)
    return manifest


def _check_for_devices(manifest: Manifest) -> None:
    """Refuse a valid manifest that no device could accept. A draft of an older version may have one."""
    manifest.check_comparisons(fix="leave SIZE out, as in response:1")
    if len(manifest.parts) > MOST_GRIDS:
        raise Problem(
            "bad_manifest",
            f"tasks with {len(manifest.parts):,} different pairs of grid and distance, or numbers of choices: devices "
            f"check at most {MOST_GRIDS}",
            fix="give similar tasks the same grid and distance",
        )


def _pictures_of(manifest: Manifest) -> tuple[tuple[Pictures, str | None], ...]:
    """Each kind of picture, with the hash that the manifest names."""
    return (PLANS, manifest.plan_sha256), (LOGOS, manifest.logo_sha256)


def _analysis_of(row: CampaignRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _ANALYSIS}


def _analysis(before: dict[str, Any], change: CampaignChange, manifest: Manifest) -> dict[str, Any]:
    """How results are computed after a change. The known truths of removed tasks are removed too."""
    analysis = before | change.model_dump(include=_ANALYSIS, exclude_unset=True)
    if change.method is not None:
        check_method(change.method, manifest)
    if "known" in change.model_fields_set:
        known = change.known or {}
    else:
        kept = from_stored(before["known"])
        known = {name: truth for name, truth in kept.items() if name in manifest.task_of}
    return analysis | {"known": as_stored(checked(known, manifest))}


def _quotas(change: CampaignChange) -> dict[str, int] | None:
    if change.tasks is None:
        return None
    return {task.id: task.quota for task in change.tasks if task.quota is not None}
