"""Instruments that an operator can choose for a number, and whether phones let the page use them."""

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import Request

from sottovoce.protocol.task_table import TYPED
from sottovoce.server.state import ServerState

_INSTRUMENTS = {
    "": "typed",
    "steps": "steps × stride",
    "sound-level": "sound level, 10 s",
    "sound-level:60": "sound level, 1 min",
    "sound-level:300": "sound level, 5 min",
    "sound-level:900": "sound level, 15 min",
    "stopwatch": "stopwatch",
    "counter": "counter",
}
_SENSORS = ("steps", "sound-level")  # the others are buttons


def instruments_for(tasks: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Instruments to choose from, with those that a table gave another time."""
    timed = [name for task in tasks if ":" in (name := task.get("instrument") or "")]
    return {name: f"sound level, {name.partition(':')[2]} s" for name in timed} | _INSTRUMENTS


def sensors_reachable(request: Request) -> bool:
    """Whether participants' pages come over HTTPS: browsers give sensors to no others."""
    server: ServerState = request.app.state.sottovoce
    return (server.settings.public_url or str(request.base_url)).startswith("https://")


def sensor_warning(manifest: Mapping[str, Any], request: Request) -> str | None:
    """What to tell an operator whose tasks need a sensor that no phone will offer."""
    count = sum(task.get("instrument", TYPED).partition(":")[0] in _SENSORS for task in manifest["tasks"])
    if not count or sensors_reachable(request):
        return None
    return (
        f"{count:,} task{'s are' if count != 1 else ' is'} measured with a sensor, and phones give a page no sensor "
        "without HTTPS. Give the server a certificate, or set its public address to one that begins with https://; "
        "until then, people have to type what they measure."
    )
