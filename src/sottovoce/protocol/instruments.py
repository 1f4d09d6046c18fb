"""The instruments of the participant's page that a task can name.

A module of the page does the measuring: ``instrument-NAME.js``, which its ``known-instruments.js`` lists. What a server
needs to know about the instruments is here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TYPED = "typed"  # no instrument
LONGEST = 3600  # seconds
_SECONDS = re.compile("[1-9][0-9]{0,3}")


@dataclass(frozen=True)
class Instrument:
    """An instrument as operators choose it, and what it needs of the participant's browser."""

    title: str
    permissions: tuple[str, ...] = ()  # for its sensors, as a Permissions-Policy names them; mere buttons need none
    seconds: tuple[int, ...] = ()  # if a task can state for how long to measure: the usual time, then others to offer


INSTRUMENTS = {
    "steps": Instrument("steps × stride", permissions=("accelerometer", "gyroscope")),
    "sound-level": Instrument("sound level", permissions=("microphone",), seconds=(10, 60, 300, 900)),
    "stopwatch": Instrument("stopwatch"),
    "counter": Instrument("counter"),
}


def checked_instrument(text: str) -> str:
    """Refuse text that names no instrument, or that states a time for an instrument without one."""
    name, timed, seconds = text.partition(":")
    if name in INSTRUMENTS:
        takes_time = INSTRUMENTS[name].seconds and _SECONDS.fullmatch(seconds) and int(seconds) <= LONGEST
        if takes_time or not timed:
            return text
    elif text == TYPED:
        return text
    raise ValueError(f"{text!r} must be {known_instruments()}")


def known_instruments() -> str:
    """The instruments that a task can name, in words."""
    *names, last = (TYPED, *INSTRUMENTS)
    stating = " or ".join(f"{name}:SECONDS" for name, instrument in INSTRUMENTS.items() if instrument.seconds)
    return f"{', '.join(names)} or {last}, or {stating} with a whole number from 1 to {LONGEST}"


def instrument_of(text: str | None) -> Instrument | None:
    """The instrument that a task names, with or without a time."""
    return INSTRUMENTS.get((text or TYPED).partition(":")[0])


def offered_instruments() -> Iterator[tuple[str, str]]:
    """What a task can name, with words for people. Without a time, an instrument measures for its usual time."""
    for name, instrument in INSTRUMENTS.items():
        if not instrument.seconds:
            yield name, instrument.title
        for place, seconds in enumerate(instrument.seconds):
            yield f"{name}:{seconds}" if place else name, f"{instrument.title}, {_time(seconds)}"


def _time(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{seconds} s" if rest or not minutes else f"{minutes} min"
