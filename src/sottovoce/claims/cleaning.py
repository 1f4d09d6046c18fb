"""Values as spreadsheets in many countries write them: decimal commas, thousands separators, units in cells.

Nothing is guessed: "1,234" is more than a thousand in some countries and little more than one in others. The caller
states how values are written, and everything else is refused.
"""

import codecs
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sottovoce.digits import counted
from sottovoce.errors import BadParameter, BadRow
from sottovoce.text_tables import BLANKS, THOUSANDS

if TYPE_CHECKING:
    from sottovoce.claims.rows import Columns

_EXPONENT = "(?:[eE][+-]?[0-9]+)?"
_LETTERS = r"\p{L}%°€$£¥"
# A unit in front of or behind a number: "m", "km/h", "m²", "€". Neither "<" nor "±" nor a second number.
_UNIT = rf"[{_LETTERS}]+[0-9²³]?(?:[/·*^. -][{_LETTERS}]+[0-9²³]?)*"
_WITH_UNIT = (
    rf"^(?P<before>(?:[€$£¥]|[A-Z]{{3}}[{BLANKS}])?)[{BLANKS}]*"
    rf"(?P<number>[+-]?[0-9.,][0-9.,'’{BLANKS}]*?{_EXPONENT})[{BLANKS}]*(?P<unit>(?:{_UNIT})?)$"
)


_COMMA = rf"^[+-]?(?:[0-9]{{1,3}}(?:[.'’{BLANKS}][0-9]{{3}})+|[0-9]+),[0-9]*$"
# A number that has the other decimal sign than the stated one.
_OTHER_SIGN = {sign: rf"[+-]?[0-9]*{other}[0-9]+{_EXPONENT}" for sign, other in ((",", r"\."), (".", ","))}
# Times, and dates with or without one: 10:35, 2026-05-01, 2026-05-01T10:35:00Z, 1.5.2026 10:35.
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?[AaPp][Mm])?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
_DATE = r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[./][0-9]{1,2}[./](?:[0-9]{4}|[0-9]{2}))"
_TIME = rf"^(?:{_DATE}(?:[T ]{_CLOCK})?|{_CLOCK})$"
# Times, and numbers that people recognise but a parser does not, because of a decimal comma or a unit. "5b" is not
# among them: it may as well be an answer.
NEARLY_A_NUMBER = rf"{_TIME}|{_COMMA}|^[+-]?[0-9.,]*[0-9][{BLANKS}]+{_UNIT}$|^[+-]?[0-9]+,[0-9]+[{BLANKS}]*{_UNIT}$"


@dataclass(frozen=True)
class Cleaning:
    """How the values of a table are written.

    Parameters
    ----------
    decimal
        The decimal sign, "," or ".". The matching thousands separators are then accepted as well.
    strip_units
        Whether a unit may come before or after a value. All values of a table must have the same unit.
    encoding
        Encoding of a text file; by default UTF-8, or UTF-16 if the file begins with its byte order mark.
    """

    decimal: str | None = None
    strip_units: bool = False
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.decimal is not None and self.decimal not in THOUSANDS:
            raise BadParameter(f"decimal={self.decimal!r}: the decimal sign must be ',' or '.'; give one of them")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding).incrementaldecoder("strict")
                "".encode(self.encoding)
            except (LookupError, ValueError, TypeError):
                raise BadParameter(
                    f"encoding={self.encoding!r}: it must be a text encoding; utf-8, utf-16 and windows-1252 are common"
                ) from None

    @property
    def of_values(self) -> bool:
        """Whether values must be read as text first."""
        return self.decimal is not None or self.strip_units

    def cleaned(self, columns: "Columns", value: str, source: str, units: dict[str, int] | None = None) -> "Columns":
        """The same columns, with values as this package writes numbers; other text becomes null or stays unchanged.

        ``units`` counts the units in all earlier rows; those of these rows are added.
        """
        texts = columns.values
        if not self.of_values or not isinstance(texts, pa.Array | pa.ChunkedArray):
            return columns
        if pa.types.is_dictionary(texts.type):
            texts = texts.cast(texts.type.value_type)
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            return columns
        numbers = pc.replace_substring(pc.utf8_trim_whitespace(texts), "−", "-")
        if self.strip_units:
            numbers = _without_units(numbers, value, source, {} if units is None else units)
        if self.decimal is not None:
            numbers = _with_points(numbers, self.decimal)
        texts = texts if columns.texts is None else columns.texts
        return replace(columns, values=numbers, texts=texts, cleaning=self)


AS_WRITTEN = Cleaning()


def advice(written: str, cleaning: Cleaning = AS_WRITTEN) -> str:
    """The advice about a value that is not a number but would be if it were read differently; often empty.

    >>> advice("12,5")
    "; if the comma is a decimal sign, say so with decimal=',' (--decimal ,)"
    >>> advice("2026-05-01 10:35")
    '; a time must be written as a number, such as minutes since midnight'
    >>> advice("tall")
    ''
    """
    text = written.strip()
    if re.match(_TIME, text):
        return "; a time must be written as a number, such as minutes since midnight"
    number = _number_with_unit(text)
    if cleaning.decimal is not None and re.fullmatch(_OTHER_SIGN[cleaning.decimal], (number or text).strip()):
        return f"; the decimal sign must be {cleaning.decimal!r}, as stated with decimal= (--decimal)"
    if cleaning.decimal is None and re.match(_COMMA, text):
        return "; if the comma is a decimal sign, say so with decimal=',' (--decimal ,)"
    if number and not cleaning.strip_units:
        decimal = " and decimal=',' (--decimal ,)" if "," in number and cleaning.decimal is None else ""
        return f"; if it is a number with a unit, say so with strip_units=True (--strip-units){decimal}"
    return ""


def _number_with_unit(text: str) -> str | None:
    parts = pc.extract_regex(pa.array([text]), _WITH_UNIT)[0].as_py()
    return parts["number"] if parts and (parts["before"] or parts["unit"]) else None


def _without_units(
    texts: pa.Array | pa.ChunkedArray, value: str, source: str, counts: dict[str, int]
) -> pa.Array | pa.ChunkedArray:
    parts = pc.extract_regex(texts, _WITH_UNIT)
    number, before, behind = (pc.struct_field(parts, name) for name in ("number", "before", "unit"))
    units = pc.value_counts(pc.binary_join_element_wise(pc.utf8_trim_whitespace(before), behind, ""))
    for entry in units.to_pylist():
        if entry["values"]:
            counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
    if len(counts) > 1:
        (most, many), (other, few) = sorted(counts.items(), key=lambda entry: -entry[1])[:2]
        raise BadRow(
            f"{source}: {value} is in {most!r} ({counted(many, 'row')}) and in {other!r} ({counted(few, 'row')}); all "
            "values must have the same unit, so convert them first"
        )
    return pc.if_else(pc.is_valid(parts), number, texts)


def _with_points(texts: pa.Array | pa.ChunkedArray, decimal: str) -> pa.Array | pa.ChunkedArray:
    """Numbers with a decimal point and without thousands separators; null where the text is not such a number."""
    mark, sign = THOUSANDS[decimal], re.escape(decimal)
    whole = f"([0-9]{{1,3}}({mark}[0-9]{{3}})+|[0-9]+)"
    pattern = f"^[+-]?({whole}({sign}[0-9]*)?|{sign}[0-9]+){_EXPONENT}$"
    plain = pc.replace_substring(pc.replace_substring_regex(texts, mark, ""), decimal, ".")
    return pc.if_else(pc.match_substring_regex(texts, pattern), plain, pa.scalar(None, texts.type))
