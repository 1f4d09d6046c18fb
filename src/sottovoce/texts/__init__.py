"""The words that people read, in every language: one file of texts per language, shared by the server and the page.

A text is a sentence with gaps (``{count}``), or its plural forms, of which ``count`` chooses one. The page's half is
``language.js``; in the browser, numbers and dates are left to ``Intl``. Here the few rules that are needed stand in the
file of the language, and a test holds them to the browser's.
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
# The default first, where people look for it in a list, then the others by their tags. Each file is a language.
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
    """The texts of a language, and how it writes numbers."""

    language: str
    texts: dict[str, Text]

    def say(self, key: str, **gaps: object) -> str:
        """A text with its gaps filled; whole numbers are written as the language does."""
        text = self.texts[key]
        if isinstance(text, dict):
            singular = str(gaps["count"]) in self._rule("number.singular").split()
            text = text["one"] if singular and "one" in text else text["other"]
        return _GAP.sub(lambda gap: self._shown(gaps[gap[1]]), text)

    def decimal(self, text: str) -> str:
        """A decimal text, such as "-1234.50", with the signs of the language and all its digits."""
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
