"""Results, for everybody; claims, for the operator alone."""

import json
from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel
from sqlalchemy import Connection, Row

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.server.clock import moment
from sottovoce.server.etags import tagged
from sottovoce.server.exports import MEDIA_TYPES, Format, claims_table, encode_table
from sottovoce.server.problems import problems
from sottovoce.server.rights import Operator
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of, published_campaign
from sottovoce.server.storage.claims import labels_of, load_readings
from sottovoce.server.storage.results import list_versions, newest_results, results_version

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["results"])
VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


class TaskResult(BaseModel):
    """One task. Truth and interval are null while there are too few claims."""

    task: str
    title: str
    unit: str
    truth: float | None
    low: float | None
    high: float | None
    claims: int


class Promised(BaseModel):
    """What participants were promised."""

    sentence: str
    noise: str
    distance: str
    unit: str
    readings: int
    epsilon: float | None
    delta: float
    pure_epsilon: float | None


class Results(BaseModel):
    """One version of the results."""

    campaign: str
    title: str
    version: int
    as_of: str
    method: str
    converged: bool | None
    level: float
    reports: int
    participants: int
    least_claims: int
    guarantee: Promised
    results: list[TaskResult]


class VersionEntry(BaseModel):
    version: int
    method: str
    reports: int
    as_of: str


class VersionList(BaseModel):
    versions: list[VersionEntry]


_DESCRIBED: dict[int | str, dict[str, Any]] = {
    200: {"model": Results},
    304: {"description": "Not changed"},
    **problems("not_found", "bad_request"),
}


async def _newest(campaign: str, server: Server) -> Row[Any]:
    return await server.read(
        lambda connection: newest_results(connection, published_campaign(connection, campaign).key)
    )


@router.get("/results", response_class=Response, responses=_DESCRIBED)
async def newest(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The newest results."""
    row = await _newest(campaign, server)
    return tagged(request, row.content, f"{campaign}-{row.version}", "application/json")


@router.get("/results/versions", responses=problems("not_found", "bad_request"))
async def versions(campaign: CampaignId, server: Server) -> VersionList:
    """All versions, the newest first."""
    rows = await server.read(lambda connection: list_versions(connection, published_campaign(connection, campaign).key))
    return VersionList(
        versions=[
            VersionEntry(version=row.version, method=row.method, reports=row.reports, as_of=moment(row.as_of))
            for row in rows
        ]
    )


@router.get("/results/versions/{version}", response_class=Response, responses=_DESCRIBED)
async def version(campaign: CampaignId, version: VersionNumber, request: Request, server: Server) -> Response:
    """An earlier version."""
    row = await server.read(
        lambda connection: results_version(connection, published_campaign(connection, campaign).key, version)
    )
    return tagged(request, row.content, f"{campaign}-{row.version}", "application/json")


def _file(schema: dict[str, str], *kinds: Format) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {MEDIA_TYPES[kind]: {"schema": schema} for kind in kinds}}}


@router.get(
    "/results.{format}",
    response_class=Response,
    responses={
        **_file({"type": "string"}, "csv", "parquet", "jsonl"),
        304: {"description": "Not changed"},
        **problems("not_found", "bad_request"),
    },
)
async def results_file(
    campaign: CampaignId, format: Literal["csv", "parquet", "jsonl"], request: Request, server: Server
) -> Response:
    """The newest results as a table: task, truth, low, high, claims."""
    row = await _newest(campaign, server)
    table = pa.Table.from_pylist(json.loads(row.content)["results"], _TABLE)
    return tagged(
        request,
        encode_table(table, format),
        f"{campaign}-{row.version}-{format}",
        MEDIA_TYPES[format],
        filename=f"results-{campaign}-{row.version}.{format}",
    )


_TABLE = pa.schema(
    [
        ("task", pa.string()), ("title", pa.string()), ("unit", pa.string()), ("truth", pa.float64()),
        ("low", pa.float64()), ("high", pa.float64()), ("claims", pa.int64()),
    ]
)  # fmt: skip


@router.get(
    "/claims.{format}",
    response_class=Response,
    responses={
        **_file({"type": "string"}, "csv", "parquet", "jsonl"),
        **problems("unauthorised", "not_found", "erased", "bad_request"),
    },
)
async def claims_file(
    operator: Operator, campaign: CampaignId, format: Literal["csv", "parquet", "jsonl"], server: Server
) -> Response:
    """All claims (user, object, value, noise_law), as `sottovoce discover` reads them. Users are random names."""

    def load(connection: Connection) -> bytes:
        row = campaign_of(connection, operator.key, campaign)
        if row.erased_at is not None:
            raise Problem("erased", f"campaign {campaign!r}: its readings were erased on {moment(row.erased_at)}")
        labels = labels_of(connection, row.key)
        table = claims_table(Manifest.parse(row.manifest), load_readings(connection, row.key), labels)
        return encode_table(table, format)

    return Response(
        await server.read(load),
        media_type=MEDIA_TYPES[format],
        headers={"Content-Disposition": f'attachment; filename="claims-{campaign}.{format}"'},
    )
