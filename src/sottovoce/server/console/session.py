"""Who is signed in to the console, and whether they sent the form themselves.

The cookie holds a secret; the database stores only its hash. Scripts cannot read the cookie, and browsers send it only
to this server and never with a request that another site starts. In addition, every form carries a second secret that
is derived from the first: a page of another site can make a browser send a form, but cannot read this secret.
"""

import hmac
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import Response

from sottovoce.protocol.problems import Problem
from sottovoce.server.console.forms import form_of
from sottovoce.server.console.uploads import UploadForm, upload_form
from sottovoce.server.state import Server
from sottovoce.server.storage.rows import OperatorRow
from sottovoce.server.storage.sessions import operator_in

LASTS_SECONDS = 12 * 3600


@dataclass(frozen=True)
class SignedIn:
    """An operator at the console."""

    operator: OperatorRow
    token: str

    @property
    def key(self) -> int:
        key: int = self.operator.key
        return key

    @property
    def form_token(self) -> str:
        """The secret that every form must carry."""
        return sha256(f"sottovoce form\n{self.token}".encode()).hexdigest()


async def _signed_in(request: Request, server: Server) -> SignedIn:
    token = request.cookies.get(_cookie_name(request), "")
    operator = await server.read(lambda connection: operator_in(connection, token, server.clock()))
    request.state.signed_in = SignedIn(operator, token)
    signed_in: SignedIn = request.state.signed_in
    return signed_in


Session = Annotated[SignedIn, Depends(_signed_in)]


async def _checked_form(request: Request, session: Session) -> dict[str, str]:
    refuse_foreign(request)
    form = await form_of(request)
    _check_form_token(session, form.pop("form_token", ""))
    return form


async def _checked_upload(request: Request, session: Session) -> UploadForm:
    """A form with files; one that was sent without any is an ordinary form."""
    refuse_foreign(request)
    if request.headers.get("content-type", "").startswith("multipart/"):
        form = await upload_form(request)
    else:
        form = UploadForm({name: [text] for name, text in (await form_of(request)).items()})
    _check_form_token(session, form.text("form_token"))
    return form


FileForm = Annotated[UploadForm, Depends(_checked_upload)]


def _check_form_token(session: SignedIn, token: str) -> None:
    """Refuse a form that does not carry its session's secret."""
    if not hmac.compare_digest(token.encode(), session.form_token.encode()):
        raise Problem("stale_page", "the form: it does not belong to this session")


Form = Annotated[dict[str, str], Depends(_checked_form)]


def refuse_foreign(request: Request) -> None:
    """Refuse a request that a page of another site started; browsers report this."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem("stale_page", "the form: it was sent from another site")


def _cookie_name(request: Request) -> str:
    """The name of the cookie. With ``__Host-``, browsers accept it only over TLS and only for this host."""
    return "__Host-session" if request.url.scheme == "https" else "session"


def set_session_cookie(request: Request, response: Response, token: str) -> None:
    response.set_cookie(
        _cookie_name(request),
        token,
        max_age=LASTS_SECONDS,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def clear_session_cookie(request: Request, response: Response) -> None:
    secure = request.url.scheme == "https"
    response.delete_cookie(_cookie_name(request), path="/", secure=secure, httponly=True, samesite="strict")
