"""Campaigns in files that operators write."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.fields import in_language, spoken
from sottovoce.protocol.known_truths import names_of, read_truths, with_points
from sottovoce.protocol.task_table import TaskTable, read_tasks, write_tasks
from sottovoce.protocol.translations import CampaignText, read_texts, write_texts
from sottovoce.spreadsheets import MOST_BYTES


def read_draft(path: Path, decimal: str | None = None, encoding: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """A campaign from a file: its tasks as XLSX or CSV with the columns of `task_table`, or all of it as JSON.

    Also returns notes on what was read differently from what its author may expect.
    """
    if path.suffix.lower() != ".json":
        table = read_task_file(path, decimal, encoding)
        return {"tasks": table.tasks} | ({"known": table.known} if table.known else {}), list(table.notes)
    try:
        draft = json.loads(path.read_text(encoding="utf-8-sig"), parse_float=str)
    except (ValueError, RecursionError) as mistake:
        raise UnreadableFile(f"{path}: {mistake}; give tasks as XLSX or CSV, or a whole campaign as JSON") from None
    if not isinstance(draft, dict):
        raise UnreadableFile(f"{path}: a campaign must be a single JSON object; see the API's POST /api/campaigns")
    return draft, []


def read_task_file(
    path: Path, decimal: str | None = None, encoding: str | None = None, ids: Mapping[str, str] | None = None
) -> TaskTable:
    """Tasks from XLSX or CSV."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    return read_tasks(str(path), content, decimal=decimal, encoding=encoding, ids=ids)


def write_task_file(entry: Mapping[str, Any], path: Path) -> None:
    """The tasks of a campaign as a table that can be edited and read again."""
    from sottovoce.claims.writing import whole_file

    language = entry["language"] or ""
    with whole_file(path) as temporary:
        tasks = [spoken_task(task, language) for task in entry["tasks"]]
        temporary.write_text(write_tasks(tasks, entry["known"] or None), encoding="utf-8-sig")


def spoken_task(task: Mapping[str, Any], language: str) -> dict[str, Any]:
    """A task in the campaign's own language."""
    return {name: spoken(part, language) for name, part in task.items() if part is not None}


def read_known(path: Path, campaign: Mapping[str, Any]) -> dict[str, str]:
    """Known truths of a campaign from a file with the columns task (its id or its title) and truth."""
    language = campaign.get("language") or ""
    tasks = [{**task, "title": in_language(task["title"], language, language)} for task in campaign["tasks"]]
    try:
        read = read_truths(str(path), path.read_text(encoding="utf-8-sig"), names_of(tasks))
        return with_points(read, tasks)
    except ValueError as mistake:
        raise UnreadableFile(f"{path}: {mistake}; give truths as CSV in UTF-8") from None


def read_translations(path: Path, language: str) -> dict[str, dict[str, str]]:
    """Translations from a file with a column for each language."""
    try:
        return read_texts(str(path), path.read_text(encoding="utf-8-sig"), language)
    except UnicodeDecodeError as mistake:
        raise UnreadableFile(f"{path}: {mistake}; give texts as CSV in UTF-8") from None


def write_translations(entry: Mapping[str, Any], path: Path) -> None:
    """The texts of a campaign as a table for translators."""
    from sottovoce.claims.writing import whole_file

    texts = [CampaignText(one["text"], [one["where"]], one["translations"]) for one in entry["texts"]]
    with whole_file(path) as temporary:
        temporary.write_text(write_texts(texts, entry["language"], list(entry["missing"])), encoding="utf-8")
