"""Authentication: the bearer tokens of operators and participants."""

from collections.abc import Iterable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from sottovoce.protocol.problems import Problem
from sottovoce.server.state import Server
from sottovoce.server.storage.operators import operator_with
from sottovoce.server.storage.rows import OperatorRow


class _Bearer(HTTPBearer):
    """The token of a request; unlike its base class, it reports a missing token as a problem."""

    async def __call__(self, request: Request) -> str:  # type: ignore[override]
        return bearer_token(request.scope["headers"])


def bearer_token(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The token of a request, however its header is spelled; of several Authorization headers the first counts."""
    header = next((entry for name, entry in headers if name == b"authorization"), b"").decode("latin-1")
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Problem("unauthorised", "the Authorization header: it must be Bearer, followed by a token")
    return token.strip()


ParticipantToken = Annotated[
    str,
    Depends(_Bearer(scheme_name="participant", description="The token that a participant received on enrolment.")),
]
OperatorToken = Annotated[str, Depends(_Bearer(scheme_name="operator", description="The token of an operator."))]


async def _operator(token: OperatorToken, server: Server) -> OperatorRow:
    return await server.read(lambda connection: operator_with(connection, token))


Operator = Annotated[OperatorRow, Depends(_operator)]


def administrator_only(operator: OperatorRow) -> None:
    if not operator.administrator:
        raise Problem("forbidden", f"operator {operator.name!r}: only administrators can manage operators")


async def _administrator(operator: Operator) -> OperatorRow:
    administrator_only(operator)
    return operator


Administrator = Annotated[OperatorRow, Depends(_administrator)]
