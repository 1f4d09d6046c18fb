"""Manifests and results as they are stored, for pages that only read them."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sottovoce.protocol.fields import spoken
from sottovoce.protocol.format_2 import FORMAT as SECOND
from sottovoce.protocol.format_2 import WHOLE_TEXTS


@lru_cache(maxsize=8)
def parsed(content: bytes) -> Any:
    """A stored document, cached and not to be changed: with ten thousand tasks, parsing is half the work of a page.

    The texts of a manifest are in the campaign's own language, whatever its format.
    """
    document = json.loads(content)
    return _spoken(document) if document.get("format") == SECOND else document


def has_method(manifest: Mapping[str, Any]) -> bool:
    """Whether a method can be chosen: comparisons are evaluated in their own way."""
    return "levels" not in manifest or any("choices" in task for task in manifest["tasks"])


def _spoken(manifest: dict[str, Any]) -> dict[str, Any]:
    language = manifest["language"]
    whole = {name: spoken(manifest[name], language) for name in WHOLE_TEXTS}
    tasks = [{name: spoken(entry, language) for name, entry in task.items()} for task in manifest["tasks"]]
    return {"deadline": None, **manifest, **whole, "tasks": tasks}
