"""The language of a public page: how it is chosen, its texts, and how it writes numbers and times.

Everything that draws a page uses `say` and `written`, which use the language of the page being rendered. The console's
own pages are in English.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from markupsafe import Markup

from sottovoce.server.clock import moment
from sottovoce.texts import DEFAULT, LANGUAGES, Texts, texts_in

NOTHING = "–"
_PREFERENCE = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\*)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?))?\s*")
_MOST_PREFERENCES = 50
_spoken: ContextVar[Texts | None] = ContextVar("spoken", default=None)


def spoken() -> Texts:
    return _spoken.get() or texts_in(DEFAULT)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Within this block, `say` and `written` use this language."""
    before = _spoken.set(texts_in(language))
    try:
        yield
    finally:
        _spoken.reset(before)


def say(key: str, **gaps: object) -> str:
    """A text in the page's language."""
    return spoken().say(key, **gaps)


def has_text(key: str) -> bool:
    """Whether the page's language has such a text."""
    return key in spoken().texts


def written(text: str) -> str:
    """A number, given in Python's notation such as "-1,234.50", as the page's language writes it.

    >>> written("-1,234.50"), written("1.5e-07")
    ('−1,234.50', '1.5e−07')
    """
    return spoken().decimal(text.replace(",", ""))


def when(time: int | str | None) -> Markup | str:
    """A time for people, with the exact one for programs.

    >>> str(when(0))
    '<time datetime="1970-01-01T00:00:00.000Z">1 Jan 1970, 00:00 UTC</time>'
    """
    if time is None:
        return NOTHING
    exact = moment(time) if isinstance(time, int) else time
    utc = datetime.fromisoformat(exact).astimezone(UTC)
    month = say("date.months").split()[utc.month - 1]
    text = say("date.moment", day=str(utc.day), month=month, year=str(utc.year), time=f"{utc:%H:%M}")
    return Markup('<time datetime="{}">{}</time>').format(exact, text)


def chosen_language(query: Mapping[str, str]) -> str:
    """The language that an address names; empty if it names no available one."""
    chosen = query.get("lang", "")
    return chosen if chosen in LANGUAGES else ""


def wanted_language(query: Mapping[str, str], accepted: str) -> str:
    """The language chosen on the page, or else the first of the browser's languages that is available.

    >>> wanted_language({}, "pt-BR, zh-CN;q=0.8, de;q=0.5"), wanted_language({"lang": "fr"}, "de")
    ('zh-Hans', 'fr')
    """
    if chosen := chosen_language(query):
        return chosen
    found = [_PREFERENCE.fullmatch(part) for part in accepted.split(",")[:_MOST_PREFERENCES]]
    ranked = sorted(((float(one[2] or 1), one[1].lower()) for one in found if one), key=lambda one: -one[0])
    for quality, tag in ranked:
        for language in LANGUAGES:
            if quality > 0 and tag.split("-")[0] == language.split("-")[0]:
                return language
    return DEFAULT
