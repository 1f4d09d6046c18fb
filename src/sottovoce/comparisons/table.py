"""Answers to comparisons as a table: who compared which object with which cuts, and the level of each answer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from numpy.typing import NDArray

from sottovoce.claims.labels import Labels, encode, to_numpy
from sottovoce.claims.reading import read_file
from sottovoce.claims.table_file import TableFile
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, BadRow, DuplicateClaim, NoClaims

CUTS_COLUMN, LEVEL_COLUMN = "cuts", "level"


@dataclass(frozen=True)
class Comparisons:
    """Answers to comparisons, each with its cuts in the unit of the readings.

    The level of an answer is the number of cuts that lie below the reading, unless the law for answers chose another
    level. In files, cuts are written as one text, separated by spaces: ``12.45`` or ``10.05 12.45 14.85``.

    >>> Comparisons.from_arrays(["ann", "bob"], ["hall", "hall"], [(12.45,), (13.05,)], [1, 0])
    Comparisons(2 answers of 2 levels, 2 users, 1 object)
    """

    users: NDArray[np.int32]
    objects: NDArray[np.int32]
    cuts: NDArray[np.float64]  # answers × cuts
    levels: NDArray[np.int64]
    user_labels: NDArray[Any]
    object_labels: NDArray[Any]
    noise: str | None = None  # the law for answers, as text, if the source names it
    skipped: int = 0  # bad rows that were left out on request

    @classmethod
    def read(
        cls, path: str | Path | IO[bytes], *, user: str = "user", object: str = "object", skip_bad: bool = False
    ) -> "Comparisons":
        """Read a CSV, Parquet, Arrow or JSON Lines file with the columns user, object, cuts and level."""
        table = read_file(path, (user, object, CUTS_COLUMN), LEVEL_COLUMN, skip_bad)
        (users, objects, cut_ids), (user_labels, object_labels, cut_labels) = table.ids, table.labels
        read = cls._checked(
            users, objects, _cuts_of(cut_labels)[cut_ids], table.values, user_labels, object_labels, table.noise,
            table.rows,
        )  # fmt: skip
        return replace(read, skipped=table.skipped)

    @classmethod
    def from_arrays(
        cls, users: Any, objects: Any, cuts: Sequence[Sequence[float]], levels: Any, *, noise: str | None = None
    ) -> "Comparisons":
        """Build the table from sequences of equal length; labels may be of any type."""
        (user_ids, user_labels), (object_ids, object_labels) = encode(users), encode(objects)
        if not (np.iterable(cuts) and all(map(np.iterable, cuts))):
            raise BadParameter(f"cuts {cuts!r}: each answer needs a list of its cuts; write [(12.45,)], for example")
        places = _table_of([_check_cuts(entry, str(list(entry))) for entry in cuts])
        numbers = np.asarray(levels, np.float64)
        if numbers.ndim != 1:
            raise BadParameter(f"levels {levels!r}: there must be one level for each answer; give a list of them")
        lengths = {
            "user": len(user_ids),
            "object": len(object_ids),
            "entry of cuts": len(places),
            "level": len(numbers),
        }
        if len(set(lengths.values())) > 1:
            plurals = {"entry of cuts": "entries of cuts"}
            described = ", ".join(counted(length, name, plurals.get(name)) for name, length in lengths.items())
            raise BadRow(f"the arrays: {described}, but every answer needs one of each; give them in equal numbers")
        if not len(numbers):
            raise NoClaims("the arrays: there is no answer; at least one with user, object, cuts and level is needed")
        return cls._checked(user_ids, object_ids, places, numbers, user_labels, object_labels, noise, None)

    @classmethod
    def _checked(
        cls,
        users: NDArray[np.int32],
        objects: NDArray[np.int32],
        cuts: NDArray[np.float64],
        levels: NDArray[np.float64],
        user_labels: Labels,
        object_labels: Labels,
        noise: str | None,
        rows: NDArray[np.int64] | None,
    ) -> "Comparisons":
        def number(place: int) -> int:
            return int(rows[place]) if rows is not None else place + 1

        most = cuts.shape[1]
        bad = np.flatnonzero((levels != np.floor(levels)) | (levels < 0) | (levels > most))
        if len(bad):
            raise BadRow(
                f"row {number(int(bad[0]))}, level {levels[bad[0]]:g}: with {counted(most, 'cut')}, the level must be "
                f"a whole number from 0 to {most}; correct it"
            )
        pairs = objects.astype(np.int64) * (int(users.max(initial=0)) + 1) + users
        order = np.argsort(pairs, kind="stable")
        twice = np.flatnonzero(np.diff(pairs[order]) == 0)
        names, things = to_numpy(user_labels), to_numpy(object_labels)
        if len(twice):
            place = int(order[twice[0] + 1])
            raise DuplicateClaim(
                f"row {number(place)}: user {names[users[place]]!s} compares object {things[objects[place]]!s} twice; "
                "a user compares each object only once: remove one of the answers"
            )
        return cls(users, objects, cuts, levels.astype(np.int64), names, things, noise)

    @property
    def levels_each(self) -> int:
        """How many levels an answer can have."""
        return int(self.cuts.shape[1]) + 1

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        return (
            f"Comparisons({counted(len(self), 'answer')} of {self.levels_each} levels, "
            f"{counted(len(self.user_labels), 'user')}, {counted(len(self.object_labels), 'object')})"
        )


def cuts_text(cuts: Sequence[float]) -> str:
    """Cuts as they are written in files."""
    return " ".join(f"{cut:.12g}" for cut in cuts)


def is_comparisons(path: str) -> bool:
    """Whether a file is a table of comparisons: it has columns for cuts and levels."""
    if path == "-" or not Path(path).is_file():
        return False
    try:
        source = TableFile.of(path)
        if source.format == "parquet":
            names = set(pa.parquet.read_schema(source.path).names)
        elif source.format == "arrow":
            names = set(pa.feather.read_table(source.path, memory_map=True).column_names)
        else:
            with source.stream() as stream:
                first = stream.read(1 << 16).decode("utf-8-sig", errors="replace").lstrip().partition("\n")[0]
            marks = '":' if source.format == "jsonl" else '"'
            for mark in ",;\t|":
                first = first.replace(mark, " ")
            names = {word.strip(marks + "{}\r") for word in first.split()}
    except (OSError, pa.ArrowInvalid):  # reading the table will report what is wrong
        return False
    except UnicodeError:
        source.check_text()
        raise
    return {CUTS_COLUMN, LEVEL_COLUMN} <= names


def _cuts_of(labels: Labels) -> NDArray[np.float64]:
    """The numbers in each distinct text of cuts."""
    texts = [str(label) for label in to_numpy(labels).tolist()]
    cuts = []
    for text in texts:
        try:
            cuts.append(_check_cuts([float(part) for part in text.split()], repr(text)))
        except ValueError as mistake:
            if isinstance(mistake, BadParameter):
                raise
            raise BadParameter(f"cuts {text!r}: they must be numbers separated by spaces, such as 12.4 13.6") from None
    return _table_of(cuts)


def _table_of(cuts: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Lists of cuts as a matrix: all must have the same length."""
    if len({len(entry) for entry in cuts}) > 1:
        few, many = min(cuts, key=len), max(cuts, key=len)
        raise BadParameter(
            f"cuts {cuts_text(few)!r} and {cuts_text(many)!r}: all answers in a table must have the same number "
            "of cuts; make one table for each number"
        )
    return np.array(cuts, np.float64)


def _check_cuts(cuts: Sequence[float], shown: str) -> Sequence[float]:
    rising = all(before < after for before, after in pairwise(cuts))
    if not (len(cuts) and rising and all(math.isfinite(cut) for cut in cuts)):
        raise BadParameter(f"cuts {shown}: they must be finite and strictly ascending; correct them")
    return cuts
