"""Manifests and results as they are stored, for pages that only read them."""

import json
from functools import lru_cache
from typing import Any

from sottovoce.protocol.fields import in_language
from sottovoce.protocol.format_2 import FORMAT as SECOND


@lru_cache(maxsize=8)
def parsed(content: bytes) -> Any:
    """A stored document, cached and not to be changed: with ten thousand tasks, parsing is half the work of a page.

    The texts of a manifest are in the campaign's own language, whatever its format.
    """
    document = json.loads(content)
    return _spoken(document) if document.get("format") == SECOND else document


def _spoken(manifest: dict[str, Any]) -> dict[str, Any]:
    language = manifest["language"]

    def said(entry: Any) -> Any:
        return in_language(entry, language, language) if isinstance(entry, dict) and language in entry else entry

    tasks = [{name: said(entry) for name, entry in task.items()} for task in manifest["tasks"]]
    for task in tasks:
        if "choices" in task:
            task["choices"] = [said(choice) for choice in task["choices"]]
    whole = {name: said(entry) for name, entry in manifest.items()}
    return {"deadline": None, **whole, "tasks": tasks}
