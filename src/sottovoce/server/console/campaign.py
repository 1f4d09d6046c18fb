"""The pages of a campaign: its progress, its results, and what can be done with it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.table_formats import Format
from sottovoce.server import campaigns as actions
from sottovoce.server.campaigns import CampaignChange
from sottovoce.server.console.check import draft_page
from sottovoce.server.console.closing import published_steps
from sottovoce.server.console.listing import Page, results_page
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import Form, Session
from sottovoce.server.console.stored import has_method, parsed
from sottovoce.server.downloads import claims_content, claims_file_of, results_file_of
from sottovoce.server.methods import methods_of
from sottovoce.server.results import is_final, trouble_words
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.routes.results import VersionNumber
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage import campaigns as stored
from sottovoce.server.storage.results import (
    MOST_BYTES,
    count_versions,
    newest_results,
    newest_version,
    newest_versions,
    results_version,
)
from sottovoce.server.storage.rows import CampaignRow, ResultsRow, VersionRow

router = APIRouter(prefix="/campaigns/{campaign}", route_class=PageRoute, include_in_schema=False)
Step = Annotated[Literal["open", "close", "delete"], Path()]


@router.get("")
async def page(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """A draft to check, or the progress of an open or closed campaign."""

    def load(connection: Connection) -> tuple[CampaignRow, dict[str, int]]:
        row = stored.campaign_of(connection, session.key, campaign)
        return row, stored.quotas_of(connection, row.key)

    row, quotas = await server.read(load)
    if row.state == "draft":
        return await draft_page(request, row, quotas, server)

    def show(connection: Connection) -> Response:
        return render(
            request,
            "campaign.html",
            **_findings(connection, row, request.query_params),
            **_progress(connection, row, server),
            methods=sorted(methods_of(Manifest.trusted(parsed(row.manifest)))),
            quotas=quotas,
        )

    return await server.read(show)


def _progress(connection: Connection, row: CampaignRow, server: ServerState) -> dict[str, Any]:
    return {
        "has_method": has_method(parsed(row.manifest)),
        "counts": stored.counts_of(connection, row.key),
        "least": server.settings.least_claims,
        "trouble": trouble_words(row.trouble) if row.trouble else None,
    }


@router.get("/progress")
async def progress(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """The figures at the top, refreshed."""

    def show(connection: Connection) -> Response:
        row = stored.campaign_of(connection, session.key, campaign)
        return render(request, "_progress.html", row=row, **_progress(connection, row, server))

    return await server.read(show)


@router.get("/findings")
async def findings(
    campaign: CampaignId, request: Request, session: Session, server: Server, version: int = 0
) -> Response:
    """The results, if there are newer ones than those on the page."""

    def show(connection: Connection) -> Response:
        row = stored.campaign_of(connection, session.key, campaign)
        if newest_version(connection, row.key) == version:
            return Response(status_code=204)
        query = {name: text for name, text in request.query_params.items() if name != "version"}
        quotas = stored.quotas_of(connection, row.key)
        return render(request, "_findings.html", **_findings(connection, row, query), quotas=quotas)

    return await server.read(show)


def _findings(connection: Connection, row: CampaignRow, query: Mapping[str, str]) -> dict[str, Any]:
    """The campaign with the requested page of its newest results."""
    results = parsed(newest_results(connection, row.key).content)
    listing = results_page(results["results"], query, f"/campaigns/{row.id}")
    steps = published_steps(connection, row, results["version"], listing.rows)
    return {
        "row": row,
        "manifest": parsed(row.manifest),
        "results": results,
        "final": is_final(row),
        "listing": listing,
        "steps": steps,
    }


@router.get("/history")
async def history(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    """The versions of the results that are kept."""

    def load(connection: Connection) -> tuple[CampaignRow, Page, list[VersionRow]]:
        row = stored.campaign_of(connection, session.key, campaign)
        page = Page.of(request, count_versions(connection, row.key))
        return row, page, newest_versions(connection, row.key, page.first, page.length)

    row, page, versions = await server.read(load)
    manifest = parsed(row.manifest)
    return render(
        request, "history.html", row=row, manifest=manifest, page=page, versions=versions,
        has_method=has_method(manifest), most_megabytes=MOST_BYTES >> 20,
    )  # fmt: skip


@router.get("/history/{version}")
async def earlier(
    campaign: CampaignId, version: VersionNumber, request: Request, session: Session, server: Server
) -> Response:
    """An earlier version of the results."""

    def show(connection: Connection) -> Response:
        row = stored.campaign_of(connection, session.key, campaign)
        results = parsed(results_version(connection, row.key, version).content)
        listing = results_page(results["results"], request.query_params, request.url.path)
        return render(
            request, "version.html", row=row, manifest=parsed(row.manifest), results=results, listing=listing,
            steps=published_steps(connection, row, version, listing.rows),
        )  # fmt: skip

    return await server.read(show)


@router.get("/files/results.{format}")
async def results_file(
    campaign: CampaignId, format: Format, request: Request, session: Session, server: Server
) -> Response:
    def load(connection: Connection) -> ResultsRow:
        return newest_results(connection, stored.campaign_of(connection, session.key, campaign).key)

    return await run_in_threadpool(results_file_of, request, await server.read(load), campaign, format)


@router.get("/files/claims.{format}")
async def claims_file(campaign: CampaignId, format: Format, session: Session, server: Server) -> Response:
    least = server.settings.least_claims
    content = await server.read(lambda connection: claims_content(connection, session.key, campaign, least, format))
    return claims_file_of(content, campaign, format)


@router.get("/{step}/confirm")
async def confirm(campaign: CampaignId, step: Step, request: Request, session: Session, server: Server) -> Response:
    """Actions that cannot be undone need a confirmation. An action that is no longer possible is not offered."""
    row = await server.read(lambda connection: stored.campaign_of(connection, session.key, campaign))
    if row.state != ("open" if step == "close" else "draft"):
        return RedirectResponse(f"/campaigns/{campaign}", 303)
    return render(request, "confirm.html", row=row, manifest=parsed(row.manifest), step=step)


@router.post("/open")
async def open_draft(campaign: CampaignId, session: Session, _: Form, server: Server) -> Response:
    await server.write(await actions.opening(server, session.key, campaign))
    return RedirectResponse(f"/campaigns/{campaign}", 303)


@router.post("/close")
async def close(campaign: CampaignId, session: Session, _: Form, server: Server) -> Response:
    now = server.clock()
    await server.write(lambda connection: actions.close(connection, session.key, campaign, now))
    return RedirectResponse(f"/campaigns/{campaign}", 303)


@router.post("/delete")
async def delete(campaign: CampaignId, session: Session, _: Form, server: Server) -> Response:
    await server.write(lambda connection: actions.delete(connection, session.key, campaign))
    return RedirectResponse("/", 303)


@router.post("/versions")
async def new_version(campaign: CampaignId, session: Session, _: Form, server: Server) -> Response:
    """A new draft with the terms of this campaign."""
    now, unchanged = server.clock(), CampaignChange()
    made = await server.write(lambda connection: actions.new_version(connection, session.key, campaign, unchanged, now))
    return RedirectResponse(f"/campaigns/{made.id}/tasks", 303)


@router.post("/duplicate")
async def duplicate(campaign: CampaignId, session: Session, _: Form, server: Server) -> Response:
    """A new draft like this campaign, for other people."""
    now, unchanged = server.clock(), CampaignChange()
    made = await server.write(lambda connection: actions.duplicate(connection, session.key, campaign, unchanged, now))
    return RedirectResponse(f"/campaigns/{made.id}/tasks", 303)


@router.post("/method")
async def method(campaign: CampaignId, session: Session, form: Form, server: Server) -> Response:
    """Compute the results with another method, or for another target."""
    chosen = {"method": form.get("method") or None}
    if form.get("target"):
        chosen["target"] = form["target"]
    with reported_as("bad_request"):
        changes = CampaignChange.model_validate(chosen)
    await server.write(lambda connection: actions.change(connection, session.key, campaign, changes))
    return RedirectResponse(f"/campaigns/{campaign}", 303)
