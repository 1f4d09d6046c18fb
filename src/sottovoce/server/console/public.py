"""The public page of a campaign's results: the truths, the method and the promise."""

import math
from functools import lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.protocol.manifest import ChoiceTask, Manifest, NumberTask
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.promise import Promise, sentence
from sottovoce.server.console.about import contact_link
from sottovoce.server.console.closing import Steps, published_steps
from sottovoce.server.console.listing import results_page
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.speaking import chosen_language, wanted_language
from sottovoce.server.console.stored import has_method, parsed
from sottovoce.server.etags import tagged
from sottovoce.server.results import is_final
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.routes.results import VersionNumber
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import published_campaign
from sottovoce.server.storage.results import list_versions, results_version
from sottovoce.server.storage.rows import CampaignRow, VersionRow
from sottovoce.texts import LANGUAGES, texts_in

router = APIRouter(prefix="/c", route_class=PageRoute, include_in_schema=False)
_VERSIONS_LISTED = 20
_HTML = "text/html; charset=utf-8"


@router.get("/{campaign}")
async def newest(campaign: CampaignId, request: Request, server: Server) -> Response:
    """The newest results."""
    return await _page(campaign, None, request, server)


@router.get("/{campaign}/versions/{version}")
async def earlier(campaign: CampaignId, version: VersionNumber, request: Request, server: Server) -> Response:
    """An earlier version of the results."""
    return await _page(campaign, version, request, server)


async def _page(id: str, version: int | None, request: Request, server: ServerState) -> Response:
    language = _language(request)

    def load(connection: Connection) -> tuple[CampaignRow, list[VersionRow], bytes, list[dict[str, Any]], Steps]:
        campaign = published_campaign(connection, id)
        if not campaign.public_results:
            raise Problem("not_found", "the results: only the operator of the campaign may see them")
        versions = list_versions(connection, campaign.key)
        shown = version or versions[0].version
        content = results_version(connection, campaign.key, shown).content
        manifest = _manifest(campaign.manifest)
        tasks = [_in_language(row, manifest, language) for row in parsed(content)["results"]]
        listed = results_page(tasks, request.query_params, request.url.path).rows
        return campaign, versions, content, tasks, published_steps(connection, campaign, shown, listed)

    try:
        campaign, versions, content, tasks, steps = await server.read(load)
    except Problem as problem:
        if problem.code != "not_found":
            raise
        missing = render(request, "public_missing.html", status=404, language=language, languages=_languages(request))
        missing.headers.update(_headers(language))
        return missing
    address = f"{server.settings.public_url or str(request.base_url).rstrip('/')}/c/{id}"
    # Ten thousand tasks take a moment to render; in a thread, other requests need not wait.
    page = await run_in_threadpool(_rendered, request, campaign, versions, content, tasks, steps, address)
    answer = tagged(request, page, sha256(page).hexdigest()[:32], _HTML)
    # Browsers apply the headers of a 304 to the cached page, so they must be those of a page.
    answer.headers["Content-Type"] = _HTML
    answer.headers.update(_headers(language))
    return answer


def _language(request: Request) -> str:
    return wanted_language(request.query_params, request.headers.get("accept-language", ""))


def _headers(language: str) -> dict[str, str]:
    return {"Content-Language": language, "Vary": "Accept-Language"}


def _languages(request: Request) -> list[tuple[str, str, str]]:
    """The language switch: tag and name of each language, and the address of this page in it."""
    query = {name: text for name, text in request.query_params.items() if name != "lang"}
    return [(tag, texts_in(tag).say("language.name"), f"?{urlencode({**query, 'lang': tag})}") for tag in LANGUAGES]


@lru_cache(maxsize=8)  # ten thousand tasks take a while to parse
def _manifest(content: bytes) -> Manifest:
    return Manifest.parse(content)


def _in_language(row: dict[str, Any], manifest: Manifest, language: str) -> dict[str, Any]:
    """A task of the results with its own texts in this language, where the campaign has them."""
    task = manifest.task_of.get(row["task"])
    if task is None:
        return row
    spoken = {**row, "title": manifest.words(task.title, language)}
    if isinstance(task, NumberTask):
        return spoken | {"unit": manifest.words(task.unit, language)}
    if isinstance(task, ChoiceTask):
        answers = {manifest.words(choice): manifest.words(choice, language) for choice in task.choices}
        for name in ("truth", "majority"):
            if name in row:
                spoken[name] = answers.get(row[name], row[name])
        if row.get("chances"):
            spoken["chances"] = {answers.get(answer, answer): chance for answer, chance in row["chances"].items()}
    return spoken


def _rendered(
    request: Request,
    campaign: CampaignRow,
    versions: list[VersionRow],
    content: bytes,
    tasks: list[dict[str, Any]],
    steps: Steps,
    address: str,
) -> bytes:
    results, manifest, language = parsed(content), _manifest(campaign.manifest), _language(request)
    guarantee = results["guarantee"]
    promise = Promise(math.inf if guarantee["epsilon"] is None else guarantee["epsilon"], guarantee["delta"])
    chosen = chosen_language(request.query_params)
    page = render(
        request,
        "public.html",
        language=language,
        languages=_languages(request),
        chosen=f"?lang={chosen}" if chosen else "",
        results={**results, "title": manifest.words(manifest.title, language), "results": tasks},
        sentence=sentence(manifest, promise, language),
        asked_by=manifest.words(manifest.asked_by, language),
        purpose=manifest.words(manifest.purpose, language),
        contact=contact_link(manifest.words(manifest.contact_words, language)),
        deadline=manifest.deadline if campaign.state == "open" else None,
        manifest=parsed(campaign.manifest),
        has_method=has_method(parsed(campaign.manifest)),
        steps=steps,
        open=campaign.state == "open",
        final=is_final(campaign),
        trouble=campaign.trouble is not None,
        listing=results_page(tasks, request.query_params, request.url.path),
        versions=versions,
        versions_listed=_VERSIONS_LISTED,
        newest=versions[0].version,
        address=address,
    )
    return bytes(page.body)
