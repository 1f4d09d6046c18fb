"""Results, for everybody; claims, only for the operator."""

from typing import Annotated, Any, Literal, get_args

import pyarrow as pa
from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.discovery.schema import Column, Place
from sottovoce.discovery.target import Target
from sottovoce.privacy.laws import Kind
from sottovoce.protocol.table_formats import MEDIA_TYPES, Format
from sottovoce.server.clock import moment
from sottovoce.server.downloads import claims_content, claims_file_of, results_file_of
from sottovoce.server.etags import tagged
from sottovoce.server.problems import problems
from sottovoce.server.results import row_columns
from sottovoce.server.rights import Operator, bearer_token
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server
from sottovoce.server.storage.campaigns import campaign_of, published_campaign
from sottovoce.server.storage.operators import operator_with
from sottovoce.server.storage.results import list_versions, newest_results, results_version
from sottovoce.server.storage.rows import ResultsRow

router = APIRouter(prefix="/api/campaigns/{campaign}", tags=["results"])
VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


_JSON_TYPES = {pa.string(): "string", pa.int64(): "integer", pa.float64(): "number"}


class TaskResult(BaseModel):
    """One task, as of its last step. Its figures are null while there are too few claims.

    For a number they are the truth with its interval; for a question with choices, the most probable answer with its
    chance, and the chances of all answers.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        """Described by the columns of results. Columns that are not in files may be missing in old versions."""
        kinds = [
            {
                "type": "object",
                "properties": {column.name: _described(column) for column in columns},
                "required": [column.name for column in columns if Place.FILE in column.appears],
            }
            for columns in (row_columns(Place.API, kind) for kind in get_args(Kind))
        ]
        return {"title": cls.__name__, "description": cls.__doc__, "anyOf": kinds}


def _described(column: Column) -> dict[str, Any]:
    kind: dict[str, Any] = {"type": _JSON_TYPES.get(column.type, "object")}
    if column.is_nested:
        kind["additionalProperties"] = {"type": "number"}
    of_task = column.name in ("task", "title", "unit")  # of the task, and so always known
    nullable = column.unknown is None and not of_task
    return {"description": column.description} | ({"anyOf": [kind, {"type": "null"}]} if nullable else kind)


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


class Weights(BaseModel):
    """How many participants have which weight, relative to the mean weight. The last edge is null, for infinity."""

    edges: list[float | None]
    counts: list[int]


class Doubt(BaseModel):
    code: Literal["few_claims", "few_decide", "suspicious_crowd", "not_converged", "erased_early"]
    text: str


class Results(BaseModel):
    """One version of the results."""

    campaign: str
    title: str
    version: int
    as_of: str
    method: str
    target: Annotated[
        Target | None,
        Field(description="what counts as the truth of a number: a measured value or the mean of opinions"),
    ] = None
    known: Annotated[
        dict[str, str],
        Field(description="truths that the operator knew, by task; used and shown once the campaign is closed"),
    ] = {}
    converged: bool | None
    iterations: Annotated[
        int | None, Field(description="iterations of the method until the truths stopped changing")
    ] = None
    level: float
    reports: int
    participants: int
    least_claims: int
    guarantee: Promised
    effective_users: float | None = None
    weights: Weights | None = None
    warnings: list[Doubt] = []
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
    **problems("not_found", "bad_request", "unauthorised"),
}


async def _newest(campaign: str, request: Request, server: Server) -> ResultsRow:
    return await server.read(lambda connection: newest_results(connection, _readable(connection, campaign, request)))


def _readable(connection: Connection, campaign: str, request: Request) -> int:
    """The key of a campaign whose results this request may see: all may, unless the terms say otherwise."""
    row = published_campaign(connection, campaign)
    if not row.public_results:
        campaign_of(connection, operator_with(connection, bearer_token(request.scope["headers"])).key, campaign)
    return row.key


@router.get("/results", response_class=Response, responses=_DESCRIBED)
async def newest(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The newest results."""
    row = await _newest(campaign, request, server)
    return tagged(request, row.content, f"{campaign}-{row.version}", "application/json")


@router.get("/results/versions", responses=problems("not_found", "bad_request", "unauthorised"))
async def versions(campaign: CampaignId, request: Request, server: Server) -> VersionList:
    """The versions of the results that are kept, newest first."""
    rows = await server.read(lambda connection: list_versions(connection, _readable(connection, campaign, request)))
    return VersionList(
        versions=[
            VersionEntry(version=row.version, method=row.method, reports=row.reports, as_of=moment(row.as_of))
            for row in rows
        ]
    )


@router.get("/results/versions/{version}", response_class=Response, responses=_DESCRIBED)
async def version(campaign: CampaignId, version: VersionNumber, request: Request, server: Server) -> Response:
    """One version of the results."""
    row = await server.read(
        lambda connection: results_version(connection, _readable(connection, campaign, request), version)
    )
    return tagged(request, row.content, f"{campaign}-{row.version}", "application/json")


_FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {media_type: {"schema": {"type": "string"}} for media_type in MEDIA_TYPES.values()}}
}


@router.get(
    "/results.{format}",
    response_class=Response,
    responses={
        **_FILE,
        304: {"description": "Not changed"},
        **problems("not_found", "bad_request", "unauthorised"),
    },
)
async def results_file(campaign: CampaignId, format: Format, request: Request, server: Server) -> Response:
    """The newest results as a table: one row per task, with its figures."""
    return await run_in_threadpool(results_file_of, request, await _newest(campaign, request, server), campaign, format)


@router.get(
    "/claims.{format}",
    response_class=Response,
    responses={
        **_FILE,
        **problems("unauthorised", "not_found", "erased", "bad_request"),
    },
)
async def claims_file(
    operator: Operator,
    campaign: CampaignId,
    format: Format,
    server: Server,
    kind: Literal["number", "choice"] | None = None,
) -> Response:
    """The claims behind the newest results (user, object, value, noise_law), as `sottovoce discover` reads them.

    Users are random names that change with each step: a name stands for what one participant sent in one step. A
    campaign with both kinds of tasks has a file of numbers and, with ``kind`` "choice", one of choices. For choices
    there is also the column choices, with the number of choices of the task. Where numbers are compared, the columns
    are user, object, cuts, level and noise_law, which `sottovoce discover` reads too.
    """

    least = server.settings.least_claims
    content = await server.read(
        lambda connection: claims_content(connection, operator.key, campaign, least, format, kind)
    )
    return claims_file_of(content, campaign, format)
