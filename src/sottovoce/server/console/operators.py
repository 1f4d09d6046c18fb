"""Operators on the console. Everybody can change their own name and token; administrators manage all operators."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.tokens import new_token
from sottovoce.server.console.pages import PageRoute, render
from sottovoce.server.console.session import (
    LASTS_SECONDS,
    Form,
    Session,
    SignedIn,
    clear_session_cookie,
    set_session_cookie,
)
from sottovoce.server.rights import administrator_only
from sottovoce.server.routes.operators import NewOperator, Number, OperatorName, own_or_administrator
from sottovoce.server.state import Server, ServerState
from sottovoce.server.storage import operators as stored
from sottovoce.server.storage.rows import OperatorRow
from sottovoce.server.storage.sessions import start_session

router = APIRouter(prefix="/operators", route_class=PageRoute, include_in_schema=False)


@router.get("")
async def page(request: Request, session: Session, server: Server) -> Response:
    return await _page(request, session, server)


@router.post("")
async def add(request: Request, session: Session, form: Form, server: Server) -> Response:
    """Add an operator. Their token is shown in the response, and nowhere else."""
    administrator_only(session.operator)
    token, now = new_token(), server.clock()
    try:
        with reported_as("bad_request"):
            new = NewOperator(name=form.get("name", ""), administrator=form.get("administrator") == "yes")
    except Problem as mistake:
        return await _page(request, session, server, mistake=mistake, typed=form)
    made = await server.write(
        lambda connection: stored.add_operator(connection, new.name, token, new.administrator, now)
    )
    return await _page(request, session, server, made=made, token=token)


@router.post("/{operator}/name")
async def rename(operator: Number, request: Request, session: Session, form: Form, server: Server) -> Response:
    own_or_administrator(session.operator, operator, "rename others")
    try:
        with reported_as("bad_request"):
            name = OperatorName(name=form.get("name", "")).name
        await server.write(lambda connection: stored.rename_operator(connection, operator, name))
    except Problem as mistake:
        return await _page(request, session, server, mistake=mistake)
    return RedirectResponse("/operators", 303)


@router.post("/{operator}/renew")
async def renew(operator: Number, request: Request, session: Session, _: Form, server: Server) -> Response:
    """Replace a token. Operators who replace their own stay signed in here, and nowhere else."""
    own_or_administrator(session.operator, operator, "replace the tokens of others")
    is_own, now = operator == session.key, server.clock()

    def replace(connection: Connection) -> tuple[OperatorRow, str, str | None]:
        token = stored.rotate_operator(connection, operator)
        secret = start_session(connection, token, now, LASTS_SECONDS * 1000) if is_own else None
        return stored.operator_with(connection, token), token, secret

    made, token, secret = await server.write(replace)
    if secret is None:
        return await _page(request, session, server, made=made, token=token)
    session = SignedIn(made, secret)
    request.state.signed_in = session
    response = await _page(request, session, server, made=made, token=token)
    set_session_cookie(request, response, secret)
    return response


@router.post("/{operator}/revoke")
async def revoke(operator: Number, request: Request, session: Session, _: Form, server: Server) -> Response:
    """Revoke an operator's access. The last administrator's cannot be revoked, so that somebody can add operators."""
    administrator_only(session.operator)
    now = server.clock()
    try:
        await server.write(lambda connection: stored.revoke_operator(connection, operator, now))
    except Problem as mistake:
        return await _page(request, session, server, mistake=mistake)
    if operator != session.key:
        return RedirectResponse("/operators", 303)
    response = RedirectResponse("/sign-in", 303)
    clear_session_cookie(request, response)
    return response


async def _page(
    request: Request,
    session: SignedIn,
    server: ServerState,
    *,
    mistake: Problem | None = None,
    typed: dict[str, str] | None = None,
    made: OperatorRow | None = None,
    token: str | None = None,
) -> Response:
    """All operators for administrators, only themselves for others; a new token is shown once."""
    everybody = await server.read(stored.list_operators)
    shown = everybody if session.operator.administrator else [row for row in everybody if row.key == session.key]
    working = [row.key for row in everybody if row.administrator and row.revoked_at is None]
    return render(
        request, "operators.html", status=200 if mistake is None else mistake.status,
        operators=shown, last_administrator=working[0] if len(working) == 1 else None,
        mistake=mistake, typed=typed or {}, made=made, token=token,
    )  # fmt: skip
