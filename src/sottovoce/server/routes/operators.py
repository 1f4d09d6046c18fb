"""Operators: added, named, listed and revoked by administrators."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Path
from pydantic import BaseModel, Field

from sottovoce.protocol.problems import Problem
from sottovoce.protocol.tokens import new_token
from sottovoce.server.bodies import RequestBody, body_of, described
from sottovoce.server.clock import moment
from sottovoce.server.problems import problems
from sottovoce.server.rights import Administrator, Operator
from sottovoce.server.state import Server
from sottovoce.server.storage.operators import (
    add_operator,
    list_operators,
    rename_operator,
    revoke_operator,
    rotate_operator,
)
from sottovoce.server.storage.rows import OperatorRow

router = APIRouter(prefix="/api/operators", tags=["operators"])
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
_UNREADABLE = ("bad_request", "bad_json", "unsupported_media_type", "too_large")


class OperatorName(RequestBody):
    """The name of an operator."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


class NewOperator(OperatorName):
    """The operator to add."""

    administrator: bool = False


class OperatorEntry(BaseModel):
    id: int
    name: str
    administrator: bool
    created_at: str
    revoked_at: str | None


class OperatorWithToken(OperatorEntry):
    token: str


class OperatorList(BaseModel):
    operators: list[OperatorEntry]


class NewToken(BaseModel):
    token: str


def own_or_administrator(asking: OperatorRow, operator: int, action: str) -> None:
    """Refuse what only administrators can do to other operators."""
    if asking.key != operator and not asking.administrator:
        raise Problem("forbidden", f"operator {operator}: only administrators can {action}")


def _entry(row: OperatorRow) -> dict[str, Any]:
    return {
        "id": row.key,
        "name": row.name,
        "administrator": row.administrator,
        "created_at": moment(row.created_at),
        "revoked_at": None if row.revoked_at is None else moment(row.revoked_at),
    }


@router.post(
    "",
    status_code=201,
    responses=problems("unauthorised", "forbidden", *_UNREADABLE),
    openapi_extra=described(NewOperator),
)
async def add(
    _: Administrator, body: Annotated[NewOperator, Depends(body_of(NewOperator))], server: Server
) -> OperatorWithToken:
    """Add an operator. The response holds their token, which is shown only once."""
    token, now = new_token(), server.clock()
    made = await server.write(lambda connection: add_operator(connection, body.name, token, body.administrator, now))
    return OperatorWithToken(token=token, **_entry(made))


@router.get("", responses=problems("unauthorised", "forbidden"))
async def list_all(_: Administrator, server: Server) -> OperatorList:
    """All operators, including revoked ones."""
    return OperatorList(operators=[OperatorEntry(**_entry(row)) for row in await server.read(list_operators)])


@router.get("/me", responses=problems("unauthorised"))
async def me(operator: Operator) -> OperatorEntry:
    """The operator whose token was sent."""
    return OperatorEntry(**_entry(operator))


@router.api_route("/me", methods=["DELETE", "PATCH"], include_in_schema=False)
async def refuse_names() -> None:
    """Operators are removed and renamed by number; without this, the next routes would report a bad number."""
    raise HTTPException(405)


@router.delete(
    "/{operator}",
    status_code=204,
    responses=problems("unauthorised", "forbidden", "not_found", "wrong_state", "bad_request"),
)
async def revoke(_: Administrator, operator: Number, server: Server) -> None:
    """Revoke an operator's token. Their campaigns continue."""
    now = server.clock()
    await server.write(lambda connection: revoke_operator(connection, operator, now))


@router.patch(
    "/{operator}",
    responses=problems("unauthorised", "forbidden", "not_found", *_UNREADABLE),
    openapi_extra=described(OperatorName),
)
async def rename(
    asking: Operator, operator: Number, body: Annotated[OperatorName, Depends(body_of(OperatorName))], server: Server
) -> OperatorEntry:
    """Rename yourself or, as an administrator, any operator."""
    own_or_administrator(asking, operator, "rename others")
    renamed = await server.write(lambda connection: rename_operator(connection, operator, body.name))
    return OperatorEntry(**_entry(renamed))


@router.post("/{operator}/rotate", responses=problems("unauthorised", "forbidden", "not_found", "bad_request"))
async def rotate(asking: Operator, operator: Number, server: Server) -> NewToken:
    """Replace your own token or, as an administrator, that of any operator."""
    own_or_administrator(asking, operator, "replace the tokens of others")
    return NewToken(token=await server.write(lambda connection: rotate_operator(connection, operator)))
