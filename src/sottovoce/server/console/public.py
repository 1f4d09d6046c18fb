"""The public page of a campaign's results: the truths, the method and the promise."""

from hashlib import sha256

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.protocol.problems import Problem
from sottovoce.server.console.listing import results_page
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.stored import parsed
from sottovoce.server.etags import tagged
from sottovoce.server.results import is_final
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.routes.results import VersionNumber
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import published_campaign
from sottovoce.server.storage.results import list_versions, results_version
from sottovoce.server.storage.rows import CampaignRow, VersionRow

router = APIRouter(prefix="/c", route_class=PageRoute, include_in_schema=False)
_VERSIONS_LISTED = 20
_HTML = "text/html; charset=utf-8"


@router.get("/{campaign}")
async def newest(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The newest results."""
    return await _page(campaign, None, request, server)


@router.get("/{campaign}/versions/{version}")
async def earlier(campaign: CampaignId, version: VersionNumber, request: Request, server: Server) -> Response:
    """Results as they were."""
    return await _page(campaign, version, request, server)


async def _page(id: str, version: int | None, request: Request, server: ServerState) -> Response:
    def load(connection: Connection) -> tuple[CampaignRow, list[VersionRow], bytes]:
        campaign = published_campaign(connection, id)
        if not campaign.public_results:
            raise Problem("not_found", "the results: they are for the operator of the campaign only")
        versions = list_versions(connection, campaign.key)
        return campaign, versions, results_version(connection, campaign.key, version or versions[0].version).content

    try:
        campaign, versions, content = await server.read(load)
    except Problem as problem:
        if problem.code != "not_found":
            raise
        return render(request, "public_missing.html", status=404)
    address = f"{server.settings.public_url or str(request.base_url).rstrip('/')}/c/{id}"
    # Ten thousand tasks take a moment, during which other requests are answered.
    page = await run_in_threadpool(_rendered, request, campaign, versions, content, address)
    answer = tagged(request, page, sha256(page).hexdigest()[:32], _HTML)
    # Browsers apply the headers of a 304 to the cached page, so they must be those of a page.
    answer.headers["Content-Type"] = _HTML
    return answer


def _rendered(
    request: Request, campaign: CampaignRow, versions: list[VersionRow], content: bytes, address: str
) -> bytes:
    results = parsed(content)
    page = render(
        request,
        "public.html",
        results=results,
        manifest=parsed(campaign.manifest),
        open=campaign.state == "open",
        final=is_final(campaign),
        listing=results_page(results["results"], request.query_params, request.url.path),
        versions=versions,
        versions_listed=_VERSIONS_LISTED,
        newest=versions[0].version,
        address=address,
    )
    return bytes(page.body)
