"""The texts of a campaign in other languages: which are missing, fields to enter them, and a table for translators."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from sottovoce.errors import SottovoceError
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.translations import (
    CampaignText,
    Translations,
    languages_in,
    missing,
    own_language,
    read_texts,
    texts_of,
    write_texts,
)
from sottovoce.server import translations as actions
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import FileForm, Form, Session, SignedIn
from sottovoce.server.console.stored import parsed
from sottovoce.server.console.task_form import words_of
from sottovoce.server.routes.campaigns import CampaignId
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import campaign_of
from sottovoce.server.storage.rows import CampaignRow
from sottovoce.texts import LANGUAGES, texts_in

router = APIRouter(prefix="/campaigns/{campaign}/texts", route_class=PageRoute, include_in_schema=False)
_MOST_FIELDS = 200  # texts in fields of their own; more come as a table


@router.get("")
async def page(campaign: CampaignId, request: Request, session: Session, server: Server) -> Response:
    return _page(request, await _row(server, session, campaign), request.query_params.get("language", ""))


@router.get("/texts.csv")
async def table(campaign: CampaignId, session: Session, server: Server) -> Response:
    """All texts, with a column for each language of the participant's page."""
    content = _content(await _row(server, session, campaign))
    headers = {"Content-Disposition": f'attachment; filename="{campaign}-texts.csv"'}
    return Response(
        write_texts(texts_of(content), own_language(content), LANGUAGES),
        media_type="text/csv; charset=utf-8",
        headers=headers,
    )


@router.post("")
async def keep(campaign: CampaignId, request: Request, session: Session, form: Form, server: Server) -> Response:
    """Save what was entered in one language, or change the campaign's own language."""
    row = await _row(server, session, campaign)
    language = form.get("language", "")
    try:
        own = form.get("own") or None
        texts = texts_of(_content(row))
        if own is None and form.get("version") != _version(texts):
            raise Problem(
                "stale_page", "the form: the campaign's texts have changed since it was loaded", fix="reload the page"
            )
        new = {} if own else _entered(texts, language, form)
        await server.write(lambda connection: actions.translate(connection, session.key, campaign, new, own))
    except SottovoceError as mistake:
        return _page(request, row, language, words_of(mistake), form)
    return RedirectResponse(f"/campaigns/{campaign}/texts" + (f"?language={language}" if language else ""), 303)


@router.post("/table")
async def upload(campaign: CampaignId, request: Request, session: Session, form: FileForm, server: Server) -> Response:
    """Save the translations in an uploaded table."""
    row = await _row(server, session, campaign)
    try:
        file = form.files.get("table")
        if file is None:
            raise Problem("bad_request", "the form: no file was chosen; choose the table of texts")
        new = _read(str(file), file.getvalue(), own_language(_content(row)))
        await server.write(lambda connection: actions.translate(connection, session.key, campaign, new))
    except SottovoceError as mistake:
        return _page(request, row, "", words_of(mistake))
    return RedirectResponse(f"/campaigns/{campaign}/texts", 303)


async def _row(server: ServerState, session: SignedIn, campaign: str) -> CampaignRow:
    def load(connection: Connection) -> CampaignRow:
        return campaign_of(connection, session.key, campaign)

    return await server.read(load)


def _content(row: CampaignRow) -> dict[str, Any]:
    return Manifest.parse(row.manifest).content()


def _version(texts: Sequence[CampaignText]) -> str:
    return sha256("\0".join(text.text for text in texts).encode()).hexdigest()[:16]


def _entered(texts: Sequence[CampaignText], language: str, form: Mapping[str, str]) -> Translations:
    return {
        text.text: {language: form[f"text-{place}"]}
        for place, text in enumerate(texts[:_MOST_FIELDS])
        if f"text-{place}" in form and form[f"text-{place}"] != text.translations.get(language, "")
    }


def _read(name: str, content: bytes, language: str) -> Translations:
    try:
        return read_texts(name, content.decode("utf-8-sig"), language)
    except UnicodeDecodeError:
        raise Problem(
            "bad_request", f"{name}: the file is not encoded in UTF-8; save it as “CSV UTF-8” and upload it again"
        ) from None


def _page(
    request: Request,
    row: CampaignRow,
    language: str,
    mistake: str | None = None,
    form: Mapping[str, str] | None = None,
) -> Response:
    content = _content(row)
    texts, own = texts_of(content), own_language(content)
    tags = [tag for tag in dict.fromkeys([*LANGUAGES, *languages_in(texts)]) if tag != own]
    language = language if language in tags else ""
    return render(
        request, "texts.html", status=200 if mistake is None else 422,
        row=row, manifest=parsed(row.manifest), texts=texts[:_MOST_FIELDS], total=len(texts), own=own, mistake=mistake,
        version=_version(texts), entered_in=language, form=form or {},
        listed={tag: len(missing(texts, tag)) for tag in tags},
        names={tag: _name(tag) for tag in (*LANGUAGES, *tags, own)},
        page_languages=LANGUAGES,
    )  # fmt: skip


def _name(tag: str) -> str:
    return texts_in(tag).say("language.name") if tag in LANGUAGES else tag
