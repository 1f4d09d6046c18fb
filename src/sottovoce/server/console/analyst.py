"""The analyst's page: upload claims and see the truths. Nothing is kept.

Computing is expensive, so it is for signed-in operators, one at a time, and within limits.
"""

import hmac
from threading import Lock
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from sottovoce.discovery import DEFAULT
from sottovoce.errors import BadParameter, SottovoceError
from sottovoce.protocol.problems import Problem
from sottovoce.server.console.analysis import MOST_CLAIMS, Answer, Question, choices
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import Session, refuse_foreign
from sottovoce.server.console.uploads import UploadForm, upload_form
from sottovoce.server.state import Server, ServerState

router = APIRouter(prefix="/analyst", route_class=PageRoute, include_in_schema=False)
_computing = Lock()  # one computation at a time for all operators: results of campaigns need the processor too
_BESIDE_FILES = 16_384  # bytes of a form that are not its files
_LONGEST_MESSAGE = 700  # characters of an error message: it may quote a row as long as the file
_PLOTTED = 30
_EMPTY = {
    "user": "user", "object": "object", "value": "value", "noise": "", "duplicates": "error", "skip_bad": False,
    "methods": (DEFAULT,), "decimal": "", "strip_units": False, "encoding": "", "explained": "", "kind": "",
}  # fmt: skip


@router.get("")
async def ask(request: Request, _: Session, server: Server) -> Response:
    return _page(request, server)


@router.post("")
async def answer(request: Request, session: Session, server: Server) -> Response:
    """The answer, or the library's own error message with the form as it was filled in."""
    refuse_foreign(request)
    try:
        form = await upload_form(request)
    except Problem as problem:
        if problem.code != "too_large":
            raise
        mistake = f"{problem.detail}; run sottovoce discover on the file instead"
        return _page(request, server, status=413, trouble=("The file is too large", mistake))
    if not hmac.compare_digest(form.text("form_token").encode(), session.form_token.encode()):
        raise Problem("stale_page", "the form: it does not belong to this session")
    filled = _filled(form)
    try:
        answered = await run_in_threadpool(_answer, form, filled)
    except Problem as problem:
        if problem.code != "unavailable":
            raise
        wait = f"{problem.detail}; try again in a moment"
        return _page(request, server, filled, status=503, trouble=("One moment", wait))
    except BadParameter as mistake:
        return _page(request, server, filled, status=422, trouble=("The form needs another look", mistake))
    except SottovoceError as mistake:
        return _page(request, server, filled, status=422, trouble=("The file needs another look", mistake))
    return _page(request, server, filled, answer=answered)


def _filled(form: UploadForm) -> dict[str, Any]:
    words = ("user", "object", "value", "noise", "duplicates", "decimal", "encoding", "explained", "kind")
    ticks = {name: bool(form.text(name)) for name in ("skip_bad", "strip_units")}
    texts = {name: form.text(name) or _EMPTY[name] for name in words}
    return {**texts, **ticks, "methods": tuple(form.fields.get("method", ()))}


def _answer(form: UploadForm, filled: dict[str, Any]) -> Answer:
    if "claims" not in form.files:
        raise BadParameter("no file: claims come in a CSV, Parquet or JSON Lines file; choose one")
    question = Question(form.files["claims"], truth=form.files.get("truth"), **filled)
    if not _computing.acquire(blocking=False):
        raise Problem("unavailable", "the analysis: another one is being computed")
    try:
        return question.answer()
    finally:
        _computing.release()


def _page(
    request: Request,
    server: ServerState,
    filled: dict[str, Any] | None = None,
    *,
    status: int = 200,
    answer: Answer | None = None,
    trouble: tuple[str, object] | None = None,
) -> Response:
    most = server.settings.operator_body_limit - _BESIDE_FILES
    title, problem = trouble or ("", "")
    text = str(problem)
    return render(
        request,
        "analyst.html",
        status=status,
        filled=filled or _EMPTY,
        choices=choices(),
        most_bytes=most,
        most_megabytes=f"{most / 1e6:.1f}",
        most_claims=MOST_CLAIMS,
        plotted=_PLOTTED,
        answer=answer,
        trouble=title,
        message=f"{text}." if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…",
    )
