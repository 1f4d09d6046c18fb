"""The plan of a draft: its picture, and where the tasks lie on it."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from sottovoce.protocol.geojson import Place
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.pictures import Picture
from sottovoce.protocol.problems import Problem
from sottovoce.server.campaigns import change_fields, with_quotas
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.pictures import PLANS
from sottovoce.server.storage.rows import CampaignRow

Places = Mapping[str, Place | None]  # by task; None removes a task from the plan


def set_plan(
    connection: Connection, operator_key: int, campaign: str, picture: Picture, places: Places | None = None
) -> CampaignRow:
    """Set or replace the picture of a draft; the tasks stay where they are, unless new places are given."""
    changes = {"plan": picture.named, **_with_places(connection, operator_key, campaign, places or {})}
    row = change_fields(connection, operator_key, campaign, changes)
    PLANS.put(connection, row.key, picture)
    return row


def clear_plan(connection: Connection, operator_key: int, campaign: str) -> CampaignRow:
    """Remove the picture from a draft, and all tasks from the plan."""
    manifest = Manifest.parse(campaign_of(connection, operator_key, campaign).manifest)
    nowhere = dict.fromkeys(manifest.task_of)
    return change_fields(
        connection, operator_key, campaign,
        {"plan": None, **_with_places(connection, operator_key, campaign, nowhere)},
    )  # fmt: skip


def place_tasks(connection: Connection, operator_key: int, campaign: str, places: Places) -> CampaignRow:
    """Put tasks of a draft on its plan, or remove them from it. Tasks that are not named stay where they are."""
    return change_fields(connection, operator_key, campaign, _with_places(connection, operator_key, campaign, places))


def _with_places(connection: Connection, operator_key: int, campaign: str, places: Places) -> dict[str, Any]:
    """The tasks with their new places, as a change."""
    if not places:
        return {}
    row = campaign_of(connection, operator_key, campaign)
    manifest = Manifest.parse(row.manifest)
    unknown = next(iter(places.keys() - manifest.task_of.keys()), None)
    if unknown is not None:
        raise Problem("unknown_task", f"task {unknown[:100]!r}: the campaign has no such task")
    tasks = []
    for task in with_quotas(connection, row, manifest.content()["tasks"]):
        kept = {name: entry for name, entry in task.items() if name != "place" or task["id"] not in places}
        if places.get(task["id"]):
            kept["place"] = places[task["id"]]
        tasks.append(kept)
    return {"tasks": tasks}
