"""Campaigns: made and changed as drafts, opened, closed; and their manifest, which everybody may read."""

import asyncio
import json
import secrets
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection, Row

from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.clock import moment
from sottovoce.server.etags import tagged
from sottovoce.server.problems import problems
from sottovoce.server.results import Computation, encode, guarantee_of
from sottovoce.server.rights import Operator
from sottovoce.server.state import Server, State
from sottovoce.server.storage import campaigns as stored
from sottovoce.server.storage.claims import NO_READINGS
from sottovoce.server.storage.results import add_results

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"])
CampaignId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Method = Literal["noise-aware", "crh", "gtm", "catd", "lfcn", "mean", "median"]
Number = Annotated[
    Decimal | int | str,
    Field(json_schema_extra={"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}]}),
]
UNREADABLE = (
    "bad_request",
    "bad_number",
    "bad_json",
    "too_deep",
    "unsupported_media_type",
    "too_large",
    "request_timeout",
)


class TaskDraft(RequestBody):
    """A task; numbers may be written as numbers or as text."""

    id: Annotated[str, Field(min_length=1, max_length=100)]
    title: Annotated[str, Field(max_length=200)] = ""
    unit: Annotated[str, Field(max_length=40)] = ""
    low: Number
    high: Number
    grid: Number
    quota: Annotated[int, Field(ge=1, le=10**12)] | None = None


class CampaignChange(RequestBody):
    """What to change. Everything but the method can be changed in drafts only."""

    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    asked_by: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    purpose: Annotated[str, Field(max_length=2000)] | None = None
    tasks: Annotated[list[TaskDraft], Field(min_length=1, max_length=10_000)] | None = None
    noise: Annotated[str, Field(max_length=100)] | None = None
    distance: Number | None = None
    unit: Literal["reading", "participant"] | None = None
    readings: Annotated[int, Field(ge=1, le=10_000)] | None = None
    deadline: Annotated[str, Field(max_length=40)] | None = None
    method: Method | None = None


class CampaignDraft(CampaignChange):
    """A new campaign. By default the operator asks, and a participant may answer all tasks."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    tasks: Annotated[list[TaskDraft], Field(min_length=1, max_length=10_000)]
    noise: Annotated[str, Field(max_length=100)]
    distance: Number


class TaskEntry(BaseModel):
    id: str
    title: str
    unit: str
    low: str
    high: str
    grid: str
    quota: int | None


class CampaignEntry(BaseModel):
    """A campaign in a list."""

    id: str
    title: str
    state: Literal["draft", "open", "closed"]
    version: int
    reports: int
    created_at: str
    opened_at: str | None
    closed_at: str | None
    deadline: str | None


class Counts(BaseModel):
    invitations: int
    spent: int
    revoked: int
    participants: int
    withdrawn: int


class Campaign(CampaignEntry):
    asked_by: str
    purpose: str
    tasks: list[TaskEntry]
    noise: str
    distance: str
    unit: str
    readings: int
    method: Method | None
    previous: str | None
    manifest_sha256: str | None
    guarantee: dict[str, Any] | None
    erased_at: str | None
    counts: Counts


class CampaignList(BaseModel):
    campaigns: list[CampaignEntry]


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else moment(milliseconds)


def _entry(row: Row[Any], manifest: Manifest) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": manifest.title,
        "state": row.state,
        "version": manifest.version,
        "reports": row.reports,
        "created_at": moment(row.created_at),
        "opened_at": _moment(row.opened_at),
        "closed_at": _moment(row.closed_at),
        "deadline": manifest.deadline,
    }


def _whole(connection: Connection, row: Row[Any]) -> Campaign:
    manifest = Manifest.parse(row.manifest)
    quotas = stored.quotas_of(connection, row.key)
    return Campaign(
        **_entry(row, manifest),
        **manifest.model_dump(include={"asked_by", "purpose", "noise", "distance", "unit", "readings"}),
        tasks=[TaskEntry(**task.model_dump(), quota=quotas.get(task.id)) for task in manifest.tasks],
        method=row.method,
        previous=stored.previous_id(connection, row),
        manifest_sha256=row.manifest_sha256,
        guarantee=json.loads(row.guarantee) if row.guarantee else None,
        erased_at=_moment(row.erased_at),
        counts=Counts(**stored.counts_of(connection, row.key)),
    )


def _changed(base: dict[str, Any], change: CampaignChange) -> Manifest:
    """A manifest with what was sent in place of what was there."""
    given = change.model_dump(exclude_unset=True, exclude={"method"})
    for task in given.get("tasks") or ():
        task.pop("quota", None)
    missing = [name for name, entry in given.items() if entry is None and name != "deadline"]
    if missing:
        raise Problem("bad_request", f"{missing[0]} null: only the deadline and the method can be taken away")
    return Manifest.of(base | given)


def _quotas(change: CampaignChange) -> dict[str, int] | None:
    if change.tasks is None:
        return None
    return {task.id: task.quota for task in change.tasks if task.quota is not None}


@router.post(
    "",
    status_code=201,
    responses=problems("unauthorised", "bad_manifest", *UNREADABLE),
    openapi_extra=described(CampaignDraft),
)
async def create(
    operator: Operator, draft: Annotated[CampaignDraft, Depends(body_of(CampaignDraft))], server: Server
) -> Campaign:
    """Make a draft."""
    # Devices know campaigns by their id for ever, so no two may share one, on whatever server.
    base = {"campaign": secrets.token_hex(12), "asked_by": operator.name, "readings": len(draft.tasks)}
    manifest = _changed(base, draft)
    quotas, now = _quotas(draft) or {}, server.clock()

    def make(connection: Connection) -> Campaign:
        return _whole(
            connection, stored.create_campaign(connection, operator.key, manifest, quotas, draft.method, None, now)
        )

    return await server.write(make)


@router.get("", responses=problems("unauthorised"))
async def list_own(operator: Operator, server: Server) -> CampaignList:
    """One's own campaigns, the newest first."""
    rows = await server.read(lambda connection: stored.list_campaigns(connection, operator.key))
    return CampaignList(campaigns=[CampaignEntry(**_entry(row, Manifest.parse(row.manifest))) for row in rows])


@router.get("/{campaign}", responses=problems("unauthorised", "not_found", "bad_request"))
async def get(operator: Operator, campaign: CampaignId, server: Server) -> Campaign:
    """One of one's own campaigns, with how many took part."""
    return await server.read(
        lambda connection: _whole(connection, stored.campaign_of(connection, operator.key, campaign))
    )


@router.patch(
    "/{campaign}",
    responses=problems("unauthorised", "not_found", "frozen", "erased", "bad_manifest", *UNREADABLE),
    openapi_extra=described(CampaignChange),
)
async def change(
    operator: Operator,
    campaign: CampaignId,
    wanted: Annotated[CampaignChange, Depends(body_of(CampaignChange))],
    server: Server,
) -> Campaign:
    """Change a draft; or pin the method of any campaign (null: the noise-aware one again)."""
    now = server.clock()

    def apply(connection: Connection) -> Campaign:
        row = stored.campaign_of(connection, operator.key, campaign)
        if wanted.model_fields_set - {"method"}:
            quotas = _quotas(wanted)
            stored.change_draft(
                connection,
                row,
                _changed(Manifest.parse(row.manifest).model_dump(), wanted),
                stored.quotas_of(connection, row.key) if quotas is None else quotas,
            )
        if "method" in wanted.model_fields_set and wanted.method != row.method:
            if row.erased_at is not None:
                raise Problem(
                    "erased", f"campaign {campaign!r}: its readings are erased, so its results stay as they are"
                )
            stored.pin_method(connection, row.key, wanted.method, now)
        return _whole(connection, stored.campaign_of(connection, operator.key, campaign))

    return await server.write(apply)


@router.delete("/{campaign}", status_code=204, responses=problems("unauthorised", "not_found", "frozen", "bad_request"))
async def delete(operator: Operator, campaign: CampaignId, server: Server) -> None:
    """Delete a draft. What has been open stays, as participants were promised."""
    await server.write(
        lambda connection: stored.delete_draft(connection, stored.campaign_of(connection, operator.key, campaign))
    )


@router.post(
    "/{campaign}/versions",
    status_code=201,
    responses=problems("unauthorised", "not_found", "wrong_state", "bad_manifest", *UNREADABLE),
    openapi_extra=described(CampaignChange, required=False),
)
async def new_version(
    operator: Operator,
    campaign: CampaignId,
    wanted: Annotated[CampaignChange, Depends(body_of(CampaignChange, required=False))],
    server: Server,
) -> Campaign:
    """A draft that begins where an open or closed campaign stands: its own campaign, with the next version number."""
    now = server.clock()

    def make(connection: Connection) -> Campaign:
        row = stored.campaign_of(connection, operator.key, campaign)
        if row.state == "draft":
            raise Problem("wrong_state", f"campaign {campaign!r}: it is a draft, and can be changed itself")
        base = Manifest.parse(row.manifest).model_dump()
        base |= {"campaign": secrets.token_hex(12), "version": base["version"] + 1}
        quotas = _quotas(wanted)
        made = stored.create_campaign(
            connection,
            operator.key,
            _changed(base, wanted),
            stored.quotas_of(connection, row.key) if quotas is None else quotas,
            wanted.method if "method" in wanted.model_fields_set else row.method,
            row.key,
            now,
        )
        return _whole(connection, made)

    return await server.write(make)


@router.post(
    "/{campaign}/open",
    responses=problems("unauthorised", "not_found", "wrong_state", "bad_manifest", "bad_request"),
)
async def open_draft(operator: Operator, campaign: CampaignId, server: Server) -> Campaign:
    """Open a draft: from now on its manifest is fixed and has a hash."""
    row = await server.read(lambda connection: stored.campaign_of(connection, operator.key, campaign))
    manifest = Manifest.parse(row.manifest)
    # The exact figures of a guarantee may take a moment.
    guarantee = await asyncio.to_thread(guarantee_of, manifest)

    def apply(connection: Connection) -> Campaign:
        now = server.clock()
        row = stored.campaign_of(connection, operator.key, campaign)
        stored.open_campaign(connection, row, manifest, json.dumps(guarantee, ensure_ascii=False), now)
        _first_results(connection, row, manifest, guarantee, server, now)
        return _whole(connection, stored.campaign_of(connection, operator.key, campaign))

    return await server.write(apply)


def _first_results(
    connection: Connection, row: Row[Any], manifest: Manifest, guarantee: dict[str, Any], server: State, now: int
) -> None:
    """Results exist from the opening on, and say that nothing is known yet."""
    empty = Computation(manifest, guarantee, row.method, NO_READINGS, 0, server.settings.least_claims)
    content = encode(empty.results(None, version=1, as_of=now))
    add_results(connection, row.key, 1, empty.method_name, 0, now, content)


@router.post("/{campaign}/close", responses=problems("unauthorised", "not_found", "wrong_state", "bad_request"))
async def close_open(operator: Operator, campaign: CampaignId, server: Server) -> Campaign:
    """Close an open campaign: it takes no more reports."""
    now = server.clock()

    def apply(connection: Connection) -> Campaign:
        row = stored.campaign_of(connection, operator.key, campaign)
        stored.close_campaign(connection, row, now)
        return _whole(connection, stored.campaign_of(connection, operator.key, campaign))

    return await server.write(apply)


@router.get(
    "/{campaign}/manifest",
    response_class=Response,
    responses={
        200: {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Manifest"}}}},
        304: {"description": "Not changed"},
        **problems("not_found", "bad_request"),
    },
)
async def manifest(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The manifest in canonical JSON, for everybody; its ETag is its SHA-256."""
    row = await server.read(lambda connection: stored.published_campaign(connection, campaign))
    return tagged(request, row.manifest, row.manifest_sha256, "application/json")
