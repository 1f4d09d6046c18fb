"""Tables as files: CSV, Parquet, JSON Lines."""

import io
import json
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sottovoce.claims.cells import harmless_table
from sottovoce.claims.header import NOISE_COLUMN
from sottovoce.protocol.manifest import Manifest
from sottovoce.server.storage.claims import Readings

Format = Literal["csv", "parquet", "jsonl"]
MEDIA_TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/jsonl",
}
Names = dict[tuple[int, int], str]  # by participant and cohort


def claims_table(manifest: Manifest, readings: Readings, names: Names) -> pa.Table:
    """One row per claim, with the law of its noise, which an analysis needs."""
    both = np.stack([readings.participants, readings.cohorts], axis=1)
    who, ids = np.unique(both, axis=0, return_inverse=True)
    users = pa.array([names[key, cohort] for key, cohort in who.tolist()], pa.string())
    objects = pa.array([task.id for task in manifest.tasks], pa.string())
    table = pa.table(
        {
            "user": users.take(pa.array(ids.reshape(-1))),
            "object": objects.take(pa.array(readings.places)),
            "value": readings.values(manifest),
            NOISE_COLUMN: pa.repeat(manifest.noise, len(readings)),
        }
    )
    # Sorted by the random names, so that the order of joining stays hidden.
    return table.sort_by([("user", "ascending"), ("object", "ascending")])


def encode_table(table: pa.Table, format: Format) -> bytes:
    sink = io.BytesIO()
    if format == "csv":
        pa.csv.write_csv(harmless_table(table), sink, pa.csv.WriteOptions(quoting_style="needed"))
    elif format == "parquet":
        pa.parquet.write_table(table, sink)
    else:
        for row in table.to_pylist():
            sink.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return sink.getvalue()
