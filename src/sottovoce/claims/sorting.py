"""Sorting more claims than fit in memory: DuckDB numbers the labels and sorts, on disk where memory is too small."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims.blocks import Block, Pack
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
    """Sorted claims: object and user in one number, value, and row number, which is 0 for claims of earlier rounds."""

    keys: NDArray[np.int64]
    values: NDArray[np.float64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, block: Block) -> "Rows":
        offsets, users, values = block.by_object
        objects = np.repeat(np.arange(block.n_objects), np.diff(offsets)) + block.first_object
        return cls(objects << 32 | users, values, np.zeros(len(values), np.int64))

    def and_then(self, others: "Rows") -> "Rows":
        return Rows(*(np.concatenate((getattr(self, name), getattr(others, name))) for name in _COLUMNS))

    def cut(self, key: int) -> tuple["Rows", "Rows"]:
        """Claims with smaller keys, and the others."""
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
        raise BadParameter(
            f"memory {memory}: this is not enough to sort these claims ({error}); give more with --memory"
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
    loaded: int = 0  # claims
    skipped: int = 0
    noise: str | None = None
    _sources: list[tuple[str, int]] = field(default_factory=list)  # name, number of its first row
    _rows: int = 0
    _types: list[str] = field(default_factory=lambda: ["", ""])  # of users and objects

    def load(self, source: ClaimSource) -> None:
        base = self._rows
        self._sources.append((source.name, base))
        for chunk in source.chunks:
            self._take_noise(source.name, chunk.noise)
            self.skipped += chunk.skipped
            if not len(chunk.values):
                continue
            labels = [self._fitting(place, array) for place, array in enumerate((chunk.users, chunk.objects))]
            table = pa.table([*labels, chunk.values, chunk.rows + base], ["user", "object", "value", "row"])
            self.database.register("chunk", table)
            self.database.execute("insert into claims select * from chunk")
            self.database.unregister("chunk")
            self.loaded += len(chunk.values)
            self._rows = base + int(chunk.rows[-1])

    def _take_noise(self, name: str, law: str | None) -> None:
        if law and self.noise and law != self.noise:
            raise BadRow(
                f"{name}: noise law {law!r} beside {self.noise!r}: all claims of a pack must have the same law; "
                "pack claims with different laws separately"
            )
        self.noise = self.noise or law

    def _fitting(self, place: int, labels: pa.Array) -> pa.Array:
        """Labels in the column's type: numbers if all labels are numbers, else text."""
        label_type = "bigint" if pa.types.is_integer(labels.type) else "varchar"
        if not self._types[place]:
            self._types[place] = label_type
            if all(self._types):
                user, thing = self._types
                self.database.execute(f"create table claims (user {user}, object {thing}, value double, row bigint)")
        elif (self._types[place], label_type) == ("bigint", "varchar"):
            self._become_text(place)
        return labels.cast(pa.int64() if self._types[place] == "bigint" else pa.string())

    def _become_text(self, place: int) -> None:
        column = ("user", "object")[place]
        self.database.execute(f"alter table claims alter {column} type varchar")
        self._types[place] = "varchar"

    def number_labels(self, earlier: Pack | None) -> None:
        """Number the labels in sorted order, after those numbered in an earlier round."""
        if not self.loaded:
            raise NoClaims("the files contain no claim: at least one is needed; check the files")
        if earlier:
            self._take_noise("the new claims", earlier.noise)
        for place, column in enumerate(("user", "object")):
            known = 0
            self.database.execute(f"create table {column}s (label {self._types[place]}, number bigint)")
            if earlier:
                labels = (earlier.user_table, earlier.object_table)[place]["label"]
                known = len(labels)
                if pa.types.is_integer(labels.type) != (self._types[place] == "bigint"):
                    self._become_text(place)
                    self.database.execute(f"alter table {column}s alter label type varchar")
                    labels = labels.cast(pa.string())  # numbers keep their digits: 7 is "7"
                self.database.register("known", pa.table({"label": labels, "number": np.arange(known)}))
                self.database.execute(f"insert into {column}s select * from known")
                self.database.unregister("known")
            self.database.execute(
                f"insert into {column}s select label, {known} + row_number() over (order by label) - 1 from "
                f"(select distinct {column} as label from claims anti join {column}s on {column} = label)"
            )

    def labels(self, column: str) -> pa.Array:
        """All labels in the order of their numbers."""
        table = self.database.sql(f"select label from {column}s order by number").to_arrow_table()
        return table["label"].combine_chunks()

    def sorted(self) -> Iterator[Rows]:
        """All claims, sorted; claims of one user about one object are never split between two pieces."""
        reader = self.database.sql(
            "select (objects.number << 32) | users.number as key, value, row from claims "
            "join users on claims.user = users.label join objects on claims.object = objects.label order by key, row"
        ).to_arrow_reader(_ROWS_AT_ONCE)
        waiting = Rows(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
        for batch in reader:
            keys, values, numbers = (batch.column(place).to_numpy(zero_copy_only=False) for place in range(3))
            waiting = waiting.and_then(Rows(keys, values, numbers))
            assert (np.diff(waiting.keys) >= 0).all(), "an object in two pieces would have two truths"
            done, waiting = waiting.cut(int(waiting.keys[-1]))
            yield done
        yield waiting

    def repeat(self, two: Rows) -> str:
        """The message about a user who claims an object twice."""
        thing, user = divmod(int(two.keys[0]), 1 << 32)
        database = self.database.cursor()  # the other one is busy with the sorted claims
        labels = [
            database.execute(f"select label from {column}s where number = ?", [number]).fetchone()[0]
            for column, number in (("user", user), ("object", thing))
        ]
        earlier, later = (self._place(int(number)) for number in two.numbers)
        return (
            f"{later}: user {labels[0]!r} claims object {labels[1]!r} a second time (first in {earlier}): one claim "
            "per user and object; say how to merge them with duplicates='mean' or 'last' (--duplicates)"
        )

    def _place(self, row: int) -> str:
        if not row:
            return "an earlier round"
        name, base = next(entry for entry in reversed(self._sources) if entry[1] < row)
        return f"{name}, row {row - base}"
