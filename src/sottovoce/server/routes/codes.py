"""Short codes that people type: each stands for an invitation."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from sottovoce.protocol.problems import Problem
from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.codes import SALT, code_token, plain_code
from sottovoce.server.problems import problems
from sottovoce.server.routes.campaigns import UNREADABLE
from sottovoce.server.state import Server
from sottovoce.server.storage.invitations import invitation_with
from sottovoce.server.storage.secrets import known_secret

router = APIRouter(prefix="/api/codes", tags=["taking part"])


class TypedCode(RequestBody):
    """What somebody typed; case, spaces and dashes do not matter."""

    code: Annotated[str, Field(min_length=1, max_length=40)]


class InvitationOfCode(BaseModel):
    invitation: str


@router.post("", responses=problems("code_unknown", *UNREADABLE), openapi_extra=described(TypedCode))
async def exchange(body: Annotated[TypedCode, Depends(body_of(TypedCode))], server: Server) -> InvitationOfCode:
    """The token of the invitation that a code stands for. This does not spend the invitation.

    Unlike a link, a code says nothing about the campaign's terms: whoever uses it trusts the server to offer the right
    ones. Guesses are rate-limited, and each takes the server a moment.
    """
    code = plain_code(body.code)
    salt = await server.read(lambda connection: known_secret(connection, SALT))
    if salt is None:
        raise _unknown()
    token = await run_in_threadpool(code_token, code, salt)

    def check(connection: Connection) -> bool:
        try:
            return invitation_with(connection, token)[0].kind == "code"
        except Problem as problem:
            return problem.code == "invitation_revoked"  # looking it up says so

    if not await server.read(check):
        raise _unknown()
    return InvitationOfCode(invitation=token)


def _unknown() -> Problem:
    return Problem("code_unknown", "the code: there is no such code")
