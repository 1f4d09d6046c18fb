"""Manifests and results as they are stored, for pages that only read them."""

import json
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=8)
def parsed(content: bytes) -> Any:
    """What is stored, not to be changed: of ten thousand tasks this is half the work, and page after page the same."""
    return json.loads(content)
