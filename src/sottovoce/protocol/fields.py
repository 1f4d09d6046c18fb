"""Types of the fields of the protocol's documents, and how their mistakes are reported."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal as ExactDecimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import parse_law
from sottovoce.protocol.canonical import canonical_decimal
from sottovoce.protocol.problems import Problem

MOST_LANGUAGES = 20  # of one text
_FIRST_YEAR = 1000  # earlier years have no four-digit form that every parser accepts
# Types that pydantic appends to the name of a field that accepts several.
_VARIANTS = ("str", "constrained-str", "constrained-int", "decimal")
_TAG = r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?"
# Printable in Unicode's sense, but invisible: variation selectors, fillers and other characters without ink. They are
# listed because all devices must agree, and a Unicode property would depend on the version of Unicode.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159"
    "\U000e0100-\U000e01ef]"
)


# By the type of a validation error.
_RULES = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "literal_error": "it must be {expected}",
    "greater_than_equal": "it must be at least {ge:,}",
    "less_than_equal": "it must be at most {le:,}",
    "union_tag_invalid": "its {discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "its {discriminator} is missing",
    "string_pattern_mismatch": "it must match {pattern}",
    "string_type": "it must be text",
    "int_type": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_from_float": "it must be a whole number",
    "float_type": "it must be a number",
    "bool_type": "it must be true or false",
    "is_instance_of": "it must be a number",
    "list_type": "it must be a list",
    "tuple_type": "it must be a list",
    "dict_type": "it must be a JSON object",
    "model_type": "it must be a JSON object",
    "model_attributes_type": "it must be a JSON object",
}


class Document(BaseModel):
    """A document of the protocol: immutable, no unknown fields, no type conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _printable(text: Any) -> Any:
    if isinstance(text, str) and (not text.replace("\n", "").isprintable() or text != text.strip()):
        raise ValueError("must be printable text without spaces around it")
    if isinstance(text, str) and text and not comparable(text):
        raise ValueError("must have at least one visible character; leave out blank ones, such as U+3164")
    return text


def _one_line(text: Any) -> Any:
    if isinstance(text, str) and "\n" in text:
        raise ValueError("must be one line")
    return _printable(text)


def law_text(text: Any) -> Any:
    """A noise law in its canonical spelling."""
    return str(parse_law(text)) if isinstance(text, str) else text


def _moment(moment: Any) -> Any:
    """A deadline in UTC, to the second."""
    if moment is None:
        return None
    if isinstance(moment, str):
        with suppress(ValueError):  # anything else stays text
            moment = datetime.fromisoformat(moment)
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ValueError("must be a date and time with its zone, such as 2030-01-31T12:00:00Z")
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        moment = moment.replace(year=1, tzinfo=UTC)  # outside the years 1 to 9999, and refused below
    if moment.year < _FIRST_YEAR:
        raise ValueError(f"must lie in the years {_FIRST_YEAR} to 9999")
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


Decimal = Annotated[str, BeforeValidator(canonical_decimal)]
Printable = Annotated[str, BeforeValidator(_printable)]
Line = Annotated[str, BeforeValidator(_one_line)]
Identifier = Annotated[Line, StringConstraints(min_length=1, max_length=100)]
Moment = Annotated[str | None, BeforeValidator(_moment)]
Tag = Annotated[str, StringConstraints(pattern=f"^{_TAG}$")]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

Text = str | dict[str, str]  # in the campaign's language, or by language


@dataclass(frozen=True)
class TextRule:
    """The rules that a text must keep in each of its languages."""

    least: int
    most: int
    lines: bool = False  # may have several

    def __call__(self, text: Any) -> Any:
        if isinstance(text, str):
            self._check(text, self.least)
        elif isinstance(text, dict) and 1 < len(text) <= MOST_LANGUAGES:
            for tag, words in text.items():
                if not re.fullmatch(_TAG, str(tag)):
                    raise ValueError(f"language {str(tag)[:40]!r} must be a tag such as 'de' or 'zh-Hans'")
                self._check(words, 1)  # a language without a text is left out
        else:
            raise ValueError(f"must be text, or texts in 2 to {MOST_LANGUAGES} languages")
        return text

    def _check(self, text: Any, least: int) -> None:
        if not isinstance(text, str) or not least <= len(text) <= self.most:
            raise ValueError(f"must be text of {least} to {self.most:,} characters")
        _printable(text) if self.lines else _one_line(text)


NameText = Annotated[Text, BeforeValidator(TextRule(1, 200))]
TitleText = Annotated[Text, BeforeValidator(TextRule(0, 200))]
UnitText = Annotated[Text, BeforeValidator(TextRule(0, 40))]
LongText = Annotated[Text, BeforeValidator(TextRule(0, 2000, lines=True))]


def in_language(text: Text, language: str, default: str) -> str:
    """A text in a language where there is one, otherwise in the default one.

    >>> in_language({"en": "bus", "de": "Bus"}, "fr", "en")
    'bus'
    """
    return text if isinstance(text, str) else text.get(language, text[default])


def spoken(entry: Any, language: str) -> Any:
    """A field with its texts in this language; all of them must be available in it."""
    if isinstance(entry, dict):
        return entry[language]
    return [spoken(part, language) for part in entry] if isinstance(entry, list | tuple) else entry


def comparable(text: str) -> str:
    """A text without its spaces, case, invisible characters and compatibility forms, for comparison with others."""
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).upper().lower().replace(" ", "")


def field_error(field: str, message: str, rule: str) -> PydanticCustomError:
    """A mistake found by comparing fields: the field to correct, and ``rule`` for a message next to that field."""
    return PydanticCustomError("field", "{message}", {"message": message, "field": field, "rule": rule})


@contextmanager
def reported_as(code: str) -> Iterator[None]:
    """Report the first validation error as a problem."""
    try:
        yield
    except ValidationError as mistake:
        raise _problem(code, mistake) from None
    except BadParameter as mistake:
        detail, fix = _advice(mistake)
        raise Problem(code, detail, fix=fix) from None


def _problem(code: str, mistake: ValidationError) -> Problem:
    first, *others = mistake.errors(include_url=False)
    if first["type"] == "string_type" and isinstance(first["input"], dict):  # texts by language, one of them wrong
        first = next((other for other in others if other["loc"][0] == first["loc"][0]), first)
    loc = [part for part in first["loc"] if part not in _VARIANTS and not str(part).startswith("dict[")]
    if loc[:1] == ["tasks"] and loc[2:3] in (["number"], ["choice"]):
        del loc[2]  # the kind of the task
    place = ".".join(map(str, loc))
    shown = _shown(first["input"])
    rule, fix = rule_of(first), ""
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, Problem | BadParameter):
        rule, fix = _advice(cause)
    if shown:  # it stands before the rule already, as it is or as text
        for words in (shown, repr(str(first["input"]))):
            rule = rule.removeprefix(words).removeprefix(": ").lstrip()
    rule = f"it {rule}" if rule.startswith("must ") else rule
    value = f" {shown}" if shown and len(shown) <= 60 and first["type"] != "missing" else ""
    if not place:
        return Problem(code, rule if first["type"] in ("value_error", "field") else f"the document: {rule}", fix=fix)
    return Problem(code, f"{place}{value}: {rule}", fix=fix)


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):  # the text of a whole document would take long to produce
        return ""
    return str(value) if isinstance(value, ExactDecimal) else repr(value)  # in JSON a decimal is a plain number


def _advice(mistake: Problem | BadParameter) -> tuple[str, str]:
    """What is wrong, and the fix."""
    if isinstance(mistake, Problem):
        return mistake.detail, mistake.fix
    detail, _, fix = str(mistake).rpartition("; ")
    return (detail, fix) if detail else (fix, "")


def rule_of(error: Mapping[str, Any]) -> str:
    """The rule that was broken, in plain words; the library's own messages are for programmers."""
    kind, context = error.get("type", ""), error.get("ctx", {})
    if kind in _RULES:
        return _RULES[kind].format(**context)
    if "min_length" in context and kind.endswith("too_short"):
        least = context["min_length"]
        return "it must not be empty" if least == 1 else f"it must have at least {least:,} {_parts(error)}"
    if "max_length" in context and kind.endswith("too_long"):
        return f"it must have at most {context['max_length']:,} {_parts(error)}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"it {message}" if message.startswith("must ") else message


def _parts(error: Mapping[str, Any]) -> str:
    return "characters" if isinstance(error["input"], str) else "entries"
