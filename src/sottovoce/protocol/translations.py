"""The texts of a campaign in several languages: which exist, which are missing, and how translations are added.

A text is identified by its words in the campaign's own language. Where the same words appear twice, as units do, they
are translated once.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.fields import Text
from sottovoce.protocol.format_2 import TASK_FIELDS, WHOLE_TEXTS
from sottovoce.protocol.problems import Problem
from sottovoce.text_tables import harmless, read_rows

Translations = Mapping[str, Mapping[str, str]]  # by text, then by language; an empty one is removed
_OF_TASKS = tuple(name for name, field in TASK_FIELDS.items() if field.is_text)
_SHOWN = 40


@dataclass
class CampaignText:
    """A text of a campaign in its own language, and its translations."""

    text: str
    places: list[str] = field(default_factory=list)  # where they appear
    translations: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The first place, and how many more there are."""
        more = len(self.places) - 1
        return self.places[0] + (f" and {more:,} more" if more else "")


def texts_of(content: Mapping[str, Any]) -> list[CampaignText]:
    """Everything that people read in a campaign, each text once, in the order of the manifest."""
    language = own_language(content)
    found: dict[str, CampaignText] = {}
    for where, text in _positions(content):
        words = text if isinstance(text, str) else text[language]
        if words:
            entry = found.setdefault(words, CampaignText(words))
            entry.places.append(where)
            if isinstance(text, dict):
                entry.translations |= {tag: other for tag, other in text.items() if tag != language}
    return list(found.values())


def own_language(content: Mapping[str, Any]) -> str:
    """The language of a campaign's texts; the first format has only one, and does not say which."""
    return str(content.get("language", "en"))


def missing(texts: Sequence[CampaignText], language: str) -> list[CampaignText]:
    """Texts that are missing in a language."""
    return [text for text in texts if language not in text.translations]


def languages_in(texts: Sequence[CampaignText]) -> list[str]:
    """Languages that at least one text is translated into."""
    return sorted({tag for text in texts for tag in text.translations})


def with_translations(content: Mapping[str, Any], translations: Translations) -> dict[str, Any]:
    """The fields of a campaign that change when these translations are added."""
    language = own_language(content)
    unknown = next(iter(translations.keys() - {text.text for text in texts_of(content)}), None)
    if unknown is not None:
        raise Problem(
            "bad_request",
            f"text {unknown[:_SHOWN]!r}: the campaign has no such text in its own language",
            fix="copy the text from the campaign",
        )

    def said(text: Text) -> Text:
        words = text if isinstance(text, str) else text[language]
        new = translations.get(words)
        if not new:
            return text
        spoken = {language: words} | ({} if isinstance(text, str) else text) | {**new, language: words}
        spoken = {tag: other for tag, other in spoken.items() if other}
        return spoken if len(spoken) > 1 else words

    return {name: said(content[name]) for name in WHOLE_TEXTS if content.get(name)} | {
        "tasks": [_with_texts(task, said) for task in content["tasks"]]
    }


def _with_texts(task: Mapping[str, Any], said: Callable[[Text], Text]) -> dict[str, Any]:
    def all_said(entry: Any) -> Any:
        return list(map(said, entry)) if isinstance(entry, list | tuple) else said(entry)

    return {**task, **{name: all_said(task[name]) for name in _OF_TASKS if task.get(name)}}


def _positions(content: Mapping[str, Any]) -> Iterator[tuple[str, Text]]:
    for name in WHOLE_TEXTS:
        yield name.replace("_", " "), content.get(name, "")
    for task in content["tasks"]:
        for name in _OF_TASKS:
            entry = task.get(name, "")
            for text in entry if isinstance(entry, list | tuple) else [entry]:
                yield f"{name} of {task['id']}", text


def write_texts(texts: Sequence[CampaignText], own: str, languages: Sequence[str] = ()) -> str:
    """A table with a column for each language, the campaign's own first, for translators to fill in."""
    columns = [own, *(tag for tag in dict.fromkeys([*languages_in(texts), *languages]) if tag != own)]
    table = io.StringIO()
    rows = ([text.text, *(text.translations.get(tag, "") for tag in columns[1:])] for text in texts)
    csv.writer(table, lineterminator="\n").writerows(map(harmless, row) for row in [columns, *rows])
    return table.getvalue()


def read_texts(name: str, text: str, language: str) -> dict[str, dict[str, str]]:
    """The inverse of `write_texts`; empty cells change nothing.

    >>> read_texts("texts.csv", "en,de\\nHow long?,Wie lang?\\nm,\\n", "en")
    {'How long?': {'de': 'Wie lang?'}}
    """
    first = next(csv.reader(io.StringIO(text), delimiter=_delimiter(text)), [])
    found: dict[str, dict[str, str]] = {}
    for number, cells in read_rows(name, text, [language], [tag.strip() for tag in first]):
        if language not in cells:
            if cells:
                raise UnreadableFile(
                    f"{name}, line {number}: there is no text in {language!r}; copy it from the campaign"
                )
            continue
        others = {tag: words for tag, words in cells.items() if tag != language}
        if others:
            found.setdefault(cells[language], {}).update(others)
    return found


def _delimiter(text: str) -> str:
    head = text.partition("\n")[0]
    return next((sign for sign in "\t;" if sign in head), ",")
