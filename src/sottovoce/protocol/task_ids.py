"""Ids for tasks that people know by their titles."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from sottovoce.protocol.manifest import MOST_TASKS

_LONGEST_ID = 60


def give_ids(tasks: Iterable[dict[str, Any]], ids: Mapping[str, str]) -> None:
    """Give ids to tasks without one: the id that the title had before, or one that follows from the title."""
    tasks = list(tasks)
    used = {task["id"] for task in tasks if task.get("id")}
    for task in tasks:
        if not task.get("id"):
            wanted = ids.get(task["title"]) or id_from(task["title"])
            task["id"] = next(one for one in _with_numbers(wanted) if one not in used)
            used.add(task["id"])


def _with_numbers(name: str) -> Iterator[str]:
    yield name
    for number in range(2, MOST_TASKS + 2):
        yield f"{name}-{number}"


def id_from(title: str) -> str:
    """An id that follows from a title, with part of a hash if letters have no Latin form or the title is long.

    >>> id_from("Größe der Halle (2. Stock)"), id_from("长廊 1")
    ('grosse-der-halle-2-stock', '1-b3ae07')
    """
    spelt = unicodedata.normalize("NFKD", title.casefold())
    plain = re.sub(r"[^a-z0-9]+", "-", re.sub(r"[\u0300-\u036f]", "", spelt)).strip("-")
    is_whole = not any(sign.isalpha() and not sign.isascii() for sign in spelt) and 0 < len(plain) <= _LONGEST_ID
    if is_whole:
        return plain
    return f"{plain[:_LONGEST_ID].strip('-') or 'task'}-{sha256(title.encode()).hexdigest()[:6]}"
