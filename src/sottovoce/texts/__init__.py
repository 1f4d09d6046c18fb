"""The texts that people read: one file per language, shared by the server and the page.

A text is a sentence with placeholders (``{count}``), or a set of plural forms, one of which is chosen by ``count``. In
the browser, ``language.js`` fills in the texts, and ``Intl`` formats numbers and dates. Here, each language's file
contains the few rules that are needed; a test compares the results with those of the browser.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

Text = str | dict[str, str]

_GAP = re.compile(r"\{(\w+)\}")
_DECIMAL = re.compile(r"([-−]?)(\d+)(?:\.(\d*))?")
DEFAULT = "en"
# The default comes first, where people look for it in a list; the others are sorted by their tags.
LANGUAGES = (
    DEFAULT,
    *sorted(
        tag
        for tag, dot, ending in (entry.name.partition(".") for entry in files(__name__).iterdir())
        if ending == "json" and tag != DEFAULT
    ),
)


@dataclass(frozen=True)
class Texts:
    """The texts of a language, and its rules for writing numbers."""

    language: str
    texts: dict[str, Text]

    def say(self, key: str, **gaps: object) -> str:
        """A text with its placeholders filled in; whole numbers follow the rules of the language."""
        text = self.texts[key]
        if isinstance(text, dict):
            singular = str(gaps["count"]) in self._rule("number.singular").split()
            text = text["one"] if singular and "one" in text else text["other"]
        return _GAP.sub(lambda gap: self._shown(gaps[gap[1]]), text)

    def decimal(self, text: str) -> str:
        """A decimal text, such as "-1234.50", with the separators of the language and all its digits."""
        found = _DECIMAL.fullmatch(text)
        if found is None:
            return text.replace(".", self._rule("number.decimal")).replace("-", "−")
        sign, whole, part = found.groups()
        if len(whole) >= int(self._rule("number.group_from")):
            whole = f"{int(whole):,}".replace(",", self._rule("number.group"))
        return ("−" if sign else "") + whole + (self._rule("number.decimal") + part if part else "")

    def _rule(self, key: str) -> str:
        rule = self.texts[key]
        assert isinstance(rule, str)
        return rule

    def _shown(self, gap: object) -> str:
        return self.decimal(str(gap)) if isinstance(gap, int) else str(gap)


@lru_cache(maxsize=len(LANGUAGES))
def texts_in(language: str = DEFAULT) -> Texts:
    """The texts of one of ``LANGUAGES``."""
    return Texts(language, json.loads((files(__name__) / f"{language}.json").read_text(encoding="utf-8")))
