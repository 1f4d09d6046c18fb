"""A file that holds a table: its format, and its bytes as a stream."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from sottovoce.errors import UnreadableFile
from sottovoce.progress import Progress

_SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip


@dataclass
class TableFile:
    """A file that may have to be read twice."""

    name: str
    format: str
    path: Path | None = None
    content: bytes | None = None

    @classmethod
    def of(cls, path: str | Path | IO[bytes], *, by_name: bool = False) -> "TableFile":
        """A file, whose format follows from its suffix; or a stream, which is CSV unless ``by_name`` says otherwise."""
        if not isinstance(path, str | Path):
            name = str(getattr(path, "name", "the stream"))
            suffix = Path(name).suffix.lower() if by_name else ""
            return cls(name, _SUFFIXES.get(suffix, "csv"), content=path.read())
        path = Path(path)
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst", ".lz4"):
            suffixes.pop()
        file_format = _SUFFIXES.get(suffixes[-1] if suffixes else "")
        if path.is_dir():
            raise UnreadableFile(f"{path}: this folder is not a pack; name a file of claims, or the folder of a pack")
        if not path.is_file():
            raise UnreadableFile(f"{path}: there is no such file; check the name and the folder")
        if file_format is None:
            raise UnreadableFile(
                f"{path}: the suffix gives the format and must be one of {', '.join(_SUFFIXES)}; rename the file"
            )
        return cls(str(path), file_format, path=path)

    def stream(self, progress: Progress[int, int] | None = None) -> Any:
        if self.path is None:
            return pa.BufferReader(self.content or b"")
        if progress is None:
            return pa.input_stream(str(self.path), compression="detect")
        counted = pa.PythonFile(_Counted(self.path, progress), mode="r")
        codec = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}.get(self.path.suffix.lower())
        return pa.CompressedInputStream(counted, codec) if codec else counted


class _Counted(io.RawIOBase):
    """A file that reports how much of it has been read."""

    def __init__(self, path: Path, progress: Progress[int, int]) -> None:
        self._file = path.open("rb")
        self._size = path.stat().st_size
        self._progress = progress

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._progress(self._file.tell(), self._size)
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()
