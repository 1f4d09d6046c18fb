"""Packing: any number of claims, sorted into the blocks of a pack in bounded memory.

DuckDB numbers the labels and sorts the claims, on disk if memory is too small; a NumPy pass cuts the sorted claims into
blocks. Adding a round to a pack merges the new claims into the blocks of their objects, which are rewritten, and puts
new objects into new blocks at the end. So every object stays in one block, and labels keep their numbers.
"""

import glob
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims.answers import MOST_SHARED, Answers, PackedAnswers, check_counts
from sottovoce.claims.blocks import CLAIMS_PER_BLOCK, Pack, PackWriter, new_pack_id
from sottovoce.claims.cleaning import AS_WRITTEN, Cleaning
from sottovoce.claims.kinds import Kind, check_duplicates, no_mean_of_choices
from sottovoce.claims.labels import label_column, to_numpy
from sottovoce.claims.pack_manifest import MANIFEST, PackManifest
from sottovoce.claims.sorting import ClaimSource, Rows, Sorter, sorting
from sottovoce.claims.streaming import read_chunks
from sottovoce.claims.table import Claims, Duplicates
from sottovoce.claims.writing import exclusive_lock, room_on_disk, whole_folder
from sottovoce.errors import DuplicateClaim, UnreadableFile
from sottovoce.progress import Progress

_OBJECTS_AT_ONCE = 10_000


def files(
    patterns: Sequence[str | Path], *, user: str = "user", object: str = "object", value: str = "value",
    skip_bad: bool = False, progress: Progress[str, float] | None = None, kind: Kind | None = None,
    cleaning: Cleaning = AS_WRITTEN, left_out: Progress[pa.Table] | None = None,
) -> Iterator[ClaimSource]:  # fmt: skip
    """The claims in files, given by names or by patterns such as ``claims-*.csv``; ``kind`` is as in `Claims.read`.

    ``cleaning`` describes how values are written in all of the files. ``left_out`` is called with rows that are not
    claims.
    """
    units: dict[str, int] = {}
    paths: list[str] = []
    for pattern in map(str, patterns):
        matches = sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern]
        if not matches:
            raise UnreadableFile(f"{pattern}: no file matches; check the pattern and the folder")
        paths += matches
    sizes = [Path(path).stat().st_size if Path(path).is_file() else 0 for path in paths]
    for number, path in enumerate(paths):

        def report(share: float, number: int = number) -> None:
            if progress:
                progress("reading", (sum(sizes[:number]) + share * sizes[number]) / max(sum(sizes), 1))

        yield ClaimSource(
            path, read_chunks(path, user, object, value, skip_bad, report, kind, cleaning, units, left_out)
        )


def pack(
    sources: Iterable[ClaimSource],
    out: str | Path,
    *,
    append: bool = False,
    duplicates: Duplicates = "error",
    memory: str = "1GB",
    claims_per_block: int = CLAIMS_PER_BLOCK,
    progress: Progress[str, float] | None = None,
) -> Pack:
    """Sort claims into a new pack, or add them to an existing pack as one more round.

    Parameters
    ----------
    sources
        The claims, from `files` or from any other source that yields chunks.
    out
        Folder of the pack.
    duplicates
        What happens when a user makes two claims about an object, in any round: "error", "mean" or "last". A claim of
        an earlier round counts as one, even if several were merged into it.
    memory
        How much memory sorting may use, such as "500MB"; beyond that, it uses the disk next to the pack.
    progress
        Called with the name of the current step and the share of it that is done.
    """
    out = Path(out)
    check_duplicates(duplicates)
    with ExitStack() as stack:
        stack.enter_context(room_on_disk(out))
        if append:
            earlier = Pack(out)
            stack.enter_context(exclusive_lock(out / MANIFEST))
            folder = out
        else:
            earlier = None
            folder = stack.enter_context(whole_folder(out))
        scratch = stack.enter_context(tempfile.TemporaryDirectory(dir=out.parent, prefix=".packing-"))
        sorter = stack.enter_context(sorting(Path(scratch), memory))
        for source in sources:
            sorter.load(source)
        if progress:
            progress("sorting", 0.0)
        sorter.number_labels(earlier)
        name, rounds = (earlier.manifest.pack, earlier.manifest.round) if earlier else (new_pack_id(), 0)
        answers = _answers(sorter, earlier) if sorter.kind == "choice" else None
        writer = PackWriter(folder, name, rounds + 1, claims_per_block, answers)
        try:
            manifest = _write(writer, sorter, earlier, duplicates, progress)
            manifest.write(folder)
        except BaseException:
            if earlier:
                _remove_stale_files(folder, earlier.manifest)
            raise
        if earlier:
            _remove_stale_files(folder, manifest)
    return Pack(out)


def pack_claims(claims: Claims, out: str | Path, *, claims_per_block: int = CLAIMS_PER_BLOCK) -> Pack:
    """Write claims that are in memory as a pack."""
    options, values = claims.answers, claims.values if claims.answers is None else claims.answer_ids
    answers = PackedAnswers(len(options.labels), options.shared, options.size) if options else None
    with room_on_disk(out), whole_folder(out) as folder:
        writer = PackWriter(folder, new_pack_id(), 1, claims_per_block, answers)
        for first in range(0, claims.n_objects, _OBJECTS_AT_ONCE):
            last = min(first + _OBJECTS_AT_ONCE, claims.n_objects)
            rows = slice(claims.offsets[first], claims.offsets[last])
            objects = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(claims.offsets[first : last + 1]))
            writer.add(objects, claims.users[rows], values[rows])
        writer.flush()
        labels = label_column(claims.user_labels), label_column(claims.object_labels)
        rounds = np.ones(claims.n_objects, np.int64)
        counts = claims.claims_per_user, claims.claims_per_object
        packed = None
        if answers and options:
            packed = answers.finished(options.labels, options.counts if options.declared else None)
        _manifest(writer, labels, *counts, rounds, claims.noise, claims.skipped, packed).write(folder)
    return Pack(out)


def _manifest(
    writer: PackWriter, labels: tuple[pa.Array, pa.Array], per_user: NDArray[np.int64], per_object: NDArray[np.int64],
    rounds: NDArray[np.int64], noise: str | None, skipped: int, answers: Answers | None,
) -> PackManifest:  # fmt: skip
    users, objects = labels
    columns = {"label": objects, "claims": per_object, "round": rounds}
    of_choices: dict[str, Any] = {}
    if answers is not None:
        check_counts(answers, to_numpy(objects))
        columns |= {"cells": np.diff(answers.offsets), "choices": answers.counts}
        of_choices = {
            "answer_table": writer.table("answers", {"label": label_column(to_numpy(answers.labels))}),
            "cell_table": None if answers.ids is None else writer.table("cells", {"answer": answers.ids}),
            "declared": answers.declared,
            "size": answers.size,
        }
    return PackManifest(
        writer.pack, writer.round, int(per_object.sum()), len(per_user), len(per_object), noise, skipped,
        writer.table("users", {"label": users, "claims": per_user}), writer.table("objects", columns),
        tuple(writer.blocks), **of_choices,
    )  # fmt: skip


def _answers(sorter: Sorter, earlier: Pack | None) -> PackedAnswers:
    """How options are stored: as in the earlier round if that is still possible."""
    n_labels, before = len(sorter.labels("value")), earlier.answers if earlier else None
    shared = n_labels <= MOST_SHARED and (before.shared if before else sorter.seem_shared())
    return PackedAnswers(n_labels, shared, sorter.size, before)


def _declared(sorter: Sorter, earlier: Pack | None) -> NDArray[np.int64] | None:
    """The number of options of each object, if all claims declare it."""
    counts, before = sorter.declared_counts(), earlier.answers if earlier else None
    if counts is None or (before and not before.declared):
        return None
    if before:
        counts[: len(before.counts)] = np.maximum(counts[: len(before.counts)], before.counts)
    return counts


def _remove_stale_files(folder: Path, manifest: PackManifest) -> None:
    """Remove blocks and tables that the manifest does not name, which an earlier or a failed round has left."""
    named = {entry.file for entry in (*manifest.blocks, *manifest.tables)}
    for kind in ("block", "users", "objects", "answers", "cells"):
        for path in folder.glob(f"{kind}-*.arrow"):
            if path.name not in named:
                path.unlink()


class _SortedStream:
    """A stream of sorted claims that is read one range of objects at a time."""

    def __init__(self, stream: Iterator[Rows]) -> None:
        self._stream = stream
        self._waiting = next(stream)

    def before(self, object: int) -> Rows:
        """All remaining claims about objects with smaller numbers."""
        taken, self._waiting = self._waiting.cut(object << 32)
        while not len(self._waiting):
            more = next(self._stream, None)
            if more is None:
                break
            part, self._waiting = more.cut(object << 32)
            taken = taken.and_then(part)
        return taken

    def rest(self) -> Iterator[Rows]:
        yield self._waiting
        yield from self._stream


def _write(
    writer: PackWriter,
    sorter: Sorter,
    earlier: Pack | None,
    duplicates: Duplicates,
    progress: Progress[str, float] | None,
) -> PackManifest:
    labels = sorter.labels("user"), sorter.labels("object")
    per_user, per_object, rounds = (np.zeros(len(labels[place]), np.int64) for place in (0, 1, 1))
    done, claims = 0, slice(None, None, sorter.size)  # one row of each claim

    def add(rows: Rows, new: Rows) -> None:
        nonlocal done
        rows = _one_claim_each(rows, duplicates, sorter)
        objects, users = (rows.keys >> 32).astype(np.int32), (rows.keys & 0xFFFFFFFF).astype(np.int32)
        np.add(per_user, np.bincount(users[claims], minlength=len(per_user)), out=per_user)
        np.add(per_object, np.bincount(objects[claims], minlength=len(per_object)), out=per_object)
        rounds[np.unique(new.keys >> 32)] = writer.round
        writer.add(objects, users, rows.values)
        done += len(new)
        if progress:
            progress("writing", done / sorter.loaded)

    stream = _SortedStream(sorter.sorted())
    if earlier:
        per_user[: earlier.manifest.users] = earlier.claims_per_user
        rounds[: earlier.manifest.objects] = earlier.object_table["round"].to_numpy()
        options = earlier.answers
        stored_anew = options is not None and writer.answers is not None and options.shared != writer.answers.shared
        for number, entry in enumerate(earlier.manifest.blocks):
            after = entry.first_object + entry.objects
            new = stream.before(after)
            # New objects go into the last block if it is small; otherwise many rounds would leave many small blocks.
            growing = number == len(earlier.manifest.blocks) - 1 and entry.claims < writer.claims_per_block // 2
            if len(new) or growing or stored_anew:
                block = earlier.block(number)
                _, users, _ = block.by_object
                per_user -= np.bincount(users[claims], minlength=len(per_user))
                add(Rows.of(block, earlier.answers).merged_with(new), new)
            else:
                per_object[entry.first_object : after] = earlier.claims_per_object[entry.first_object : after]
                writer.keep(entry)
    for rows in stream.rest():
        add(rows, rows)
    writer.flush()
    skipped = sorter.skipped + (earlier.manifest.skipped if earlier else 0)
    answers = writer.answers and writer.answers.finished(sorter.labels("value"), _declared(sorter, earlier))
    return _manifest(writer, labels, per_user, per_object, rounds, sorter.noise, skipped, answers or None)


def _one_claim_each(rows: Rows, duplicates: Duplicates, sorter: Sorter) -> Rows:
    """One claim per user and object: as many rows as a claim has options."""
    begins, size = np.flatnonzero(np.diff(rows.keys, prepend=-1)), sorter.size
    if len(begins) * size == len(rows):
        return rows
    ends = np.append(begins[1:], len(rows))
    if duplicates == "error":
        first = int(begins[np.argmax(ends - begins > size)])
        raise DuplicateClaim(sorter.repeat(rows.at([first, first + size])))
    if duplicates == "last":
        return rows.at((ends[:, None] - size + np.arange(size)).reshape(-1))
    if sorter.kind == "choice":
        raise no_mean_of_choices()
    means = np.add.reduceat(rows.values, begins) / (ends - begins)
    return Rows(rows.keys[begins], means, rows.numbers[begins])
