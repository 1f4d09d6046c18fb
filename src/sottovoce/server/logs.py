"""Logs: one JSON object per line. They never contain a token, a reading, a whole address or text from a client."""

import json
import logging
import sys
import traceback
from ipaddress import ip_network
from typing import Any

from sottovoce.server.addresses import UNKNOWN, plain
from sottovoce.server.clock import moment

_USUAL = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonLines(logging.Formatter):
    """Formats a record with its ``extra`` fields, and of an exception its type and place, but not its message."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": moment(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: entry for name, entry in vars(record).items() if name not in _USUAL}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["place"] = [
                f"{_within_package(frame.filename)}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(record.exc_info[2])[-8:]
            ]
        return json.dumps(line, ensure_ascii=False, default=str)


def _within_package(path: str) -> str:
    """A source file without the folders of this machine."""
    return path.rpartition("site-packages/")[2].rpartition("/src/")[2]


def set_up_logs(level: str) -> None:
    """Log everything to stderr; from libraries only warnings and errors."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("sottovoce").setLevel(level.upper())
    # Access logs would hold whole addresses and the tokens in links.
    logging.getLogger("uvicorn.access").disabled = True
    # This logger warns about every request that is not HTTP, and anybody can send any number of them.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)


def shortened(address: str) -> str:
    """An address without the part that identifies a household or a person.

    >>> shortened("203.0.113.77"), shortened("::ffff:203.0.113.77"), shortened("2001:db8:1:2::3")
    ('203.0.113.0/24', '203.0.113.0/24', '2001:db8:1::/48')
    """
    found = plain(address).partition("%")[0]  # without the zone that a local address may name
    return UNKNOWN if found == UNKNOWN else str(ip_network((found, 48 if ":" in found else 24), strict=False))
