"""Reports, which participants send more than anything else: their path from the socket to the writer is short."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from sottovoce.protocol.canonical import parse_json
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.report import Report
from sottovoce.protocol.tokens import token_hash
from sottovoce.server.bodies import SMALL, RequestBody, described, json_bytes, read_aside, require_json
from sottovoce.server.fast.wire import Submission, read_submission
from sottovoce.server.problems import problems
from sottovoce.server.rights import Operator, bearer_token
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.participants import participant_of
from sottovoce.server.storage.reports import Receipt

router = APIRouter(prefix="/api/campaigns/{campaign}/reports", tags=["reports"])
_MOST_IN_BATCH = 1000
_CAMPAIGN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNREADABLE = ("bad_json", "too_deep", "number_too_large", "unsupported_media_type", "too_large", "request_timeout")
_REFUSALS = (
    "bad_cuts", "unknown_cuts", "wrong_kind", "unknown_choice",
    "bad_report", "float_in_report", "unknown_task", "repeated_task", "too_many_readings", "report_conflict",
    "task_already_reported", "stale_manifest", "campaign_not_open", "deadline_passed", "quota_reached", "withdrawn",
    "erased", "unauthorised", "forbidden", "not_found",
)  # fmt: skip


class StoredReport(BaseModel):
    """A report that is stored durably."""

    report_id: str
    readings: Annotated[int, Field(description="how many readings were stored")]
    over_quota: Annotated[
        list[str], Field(description="tasks that already had enough readings; the report's own were left out")
    ]


class GatewayReport(Report):
    """A report with the token of its participant."""

    participant_token: str


class Batch(RequestBody):
    """Reports that a gateway has collected. An invalid one gets its own verdict and does not affect the others."""

    reports: Annotated[list[GatewayReport | Any], Field(min_length=1, max_length=_MOST_IN_BATCH)]


class ReportVerdict(BaseModel):
    """The outcome of one report: 201 stored now, 200 stored before, or the status and code of the problem with it."""

    report_id: str | None
    status: int
    code: str | None
    detail: str | None
    over_quota: list[str]


class Verdicts(BaseModel):
    verdicts: list[ReportVerdict]


@router.post(
    "",
    status_code=201,
    responses={
        201: {"model": StoredReport, "description": "Stored durably"},
        200: {"model": StoredReport, "description": "Stored before: the same report under the same id"},
        **problems(*_REFUSALS, *_UNREADABLE, "bad_request", "storage_full"),
    },
    response_class=Response,
    openapi_extra=described(Report)
    | {
        "security": [{"participant": []}],
        "parameters": [{"name": "campaign", "in": "path", "required": True, "schema": {"type": "string"}}],
    },
)
async def submit(request: Request) -> Response:
    """Accept a report. The response is sent once it is stored durably."""
    server, campaign = request.app.state.sottovoce, request.path_params["campaign"]
    status, answer = await accept(server, campaign, request.scope["headers"], request.body)
    return Response(answer, status, media_type="application/json")


async def accept(
    server: ServerState, campaign: str, sent: list[tuple[bytes, bytes]], body: Callable[[], Awaitable[bytes]]
) -> tuple[int, bytes]:
    """The status and body of the response to a report. It does not depend on the framework."""
    headers = dict(reversed(sent))  # of a repeated header the first counts, as for the limits
    token = bearer_token(sent)
    require_json(headers.get(b"content-type", b"").decode("latin-1"))
    try:
        if not _CAMPAIGN.fullmatch(campaign):  # databases do not accept every character
            raise Problem("not_found", "the campaign: there is none with this id")
        # The writer looks up the token, together with many others. A body that costs memory and time is not even read
        # from an unknown sender.
        length = headers.get(b"content-length", b"")
        if not length.isdigit() or int(length) > SMALL:
            await server.read(lambda connection: participant_of(connection, campaign, token))
        read = partial(read_submission, campaign, token_hash(token))
        report = await read_aside(read, await body())
        receipt = await server.writer.submit(report)
    except Problem as problem:
        _count(problem, server)
        raise
    _count(receipt, server)
    answer = {"report_id": report.report_id, "readings": receipt.readings, "over_quota": receipt.over_quota}
    return 201 if receipt.new else 200, json.dumps(answer).encode()


@router.post(
    "/batch",
    responses=problems("unauthorised", "not_found", "bad_request", "float_in_report", *_UNREADABLE),
    openapi_extra=described(Batch),
)
async def submit_batch(operator: Operator, campaign: CampaignId, request: Request, server: Server) -> Verdicts:
    """Accept reports that a gateway has collected, each with its participant's token. Each is judged on its own."""
    content = await json_bytes(request)
    await server.read(lambda connection: campaign_of(connection, operator.key, campaign))
    document = await read_aside(partial(parse_json, most_bytes=len(content)), content)
    reports = document.get("reports") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(reports, list) or not 1 <= len(reports) <= _MOST_IN_BATCH:
        raise Problem(
            "bad_request",
            f"the body: it must have the field reports, a list of 1 to {_MOST_IN_BATCH:,} reports, and no other field",
        )
    waiting = [_submit(campaign, entry, server) for entry in reports]
    outcomes = await asyncio.gather(*waiting)
    for outcome in outcomes:
        _count(outcome, server)
    return Verdicts(verdicts=[_verdict(entry, outcome) for entry, outcome in zip(reports, outcomes, strict=True)])


def _count(outcome: Receipt | Problem, server: ServerState) -> None:
    verdict = outcome.code if isinstance(outcome, Problem) else "stored" if outcome.new else "replayed"
    server.metrics.reports.labels(verdict).inc()


async def _submit(campaign: str, entry: Any, server: Server) -> Receipt | Problem:
    try:
        if not isinstance(entry, dict) or not isinstance(entry.get("participant_token"), str):
            raise Problem("bad_report", "the report: it needs the participant_token of its participant")
        report = Report.of({name: part for name, part in entry.items() if name != "participant_token"})
        token = token_hash(entry["participant_token"])
        return await server.writer.submit(Submission.of(campaign, token, report))
    except Problem as problem:
        return problem


def _verdict(entry: Any, outcome: Receipt | Problem) -> ReportVerdict:
    named = entry.get("report_id") if isinstance(entry, dict) else None
    name = named if isinstance(named, str) else None
    if isinstance(outcome, Problem):
        return ReportVerdict(
            report_id=name, status=outcome.status, code=outcome.code, detail=outcome.detail, over_quota=[]
        )
    return ReportVerdict(
        report_id=name, status=201 if outcome.new else 200, code=None, detail=None, over_quota=list(outcome.over_quota)
    )
