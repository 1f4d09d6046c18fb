"""The server's clock, passed to whatever needs it, so that tests can set it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]  # milliseconds since 1970, UTC


def system_clock() -> int:
    return time.time_ns() // 1_000_000


def milliseconds(moment: str) -> int:
    """A moment as in a manifest (RFC 3339, UTC), as the database keeps it.

    >>> milliseconds("1970-01-01T00:00:01Z")
    1000
    """
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def moment(milliseconds: int) -> str:
    """The inverse of `milliseconds`.

    >>> moment(1500)
    '1970-01-01T00:00:01.500Z'
    """
    time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
