"""How much of an uploaded file may be read."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sottovoce.errors import SottovoceError

_LONGEST_TEXT = 10_000  # bytes of a name or an answer, which appears on a page more than once


class FileTooLarge(SottovoceError):
    """A file that is too large for a server to read."""


@dataclass(frozen=True)
class Budget:
    """Limits on what may be read of a file: its rows, and the bytes that a Parquet file unpacks to."""

    rows: int
    unpacked: int

    def check_rows(self, name: str, rows: int, things: str = "claims", *, at_least: bool = False) -> None:
        if rows > self.rows:
            raise FileTooLarge(
                f"{name}: it has {'at least ' * at_least}{rows:,} {things}, but at most {self.rows:,} are accepted "
                "here; use the command line instead, which accepts any number"
            )

    def check_texts(self, name: str, column: str, texts: Any) -> None:
        """Refuse a column of an Arrow table, or a list, with a text that is too long to be a name or an answer."""
        longest = _longest(texts)
        if longest > _LONGEST_TEXT:
            raise FileTooLarge(
                f"{name}: column {column!r} has a text of {longest:,} bytes, but at most {_LONGEST_TEXT:,} are "
                "accepted here; check whether a quotation mark is missing, or use the command line instead"
            )


def _longest(texts: Any) -> int:
    if not isinstance(texts, pa.Array | pa.ChunkedArray):
        return max((len(text.encode(errors="replace")) for text in texts if isinstance(text, str)), default=0)
    if pa.types.is_dictionary(texts.type):
        chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
        return max((_longest(chunk.dictionary) for chunk in chunks), default=0)
    if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type) or pa.types.is_binary(texts.type):
        return pc.max(pc.binary_length(texts)).as_py() or 0
    return 0
