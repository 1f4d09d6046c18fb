"""Writing tables so that a file appears whole or not at all."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from sottovoce.errors import UnreadableFile


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its name when the block ends well, and vanishes otherwise."""
    path = Path(path)
    if not path.parent.is_dir():
        raise UnreadableFile(f"{path}: there is no folder {path.parent}; make it first, or choose another place")
    temporary = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a table as CSV, Parquet, Arrow or JSON Lines, by suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet", ".arrow", ".jsonl"):
        raise UnreadableFile(
            f"{path}: the format is told by the suffix, one of .csv, .parquet, .arrow, .jsonl; choose one of them"
        )
    with whole_file(path) as temporary:
        if suffix == ".csv":
            pa.csv.write_csv(table, temporary, pa.csv.WriteOptions(quoting_style="needed"))
        elif suffix == ".parquet":
            pa.parquet.write_table(table, temporary)
        elif suffix == ".arrow":
            pa.feather.write_feather(table, temporary)
        else:
            with temporary.open("w", encoding="utf-8") as file:
                for row in table.to_pylist():
                    file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
