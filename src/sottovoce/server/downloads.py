"""Results and claims as files to keep, whoever asks for them."""

import json
from typing import Any

import pyarrow as pa
from fastapi import Request
from fastapi.responses import Response
from sqlalchemy import Connection, Row

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.server.clock import moment
from sottovoce.server.etags import tagged
from sottovoce.server.exports import MEDIA_TYPES, Format, claims_table, encode_table
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.claims import labels_of, load_readings

_TABLE = pa.schema(
    [
        ("task", pa.string()), ("title", pa.string()), ("unit", pa.string()), ("truth", pa.float64()),
        ("low", pa.float64()), ("high", pa.float64()), ("claims", pa.int64()),
    ]
)  # fmt: skip


def results_file_of(request: Request, results: Row[Any], campaign: str, format: Format) -> Response:
    """One version of the results: task, truth, low, high, claims."""
    table = pa.Table.from_pylist(json.loads(results.content)["results"], _TABLE)
    return tagged(
        request,
        encode_table(table, format),
        f"{campaign}-{results.version}-{format}",
        MEDIA_TYPES[format],
        filename=f"results-{campaign}-{results.version}.{format}",
    )


def claims_content(connection: Connection, operator_key: int, campaign: str, format: Format) -> bytes:
    """All claims of an operator's campaign, under random names."""
    row = campaign_of(connection, operator_key, campaign)
    if row.erased_at is not None:
        raise Problem("erased", f"campaign {campaign!r}: its readings were erased on {moment(row.erased_at)}")
    table = claims_table(
        Manifest.parse(row.manifest), load_readings(connection, row.key), labels_of(connection, row.key)
    )
    return encode_table(table, format)


def claims_file_of(content: bytes, campaign: str, format: Format) -> Response:
    return Response(
        content,
        media_type=MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="claims-{campaign}.{format}"'},
    )
