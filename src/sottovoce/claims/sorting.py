"""Sorting more claims than fit in memory: DuckDB numbers the labels and sorts, on disk if memory is too small."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims.answers import Answers, share_options
from sottovoce.claims.blocks import Block, Pack
from sottovoce.claims.kinds import Kind, merge_advice
from sottovoce.claims.streaming import Chunk
from sottovoce.errors import BadParameter, BadRow, NoClaims, UnreadableFile

_ROWS_AT_ONCE = 1 << 19


@dataclass
class ClaimSource:
    """Where claims come from: a name for messages, and chunks of them."""

    name: str
    chunks: Iterable[Chunk]


@dataclass(frozen=True, eq=False)
class Rows:
    """Sorted claims: object and user in one number, value, and row number, which is 0 for claims of earlier rounds.

    For choices, a value is the number of an answer.
    """

    keys: NDArray[np.int64]
    values: NDArray[Any]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, block: Block, answers: Answers | None = None) -> "Rows":
        offsets, users, values = block.by_object
        objects = np.repeat(np.arange(block.n_objects), np.diff(offsets)) + block.first_object
        values = values if answers is None else answers.ids_of(objects, values)
        return cls(objects << 32 | users, values, np.zeros(len(values), np.int64))

    def and_then(self, others: "Rows") -> "Rows":
        return Rows(*(np.concatenate((getattr(self, name), getattr(others, name))) for name in _COLUMNS))

    def cut(self, key: int) -> tuple["Rows", "Rows"]:
        """Claims with smaller keys than this, and the others."""
        place = int(np.searchsorted(self.keys, key))
        return self.at(slice(place)), self.at(slice(place, None))

    def at(self, places: Any) -> "Rows":
        return Rows(self.keys[places], self.values[places], self.numbers[places])

    def merged_with(self, others: "Rows") -> "Rows":
        """Both, sorted; for the same user and object, those of ``self`` come first."""
        both = self.and_then(others)
        return both.at(np.argsort(both.keys, kind="stable"))

    def __len__(self) -> int:
        return len(self.keys)


_COLUMNS = ("keys", "values", "numbers")


@contextmanager
def sorting(scratch: Path, memory: str) -> Iterator["Sorter"]:
    import duckdb

    try:
        database = duckdb.connect(
            str(scratch / "claims.db"), config={"memory_limit": memory, "temp_directory": str(scratch / "spill")}
        )
    except (duckdb.ParserException, duckdb.InvalidInputException) as error:
        raise BadParameter(f"memory {memory!r}: it must be a size such as 500MB or 2GB; give one") from error
    database.execute("set enable_progress_bar = false")  # it would be printed among our own output
    try:
        yield Sorter(database)
    except duckdb.OutOfMemoryException as error:
        # Only the first line of DuckDB's message: the others advise settings that cannot be given here.
        raise BadParameter(
            f"memory {memory}: this is not enough to sort these claims ({str(error).splitlines()[0]}); give more with "
            "memory= (--memory)"
        ) from error
    except (duckdb.IOException, duckdb.TransactionException, duckdb.FatalException) as error:
        raise UnreadableFile(
            f"{scratch.parent}: sorting needs two or three times the size of the pack on this disk ({error}); "
            "free some space, or pack to another disk"
        ) from error
    finally:
        database.close()


@dataclass
class Sorter:
    """Claims in a database on disk: loaded in any order, read sorted by the numbers of object and user."""

    database: Any
    loaded: int = 0  # rows
    skipped: int = 0
    noise: str | None = None
    _sources: list[tuple[str, int]] = field(default_factory=list)  # name, number of its first row
    _rows: int = 0
    kind: Kind | None = None
    size: int = 1  # options in one claim, each of which has a row
    declared: bool = False  # whether the number of options is declared for every claim
    _types: list[str] = field(default_factory=lambda: ["", "", ""])  # of users, objects and answers

    def load(self, source: ClaimSource) -> None:
        base = self._rows
        self._sources.append((source.name, base))
        for chunk in source.chunks:
            self._check_noise(source.name, chunk.noise)
            self.skipped += chunk.skipped
            if not len(chunk.values):
                continue
            self._check_kind(source.name, chunk)
            columns = (chunk.users, chunk.objects, *((chunk.values,) if chunk.kind == "choice" else ()))
            labels = [self._fitting(place, array) for place, array in enumerate(columns)]
            values = labels.pop() if chunk.kind == "choice" else chunk.values
            choices = np.zeros(len(chunk.rows), np.int64) if chunk.choices is None else chunk.choices
            others = [*labels, chunk.rows + base, choices]
            if chunk.size > 1:
                each = pa.array(np.repeat(np.arange(len(chunk.rows)), chunk.size))
                others = [pa.array(column).take(each) for column in others]
            table = pa.table([*others, values], ["user", "object", "row", "choices", "value"])
            self.database.register("chunk", table)
            self.database.execute("insert into claims by name select * from chunk")
            self.database.unregister("chunk")
            self.loaded += len(chunk.values)
            self._rows = base + int(chunk.rows[-1])

    def _check_kind(self, name: str, chunk: Chunk) -> None:
        if self.kind is None:
            self.kind, self.size, self.declared = chunk.kind, chunk.size, chunk.choices is not None
        if chunk.kind != self.kind:
            raise BadRow(
                f"{name}: {chunk.kind}s are mixed with {self.kind}s, but all claims of a pack must be of one kind; "
                "pack them separately, or say what they are with kind= (--kind)"
            )
        if chunk.size != self.size:
            raise BadRow(
                f"{name}: claims that name {_options(chunk.size)} are mixed with claims that name "
                f"{_options(self.size)}, but all claims of a pack must name the same number; pack them separately, or "
                "correct them"
            )
        self.declared &= chunk.choices is not None

    def _check_noise(self, name: str, law: str | None) -> None:
        if law and self.noise and law != self.noise:
            raise BadRow(
                f"{name}: noise law {law!r} is mixed with {self.noise!r}, but all claims of a pack must have the same "
                "law; pack claims with different laws separately"
            )
        self.noise = self.noise or law

    def _fitting(self, place: int, labels: pa.Array) -> pa.Array:
        """Labels in the column's type: numbers if all labels are numbers, else text."""
        label_type = "bigint" if pa.types.is_integer(labels.type) else "varchar"
        if not self._types[place]:
            self._types[place] = label_type
            if all(self._types[: 2 + (self.kind == "choice")]):
                user, thing, value = self._types
                self.database.execute(
                    f"create table claims (user {user}, object {thing}, value {value or 'double'}, row bigint, "
                    "choices bigint)"
                )
        elif (self._types[place], label_type) == ("bigint", "varchar"):
            self._become_text(place)
        return labels.cast(pa.int64() if self._types[place] == "bigint" else pa.string())

    def _become_text(self, place: int) -> None:
        column = ("user", "object", "value")[place]
        self.database.execute(f"alter table claims alter {column} type varchar")
        self._types[place] = "varchar"

    def number_labels(self, earlier: Pack | None) -> None:
        """Number the labels in sorted order, after those numbered in an earlier round."""
        if not self.loaded:
            raise NoClaims("the files contain no claims, but at least one is needed; check the files")
        if earlier:
            if self.noise and earlier.noise and self.noise != earlier.noise:
                raise BadRow(
                    f"the new claims have noise law {self.noise!r}, but those of the pack have {earlier.noise!r}; all "
                    "claims of a pack must have the same law, so pack them separately"
                )
            self.noise = self.noise or earlier.noise
            if earlier.kind != self.kind:
                raise BadRow(
                    f"the new claims are {self.kind}s, but those of the pack are {earlier.kind}s; all claims of a pack "
                    "must be of one kind, so pack them separately"
                )
            if earlier.manifest.size != self.size:
                raise BadRow(
                    f"the new claims name {_options(self.size)} each, but those of the pack name "
                    f"{_options(earlier.manifest.size)}; all claims of a pack must name the same number, so pack them "
                    "separately"
                )
        for place, column in enumerate(("user", "object", "value")[: 2 + (self.kind == "choice")]):
            known = 0
            self.database.execute(f"create table {column}_labels (label {self._types[place]}, number bigint)")
            if earlier:
                labels = getattr(earlier, ("user_table", "object_table", "answer_table")[place])["label"]
                known = len(labels)
                if pa.types.is_integer(labels.type) != (self._types[place] == "bigint"):
                    self._become_text(place)
                    self.database.execute(f"alter table {column}_labels alter label type varchar")
                    labels = labels.cast(pa.string())  # numbers keep their digits: 7 becomes "7"
                self.database.register("known", pa.table({"label": labels, "number": np.arange(known)}))
                self.database.execute(f"insert into {column}_labels select * from known")
                self.database.unregister("known")
            self.database.execute(
                f"insert into {column}_labels select label, {known} + row_number() over (order by label) - 1 from "
                f"(select distinct {column} as label from claims anti join {column}_labels on {column} = label)"
            )

    def labels(self, column: str) -> pa.Array:
        """All labels in the order of their numbers."""
        table = self.database.sql(f"select label from {column}_labels order by number").to_arrow_table()
        return table["label"].combine_chunks()

    def sorted(self) -> Iterator[Rows]:
        """All claims, sorted; claims of one user about one object are never split between two pieces."""
        value, answers = "value", ""
        if self.kind == "choice":
            value, answers = "value_labels.number", "join value_labels on claims.value = value_labels.label "
        reader = self.database.sql(
            f"select (object_labels.number << 32) | user_labels.number as key, {value}, row from claims "
            f"join user_labels on claims.user = user_labels.label "
            f"join object_labels on claims.object = object_labels.label {answers}"
            "order by key, row"
        ).to_arrow_reader(_ROWS_AT_ONCE)
        empty = np.empty(0, np.int64 if self.kind == "choice" else np.float64)
        waiting = Rows(np.empty(0, np.int64), empty, np.empty(0, np.int64))
        for batch in reader:
            keys, values, numbers = (batch.column(place).to_numpy(zero_copy_only=False) for place in range(3))
            waiting = waiting.and_then(Rows(keys, values, numbers))
            assert (np.diff(waiting.keys) >= 0).all(), "an object in two pieces would have two truths"
            done, waiting = waiting.cut(int(waiting.keys[-1]))
            yield done
        yield waiting

    def declared_counts(self) -> NDArray[np.int64] | None:
        """The number of options that the new claims about each object declare; 0 if there are no new claims."""
        if not self.declared:
            return None
        counts = self.database.sql(
            "select coalesce(max(choices), 0) from object_labels left join claims on object = label "
            "group by number order by number"
        ).to_arrow_table()
        return np.asarray(counts.column(0).to_numpy(), np.int64)

    def seem_shared(self) -> bool:
        """Whether objects seem to have one list of options; see `answers.share_options`."""
        objects = self.database.sql(
            "select count(distinct object) from value_labels join claims on label = value "
            "group by number order by number"
        ).to_arrow_table()
        counts = np.asarray(objects.column(0).to_numpy(), np.int64)
        n_objects = len(self.labels("object"))
        ids = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        return share_options(len(counts), n_objects, self.loaded, ids)

    def repeat(self, two: Rows) -> str:
        """The message about a user who makes two claims about an object."""
        thing, user = divmod(int(two.keys[0]), 1 << 32)
        database = self.database.cursor()  # a new one: the main connection is busy with the sorted claims
        labels = [
            database.execute(f"select label from {column}_labels where number = ?", [number]).fetchone()[0]
            for column, number in (("user", user), ("object", thing))
        ]
        earlier, later = (self._place(int(number)) for number in two.numbers)
        return (
            f"{later}: user {labels[0]!r} makes a second claim about object {labels[1]!r} (first in {earlier}): "
            f"{merge_advice(self.kind)}"
        )

    def _place(self, row: int) -> str:
        if not row:
            return "an earlier round"
        name, base = next(entry for entry in reversed(self._sources) if entry[1] < row)
        return f"{name}, row {row - base}"


def _options(count: int) -> str:
    return "one option" if count == 1 else f"{count} options"
