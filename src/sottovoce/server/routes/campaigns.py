"""Campaigns: created and changed as drafts, opened and closed; and their manifests, which everybody may read."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from sottovoce.discovery.target import Target
from sottovoce.protocol.fields import Text
from sottovoce.protocol.manifest import Manifest
from sottovoce.server import campaigns as actions
from sottovoce.server.bodies import body_of, described
from sottovoce.server.campaigns import CampaignChange, CampaignDraft
from sottovoce.server.clock import moment
from sottovoce.server.etags import tagged
from sottovoce.server.gold import from_stored
from sottovoce.server.methods import StoredMethod
from sottovoce.server.problems import problems
from sottovoce.server.results import is_final, trouble_words
from sottovoce.server.rights import Operator
from sottovoce.server.state import Server
from sottovoce.server.storage import campaigns as stored
from sottovoce.server.storage.rows import CampaignRow
from sottovoce.server.task_models import TaskEntry

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"])
CampaignId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
UNREADABLE = (
    "bad_request",
    "bad_number",
    "bad_json",
    "too_deep",
    "unsupported_media_type",
    "too_large",
    "request_timeout",
)


PublicState = Literal["open", "closed"]


def public_state(row: CampaignRow, now: int) -> PublicState:
    """The state that participants see: past its deadline a campaign is closed, even if a job closes it a bit later."""
    is_over = row.deadline is not None and row.deadline <= now
    return "open" if row.state == "open" and not is_over else "closed"


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
    """Counts as of the last step, except the numbers of invitations created and revoked, which are current."""

    invitations: int
    spent: int
    revoked: int
    participants: int
    withdrawn: int


class Trouble(BaseModel):
    """Why the newest results could not be published. Earlier results stay; the next step tries again."""

    reason: str
    since: str


class Campaign(CampaignEntry):
    asked_by: Text
    purpose: Text
    tasks: list[TaskEntry]
    noise: str | dict[str, str]
    distance: str | None
    unit: str
    readings: int
    language: str | None = None
    contact: Text = ""
    levels: int | None = None
    answer: Annotated[int, Field(description="how many of the tasks each participant may answer, at most")]
    public_results: bool
    retention: int | None
    plan: dict[str, str] | None = None
    logo: str | None = None
    method: StoredMethod | None
    target: Annotated[Target | None, Field(description="what counts as the truth of a number; null means `value`")]
    known: Annotated[
        dict[str, str], Field(description="truths that you know, by task; used once the campaign is closed")
    ]
    previous: str | None
    manifest_sha256: str | None
    guarantee: dict[str, Any] | None
    erased_at: str | None
    final: Annotated[
        bool,
        Field(description="whether the campaign is closed and its last results are published or cannot be computed"),
    ]
    trouble: Trouble | None
    counts: Counts


class CampaignList(BaseModel):
    campaigns: list[CampaignEntry]


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else moment(milliseconds)


def _entry(row: CampaignRow, manifest: Manifest) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": manifest.words(manifest.title),
        "state": row.state,
        "version": manifest.version,
        "reports": row.shown_reports,
        "created_at": moment(row.created_at),
        "opened_at": _moment(row.opened_at),
        "closed_at": _moment(row.closed_at),
        "deadline": manifest.deadline,
    }


def whole_campaign(connection: Connection, row: CampaignRow) -> Campaign:
    """Everything that an operator is shown about a campaign."""
    manifest = Manifest.parse(row.manifest)
    content = manifest.content()
    tasks = actions.with_quotas(connection, row, content["tasks"])
    return Campaign(
        **{
            **{name: content[name] for name in Campaign.model_fields if name in content},
            **_entry(row, manifest),
            "distance": content.get("distance"),
            "answer": manifest.most_readings,
            "public_results": manifest.results_are_public,
            "retention": manifest.retention_days,
            "tasks": [TaskEntry(**{"quota": None, **task}) for task in tasks],
        },
        method=row.method,
        target=row.target,
        known=from_stored(row.known),
        previous=stored.previous_id(connection, row),
        manifest_sha256=row.manifest_sha256,
        guarantee=json.loads(row.guarantee) if row.guarantee else None,
        erased_at=_moment(row.erased_at),
        final=is_final(row),
        trouble=Trouble(reason=trouble_words(row.trouble), since=moment(row.trouble_at or 0)) if row.trouble else None,
        counts=Counts(**stored.counts_of(connection, row.key)),
    )


@router.post(
    "",
    status_code=201,
    responses=problems("unauthorised", "bad_manifest", *UNREADABLE),
    openapi_extra=described(CampaignDraft),
)
async def create(
    operator: Operator, draft: Annotated[CampaignDraft, Depends(body_of(CampaignDraft))], server: Server
) -> Campaign:
    """Create a draft."""
    now = server.clock()
    return await server.write(
        lambda connection: whole_campaign(connection, actions.create(connection, operator, draft, now))
    )


@router.get("", responses=problems("unauthorised"))
async def list_own(operator: Operator, server: Server) -> CampaignList:
    """Your own campaigns, newest first."""
    rows = await server.read(lambda connection: stored.list_campaigns(connection, operator.key))
    return CampaignList(campaigns=[CampaignEntry(**_entry(row, Manifest.parse(row.manifest))) for row in rows])


@router.get("/{campaign}", responses=problems("unauthorised", "not_found", "bad_request"))
async def get(operator: Operator, campaign: CampaignId, server: Server) -> Campaign:
    """One of your own campaigns, with its numbers of invitations and participants."""
    return await server.read(
        lambda connection: whole_campaign(connection, stored.campaign_of(connection, operator.key, campaign))
    )


@router.patch(
    "/{campaign}",
    responses=problems("unauthorised", "not_found", "frozen", "erased", "bad_manifest", *UNREADABLE),
    openapi_extra=described(CampaignChange),
)
async def change(
    operator: Operator,
    campaign: CampaignId,
    body: Annotated[CampaignChange, Depends(body_of(CampaignChange))],
    server: Server,
) -> Campaign:
    """Change a draft, or the method, its target and the known truths of any campaign (null: back to the default)."""
    return await server.write(
        lambda connection: whole_campaign(connection, actions.change(connection, operator.key, campaign, body))
    )


@router.delete("/{campaign}", status_code=204, responses=problems("unauthorised", "not_found", "frozen", "bad_request"))
async def delete(operator: Operator, campaign: CampaignId, server: Server) -> None:
    """Delete a draft. A campaign that has been open stays, as participants were promised."""
    await server.write(lambda connection: actions.delete(connection, operator.key, campaign))


_Changes = Annotated[CampaignChange, Depends(body_of(CampaignChange, required=False))]


@router.post(
    "/{campaign}/versions",
    status_code=201,
    responses=problems("unauthorised", "not_found", "wrong_state", "bad_manifest", *UNREADABLE),
    openapi_extra=described(CampaignChange, required=False),
)
async def new_version(operator: Operator, campaign: CampaignId, body: _Changes, server: Server) -> Campaign:
    """Create a draft with the terms of an open or closed campaign: a separate campaign with the next version number."""
    now = server.clock()
    return await server.write(
        lambda connection: whole_campaign(
            connection, actions.new_version(connection, operator.key, campaign, body, now)
        )
    )


@router.post(
    "/{campaign}/duplicate",
    status_code=201,
    responses=problems("unauthorised", "not_found", "bad_manifest", *UNREADABLE),
    openapi_extra=described(CampaignChange, required=False),
)
async def duplicate(operator: Operator, campaign: CampaignId, body: _Changes, server: Server) -> Campaign:
    """Create a draft that is a copy of one of your campaigns, without its invitations and readings."""
    now = server.clock()
    return await server.write(
        lambda connection: whole_campaign(connection, actions.duplicate(connection, operator.key, campaign, body, now))
    )


@router.post(
    "/{campaign}/open",
    responses=problems("unauthorised", "not_found", "wrong_state", "bad_manifest", "bad_request"),
)
async def open_draft(operator: Operator, campaign: CampaignId, server: Server) -> Campaign:
    """Open a draft: from now on its manifest is fixed and has a hash."""
    open_it = await actions.opening(server, operator.key, campaign)
    return await server.write(lambda connection: whole_campaign(connection, open_it(connection)))


@router.post("/{campaign}/close", responses=problems("unauthorised", "not_found", "wrong_state", "bad_request"))
async def close_open(operator: Operator, campaign: CampaignId, server: Server) -> Campaign:
    """Close an open campaign: it accepts no more reports."""
    now = server.clock()
    return await server.write(
        lambda connection: whole_campaign(connection, actions.close(connection, operator.key, campaign, now))
    )


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
    """The manifest in canonical JSON, which needs no token. Its ETag is its SHA-256."""
    row = await server.read(lambda connection: stored.published_campaign(connection, campaign))
    return tagged(request, row.manifest, row.fixed_sha256, "application/json")


class CampaignState(BaseModel):
    state: PublicState
    full: list[str] = Field(description="tasks that have enough readings")


@router.get("/{campaign}/state", responses=problems("not_found", "bad_request"))
async def state(campaign: CampaignId, server: Server) -> CampaignState:
    """Whether a campaign accepts readings, and which tasks have enough. No token is needed.

    Devices send this request before they draw noise, without identifying themselves, so that no privacy is spent on a
    reading that is not needed.
    """

    def load(connection: Connection) -> tuple[CampaignRow, list[str]]:
        row = stored.published_campaign(connection, campaign)
        return row, stored.full_tasks(connection, row.key)

    row, full = await server.read(load)
    return CampaignState(state=public_state(row, server.clock()), full=full)
