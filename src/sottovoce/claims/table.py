"""The claims themselves: immutable, compact, sorted by object."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from sottovoce.claims import answers as choosing
from sottovoce.claims import grouping, reading, writing
from sottovoce.claims.answers import Answers, Choices
from sottovoce.claims.budget import Budget
from sottovoce.claims.cleaning import Cleaning
from sottovoce.claims.header import CHOICES_COLUMN, NOISE_COLUMN
from sottovoce.claims.kinds import Kind, check_duplicates, merge_advice, no_mean_of_choices
from sottovoce.claims.labels import Labels, label_column, to_numpy
from sottovoce.claims.public_formats import ReadOptions, format_named
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, BadRow, DuplicateClaim, NoClaims
from sottovoce.progress import Progress

Duplicates = Literal["error", "mean", "last"]


class Claims:
    """Who says what about which object.

    Claims are stored object by object: those of object ``n`` are at ``offsets[n]:offsets[n + 1]`` in ``users``
    (int32) and ``values`` (float64), with users in ascending order. That is 12 bytes per claim, and one pass
    through memory finds all claims of an object together.

    Claims of ``kind`` "choice" name one of several options instead: ``values`` then holds the number of the option
    among those of its object (one byte per claim up to 256 options), and ``answers`` the options and their labels.

    Make them with `read`, `from_frame`, `from_arrays` or `from_matrix`. Users and objects without a claim are left out,
    because methods estimate from all users what a typical user is like.

    >>> claims = Claims.from_arrays(["ann", "bob", "ann"], ["hall", "hall", "stairs"], [12.1, 11.8, 4.0])
    >>> claims
    Claims(3 claims, 2 users, 2 objects)
    >>> claims.object_labels.tolist()
    ['hall', 'stairs']
    >>> Claims.from_arrays(["ann", "bob"], ["path", "path"], ["dry", "muddy"])
    Claims(2 claims, 2 users, 1 object, 2 choices)
    """

    left_out: pa.Table | None = None  # rows that were left out on request: row, line, reason

    def __init__(
        self,
        offsets: NDArray[np.int64],
        users: NDArray[np.int32],
        values: NDArray[Any],
        user_labels: Labels,
        object_labels: Labels,
        skipped: int = 0,
        noise: str | None = None,
        answers: Answers | None = None,
    ) -> None:
        self.offsets = offsets
        self.users = users
        self.values = values
        self._user_labels = user_labels
        self._object_labels = object_labels
        self.skipped = skipped  # bad rows that were left out on request
        self.noise = noise  # the law of the noise that devices added, as text, if the source names it
        self.answers = answers  # the options, if values are choices
        claiming = np.bincount(users, minlength=len(user_labels)) > 0
        if not claiming.all():
            self.users = (np.cumsum(claiming) - 1)[users].astype(users.dtype)
            chosen = np.flatnonzero(claiming)
            self._user_labels = user_labels.take(pa.array(chosen) if isinstance(user_labels, pa.Array) else chosen)

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
        kind: Kind | None = None,
        choices: Choices | None = None,
    ) -> "Claims":
        """Read claims from a CSV, Parquet, Arrow or JSON Lines file (by suffix), or from a CSV stream.

        CSV and JSON Lines files may be compressed.

        ``user``, ``object`` and ``value`` name the columns. ``duplicates`` says what happens when a user claims an
        object twice; ``skip_bad`` drops rows that are not claims and counts them in ``skipped``. ``progress`` is called
        with the number of bytes read and the total. ``budget`` limits what is read of an uploaded file; the format of a
        stream then follows from its name.

        ``decimal`` is the decimal sign, "," or "."; the matching thousands separators are then accepted too.
        ``strip_units`` accepts values such as "12.5 m", all in the same unit; ``encoding`` names the encoding of a text
        file that is neither UTF-8 nor UTF-16. ``left_out`` holds the rows that were left out, with line and reason.

        ``kind`` says what the values are, "number" or "choice"; by default, text that is not a number is read as
        choices, and codes such as 0 and 1 as numbers. ``choices`` gives the options: how many there are, a list of
        them, or a mapping from each object to its list; by default, the options are those that somebody chose.
        """
        cleaning = Cleaning(decimal, strip_units, encoding)
        table = reading.read_file(path, (user, object), value, skip_bad, progress, budget, kind, cleaning)
        return cls._from_table(table, duplicates, (user, object), choices)

    @classmethod
    def read_format(
        cls,
        path: str | Path,
        format: str,
        *,
        column: str | None = None,
        duplicates: Duplicates = "error",
        skip_bad: bool = False,
        decimal: str | None = None,
        strip_units: bool = False,
        encoding: str | None = None,
        kind: Kind | None = None,
        choices: Choices | None = None,
    ) -> "Claims":
        """Read claims in the format of a public data set, such as "crowd-kit" or "matrix".

        ``column`` says, for "fusion", which of several columns of values to read, by its number; for "matrix", which
        column holds truths, by its name: it is left out of the claims. The other parameters are those of `read`.
        """
        how = ReadOptions(kind, skip_bad, Cleaning(decimal, strip_units, encoding), column)
        return cls._from_table(format_named(format).claims(path, how), duplicates, ("user", "object"), choices)

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
        kind: Kind | None = None,
        choices: Choices | None = None,
    ) -> "Claims":
        """Make claims from a pandas, polars, pyarrow or duckdb table; ``kind`` and ``choices`` are those of `read`."""
        table = reading.read_frame(frame, (user, object), value, skip_bad, kind)
        return cls._from_table(table, duplicates, (user, object), choices)

    @classmethod
    def from_arrays(
        cls,
        users: Any,
        objects: Any,
        values: ArrayLike | Sequence[Any],
        *,
        duplicates: Duplicates = "error",
        skip_bad: bool = False,
        kind: Kind | None = None,
        choices: Choices | None = None,
    ) -> "Claims":
        """Make claims from three sequences of equal length; labels and answers may be of any type.

        ``kind`` and ``choices`` are those of `read`.

        >>> claims = Claims.from_arrays([1, 2], ["a", "a"], [0, 1], kind="choice", choices=[0, 1, 2])
        >>> claims.answers.of_object(0)
        [0, 1, 2]
        """
        table = reading.check_arrays((users, objects), values, ("user", "object", "value"), skip_bad, kind)
        return cls._from_table(table, duplicates, ("user", "object"), choices)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, users: Any = None, objects: Any = None) -> "Claims":
        """Make claims from a matrix of users × objects, in which NaN means no claim.

        Labels are ``users`` and ``objects``, by default the numbers of rows and columns.

        >>> Claims.from_matrix([[1.0, 2.0], [1.5, float("nan")]])
        Claims(3 claims, 2 users, 2 objects)
        """
        table = np.asarray(np.ma.filled(np.ma.asarray(matrix, np.float64), np.nan))
        if table.ndim != 2:
            raise BadParameter(
                f"a matrix of {counted(table.ndim, 'dimension')}: it must have 2, users × objects; reshape it"
            )
        infinite = np.argwhere(np.isinf(table))
        if len(infinite):
            row, column = infinite[0]
            raise BadRow(
                f"row {row}, column {column}, {table[row, column]}: a value must be a finite number; "
                "write NaN where there is no claim"
            )
        by_object = table.T
        object_ids, user_ids = np.nonzero(~np.isnan(by_object))
        if not len(object_ids):
            raise NoClaims(f"a matrix of shape {table.shape} with only NaN: at least one claim is needed; fill it in")
        row_labels = np.arange(table.shape[0]) if users is None else np.asarray(users)
        column_labels = np.arange(table.shape[1]) if objects is None else np.asarray(objects)
        for name, labels, size in (("user", row_labels, 0), ("object", column_labels, 1)):
            if len(labels) != table.shape[size]:
                raise BadParameter(
                    f"{counted(len(labels), 'label')} for {counted(table.shape[size], name)}: give one label for each"
                )
        return cls.from_arrays(row_labels[user_ids], column_labels[object_ids], by_object[object_ids, user_ids])

    @classmethod
    def _from_table(
        cls, table: reading.Table, duplicates: str, names: tuple[str, str], choices: Choices | None = None
    ) -> "Claims":
        check_duplicates(duplicates)
        (user_ids, object_ids), (user_labels, object_labels) = table.ids, table.labels
        size = table.size
        if size > 1:
            user_ids, object_ids = np.repeat(user_ids, size), np.repeat(object_ids, size)
        offsets, users, values = grouping.by_object(
            object_ids, user_ids, table.values, len(object_labels), len(user_labels)
        )
        repeat = int(grouping.first_repeat(offsets, users, size))
        if repeat >= 0:
            if duplicates == "error":
                raise DuplicateClaim(_describe_repeat(table, int(offsets.searchsorted(repeat, "right")) - 1,
                                                      int(users[repeat]), names))  # fmt: skip
            if table.answers is None:
                offsets = grouping.merge_repeats(offsets, users, values, duplicates == "last")
                users, values = users[: offsets[-1]].copy(), values[: offsets[-1]].copy()
            elif duplicates == "mean":
                raise no_mean_of_choices()
            else:
                offsets, users, values = grouping.last_of_each(offsets, users, values, size)
        answers = None
        if table.answers is not None:
            answers, values = _answers(table, offsets, values, choices)
            if size > 1:
                values = np.sort(values.reshape(-1, size), axis=1).reshape(-1)
        elif choices is not None:
            raise BadParameter(
                "choices: they are given, but the values are numbers; give kind='choice' (--kind choice) too, or omit "
                "choices= (--choices)"
            )
        claims = cls(offsets, users, values, user_labels, object_labels, table.skipped, table.noise, answers)
        claims.left_out = table.left_out
        return claims

    @property
    def kind(self) -> Kind:
        return "number" if self.answers is None else "choice"

    @property
    def size(self) -> int:
        """How many entries a claim takes in ``users`` and ``values``: more than one if it is a set of options."""
        return 1 if self.answers is None else self.answers.size

    def __len__(self) -> int:
        return len(self.values) // self.size

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
        """Object of each entry of ``values``; computed on every call, as it is not stored."""
        return np.repeat(np.arange(self.n_objects, dtype=np.int32), np.diff(self.offsets))

    @property
    def claims_per_object(self) -> NDArray[np.int64]:
        return np.diff(self.offsets) // self.size

    @cached_property
    def claims_per_user(self) -> NDArray[np.int64]:
        return np.bincount(self.users, minlength=self.n_users) // self.size

    def with_values(self, values: NDArray[Any], noise: str | None = None) -> "Claims":
        """The same users and objects with other values, in the order of ``values``: for simulated noise.

        For choices, values are the numbers of options within their object; a matrix with one row per claim makes sets.
        """
        if self.answers is not None:
            return self._with_choices(np.asarray(values), noise)
        values = np.ascontiguousarray(values, np.float64)
        if values.shape != self.values.shape or not np.isfinite(values).all():
            raise BadParameter(
                f"values of shape {values.shape} for {len(self):,} claims: one finite number per claim is needed; "
                "start from claims.values"
            )
        return Claims(self.offsets, self.users, values, self._user_labels, self._object_labels, self.skipped, noise)

    def _with_choices(self, codes: NDArray[Any], noise: str | None) -> "Claims":
        assert self.answers is not None
        table = codes.reshape(len(self), -1) if len(codes) == len(self) else codes[:0]
        size = table.shape[1] if table.ndim == 2 else 0
        cells = np.diff(self.answers.offsets)[self.objects[:: self.size]]
        if not size or (table < 0).any() or (table >= cells[:, None]).any():
            raise BadParameter(
                f"values of shape {codes.shape} for {len(self):,} claims: each must be the number of one of its "
                "object's options, from 0; start from claims.values"
            )
        offsets = self.offsets // self.size * size
        answers = replace(self.answers, size=size)
        values = np.sort(table, axis=1).reshape(-1).astype(choosing.code_type(cells))
        users = np.repeat(self.users[:: self.size], size)
        return Claims(offsets, users, values, self._user_labels, self._object_labels, self.skipped, noise, answers)

    def with_options(self, options: Choices) -> "Claims":
        """The same answers, chosen among these options; an answer that is not one of them is refused."""
        assert self.answers is not None, "these claims are numbers"
        answers, codes = choosing.from_lists(
            self.offsets, self.answer_ids, self.answers.labels, self.object_labels, options, self.size
        )
        return Claims(
            self.offsets, self.users, codes, self._user_labels, self._object_labels, self.skipped, self.noise, answers
        )

    @property
    def answer_ids(self) -> NDArray[np.int32]:
        """The number of each answer among ``answers.labels``, in the order of ``values``."""
        assert self.answers is not None, "these claims are numbers"
        return self.answers.ids_of(self.objects, self.values)

    def to_arrow(self) -> pa.Table:
        """One row per claim: user, object and value; also the noise law and the number of choices, if known."""
        places = slice(None, None, self.size)
        values = self.values if self.answers is None else choosing.decoded(self.answers, self.answer_ids)
        table = pa.table(
            {
                "user": _take(self._user_labels, self.users[places]),
                "object": _take(self._object_labels, self.objects[places]),
                "value": values,
            }
        )
        if self.noise:
            law = pa.DictionaryArray.from_arrays(pa.nulls(len(self), pa.int32()).fill_null(0), [self.noise])
            table = table.append_column(NOISE_COLUMN, law.cast(pa.string()))
            if self.answers is not None and self.answers.declared:
                table = table.append_column(CHOICES_COLUMN, pa.array(self.answers.counts[self.objects[places]]))
        return table

    def write(self, path: str | Path) -> None:
        """Write the claims as CSV, Parquet, Arrow or JSON Lines, by suffix; the file appears whole or not at all."""
        writing.write_table(self.to_arrow(), path)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        """User, object and value of each claim: for small data and for inspection."""
        places = slice(None, None, self.size)
        users, objects = self.user_labels[self.users[places]], self.object_labels[self.objects[places]]
        values = self.values if self.answers is None else choosing.decoded(self.answers, self.answer_ids)
        return zip(users.tolist(), objects.tolist(), values.tolist(), strict=True)

    def __repr__(self) -> str:
        left_out = skipped_text(self.skipped)
        parts = [counted(len(self), "claim"), counted(self.n_users, "user"), counted(self.n_objects, "object")]
        if self.answers is not None:
            parts.append(counted(len(self.answers.labels), "choice"))
        return f"Claims({', '.join(parts)}{left_out})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: entry for name, entry in self.__dict__.items() if not name.endswith("_labels") or name[0] == "_"}


def skipped_text(rows: int) -> str:
    """What is added to a count of claims if rows were left out."""
    return f", {counted(rows, 'bad row')} skipped" if rows else ""


def _answers(
    table: reading.Table, offsets: NDArray[np.int64], ids: NDArray[np.int32], choices: Choices | None
) -> tuple[Answers, NDArray[Any]]:
    """The options of the table's objects, and the claims' places among them."""
    assert table.answers is not None
    objects = to_numpy(table.labels[1])
    if choices is not None and not choosing.is_number(choices):
        return choosing.from_lists(offsets, ids, table.answers, objects, choices, table.size)
    declared = None
    if table.choices is not None:
        declared = np.zeros(len(objects), np.int64)
        np.maximum.at(declared, table.ids[1], table.choices)
    if choices is not None:
        declared = np.full(len(objects), choices)
    answers, codes = choosing.from_ids(offsets, ids, table.answers, table.size, declared)
    return choosing.check_counts(answers, objects), codes


def _take(labels: Labels, ids: NDArray[np.int32]) -> Any:
    if isinstance(labels, pa.Array):
        return pa.DictionaryArray.from_arrays(ids, labels).cast(labels.type)
    return label_column(labels).take(pa.array(ids))


def _describe_repeat(table: reading.Table, object_id: int, user_id: int, names: tuple[str, str]) -> str:
    user_ids, object_ids = table.ids
    places = np.flatnonzero((user_ids == user_id) & (object_ids == object_id))[:2]
    first, second = (places + 1) if table.rows is None else table.rows[places]
    # As lists, because NumPy would show labels in its own notation.
    (user,) = to_numpy(table.labels[0])[[user_id]].tolist()
    (thing,) = to_numpy(table.labels[1])[[object_id]].tolist()
    return (
        f"row {second}: {names[0]} {user!r} makes a second claim about {names[1]} {thing!r} (first in row {first}): "
        f"{merge_advice('number' if table.answers is None else 'choice')}"
    )
