"""The claims themselves: immutable, compact, sorted by object."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sottovoce.claims import grouping, reading, writing
from sottovoce.claims.budget import Budget
from sottovoce.claims.cleaning import Cleaning
from sottovoce.claims.header import NOISE_COLUMN
from sottovoce.claims.labels import Labels, label_column, to_numpy
from sottovoce.errors import BadParameter, BadRow, DuplicateClaim, NoClaims
from sottovoce.progress import Progress

Duplicates = Literal["error", "mean", "last"]


class Claims:
    """Who says what about which object.

    Claims are stored object by object: those of object ``n`` are at ``offsets[n]:offsets[n + 1]`` in ``users``
    (int32) and ``values`` (float64), with users in ascending order. That is 12 bytes per claim, and one walk
    through memory meets all claims of an object together.

    Make them with `read`, `from_frame`, `from_arrays` or `from_matrix`.

    >>> claims = Claims.from_arrays(["ann", "bob", "ann"], ["hall", "hall", "stairs"], [12.1, 11.8, 4.0])
    >>> claims
    Claims(3 claims, 2 users, 2 objects)
    >>> claims.object_labels.tolist()
    ['hall', 'stairs']
    """

    left_out: pa.Table | None = None  # rows that were left out on request: row, line, reason

    def __init__(
        self,
        offsets: NDArray[np.int64],
        users: NDArray[np.int32],
        values: NDArray[np.float64],
        user_labels: Labels,
        object_labels: Labels,
        skipped: int = 0,
        noise: str | None = None,
    ) -> None:
        self.offsets = offsets
        self.users = users
        self.values = values
        self._user_labels = user_labels
        self._object_labels = object_labels
        self.skipped = skipped  # bad rows that were left out on request
        self.noise = noise  # the noise law that devices added, as text, where the source names it

    @classmethod
    def read(
        cls,
        path: str | Path | IO[bytes],
        *,
        user: str = "user",
        object: str = "object",
        value: str = "value",
        duplicates: Duplicates = "error",
        skip_bad: bool = False,
        progress: Progress[int, int] | None = None,
        budget: Budget | None = None,
        decimal: str | None = None,
        strip_units: bool = False,
        encoding: str | None = None,
    ) -> "Claims":
        """Read claims from a CSV, Parquet, Arrow or JSON Lines file (by suffix; CSV may be compressed) or a CSV stream.

        ``user``, ``object`` and ``value`` name the columns. ``duplicates`` says what happens when a user claims an
        object twice; ``skip_bad`` drops rows that are not claims and counts them in ``skipped``. ``progress`` is called
        with the number of bytes read and the total. ``budget`` limits what is read of an uploaded file; the format of a
        stream then follows from its name.

        ``decimal`` "," or "." is the decimal sign, with the marks between thousands that go with it; ``strip_units``
        takes values such as "12.5 m", all in the same unit; ``encoding`` names that of a text which is not UTF-8 or
        UTF-16. Rows left out stand in ``left_out``, with their line and the reason.
        """
        cleaning = Cleaning(decimal, strip_units, encoding)
        table = reading.read_file(path, (user, object), value, skip_bad, progress, budget, cleaning=cleaning)
        return cls._from_table(table, duplicates, (user, object))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str = "user",
        object: str = "object",
        value: str = "value",
        duplicates: Duplicates = "error",
        skip_bad: bool = False,
    ) -> "Claims":
        """Take claims from a pandas, polars, pyarrow or duckdb table."""
        table = reading.read_frame(frame, (user, object), value, skip_bad)
        return cls._from_table(table, duplicates, (user, object))

    @classmethod
    def from_arrays(
        cls,
        users: Any,
        objects: Any,
        values: ArrayLike,
        *,
        duplicates: Duplicates = "error",
        skip_bad: bool = False,
    ) -> "Claims":
        """Take claims from three sequences of equal length; labels may be of any type."""
        table = reading.check_arrays((users, objects), values, ("user", "object", "value"), skip_bad)
        return cls._from_table(table, duplicates, ("user", "object"))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, users: Any = None, objects: Any = None) -> "Claims":
        """Take claims from a matrix of users × objects, where NaN means no claim; labels are row and column numbers.

        >>> Claims.from_matrix([[1.0, 2.0], [1.5, float("nan")]])
        Claims(3 claims, 2 users, 2 objects)
        """
        table = np.asarray(np.ma.filled(np.ma.asarray(matrix, np.float64), np.nan))
        if table.ndim != 2:
            raise BadParameter(f"a matrix of {table.ndim} dimensions: it must have 2, users × objects; reshape it")
        infinite = np.argwhere(np.isinf(table))
        if len(infinite):
            row, column = infinite[0]
            raise BadRow(
                f"row {row}, column {column}: {table[row, column]}: a value must be a finite number; "
                "write NaN where there is no claim"
            )
        by_object = table.T
        object_ids, user_ids = np.nonzero(~np.isnan(by_object))
        if not len(object_ids):
            raise NoClaims(f"a matrix of shape {table.shape} with only NaN: at least one claim is needed; fill it in")
        row_labels = np.arange(table.shape[0]) if users is None else np.asarray(users)
        column_labels = np.arange(table.shape[1]) if objects is None else np.asarray(objects)
        for name, labels, size in (("users", row_labels, 0), ("objects", column_labels, 1)):
            if len(labels) != table.shape[size]:
                raise BadParameter(f"{len(labels)} labels for {table.shape[size]} {name}: give one label for each")
        return cls.from_arrays(row_labels[user_ids], column_labels[object_ids], by_object[object_ids, user_ids])

    @classmethod
    def _from_table(cls, table: reading.Table, duplicates: str, names: tuple[str, str]) -> "Claims":
        if duplicates not in ("error", "mean", "last"):
            raise BadParameter(f"duplicates={duplicates!r}: it must be 'error', 'mean' or 'last'; choose one of them")
        (user_ids, object_ids), (user_labels, object_labels) = table.ids, table.labels
        offsets, users, values = grouping.by_object(
            object_ids, user_ids, table.values, len(object_labels), len(user_labels)
        )
        repeat = int(grouping.first_repeat(offsets, users))
        if repeat >= 0:
            if duplicates == "error":
                raise DuplicateClaim(_describe_repeat(table, int(offsets.searchsorted(repeat, "right")) - 1,
                                                      int(users[repeat]), names))  # fmt: skip
            offsets = grouping.merge_repeats(offsets, users, values, duplicates == "last")
            users, values = users[: offsets[-1]].copy(), values[: offsets[-1]].copy()
        claims = cls(offsets, users, values, user_labels, object_labels, table.skipped, table.noise)
        claims.left_out = table.left_out
        return claims

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_users(self) -> int:
        return len(self._user_labels)

    @property
    def n_objects(self) -> int:
        return len(self._object_labels)

    @cached_property
    def user_labels(self) -> NDArray[Any]:
        return to_numpy(self._user_labels)

    @cached_property
    def object_labels(self) -> NDArray[Any]:
        return to_numpy(self._object_labels)

    @property
    def objects(self) -> NDArray[np.int32]:
        """Object of each claim; computed on every call, as it is not stored."""
        return np.repeat(np.arange(self.n_objects, dtype=np.int32), self.claims_per_object)

    @property
    def claims_per_object(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @cached_property
    def claims_per_user(self) -> NDArray[np.int64]:
        return np.bincount(self.users, minlength=self.n_users)

    def with_values(self, values: NDArray[np.float64], noise: str | None = None) -> "Claims":
        """The same users and objects with other values, in the order of ``values``: for simulated noise."""
        values = np.ascontiguousarray(values, np.float64)
        if values.shape != self.values.shape or not np.isfinite(values).all():
            raise BadParameter(
                f"values of shape {values.shape} for {len(self):,} claims: one finite number per claim is needed; "
                "start from claims.values"
            )
        return Claims(self.offsets, self.users, values, self._user_labels, self._object_labels, self.skipped, noise)

    def to_arrow(self) -> pa.Table:
        """One row per claim: user, object, value; and the noise law, where there is one."""
        table = pa.table(
            {
                "user": _take(self._user_labels, self.users),
                "object": _take(self._object_labels, self.objects),
                "value": self.values,
            }
        )
        if self.noise:
            law = pa.DictionaryArray.from_arrays(pa.nulls(len(self), pa.int32()).fill_null(0), [self.noise])
            table = table.append_column(NOISE_COLUMN, law.cast(pa.string()))
        return table

    def write(self, path: str | Path) -> None:
        """Write the claims as CSV, Parquet, Arrow or JSON Lines, by suffix; the file appears whole or not at all."""
        writing.write_table(self.to_arrow(), path)

    def __iter__(self) -> Iterator[tuple[Any, Any, float]]:
        """User, object and value of each claim: for small data and for inspection."""
        users, objects = self.user_labels[self.users], self.object_labels[self.objects]
        return zip(users.tolist(), objects.tolist(), self.values.tolist(), strict=True)

    def __repr__(self) -> str:
        left_out = skipped_text(self.skipped)
        return f"Claims({len(self):,} claims, {self.n_users:,} users, {self.n_objects:,} objects{left_out})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: entry for name, entry in self.__dict__.items() if not name.endswith("_labels") or name[0] == "_"}


def skipped_text(rows: int) -> str:
    """What is added to a count of claims where rows were left out."""
    return f", {rows:,} bad row{'s' * (rows != 1)} skipped" if rows else ""


def _take(labels: Labels, ids: NDArray[np.int32]) -> Any:
    if isinstance(labels, pa.Array):
        return pa.DictionaryArray.from_arrays(ids, labels).cast(labels.type)
    return label_column(labels).take(pa.array(ids))


def _describe_repeat(table: reading.Table, object_id: int, user_id: int, names: tuple[str, str]) -> str:
    user_ids, object_ids = table.ids
    places = np.flatnonzero((user_ids == user_id) & (object_ids == object_id))[:2]
    first, second = (places + 1) if table.rows is None else table.rows[places]
    user, thing = to_numpy(table.labels[0])[user_id], to_numpy(table.labels[1])[object_id]
    return (
        f"row {second}: {names[0]} {user!r} claims {names[1]} {thing!r} a second time (first in row {first}): "
        "one claim per user and object; say how to merge them with duplicates='mean' or 'last' (--duplicates)"
    )
