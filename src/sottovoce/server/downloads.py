"""Results and claims as files to download."""

import json
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
from fastapi import Request
from fastapi.responses import Response
from sqlalchemy import Connection

from sottovoce.discovery.schema import Place
from sottovoce.privacy.laws import Kind
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.table_formats import MEDIA_TYPES, Format
from sottovoce.server.clock import moment
from sottovoce.server.etags import tagged
from sottovoce.server.exports import claims_table, encode_table
from sottovoce.server.results import kind_of, row_columns
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.claims import labels_of, load_readings, load_sets
from sottovoce.server.storage.rows import ResultsRow
from sottovoce.server.storage.steps import Cohorts, cohorts_with_withdrawals, load_included


def results_file_of(request: Request, results: ResultsRow, campaign: str, format: Format) -> Response:
    """One version of the results: one row per task."""
    table = _results_table(json.loads(results.content)["results"])
    return tagged(
        request,
        encode_table(table, format),
        f"{campaign}-{results.version}-{format}",
        MEDIA_TYPES[format],
        filename=f"results-{campaign}-{results.version}.{format}",
    )


def _results_table(rows: list[dict[str, Any]]) -> pa.Table:
    """All columns for the kinds of tasks in the campaign. With both kinds, truths are text."""
    kinds = list(dict.fromkeys(map(kind_of, rows)))
    columns = {column.name: column.type for kind in kinds for column in row_columns(Place.FILE, kind)}
    if len(kinds) > 1:
        columns["truth"] = pa.string()
        rows = [{**row, "truth": None if row["truth"] is None else str(row["truth"])} for row in rows]
    return pa.Table.from_pylist(rows, pa.schema(list(columns.items())))


def claims_content(
    connection: Connection, operator_key: int, campaign: str, least: int, format: Format, kind: Kind | None = None
) -> bytes:
    """The claims that the newest results of an operator's campaign are based on, under random names.

    Numbers and choices have a file each; the default is the numbers, or the choices where there are no numbers.

    A name stands for what one participant sent in one cohort, and changes with each step.

    A participant who withdraws is missing from the next export, and a copy of the last one would show which claims were
    theirs. So ``least`` - 1 others of the same cohort, always the same ones, are left out too, and nobody can see who
    withdrew.
    """
    row = campaign_of(connection, operator_key, campaign)
    if row.erasing_at is not None:
        raise Problem("erased", f"campaign {campaign!r}: its readings were erased on {moment(row.erasing_at)}")
    # Loaded first: they only grow, so all readings of a step that is published in the meantime are left out.
    included = load_included(connection, row.key)
    readings = load_readings(connection, row.key, int(included.cohorts.max(initial=0)))
    readings = readings.where(included.entered(readings) >= 0)
    labels = labels_of(connection, row.key)
    names = {
        (key, cohort): sha256(f"{row.step} {cohort} {labels[key]}".encode()).hexdigest()[:16]
        for key, cohort in zip(readings.participants.tolist(), readings.cohorts.tolist(), strict=True)
    }
    hidden = _withdrawn_with(cohorts_with_withdrawals(connection, row.key), labels, least)
    shown = [who not in hidden for who in zip(readings.participants.tolist(), readings.cohorts.tolist(), strict=True)]
    manifest, sets = Manifest.parse(row.manifest), load_sets(connection, row.key)
    wanted = kind if kind is not None else next(iter(manifest.laws))
    table = claims_table(manifest, readings.where(np.array(shown, bool)), names, sets, wanted)
    return encode_table(table, format)


def _withdrawn_with(cohorts: Cohorts, labels: dict[int, str], least: int) -> set[tuple[int, int]]:
    """Who is left out of exports because others of their cohort withdrew."""
    hidden = set()
    for cohort, members in cohorts.items():
        for left in (key for key, withdrawn in members.items() if withdrawn):
            drawn = sorted(
                members.keys() - {left}, key=lambda key: sha256(f"{labels[left]} {labels[key]}".encode()).digest()
            )
            hidden |= {(key, cohort) for key in drawn[: least - 1]}
    return hidden


def claims_file_of(content: bytes, campaign: str, format: Format) -> Response:
    return Response(
        content,
        media_type=MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="claims-{campaign}.{format}"'},
    )
