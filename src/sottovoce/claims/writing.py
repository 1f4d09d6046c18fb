"""Writing tables so that a file appears whole or not at all."""

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sottovoce.errors import UnreadableFile

_LONGEST_STEM = 100  # characters of a temporary name, so that it stays within what file systems allow
TABLES = (".csv", ".parquet", ".arrow", ".jsonl")


def check_place(path: str | Path, suffixes: Sequence[str] = TABLES) -> None:
    """Check, before any work is done, that a file of one of these kinds can be written there."""
    if Path(path).suffix.lower() not in suffixes:
        raise UnreadableFile(
            f"{path}: the suffix gives the format and must be one of {', '.join(suffixes)}; choose one of them"
        )
    check_file(path)


def check_file(path: str | Path) -> None:
    """Check that a file can have this name."""
    check_folder(path)
    if Path(path).is_dir():
        raise UnreadableFile(f"{path}: this is a folder; the output must be a file, so choose another name")
    if Path(path).exists() and not Path(path).is_file():  # /dev/null would become a regular file for everybody
        raise UnreadableFile(f"{path}: this is not a regular file and would be replaced by one; choose another name")


def check_folder(path: str | Path) -> None:
    """Check that the folder for this file or folder exists."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise UnreadableFile(f"{path}: there is no folder {folder}; create it first, or choose another place")
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # too long, or with characters that no name may have
        raise UnreadableFile(f"{path}: the system does not allow this name ({error}); choose another one") from None


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path``, renamed to ``path`` if the block succeeds and removed if it fails."""
    path = Path(path)
    check_file(path)
    temporary = path.with_name(f".{path.stem[:_LONGEST_STEM]}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """A new temporary folder beside ``path``, renamed to ``path`` if the block succeeds and removed if it fails."""
    path = Path(path)
    if path.exists():
        raise UnreadableFile(
            f"{path}: it already exists, but the output must be a new folder; choose another name, or remove it"
        )
    check_folder(path)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    temporary.mkdir()
    try:
        yield temporary
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def room_on_disk(path: str | Path) -> Iterator[None]:
    """Reports a full disk as such."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise UnreadableFile(
            f"{path}: it could not be written ({os.strerror(error.errno)}); the disk is full, or your quota on it is "
            "used up: free some space, or choose another place. No partly written file is left"
        ) from error


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """A lock that only one process can hold at a time, so that only one changes what the file describes."""
    with path.open("rb") as file:
        try:
            import fcntl
        except ImportError:  # pragma: no cover - systems without such locks
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UnreadableFile(
                f"{path.parent}: another process is changing it, and only one may at a time; wait until it is done"
            ) from error
        yield


def arrow_file(batch: pa.RecordBatch) -> pa.Buffer:
    """The content of an Arrow file with one batch, without compression."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a table as CSV, Parquet, Arrow or JSON Lines, by suffix."""
    write_tables(iter([table]), path)


def write_tables(tables: Iterator[pa.Table], path: str | Path) -> None:
    """Write a table that comes in one or more parts, of which only one needs to be in memory."""
    check_place(path)
    suffix = Path(path).suffix.lower()
    with room_on_disk(path), whole_file(path) as temporary, _writer(suffix, next(tables), temporary) as write:
        for table in tables:
            write(table)


@contextmanager
def _writer(suffix: str, first: pa.Table, path: Path) -> Iterator[Callable[[pa.Table], Any]]:
    """A function that writes one table after another; the first is written immediately."""
    if suffix == ".jsonl":
        with path.open("w", encoding="utf-8") as file:
            write = partial(_write_lines, file)
            write(first)
            yield write
        return
    if suffix == ".csv":
        first = without_lists(first)
        writer = pa.csv.CSVWriter(path, first.schema, write_options=pa.csv.WriteOptions(quoting_style="needed"))
    elif suffix == ".parquet":
        writer = pa.parquet.ParquetWriter(path, first.schema)
    else:
        writer = pa.ipc.new_file(path, first.schema)
    with writer:
        writer.write_table(first)
        yield (lambda table: writer.write_table(without_lists(table))) if suffix == ".csv" else writer.write_table


def without_lists(table: pa.Table) -> pa.Table:
    """The table with lists and records as JSON text, because CSV has neither."""
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            entries = table.column(place).to_pylist()
            if pa.types.is_map(field.type):
                entries = [dict(entry) for entry in entries]
            texts = [json.dumps(entry, ensure_ascii=False, default=str) for entry in entries]
            table = table.set_column(place, field.name, pa.array(texts))
    return table


def _write_lines(file: TextIO, table: pa.Table) -> None:
    for row in table.to_pylist(maps_as_pydicts="strict"):
        file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
