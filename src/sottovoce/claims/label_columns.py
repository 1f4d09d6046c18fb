"""Labels made of several columns, such as ``sensor+time@hour``, which makes each hour of each sensor one object.

A label that is itself the name of a column always means that column.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sottovoce.claims.header import shown
from sottovoce.errors import BadParameter, BadRow

_SEPARATOR = " · "
_MOST_PARTS = 10
# How a time is written after it is rounded down to its period.
_WRITTEN = {
    "second": "%Y-%m-%d %H:%M:%S", "minute": "%Y-%m-%d %H:%M", "hour": "%Y-%m-%d %H:%M",
    "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y",
}  # fmt: skip
_PERIOD = re.compile(rf"^([1-9][0-9]{{0,3}})? ?({'|'.join(_WRITTEN)})s?$")
# In addition to ISO 8601, which Arrow reads itself: 1.5.2026 10:35, as in much of Europe.
_OTHER_TIMES = ("%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y")


@dataclass(frozen=True)
class LabelPart:
    """One of the columns that make up a label; its times may be rounded down to a period."""

    column: str
    period: str | None = None


def parts_of(label: str, present: Iterable[str]) -> list[LabelPart]:
    """The columns that make up a label, given the names of the table's columns.

    >>> parts_of("sensor+time@15 minutes", ["sensor", "time", "value"])
    [LabelPart(column='sensor', period=None), LabelPart(column='time', period='15 minutes')]
    >>> parts_of("a+b", ["a+b", "value"])
    [LabelPart(column='a+b', period=None)]
    """
    present = set(present)
    if label in present:
        return [LabelPart(label)]
    texts = label.split("+")
    if len(texts) > _MOST_PARTS:
        raise BadParameter(
            f"{shown(label)}: it has {len(texts):,} columns, but a label has at most {_MOST_PARTS}; name fewer"
        )
    return [_part(text.strip(), present) for text in texts]


def _part(text: str, present: set[str]) -> LabelPart:
    column, mark, period = text.rpartition("@")
    if text in present or not mark or column not in present:
        return LabelPart(text)
    if not _PERIOD.match(period):
        raise BadParameter(
            f"{text}: {period!r} is not a period; times can be rounded down to the {', '.join(_WRITTEN)}, or to a "
            f"multiple of one of these, as in {column}@15minutes"
        )
    return LabelPart(column, period)


def columns_needed(labels: Sequence[str], value: str, present: Sequence[str]) -> list[str]:
    """The columns of a table that must be read for these labels and values."""
    return list(dict.fromkeys([*(part.column for label in labels for part in parts_of(label, present)), value]))


def label_column_of(table: pa.Table, label: str, source: str) -> pa.ChunkedArray | pa.Array:
    """The labels of a table's rows: one column unchanged, or several columns joined."""
    parts = parts_of(label, table.column_names)
    if parts == [LabelPart(label)]:
        return table[label]
    texts = [_texts(table[part.column], part, source) for part in parts]
    if len(texts) == 1:
        return texts[0]
    for part, column in zip(parts, texts, strict=True):
        if pc.any(pc.match_substring(column, _SEPARATOR)).as_py():
            raise BadRow(
                f"{source}: a label in column {shown(part.column)} contains {_SEPARATOR!r}, which separates the "
                f"columns of {label}; use another character in the labels"
            )
    return pc.binary_join_element_wise(*texts, _SEPARATOR)


def _texts(column: pa.ChunkedArray, part: LabelPart, source: str) -> pa.ChunkedArray | pa.Array:
    """The entries of a column as text; null where a row has none."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if part.period is not None:
        return _cut(column, part, source)
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _cut(column: pa.ChunkedArray, part: LabelPart, source: str) -> pa.ChunkedArray | pa.Array:
    match = _PERIOD.match(part.period or "")
    assert match is not None
    times, zone = _times(column, part, source)
    cut = pc.floor_temporal(times, int(match[1] or 1), match[2])
    return pc.binary_join_element_wise(pc.strftime(cut.cast(pa.timestamp("s")), _WRITTEN[match[2]]), zone, "")


def _times(column: pa.ChunkedArray, part: LabelPart, source: str) -> tuple[pa.ChunkedArray | pa.Array, str]:
    """Times, and the mark of their zone; times with a zone are converted to UTC."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        zone = "Z" if getattr(column.type, "tz", None) else ""
        return column.cast(pa.timestamp("us", "UTC" if zone else None)).cast(pa.timestamp("us")), zone
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    for zone in ("", "Z"):
        try:
            return texts.cast(pa.timestamp("us", "UTC" if zone else None)).cast(pa.timestamp("us")), zone
        except pa.ArrowInvalid:
            pass
    times = pc.coalesce(*(pc.strptime(texts, form, "us", error_is_null=True) for form in _OTHER_TIMES))
    wrong = pc.and_(pc.is_valid(texts), pc.is_null(times))
    if pc.any(wrong).as_py():
        raise BadRow(
            f"{source}: {part.column} {shown(texts.filter(wrong)[0].as_py())}: times that are to be rounded down must "
            "all be written like 2026-05-01 10:35, like 2026-05-01T10:35Z with a time zone, or like 1.5.2026 10:35; "
            "correct it"
        )
    return times, ""
