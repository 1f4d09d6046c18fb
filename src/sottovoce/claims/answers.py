"""Answers: the options among which the claims about each object choose.

An option of an object is a *cell*, and a claim stores the number of its cell within the object: one byte if no object
has more than 256 options. All objects may share one list of options; then no list is stored per object.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from sottovoce.claims.labels import Labels, label_column, to_numpy
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, BadRow

MOST_OPTIONS = 65_535  # of one object
# Options are shared if most answers occur for several objects, and if a table of objects × options stays small.
MOST_SHARED = 256
_MOST_CELLS_PER_CLAIM = 32

# The options: how many there are, a list of them for all objects, or a mapping from each object to its list.
Choices: TypeAlias = int | Sequence[Any] | Mapping[Any, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Answers:
    """The options of all objects."""

    labels: Labels  # of all options
    offsets: NDArray[np.int64]  # the cells of object n are offsets[n]:offsets[n + 1]
    ids: NDArray[np.int32] | None  # the label of each cell; None: all objects have all labels
    counts: NDArray[np.int64]  # options of each object: its cells, and options that nobody chose
    declared: bool = False  # whether the counts were given, and not derived from the claims
    size: int = 1  # options in one claim: more than 1 if devices report sets

    @property
    def shared(self) -> bool:
        return self.ids is None

    @property
    def one_list(self) -> bool:
        """Whether all objects have the same options, and each claim names one."""
        return self.shared and self.size == 1

    @property
    def n_cells(self) -> int:
        return int(self.offsets[-1])

    @property
    def cell_labels(self) -> NDArray[np.int32]:
        """The number of each cell's label."""
        if self.ids is not None:
            return self.ids
        return np.tile(np.arange(len(self.labels), dtype=np.int32), len(self.counts))

    def ids_of(self, objects: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.int32]:
        """Label numbers of the options that claims choose."""
        if self.ids is None:
            return codes.astype(np.int32)
        return np.asarray(self.ids[self.offsets[objects] + codes])

    def label_list(self) -> list[Any]:
        """All options."""
        return list(to_numpy(self.labels).tolist())

    def of_object(self, n: int) -> list[Any]:
        """The labels of an object's cells."""
        labels = to_numpy(self.labels)
        ids = slice(None) if self.ids is None else self.ids[self.offsets[n] : self.offsets[n + 1]]
        return list(labels[ids].tolist())


def from_ids(
    offsets: NDArray[np.int64],
    ids: NDArray[np.int32],
    labels: Labels,
    size: int = 1,
    declared: NDArray[np.int64] | None = None,
    shared: bool | None = None,
) -> tuple[Answers, NDArray[Any]]:
    """The options in claims that are sorted by object and given as label numbers; and each claim's cell.

    ``declared`` is the number of options of each object. ``shared`` says whether all objects share their options; if it
    is None, the claims decide.
    """
    cell_offsets, cell_ids = _seen(offsets, ids, len(labels))
    cells = np.diff(cell_offsets)
    if shared is None:
        shared = share_options(len(labels), len(cells), len(ids), cell_ids) and (
            declared is None or bool((declared >= len(labels)).all())
        )
    if shared:
        cell_offsets, cells = _every(len(labels), len(cells)), np.full(len(cells), len(labels))
        codes, own = ids, None
    else:
        codes, own = _cells(offsets, ids, cell_offsets, cell_ids, len(labels))[0], cell_ids
    counts = np.maximum(cells, 2) if declared is None else declared
    answers = Answers(labels, cell_offsets, own, counts, declared is not None, size)
    return answers, codes.astype(code_type(cells))


def from_lists(
    offsets: NDArray[np.int64], ids: NDArray[np.int32], seen: Labels, objects: NDArray[Any], choices: Choices, size: int
) -> tuple[Answers, NDArray[Any]]:
    """The listed options, for all objects or for each; an answer that is not listed is refused."""
    lists = choices if isinstance(choices, Mapping) else None
    listed = [_list_of(lists, label) for label in objects.tolist()] if lists is not None else [choices]
    if lists is None and not _is_list(choices):
        raise BadParameter(
            f"choices={choices!r}: it must be a whole number, a list of options, or a mapping from objects to lists; "
            "give one of them"
        )
    for options in listed:
        check_options(list(options))  # type: ignore[arg-type]
    everything = list(dict.fromkeys(label for options in listed for label in options))  # type: ignore[union-attr]
    number = {label: place for place, label in enumerate(everything)}
    if lists is None or all(list(options) == everything for options in listed):  # type: ignore[arg-type]
        cell_offsets, cell_ids = _every(len(everything), len(objects)), None
    else:
        cell_offsets = np.concatenate(([0], np.cumsum([len(options) for options in listed])))  # type: ignore[arg-type]
        cell_ids = np.array([number[label] for options in listed for label in options], np.int32)  # type: ignore[union-attr]
    cells = np.diff(cell_offsets)
    translated = np.array([number.get(label, -1) for label in to_numpy(seen).tolist()], np.int32)[ids]
    if cell_ids is None:
        codes, unknown = translated, int(np.argmax(translated < 0)) if (translated < 0).any() else -1
    else:
        codes, unknown = _cells(offsets, translated, cell_offsets, cell_ids, len(everything))
    if unknown >= 0:
        place = int(offsets.searchsorted(unknown, "right")) - 1
        answer, about = to_numpy(seen).tolist()[ids[unknown]], objects.tolist()[place]
        raise BadRow(
            f"answer {answer!r} about {about!r}: it must be one of the object's options "
            f"({shown_options(listed[place if lists is not None else 0])}); correct it, or add it to the options"  # type: ignore[arg-type]
        )
    # Labels of one type become an Arrow column; labels of mixed types stay Python objects.
    labels = label_column(np.array(everything, object)) if len({type(label) for label in everything}) == 1 else None
    kept: Labels = labels if labels is not None else np.fromiter(everything, object, len(everything))
    return Answers(kept, cell_offsets, cell_ids, cells, True, size), codes.astype(code_type(cells))


def is_number(choices: Choices) -> bool:
    """Whether the options are given by their number."""
    return isinstance(choices, Integral) and not isinstance(choices, bool)


def _is_list(options: Any) -> bool:
    return np.iterable(options) and not isinstance(options, str | bytes | Mapping | Iterator)


def check_options(options: list[Any]) -> None:
    """Refuse a list of options that is too short or too long, lists an option twice, or has lists as options."""
    if not 2 <= len(options) <= MOST_OPTIONS:
        raise BadParameter(
            f"{counted(len(options), 'option')}: a question needs at least 2 and at most {MOST_OPTIONS:,}; list them "
            "all"
        )
    nested = next((option for option in options if not isinstance(option, Hashable)), None)
    if nested is not None:
        raise BadParameter(
            f"option {nested!r}: an option must be a single value; if each object has its own list, give a mapping "
            "from objects to lists, such as choices={'hall': ['red', 'blue'], 'door': ['open', 'shut']}"
        )
    if len(set(options)) < len(options):
        twice = next(label for place, label in enumerate(options) if label in options[:place])
        raise BadParameter(f"option {twice!r}: it is listed twice; list each option only once")


class PackedAnswers:
    """The options of objects, collected while a pack is written block by block."""

    def __init__(self, n_labels: int, shared: bool, size: int = 1, earlier: Answers | None = None) -> None:
        self.shared, self.size, self._n_labels, self._earlier = shared, size, n_labels, earlier
        self._counts: list[NDArray[np.int64]] = []  # cells of each object
        self._ids: list[NDArray[np.int32]] = []  # the label of each cell

    def codes(self, objects: NDArray[np.int32], ids: NDArray[Any]) -> NDArray[Any]:
        """Each claim's cell within its object; the claims are sorted by object, and all claims about each are here."""
        # The options of a set are sorted, and those of an object too, by the numbers of their labels.
        ids, n_objects = np.sort(ids.astype(np.int32).reshape(-1, self.size)).reshape(-1), int(objects[-1]) + 1
        if self.shared:
            self._counts.append(np.full(n_objects, self._n_labels))
            return ids.astype(code_type(np.array([self._n_labels])))
        offsets = np.concatenate(([0], np.cumsum(np.bincount(objects, minlength=n_objects))))
        cell_offsets, cell_ids = _seen(offsets, ids, self._n_labels)
        cells = np.diff(cell_offsets)
        self._counts.append(cells)
        self._ids.append(cell_ids)
        return np.asarray(_cells(offsets, ids, cell_offsets, cell_ids, self._n_labels)[0].astype(code_type(cells)))

    def keep(self, first: int, count: int) -> None:
        """Take over the objects of a block that stays unchanged."""
        assert self._earlier is not None
        if self.shared:
            self._counts.append(np.full(count, self._n_labels))
            return
        assert self._earlier.ids is not None
        offsets = self._earlier.offsets[first : first + count + 1]
        self._counts.append(np.diff(offsets))
        self._ids.append(self._earlier.ids[offsets[0] : offsets[-1]])

    def finished(self, labels: Labels, declared: NDArray[np.int64] | None) -> Answers:
        """The options of all objects."""
        cells = np.concatenate(self._counts)
        ids = None if self.shared else np.concatenate(self._ids)
        counts = np.maximum(cells, 2) if declared is None else declared
        offsets = np.concatenate(([0], np.cumsum(cells)))
        return Answers(labels, offsets, ids, counts, declared is not None, self.size)


def spelt_alike(options: Sequence[Any]) -> list[tuple[str, str]]:
    """Pairs of options that differ only in spaces and case, most likely one answer spelt in two ways."""
    first: dict[str, str] = {}
    texts = [option for option in options if isinstance(option, str)]
    pairs = [(first.setdefault(" ".join(text.casefold().split()), text), text) for text in texts]
    return [pair for pair in pairs if pair[0] != pair[1]]


def shown_options(options: Sequence[Any], most: int = 6) -> str:
    """A few options for a message."""
    more = ", …" if len(options) > most else ""
    return ", ".join(repr(label) for label in list(options)[:most]) + more


def share_options(n_labels: int, n_objects: int, n_claims: int, cell_ids: NDArray[np.int32]) -> bool:
    """Whether the objects seem to share one list of options, because most answers also occur for other objects."""
    if n_labels > MOST_SHARED or n_labels * n_objects > _MOST_CELLS_PER_CLAIM * n_claims:
        return False
    unique = int((np.bincount(cell_ids, minlength=n_labels) == 1).sum())
    return 2 * unique < len(cell_ids) or n_objects == 1


def check_counts(answers: Answers, objects: NDArray[Any]) -> Answers:
    """Refuse objects with more different answers than were declared, or more than can be stored."""
    cells = np.diff(answers.offsets)
    over = np.flatnonzero((cells > answers.counts) | (answers.counts > MOST_OPTIONS) | (answers.counts < 2))
    if len(over):
        n = int(over[0])
        label = objects[n : n + 1].tolist()[0]  # a Python value, as its repr is shown
        if 2 <= answers.counts[n] <= MOST_OPTIONS:
            raise BadRow(
                f"object {label!r} has {cells[n]:,} different answers, but only {answers.counts[n]:,} choices are "
                "declared for it; correct the answers or the number of choices"
            )
        raise BadRow(
            f"object {label!r} has {counted(int(answers.counts[n]), 'choice')}, but there must be at least 2 and "
            f"at most {MOST_OPTIONS:,}; merge answers that mean the same, or declare another number"
        )
    return answers


def code_type(cells: NDArray[Any]) -> Any:
    """The smallest type for the cells of an object."""
    return np.uint8 if int(cells.max(initial=1)) <= 256 else np.uint16


def decoded(answers: Answers, ids: NDArray[np.int32]) -> pa.Array:
    """Answers as a column of a table; sets as lists."""
    labels = answers.labels if isinstance(answers.labels, pa.Array) else label_column(answers.labels)
    column = pa.DictionaryArray.from_arrays(pa.array(ids), labels).cast(labels.type)
    if answers.size == 1:
        return column
    return pa.ListArray.from_arrays(pa.array(np.arange(0, len(ids) + 1, answers.size, dtype=np.int32)), column)


def _list_of(lists: Mapping[Any, Sequence[Any]], label: Any) -> Sequence[Any]:
    if label not in lists:
        raise BadParameter(f"object {label!r}: its options are not given; list the options of every object")
    options = lists[label]
    if not _is_list(options):
        raise BadParameter(f"options {options!r} of object {label!r}: they must be a list; write [{options!r}, …]")
    return options


def _every(n_labels: int, n_objects: int) -> NDArray[np.int64]:
    return np.arange(n_objects + 1, dtype=np.int64) * n_labels


@njit(nogil=True, cache=True)
def _seen(offsets, ids, n_labels):  # type: ignore[no-untyped-def]
    """Where the labels of each object begin; and the labels that occur for each, in the order of their numbers."""
    last = np.full(n_labels, -1, np.int64)
    cell_offsets = np.zeros(len(offsets), np.int64)
    for n in range(len(offsets) - 1):
        count = 0
        for i in range(offsets[n], offsets[n + 1]):
            if last[ids[i]] != n:
                last[ids[i]] = n
                count += 1
        cell_offsets[n + 1] = cell_offsets[n] + count
    cell_ids = np.empty(cell_offsets[-1], np.int32)
    last[:] = -1
    for n in range(len(offsets) - 1):
        place = cell_offsets[n]
        for i in range(offsets[n], offsets[n + 1]):
            if last[ids[i]] != n:
                last[ids[i]] = n
                cell_ids[place] = ids[i]
                place += 1
        cell_ids[cell_offsets[n] : place] = np.sort(cell_ids[cell_offsets[n] : place])
    return cell_offsets, cell_ids


@njit(nogil=True, cache=True)
def _cells(offsets, ids, cell_offsets, cell_ids, n_labels):  # type: ignore[no-untyped-def]
    """Each claim's cell within its object, and the first claim whose label is not among its object's options, or -1."""
    codes = np.zeros(len(ids), np.int32)
    owner = np.full(n_labels, -1, np.int64)
    place = np.zeros(n_labels, np.int32)
    for n in range(len(offsets) - 1):
        for cell in range(cell_offsets[n], cell_offsets[n + 1]):
            owner[cell_ids[cell]] = n
            place[cell_ids[cell]] = cell - cell_offsets[n]
        for i in range(offsets[n], offsets[n + 1]):
            if ids[i] < 0 or owner[ids[i]] != n:
                return codes, i
            codes[i] = place[ids[i]]
    return codes, -1
