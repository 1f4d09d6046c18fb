"""A file that holds a table: its format, and its bytes as a stream."""

import codecs
import io
from dataclasses import dataclass
from functools import cached_property
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
_TEXTS = ("csv", "jsonl")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers")

_OTHER_SUFFIX = "rename the file if it has one of these formats, or else convert it"
_NAME_ENCODING = "name its encoding with encoding= (--encoding), such as windows-1252 for tables of older spreadsheets"


@dataclass
class TableFile:
    """A file that may have to be read twice."""

    name: str
    format: str
    path: Path | None = None
    content: bytes | None = None
    encoding: str | None = None  # of text; None: UTF-8, or UTF-16 if the file begins with its byte order mark

    @classmethod
    def of(cls, path: str | Path | IO[bytes], *, by_name: bool = False, encoding: str | None = None) -> "TableFile":
        """A file, whose suffix gives its format; or a stream, which is CSV or, with ``by_name``, what its name says."""
        if not isinstance(path, str | Path):
            name = str(getattr(path, "name", "the stream"))
            suffix = Path(name).suffix.lower() if by_name else ""
            return cls(name, _SUFFIXES.get(suffix, "csv"), content=path.read(), encoding=encoding)
        path = Path(path)
        suffixes = [suffix.lower() for suffix in path.suffixes]
        if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst", ".lz4"):
            suffixes.pop()
        file_format = _SUFFIXES.get(suffixes[-1] if suffixes else "")
        if path.is_dir():
            from sottovoce.claims.blocks import is_pack

            if is_pack(path):
                raise UnreadableFile(f"{path}: it is a pack, but here a file is needed; give a file instead")
            raise UnreadableFile(f"{path}: this folder is not a pack; name a file of claims, or the folder of a pack")
        check_exists(path)
        if file_format is None:
            fix = "save the sheet as CSV" if suffixes and suffixes[-1] in _SPREADSHEETS else _OTHER_SUFFIX
            raise UnreadableFile(
                f"{path}: the suffix gives the format and must be one of {', '.join(_SUFFIXES)}; {fix}"
            )
        return cls(str(path), file_format, path=path, encoding=encoding)

    def stream(self, progress: Progress[int, int] | None = None) -> Any:
        """The bytes; text as UTF-8."""
        opened = self._open(progress)
        return pa.transcoding_input_stream(opened, self._recoded, "utf-8") if self._recoded else opened

    @cached_property
    def _recoded(self) -> str | None:
        """The encoding of a text that is not UTF-8."""
        if self.format not in _TEXTS:
            return None
        with self._open() as opened:
            start = bytes(opened.read(1 << 10))
        marked = start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and start[:4] != codecs.BOM_UTF32_LE
        name = self.encoding or ("utf-16" if marked else "utf-8")
        if codecs.lookup(name).name not in ("utf-8", "utf-8-sig", "ascii"):
            return name
        if b"\0" in start.partition(b"\n")[0]:
            raise UnreadableFile(
                f"{self.name}, line 1: byte 0x00: the text is neither UTF-8 nor UTF-16 with a byte order mark; save it "
                f"as UTF-8, or {_NAME_ENCODING}"
            )
        return None

    def check_text(self) -> None:
        """Refuse bytes that are not text in the encoding of the file, and report their line."""
        if self.format not in _TEXTS:
            return
        decoder, line = codecs.getincrementaldecoder(self._recoded or "utf-8")(), 1
        with self._open() as opened:
            while True:
                part = bytes(opened.read(1 << 20))
                try:
                    line += decoder.decode(part, final=not part).count("\n")
                except UnicodeError as error:
                    where = self.name
                    if isinstance(error, UnicodeDecodeError):  # another error if the byte order mark is missing
                        line += error.object[: error.start].decode(self._recoded or "utf-8", "replace").count("\n")
                        where += f", line {line}: byte {error.object[error.start]:#04x}"
                    named = (self._recoded or "utf-8").upper()
                    raise UnreadableFile(
                        f"{where}: the text is not {named}; save it as UTF-8, or {_NAME_ENCODING}"
                        if part
                        else f"{where}: the text is cut off, or not {named}; check that the file is complete, or "
                        f"{_NAME_ENCODING}"
                    ) from None
                if not part:
                    return

    def _open(self, progress: Progress[int, int] | None = None) -> Any:
        if self.path is None:
            return pa.BufferReader(self.content or b"")
        if progress is None:
            return pa.input_stream(str(self.path), compression="detect")
        counted = pa.PythonFile(_Counted(self.path, progress), mode="r")
        codec = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}.get(self.path.suffix.lower())
        return pa.CompressedInputStream(counted, codec) if codec else counted


def check_exists(path: Path) -> None:
    """Refuse a file that does not exist."""
    if not path.is_file():
        raise UnreadableFile(f"{path}: there is no such file; check the name and the folder")


def unreadable(name: str, file_format: str, error: Exception) -> UnreadableFile:
    """The error for a file whose content does not match its suffix, or is incomplete."""
    return UnreadableFile(
        f"{name}: it could not be read as {file_format} ({error}); check that the suffix matches the content and that "
        "the file is complete"
    )


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
