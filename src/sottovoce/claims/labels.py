"""Labels: the names of users and objects, translated to small sorted numbers and back.

Labels are sorted, so that the same claims give the same arrays whatever the order of the rows.
"""

import re
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# An integer in plain notation: "7" is one; "007" and "+7" stay text, as two labels could otherwise become the same.
_PLAIN_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"

Labels: TypeAlias = (
    pa.Array | NDArray[np.object_]
)  # Arrow if it has a type for them, otherwise the Python objects themselves


def encode(column: Any, numerals: bool = False) -> tuple[NDArray[np.int32], Labels]:
    """Ids and sorted labels of a column of any type. Missing labels have the id -1.

    With ``numerals``, text labels that are all whole numbers become numbers, so that 2 comes before 10.
    """
    encoded = _arrow(column)
    if encoded is None:
        return _encode_objects(list(column))
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):  # Arrow returns no chunk for an empty column
            encoded = pa.array([], encoded.type)
    ids = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return compact(ids, plain_integers(encoded.dictionary) if numerals else encoded.dictionary)


def compact(ids: NDArray[np.int32], labels: Labels) -> tuple[NDArray[np.int32], Labels]:
    """Drop labels that no row uses or that are missing, and sort the rest."""
    used = np.bincount(ids[ids >= 0] if len(ids) and ids.min() < 0 else ids, minlength=len(labels)) > 0
    if isinstance(labels, pa.Array):
        used &= ~missing(labels)
        order = pc.sort_indices(labels).to_numpy()
    else:
        order = _object_order(labels)
    order = order[used[order]]
    new_id = np.full(len(labels) + 1, -1, np.int32)  # the last entry catches the id -1
    new_id[order] = np.arange(len(order), dtype=np.int32)
    return new_id[ids], labels.take(pa.array(order)) if isinstance(labels, pa.Array) else labels[order]


def missing(labels: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Which labels are missing: null, empty text, not a finite number."""
    blank = labels.is_null().to_numpy(zero_copy_only=False) if labels.null_count else np.zeros(len(labels), bool)
    if pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type):
        blank = blank | pc.equal(labels, "").fill_null(True).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(labels.type):
        blank = blank | ~np.isfinite(labels.fill_null(np.nan).to_numpy(zero_copy_only=False))
    return np.asarray(blank)


def to_numpy(labels: Labels) -> NDArray[Any]:
    """Labels as callers see them."""
    if isinstance(labels, pa.Array):
        return np.asarray(labels.to_numpy(zero_copy_only=False))
    return labels


def label_column(labels: NDArray[Any]) -> pa.Array:
    """Labels as a column of a table; as text if Arrow has no type for them."""
    try:
        return pa.array(labels)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([str(label) for label in labels])


def texts(labels: Labels) -> list[str]:
    """Labels as text, so that the labels of a claims file and of a truth file can be compared."""
    return [str(label) for label in to_numpy(labels).tolist()]


def _arrow(column: Any) -> pa.Array | pa.ChunkedArray | None:
    """The column in Arrow, or None if Arrow has no type for it that can be grouped (tuples, mixed types)."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        array = column
    else:
        try:
            array = pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            return None
    if pa.types.is_dictionary(array.type) and not pa.types.is_string(array.type.value_type):
        array = array.cast(array.type.value_type)
    if array.type == pa.string_view():
        array = array.cast(pa.string())
    if pa.types.is_nested(array.type):
        return None
    if pa.types.is_null(array.type):
        return array.cast(pa.string())
    if pa.types.is_dictionary(array.type):
        return array.cast(pa.dictionary(pa.int32(), pa.string()))
    return array


def plain_integers(labels: pa.Array) -> pa.Array:
    """Text labels as numbers, if all of them are whole numbers in plain notation."""
    if not len(labels) or not pa.types.is_string(labels.type):
        return labels
    if pc.all(pc.match_substring_regex(labels, _PLAIN_INTEGER)).as_py():
        return labels.cast(pa.int64())
    return labels


def _encode_objects(column: list[Any]) -> tuple[NDArray[np.int32], Labels]:
    """Any hashable labels, numbered by a plain dictionary."""
    id_of: dict[Any, int] = {}
    ids = np.array([-1 if label is None else id_of.setdefault(label, len(id_of)) for label in column], np.int32)
    labels = np.fromiter(id_of, object, len(id_of))
    return compact(ids, labels)


def _object_order(labels: NDArray[np.object_]) -> NDArray[np.intp]:
    places = range(len(labels))
    try:
        return np.array(sorted(places, key=lambda place: labels[place]), np.intp)
    except TypeError:  # labels of different types cannot be compared
        return np.array(sorted(places, key=lambda place: (type(labels[place]).__name__, repr(labels[place]))), np.intp)


_DIGITS = re.compile(r"([0-9]+)")
_MOST_ORDERED = 100_000  # labels; nobody reads a longer list


def natural_order(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of labels in the order that people expect: o2 before o10.

    >>> natural_order(np.array(["o10", "o2", "a"])).tolist()
    [2, 1, 0]
    """
    if not len(labels) or len(labels) > _MOST_ORDERED or not isinstance(labels[0], str):
        return np.arange(len(labels))
    # Every other part is a number, so numbers are compared with numbers and texts with texts.
    keys = [
        [int(part) if part.isdigit() else part.casefold() for part in _DIGITS.split(str(label))] for label in labels
    ]
    return np.array(sorted(range(len(keys)), key=lambda place: (keys[place], str(labels[place]))), np.intp)


def common_labels(some: NDArray[Any], others: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the labels that occur in both arrays, in the first and in the second."""
    least = min(len(some), len(others))
    if np.array_equal(some[:least], others[:least]):  # equal, or one has more labels, from a later round of claims
        return np.arange(least), np.arange(least)
    place_of = {label: place for place, label in enumerate(others.tolist())}
    pairs = [(here, place_of[label]) for here, label in enumerate(some.tolist()) if label in place_of]
    here, there = np.array(pairs, np.intp).reshape(-1, 2).T
    return here, there
