"""Kinds of claims: numbers, and choices among options."""

import json
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sottovoce.claims.budget import Budget
from sottovoce.claims.cleaning import NEARLY_A_NUMBER
from sottovoce.errors import BadParameter, BadRow

Kind = Literal["number", "choice"]
KINDS: tuple[Kind, ...] = ("number", "choice")

# What Arrow's cast from text accepts, after blanks and a leading plus are removed.
NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# Texts that stand for a missing number, not for a choice.
_NO_NUMBER = r"^[+-]?(nan|inf|infinity|null|none|na|n/a|)$"
# Cells of a matrix that stand for no claim. "none" is not among them, as it may be an answer; infinity is a mistake.
_MISSING = {"", "nan", "null", "na", "n/a"}


def check_kind(kind: str | None) -> None:
    if kind is not None and kind not in KINDS:
        raise BadParameter(f"kind={kind!r}: it must be 'number' or 'choice'; leave it out to let the values decide")


def is_missing(text: str) -> bool:
    """Whether a cell stands for no claim.

    >>> is_missing(""), is_missing("NaN"), is_missing("no")
    (True, True, False)
    """
    return text.lower() in _MISSING


def kind_of(values: pa.ChunkedArray | pa.Array) -> Kind:
    """Choices if there are Booleans, lists, or texts none of which is a number and few of which look like one."""
    if pa.types.is_boolean(values.type) or _is_list(values.type):
        return "choice"
    if pa.types.is_dictionary(values.type):
        values = values.unify_dictionaries().chunk(0) if _chunked(values) and values.num_chunks else values
        values = values.dictionary if isinstance(values, pa.DictionaryArray) else values.cast(pa.string())
    if not is_text(values.type):
        return "number"
    texts = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    if pc.any(pc.match_substring_regex(pc.replace_substring_regex(texts, r"^\+", ""), NUMBER)).as_py():
        return "number"
    # Numbers with a comma or a unit are refused later with the reason, because they would make strange answers.
    # A few words among them, such as "not measured", do not turn them into answers.
    nearly = pc.match_substring_regex(texts, NEARLY_A_NUMBER)
    wordless = pc.all(pc.or_(nearly, pc.match_substring_regex(texts, f"(?i:{_NO_NUMBER})"))).as_py()
    mostly = 2 * (pc.sum(nearly).as_py() or 0) > (pc.sum(pc.not_equal(texts, "")).as_py() or 0)
    return "number" if wordless or wordless is None or mostly else "choice"


def check_duplicates(duplicates: str) -> None:
    if duplicates not in ("error", "mean", "last"):
        raise BadParameter(f"duplicates={duplicates!r}: it must be 'error', 'mean' or 'last'; choose one of them")


def no_mean_of_choices() -> BadParameter:
    """The error if choices are to be merged by their mean."""
    return BadParameter("duplicates='mean': choices have no mean; use 'last', or remove repeated claims")


def merge_advice(kind: Kind | None) -> str:
    """The rule against a user's second claim about an object, and how to merge claims of this kind."""
    ways = "duplicates='last'" if kind == "choice" else "duplicates='mean' or 'last'"
    return f"only one claim per user and object is allowed; say how to merge them with {ways} (--duplicates)"


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def one_by_one(values: Any, source: str, budget: Budget | None = None, before: int = 0) -> tuple[Any, int]:
    """The options in reported sets, one after the other, and how many there are in each; 1 if values are not sets.

    A set is a list or, in files without lists, the text of a JSON list. All sets must have the same size. With a
    ``budget``, each option counts as a row. ``before`` is the number of rows of the source that came earlier.
    """
    if isinstance(values, pa.ChunkedArray | pa.Array):
        if _is_list(values.type):
            array = values.combine_chunks() if _chunked(values) else values
            return _flat([entry if entry is None else list(entry) for entry in array.to_pylist()], source, before)
        text = is_text(values.type) or pa.types.is_dictionary(values.type)
        if not text or not _may_be_lists(values):
            return values, 1
        return _lists_in(values, source, budget, before)
    if any(isinstance(entry, list | tuple | set | frozenset) for entry in values):
        return _flat([None if entry is None else list(entry) for entry in values], source, before)
    return values, 1


def _lists_in(values: pa.ChunkedArray | pa.Array, source: str, budget: Budget | None, before: int) -> tuple[Any, int]:
    """The options in texts of lists. Each distinct text is parsed once: a long one may be repeated a million times."""
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    if _chunked(encoded):
        encoded = encoded.unify_dictionaries().combine_chunks()
    lists = [_list_in(entry) for entry in encoded.dictionary.to_pylist()]
    if None in lists or encoded.null_count:
        return values, 1
    rows = encoded.indices.to_numpy()
    size = len(lists[rows[0]] or ())
    if budget is not None:
        budget.check_rows(source, len(rows) * size, "options in its claims")
    wrong = np.array([len(entry or ()) != size or len({*map(str, entry or ())}) != size for entry in lists])[rows]
    if wrong.any():
        raise _uneven(source, before + int(np.argmax(wrong)) + 1, lists[rows[np.argmax(wrong)]], size)
    options = _options([option for entry in lists for option in entry or ()])
    return options.take(pa.array((rows.astype(np.int64)[:, None] * size + np.arange(size)).ravel())), size


def _flat(sets: list[list[Any] | None], source: str, before: int) -> tuple[Any, int]:
    size = next((len(entry) for entry in sets if entry), 1)
    for number, entry in enumerate(sets, start=before + 1):
        if entry is None or len(entry) != size or len({*map(str, entry)}) != size:
            raise _uneven(source, number, entry, size)
    return _options([option for entry in sets for option in entry or ()]), size


def _options(entries: list[Any]) -> pa.Array:
    try:
        return pa.array(entries, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # of several types, or beyond 64 bits: as texts
        return pa.array([str(entry) for entry in entries])


def _uneven(source: str, row: int, entry: list[Any] | None, size: int) -> BadRow:
    return BadRow(
        f"{source}, row {row}, {entry!r}: all reported sets must have the same number of different options, "
        f"here {size}; correct it, or leave the row out"
    )


def _may_be_lists(values: Any) -> bool:
    """Whether the first text is bracketed like a list, as almost no answer is."""
    first = next((entry for entry in values.slice(0, 100).to_pylist() if entry), "")
    return isinstance(first, str) and first.startswith("[") and first.endswith("]")


def _list_in(text: str | None) -> list[Any] | None:
    try:
        entry = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    flat = isinstance(entry, list) and not any(isinstance(option, list | dict) for option in entry)
    return entry if flat and entry else None


def missing_answers(ids: NDArray[np.int32], size: int) -> NDArray[np.bool_]:
    """Which rows lack an answer."""
    return np.asarray((ids.reshape(-1, size) < 0).any(axis=1))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _chunked(values: Any) -> bool:
    return isinstance(values, pa.ChunkedArray)
