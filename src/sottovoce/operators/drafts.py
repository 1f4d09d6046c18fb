"""A campaign as an operator writes it into a file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.task_table import read_tasks, read_truths
from sottovoce.protocol.translations import CampaignText, read_texts, write_texts


def read_draft(path: Path) -> dict[str, Any]:
    """A campaign from a file: tasks as CSV with the columns of `task_table`, or all of it as JSON.

    Numbers stay text, so that 0.1 is exactly a tenth.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            draft = json.loads(text, parse_float=str)
            if not isinstance(draft, dict):
                raise UnreadableFile(f"{path}: a campaign as JSON is one object; see the API's POST /api/campaigns")
            return draft
        return {"tasks": read_tasks(str(path), text)}
    except (ValueError, RecursionError) as mistake:
        raise UnreadableFile(f"{path}: {mistake}; give tasks as CSV or a whole campaign as JSON, in UTF-8") from None


def read_known(path: Path) -> dict[str, str]:
    """Known truths from a file with the columns task and truth."""
    try:
        return read_truths(str(path), path.read_text(encoding="utf-8-sig"))
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
