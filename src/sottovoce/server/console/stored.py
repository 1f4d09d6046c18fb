"""Manifests and results as they are stored, for pages that only read them."""

import json
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=8)
def parsed(content: bytes) -> Any:
    """A stored document, cached and not to be changed: with ten thousand tasks, parsing is half the work of a page."""
    return json.loads(content)
