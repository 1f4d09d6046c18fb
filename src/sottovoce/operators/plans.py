"""A plan of the place from files: a picture, and GeoJSON that says where the tasks lie."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sottovoce.errors import BadParameter, SottovoceError, UnreadableFile
from sottovoce.operators.client import OperatorClient
from sottovoce.protocol.geojson import Frame, Place, PlacesFile, as_geojson
from sottovoce.protocol.pictures import MOST_BYTES, MOST_LOGO_BYTES, cleaned_picture
from sottovoce.protocol.problems import Problem

_MOST_TEXT = 16 << 20


def create_with_plan(
    client: OperatorClient,
    draft: Mapping[str, Any],
    previous: str | None,
    picture: Path | None,
    places: Path | None,
    frame: str | None = None,
) -> dict[str, Any]:
    """Create a draft with its plan, or nothing at all. Tasks may have a ``place`` of their own."""
    tasks = draft.get("tasks", [])
    own = {str(task["id"]): task["place"] for task in tasks if isinstance(task, dict) and task.get("place")}
    bare = [{name: entry for name, entry in task.items() if name != "place"} for task in tasks]
    made = client.create({**draft, "tasks": bare} if own else draft, previous)
    try:
        entry = put_plan(client, made["id"], picture, places, frame)
        return client.set_places(made["id"], own) if own else entry
    except SottovoceError:
        client.delete(made["id"])
        raise


def put_plan(
    client: OperatorClient, campaign: str, picture: Path | None, places: Path | None, frame: str | None = None
) -> dict[str, Any]:
    """Set the picture, the places or both. Everything is checked before anything is sent."""
    entry = client.campaign(campaign)
    content = _picture(picture, MOST_BYTES) if picture else None
    edges = Frame.parse(frame) if frame else None
    found: dict[str, Place] = {}
    if places:
        file = PlacesFile.parse(str(places), _text(places), [task["id"] for task in entry["tasks"]])
        if content is None and entry["plan"] is None:
            content, edges = file.drawn(edges)
        found = file.places(edges)
    if content is not None:
        entry = client.set_plan(campaign, content)
    return client.set_places(campaign, found) if found else entry


def write_places(places: Mapping[str, Place], path: Path) -> None:
    """The places of tasks as GeoJSON that can be read again."""
    from sottovoce.claims.writing import whole_file

    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(as_geojson(places), indent=1) + "\n")


def read_logo(path: Path) -> bytes:
    """A logo from a file, checked."""
    return _picture(path, MOST_LOGO_BYTES)


def _picture(path: Path, most: int) -> bytes:
    try:
        return cleaned_picture(_content(path, most), most).content
    except Problem as mistake:
        raise BadParameter(f"{path}: {mistake}") from None


def _text(path: Path) -> str:
    try:
        return _content(path, _MOST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path}: it is not in UTF-8; it must be GeoJSON, in UTF-8") from None


def _content(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UnreadableFile(f"{path}: it has more than {most:,} bytes; make it smaller")
    return content
