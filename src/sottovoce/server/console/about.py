"""What a campaign is about: the fields above the tasks in the wizard, including a deadline in a time zone."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup
from pydantic import TypeAdapter

from sottovoce.protocol.fields import LongText, Moment, NameText, TitleText
from sottovoce.protocol.problems import Problem

# The label of each field, and the rule of the manifest that applies to it.
ABOUT: dict[str, tuple[str, TypeAdapter[Any]]] = {
    "title": ("Title", TypeAdapter(NameText)),
    "asked_by": ("Asked by", TypeAdapter(NameText)),
    "contact": ("Contact", TypeAdapter(TitleText)),
    "purpose": ("Purpose", TypeAdapter(LongText)),
    "deadline": ("Closes automatically at", TypeAdapter(Moment)),
}
SHOWN = (*ABOUT, "zone", "target")
_REMOVABLE = ("contact", "purpose")  # may be emptied again
# The participant's page has the same patterns (views.js).
_CONTACTS = {
    "mailto:": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "tel:": re.compile(r"\+?[0-9][0-9 ()/-]{4,30}"),
    "": re.compile(r"https://[^\s<>]+"),
}
_LOCAL = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)")


def first_about(operator: str) -> dict[str, str]:
    """The fields of a new campaign."""
    return {**dict.fromkeys(SHOWN, ""), "asked_by": operator, "zone": "UTC"}


def about_of(manifest: Mapping[str, Any], target: str | None) -> dict[str, str]:
    """The fields of a draft; the browser shows the deadline in its own zone."""
    about = {name: manifest.get(name) or "" for name in ABOUT}
    about["deadline"] = about["deadline"].removesuffix(":00Z").removesuffix("Z")
    return {**about, "zone": "UTC", "target": target or ""}


def typed_about(form: Mapping[str, str], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What was typed. In an existing draft, fields that were emptied are removed."""
    fields: dict[str, Any] = {name: form[name] for name in ABOUT if form.get(name)}
    if "deadline" in fields:
        fields["deadline"] = in_utc(fields["deadline"], form.get("zone", ""))
    if before is not None:
        fields |= {name: "" for name in _REMOVABLE if before.get(name) and form.get(name) == ""}
        fields.setdefault("deadline", None)
    return fields


def contact_link(contact: str) -> Markup | str:
    """The contact, as a link if the whole text is an e-mail or web address, or a telephone number.

    >>> str(contact_link("ask@example.org")), contact_link("Room 12, mornings")
    ('<a href="mailto:ask@example.org" rel="noreferrer">ask@example.org</a>', 'Room 12, mornings')
    """
    address = next((scheme + contact for scheme, kind in _CONTACTS.items() if kind.fullmatch(contact)), None)
    return Markup('<a href="{}" rel="noreferrer">{}</a>').format(address, contact) if address else contact


def in_utc(typed: str, zone: str) -> str:
    """A local time as it is written in a manifest; a time that states its own offset stays as it is.

    >>> in_utc("2030-07-01T18:00", "Europe/Berlin"), in_utc("2030-07-01T18:00", "")
    ('2030-07-01T16:00:00Z', '2030-07-01T18:00Z')
    """
    parts = _LOCAL.fullmatch(typed)
    if parts is None or zone in ("", "UTC"):
        return f"{typed}Z" if parts else typed
    try:
        local = datetime.fromisoformat(f"{parts[1]}T{parts[2]}")
    except ValueError:
        return f"{typed}Z"  # refused later, with the manifest's message
    if not 1000 < local.year < 9999:  # so that it can be expressed in UTC from any zone
        raise Problem("bad_request", f"deadline {typed}: its year must be from 1001 to 9998")
    return f"{_moment(local, _zone(zone), zone):%Y-%m-%dT%H:%M:%SZ}"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, or not the name of a zone at all
        raise Problem(
            "bad_request",
            f"time zone {name[:40]!r}: this server does not recognise it; enter one such as Europe/Berlin, or UTC",
        ) from None


def _moment(local: datetime, zone: tzinfo, name: str) -> datetime:
    """The moment that a local time means. When clocks change, some local times do not exist, and others occur twice."""
    first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second:
        return first
    words = f"deadline {local:%Y-%m-%d %H:%M} in {name}"
    hour = timedelta(hours=1)
    if first.astimezone(zone).replace(tzinfo=None) != local:
        raise Problem(
            "bad_request",
            f"{words}: this time does not exist, because clocks go forward that night; choose an hour "
            f"earlier or later, such as {local + hour:%H:%M}",
        )
    raise Problem(
        "bad_request",
        f"{words}: this time occurs twice, because clocks go back that night; choose an hour earlier or later, or "
        f"write {first:%Y-%m-%d %H:%M} or {second:%Y-%m-%d %H:%M} in UTC",
    )
