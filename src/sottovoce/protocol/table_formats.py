"""The formats in which a server offers tables as files, by the ending of their names."""

from typing import Literal

Format = Literal["csv", "parquet", "jsonl"]
TITLES: dict[Format, str] = {"csv": "CSV", "parquet": "Parquet", "jsonl": "JSON Lines"}
MEDIA_TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/jsonl",
}
