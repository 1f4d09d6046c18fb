"""Signing in with an operator's token, and out again."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from sottovoce.protocol.problems import Problem
from sottovoce.server.console.forms import form_of
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import (
    LASTS_SECONDS,
    Form,
    Session,
    clear_session_cookie,
    refuse_foreign,
    set_session_cookie,
)
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage.campaigns import any_campaign
from sottovoce.server.storage.sessions import any_session, end_session, start_session

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/sign-in")
async def ask(request: Request, server: Server, next: str = "/") -> Response:
    return await _page(request, server, next, None)


@router.post("/sign-in")
async def sign_in(request: Request, server: Server) -> Response:
    refuse_foreign(request)
    form = await form_of(request)
    token, now = form.get("token", ""), server.clock()
    try:
        session = await server.write(lambda connection: start_session(connection, token, now, LASTS_SECONDS * 1000))
    except Problem as problem:
        if problem.code != "unauthorised":
            raise
        return await _page(request, server, form.get("next", "/"), problem)
    response = RedirectResponse(_own_page(form.get("next", "/")), 303)
    set_session_cookie(request, response, session)
    return response


@router.post("/sign-out")
async def sign_out(request: Request, session: Session, _: Form, server: Server) -> Response:
    await server.write(lambda connection: end_session(connection, session.token))
    response = RedirectResponse("/sign-in", 303)
    clear_session_cookie(request, response)
    return response


async def _page(request: Request, server: ServerState, next: str, problem: Problem | None) -> Response:
    def nobody_yet(connection: Connection) -> bool:
        return not any_session(connection) and not any_campaign(connection)

    first = await server.read(nobody_yet)
    status = 200 if problem is None else 401
    return render(request, "sign_in.html", status=status, first=first, next=_own_page(next), problem=problem)


def _own_page(address: str) -> str:
    """Where to go after signing in: always a page of this server, whatever the address says.

    >>> _own_page("/campaigns/7"), _own_page("//elsewhere.example"), _own_page("https://elsewhere.example")
    ('/campaigns/7', '/', '/')
    """
    plain = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if plain and address.isprintable() and address.isascii() else "/"
