"""Packs: claims on disk, cut into blocks of whole objects, for more claims than fit in memory.

A pack is a folder:

``manifest.json``
    counts, the noise law, and the size and SHA-256 of every file; the manifest is replaced last, atomically
``users-*.arrow``, ``objects-*.arrow``
    one row per label, ordered by its number, with the number of claims and, for objects, the last round
``block-*.arrow``
    all claims about consecutive objects, one row per claim: user number, object number within the block, value

Claims of a block are sorted by user, then by object. So a pass reads the per-user arrays from one end to the other,
and the few objects of the block stay in the core's cache. If claims were sorted by object, each would fetch its user
from a random place in memory, which would take longer than everything else.

If claims are choices, a value is the number of an option within its object, and claims of a block are sorted by object.
``answers-*.arrow`` then has the labels of all answers; if objects have different options, ``cells-*.arrow`` lists the
options of each. A claim that is a set of options has one row per option.

All are uncompressed Arrow files, so a block is mapped into memory and used in place.
Every file carries the pack's id, so that a block of another pack is not mistaken for one of this pack.
"""

import hashlib
import mmap
import os
import re
import secrets
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims import grouping
from sottovoce.claims.answers import Answers, PackedAnswers, code_type
from sottovoce.claims.kinds import Kind
from sottovoce.claims.labels import to_numpy
from sottovoce.claims.pack_manifest import MANIFEST, BlockEntry, FileEntry, PackManifest
from sottovoce.claims.table import Claims
from sottovoce.claims.writing import arrow_file
from sottovoce.errors import UnreadableFile

# Large enough that opening a file is cheap compared with reading it; small enough that a few blocks fit in any memory.
CLAIMS_PER_BLOCK = 1 << 21
_PACK_ID = b"sottovoce.pack"
# How Arrow writes a pack's id: its length, its digits, a zero.
_WRITTEN_ID = re.compile(rb"\x10\0\0\0([0-9a-f]{16})\0")


Grouped = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]  # where groups begin, users, values
Listed = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]  # users, objects, values
Floats = NDArray[np.float64]
Scaling = tuple[Floats, Floats] | None  # center and unit of each object


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """Claims about consecutive objects, stored in one of two orders; the other order is made when first needed."""

    first_object: int
    n_objects: int
    first_claim: int
    iterates_by_user: bool  # whether an iteration goes through the claims by user, and not by object

    @property
    @abstractmethod
    def by_object(self) -> Grouped:
        """Claims of one object after the other, each with its users in order."""

    @abstractmethod
    def by_user(self, center: Floats, unit: Floats) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats, Scaling]:
        """Claims of one user after the other, each with their objects in order; objects are counted from 0.

        Returns users, objects, values, and how to scale the values: subtract their object's center, then multiply by
        its unit. If that is None, they are already scaled.
        """

    @cached_property
    def by_value(self) -> NDArray[np.int32]:
        """For each object in `by_object`, the positions of its claims from the smallest value to the largest."""
        offsets, _, values = self.by_object
        return np.asarray(grouping.by_value(offsets, values))


@dataclass(frozen=True, eq=False)
class UserBlock(Block):
    """Claims in the order of users, as in the files of a pack."""

    users: NDArray[np.int32]
    objects: NDArray[np.int32]
    values: Floats

    def by_user(self, center: Floats, unit: Floats) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats, Scaling]:
        return self.users, self.objects, self.values, (center, unit)

    @cached_property
    def by_object(self) -> Grouped:
        offsets = grouping.offsets_of(self.objects, self.n_objects)
        users, values = np.empty_like(self.users), np.empty_like(self.values)
        grouping.scatter(self.objects, self.users, self.values, offsets, users, values)
        return offsets, users, values


@dataclass(frozen=True, eq=False)
class ObjectBlock(Block):
    """Claims in the order of objects, as in memory."""

    offsets: NDArray[np.int64]
    users: NDArray[np.int32]
    values: NDArray[Any]
    n_users: int
    _scaled: list[tuple[Floats, Floats, Floats]] = field(default_factory=list)  # center, unit and values

    @property
    def by_object(self) -> Grouped:
        return self.offsets, self.users, self.values

    def by_user(self, center: Floats, unit: Floats) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats, Scaling]:
        """As in `Block`. The last scaled values are kept, because nearly all iterations of a fit need the same."""
        users, objects = self._user_order
        for last_center, last_unit, scaled in self._scaled:
            if np.array_equal(center, last_center) and np.array_equal(unit, last_unit):
                return users, objects, scaled, None
        scaled = np.asarray(grouping.scaled_by_user(self.offsets, self.values, objects, center, unit))
        self._scaled[:] = [(center.copy(), unit.copy(), scaled)]
        return users, objects, scaled, None

    @cached_property
    def _user_order(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        users, objects = grouping.by_user(self.offsets, self.users, self.n_users)
        return users, objects


class Pack:
    """A pack of claims, opened for reading. It can be pickled: another process opens the same folder.

    Every file is checked against its SHA-256 when it is first read; after that, only its size is checked.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = PackManifest.read(self.folder)
        self._checked: set[str] = set()

    def __len__(self) -> int:
        return self.manifest.claims

    @property
    def noise(self) -> str | None:
        return self.manifest.noise

    @property
    def kind(self) -> Kind:
        return "number" if self.manifest.answer_table is None else "choice"

    @cached_property
    def answer_table(self) -> pa.Table:
        """Column ``label``."""
        assert self.manifest.answer_table is not None, "only choices have answers"
        return self._table(self.manifest.answer_table)

    @cached_property
    def answers(self) -> Answers | None:
        """The options, if claims are choices."""
        if self.manifest.answer_table is None:
            return None
        labels, cells = self.answer_table["label"].combine_chunks(), self.manifest.cell_table
        ids = None if cells is None else np.asarray(self._table(cells)["answer"].to_numpy(), np.int32)
        offsets = np.concatenate(([0], self.object_table["cells"].to_numpy().cumsum()))
        counts = np.asarray(self.object_table["choices"].to_numpy())
        return Answers(labels, offsets, ids, counts, self.manifest.declared, self.manifest.size)

    @cached_property
    def user_table(self) -> pa.Table:
        """Columns ``label`` and ``claims``."""
        return self._table(self.manifest.user_table)

    @cached_property
    def object_table(self) -> pa.Table:
        """Columns ``label``, ``claims`` and ``round``, the last round in which the object was claimed."""
        return self._table(self.manifest.object_table)

    @cached_property
    def user_labels(self) -> NDArray[Any]:
        return to_numpy(self.user_table["label"].combine_chunks())

    @cached_property
    def object_labels(self) -> NDArray[Any]:
        return to_numpy(self.object_table["label"].combine_chunks())

    @cached_property
    def claims_per_user(self) -> NDArray[np.int64]:
        return np.asarray(self.user_table["claims"].to_numpy())

    @cached_property
    def claims_per_object(self) -> NDArray[np.int64]:
        return np.asarray(self.object_table["claims"].to_numpy())

    @cached_property
    def object_ages(self) -> NDArray[np.int64]:
        """Rounds since each object was last claimed."""
        return np.asarray(self.manifest.round - self.object_table["round"].to_numpy())

    def block(self, number: int) -> Block:
        """Map a block into memory; it is released with the last of its arrays."""
        entry = self.manifest.blocks[number]
        batch, content = self._open(entry)
        rows = entry.claims * self.manifest.size
        if batch.num_rows != rows:
            raise self._damaged(entry, f"it has {batch.num_rows:,} rows, not {rows:,}")
        base = pa.py_buffer(content).address

        def array(column: str, kind: Any) -> NDArray[Any]:
            # Straight from the mapping, which is private and writable. Arrow's own arrays are read-only, and every
            # kernel would be compiled a second time for them.
            return np.frombuffer(content, kind, rows, batch[column].buffers()[1].address - base)

        users, objects = array("user", np.int32), array("object", np.int32)
        if self.kind == "choice":
            codes = array("value", batch["value"].type.to_pandas_dtype())
            offsets = grouping.offsets_of(objects, entry.objects)
            place = entry.first_object, entry.objects, entry.first_claim
            return ObjectBlock(*place, False, offsets, users, codes, self.manifest.users)
        return UserBlock(
            entry.first_object, entry.objects, entry.first_claim, True, users, objects, array("value", np.float64)
        )

    def read_ahead(self, number: int) -> None:
        """Ask the operating system to load a block into its cache while something else is computed."""
        if number >= len(self.manifest.blocks) or not hasattr(os, "posix_fadvise"):
            return
        try:
            descriptor = os.open(self.folder / self.manifest.blocks[number].file, os.O_RDONLY)
        except FileNotFoundError:
            return  # reported when the block is needed
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(descriptor)

    def claims(self) -> Claims:
        """All claims in memory."""
        answers = self.answers
        kind, size = np.float64 if answers is None else code_type(np.diff(answers.offsets)), self.manifest.size
        users, values = np.empty(len(self) * size, np.int32), np.empty(len(self) * size, kind)
        for number, entry in enumerate(self.manifest.blocks):
            self.read_ahead(number + 1)
            place = slice(entry.first_claim * size, (entry.first_claim + entry.claims) * size)
            _, users[place], values[place] = self.block(number).by_object
        offsets = np.concatenate(([0], self.claims_per_object.cumsum() * size))
        user_labels, object_labels = (table["label"].combine_chunks() for table in (self.user_table, self.object_table))
        labels = user_labels, object_labels
        return Claims(offsets, users, values, *labels, self.manifest.skipped, self.noise, answers)

    def _table(self, entry: FileEntry) -> pa.Table:
        batch, _ = self._open(entry)
        return pa.Table.from_batches([batch])

    def _open(self, entry: FileEntry) -> tuple[pa.RecordBatch, mmap.mmap]:
        path = self.folder / entry.file
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size != entry.bytes:  # checked every time: reading a mapping beyond the end of its file is fatal
                    raise self._damaged(entry, f"it has {size} bytes, not {entry.bytes}")
                content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except FileNotFoundError as error:
            raise UnreadableFile(
                f"{path}: the file is missing, but a pack needs every file that its manifest names; "
                "restore it from a copy, or pack the claims again"
            ) from error
        if entry.file not in self._checked:
            if hashlib.sha256(content).hexdigest() != entry.sha256:
                raise self._damaged(entry, "its SHA-256 is not the one in the manifest")
            self._checked.add(entry.file)
        return pa.ipc.open_file(pa.py_buffer(content)).get_batch(0), content

    def _damaged(self, entry: FileEntry, what: str) -> UnreadableFile:
        path = self.folder / entry.file
        # Arrow writes the id at the beginning and at the end of a file. It is searched for in the raw bytes: parsing a
        # damaged file with Arrow is not safe.
        owners = {pack_id.decode() for pack_id in _WRITTEN_ID.findall(path.read_bytes())}
        if len(owners) == 1 and self.manifest.pack not in owners:
            return UnreadableFile(
                f"{path}: it belongs to another pack ({owners.pop()}; this one is {self.manifest.pack}), and files "
                "cannot be moved between packs; restore the right file, or pack the claims again"
            )
        return UnreadableFile(f"{path}: {what}; the file is damaged: restore it from a copy, or pack the claims again")

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "manifest": self.manifest, "_checked": set()}


def is_pack(path: str | Path) -> bool:
    return (Path(path) / MANIFEST).is_file()


def new_pack_id() -> str:
    return secrets.token_hex(8)


class PackWriter:
    """Writes the files of a pack, object by object, and returns their entries for the manifest."""

    def __init__(
        self, folder: Path, pack: str, round: int, claims_per_block: int = CLAIMS_PER_BLOCK,
        answers: PackedAnswers | None = None,
    ) -> None:  # fmt: skip
        self.folder, self.pack, self.round = folder, pack, round
        self.claims_per_block = claims_per_block
        self.answers = answers
        self.size = answers.size if answers else 1
        self.blocks: list[BlockEntry] = []
        self._objects = self._claims = self._written = 0
        self._waiting: list[Listed] = []
        self._rows = 0

    def add(self, objects: NDArray[np.int32], users: NDArray[np.int32], values: NDArray[Any]) -> None:
        """Add claims, sorted by object and user; the last object may continue in the next call.

        Values of choices are the numbers of their answers; a set has an entry for each of its options.
        """
        if len(objects):
            self._waiting.append((objects, users, values))
            self._rows += len(objects)
        if self._rows >= self.claims_per_block:
            self._cut(last=False)

    def keep(self, entry: BlockEntry) -> None:
        """Keep a block that is already in the folder."""
        self.flush()
        if self.answers:
            self.answers.keep(entry.first_object, entry.objects)
        self.blocks.append(
            BlockEntry(entry.file, entry.bytes, entry.sha256, self._objects, entry.objects, self._claims, entry.claims)
        )
        self._objects, self._claims = self._objects + entry.objects, self._claims + entry.claims

    def flush(self) -> None:
        """Write the pending claims; the next object begins a new block."""
        if self._rows:
            self._cut(last=True)

    def table(self, name: str, columns: dict[str, Any]) -> FileEntry:
        """Write a table of labels."""
        return self._write(f"{name}-{self.round:03d}.arrow", pa.record_batch(columns))

    def _cut(self, last: bool) -> None:
        objects, users, values = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting = []
        begins = np.concatenate(([0], np.flatnonzero(np.diff(objects)) + 1, [len(objects)]))
        done = 0  # object by object
        while True:
            # As many whole objects as fit in a block, but at least one. The last object may not be complete yet.
            size = int(np.searchsorted(begins, begins[done] + self.claims_per_block, "right")) - 1
            until = max(size, done + 1)
            if until >= len(begins) - 1 and not last:
                break
            until = min(until, len(begins) - 1)
            rows = slice(begins[done], begins[until])
            self._block(objects[rows] - objects[begins[done]], users[rows], values[rows])
            done = until
            if done == len(begins) - 1:
                break
        rest = slice(begins[done], None)
        self._rows = len(objects[rest])
        if self._rows:
            self._waiting = [(objects[rest], users[rest], values[rest])]

    def _block(self, objects: NDArray[np.int32], users: NDArray[np.int32], values: NDArray[Any]) -> None:
        if self.answers:
            columns = {"user": users, "object": objects, "value": self.answers.codes(objects, values)}
        else:
            # User and position in one number: NumPy sorts numbers five times as fast as it computes their order.
            order = np.sort(users.astype(np.int64) << 32 | np.arange(len(users))) & 0xFFFFFFFF
            columns = {"user": users[order], "object": objects[order], "value": values[order]}
        entry = self._write(f"block-{self.round:03d}-{self._written:05d}.arrow", pa.record_batch(columns))
        self._written += 1
        n_objects = int(objects[-1]) + 1
        self.blocks.append(
            BlockEntry(**asdict(entry), first_object=self._objects, objects=n_objects,
                       first_claim=self._claims, claims=len(users) // self.size)
        )  # fmt: skip
        self._objects, self._claims = self._objects + n_objects, self._claims + len(users) // self.size

    def _write(self, name: str, batch: pa.RecordBatch) -> FileEntry:
        batch = batch.replace_schema_metadata({_PACK_ID: self.pack.encode()})
        content = arrow_file(batch)
        (self.folder / name).write_bytes(content)
        return FileEntry(name, content.size, hashlib.sha256(content).hexdigest())
