"""Instruments that an operator can choose for a number, and whether phones let the page use them."""

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import Request

from sottovoce.protocol.instruments import INSTRUMENTS, TYPED, instrument_of, offered_instruments
from sottovoce.server.state import ServerState


def instruments_with_sensors() -> list[str]:
    """Instruments that need a sensor, for which browsers ask permission; the others are just buttons."""
    return [name for name, instrument in INSTRUMENTS.items() if instrument.permissions]


def instruments_for(tasks: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Instruments to choose from, including those that a table lists with another duration."""
    timed = [name for task in tasks if ":" in (name := task.get("instrument") or "")]
    return dict(map(_stated, timed)) | {"": TYPED} | dict(offered_instruments())


def _stated(text: str) -> tuple[str, str]:
    """An instrument with its duration; text that names no instrument, as it was written."""
    instrument, seconds = instrument_of(text), text.partition(":")[2]
    return text, f"{instrument.title}, {seconds} s" if instrument else text


def sensors_reachable(request: Request) -> bool:
    """Whether participants' pages are served over HTTPS: browsers let no other pages use sensors."""
    server: ServerState = request.app.state.sottovoce
    return (server.settings.public_url or str(request.base_url)).startswith("https://")


def sensor_warning(manifest: Mapping[str, Any], request: Request) -> str | None:
    """A warning if tasks need sensors and phones will not let the page use them."""
    named = [instrument_of(task.get("instrument")) for task in manifest["tasks"]]
    count = sum(bool(instrument and instrument.permissions) for instrument in named)
    if not count or sensors_reachable(request):
        return None
    return (
        f"{count:,} task{'s are' if count != 1 else ' is'} measured with a sensor, and phones let a page use sensors "
        "only over HTTPS. Give the server a certificate, or set its public address to one that begins with https://; "
        "until then, the page asks for no readings at all, so nobody can take part on a phone."
    )
