"""The deadline of a campaign as a calendar file (RFC 5545), with a reminder a day before."""

from datetime import datetime

from sottovoce.protocol.manifest import Manifest
from sottovoce.texts import texts_in

MEDIA_TYPE = "text/calendar; charset=utf-8"
_LONGEST_LINE = 75  # bytes


def calendar_file(manifest: Manifest, address: str, opened_at: str, language: str) -> bytes:
    """One event at the deadline; ``address`` is where the results can be seen, if everybody may see them.

    The time is in UTC: calendars show it in the time zone of their users.
    """
    assert manifest.deadline is not None
    title = manifest.words(manifest.title, language)
    texts = texts_in(language)
    words, link = texts.say("deadline.event"), []
    if manifest.results_are_public:
        words += "\n" + texts.say("deadline.results", address=address)
        link = [f"URL:{address}"]
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Sottovoce//Campaigns//EN",
        "BEGIN:VEVENT",
        f"UID:{manifest.campaign}@sottovoce",
        f"DTSTAMP:{_stamp(opened_at)}",
        f"DTSTART:{_stamp(manifest.deadline)}",
        f"SUMMARY:{_escaped(title)}",
        f"DESCRIPTION:{_escaped(words)}",
        *link,
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        f"DESCRIPTION:{_escaped(title)}",
        "TRIGGER:-P1D",
        "END:VALARM",
        "END:VEVENT",
        "END:VCALENDAR",
    ]
    return "".join(f"{_folded(line)}\r\n" for line in lines).encode()


def _stamp(moment: str) -> str:
    return f"{datetime.fromisoformat(moment):%Y%m%dT%H%M%SZ}"


def _escaped(text: str) -> str:
    r"""A text as the value of a property.

    >>> _escaped("one, two; three")
    'one\\, two\\; three'
    """
    for sign in "\\;,":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", "\\n")


def _folded(line: str) -> str:
    """Lines of at most 75 bytes, cut between characters; each further one begins with a space."""
    parts, length = [""], 0
    for letter in line:
        size = len(letter.encode())
        if length + size > _LONGEST_LINE:
            parts.append(" ")
            length = 1
        parts[-1] += letter
        length += size
    return "\r\n".join(parts)
