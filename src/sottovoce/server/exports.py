"""Tables as files: CSV, Parquet, JSON Lines."""

import io
import json
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sottovoce.claims.cells import harmless_table
from sottovoce.claims.header import CHOICES_COLUMN, NOISE_COLUMN
from sottovoce.claims.writing import without_lists
from sottovoce.comparisons.policy import places
from sottovoce.comparisons.table import CUTS_COLUMN, LEVEL_COLUMN, cuts_text
from sottovoce.privacy.laws import Kind
from sottovoce.protocol.manifest import Manifest, NumberTask
from sottovoce.protocol.table_formats import Format
from sottovoce.server.storage.claims import Readings, Sets, answers_in, choice_words, numbers_of, options_named

Names = dict[tuple[int, int], str]  # by participant and cohort


def claims_table(manifest: Manifest, readings: Readings, names: Names, sets: Sets, kind: Kind) -> pa.Table:
    """One row per claim of a kind, with the law of its noise and the number of choices, which an analysis needs.

    An answer is the text of its choice; a set of answers is a list of them, as in JSON. Where numbers are compared, the
    table is one of comparisons: cuts and level instead of a value.
    """
    asked = np.array([task.kind == kind for task in manifest.tasks])
    readings = readings.where(asked[readings.places])
    both = np.stack([readings.participants, readings.cohorts], axis=1)
    who, ids = np.unique(both, axis=0, return_inverse=True)
    users = pa.array([names[key, cohort] for key, cohort in who.tolist()], pa.string())
    objects = pa.array([task.id for task in manifest.tasks], pa.string())
    law = str(manifest.laws[kind]) if kind in manifest.laws else ""
    columns = {
        "user": users.take(pa.array(ids.reshape(-1))),
        "object": objects.take(pa.array(readings.places)),
        **_claim_columns(manifest, readings, sets, kind),
        NOISE_COLUMN: pa.repeat(law, len(readings)),
    }
    if kind == "choice":
        columns[CHOICES_COLUMN] = numbers_of(manifest)[readings.places]
    # Sorted by the random names, so that the order of joining stays hidden.
    return pa.table(columns).sort_by([("user", "ascending"), ("object", "ascending")])


def _claim_columns(manifest: Manifest, readings: Readings, sets: Sets, kind: Kind) -> dict[str, Any]:
    """What the claims say, as columns."""
    if kind == "choice":
        return {"value": _answers(manifest, readings, sets)}
    if not any(map(manifest.is_compared, manifest.tasks)):
        return {"value": readings.values(manifest)}
    grids = [Fraction(task.grid) if isinstance(task, NumberTask) else Fraction(1) for task in manifest.tasks]
    rows = zip(readings.participants.tolist(), readings.places.tolist(), strict=True)
    cuts = [cuts_text(places(sets[who, place], grids[place])) for who, place in rows]
    return {CUTS_COLUMN: pa.array(cuts, pa.string()), LEVEL_COLUMN: pa.array(readings.steps)}


def _answers(manifest: Manifest, readings: Readings, sets: Sets) -> pa.Array:
    named = answers_in(readings, choice_words(manifest), sets)
    if options_named(manifest) > 1:
        return pa.array([json.dumps(answer, ensure_ascii=False) for answer in named], pa.string())
    return pa.array(list(chain.from_iterable(named)), pa.string())


def encode_table(table: pa.Table, format: Format) -> bytes:
    sink = io.BytesIO()
    if format == "csv":
        pa.csv.write_csv(harmless_table(without_lists(table)), sink, pa.csv.WriteOptions(quoting_style="needed"))
    elif format == "parquet":
        pa.parquet.write_table(table, sink)
    else:
        for row in table.to_pylist():
            sink.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return sink.getvalue()
