"""Operators: who may run campaigns. Tokens are compared by their hashes; they are shown once and never stored."""

from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from sottovoce.protocol.problems import Problem
from sottovoce.protocol.tokens import new_token, same_hash, token_hash
from sottovoce.server.storage.tables import operators, sessions


def operator_with(connection: Connection, token: str) -> Row[Any]:
    """The operator with this token."""
    wanted = token_hash(token)
    found = connection.execute(select(operators).where(operators.c.token_hash == wanted)).one_or_none()
    if found is None or not same_hash(found.token_hash, wanted) or found.revoked_at is not None:
        raise Problem("unauthorised", "the token: it is no operator's")
    return found


def is_operator_token(connection: Connection, token: str) -> bool:
    """Whether a token was ever an operator's, valid or revoked."""
    return connection.scalar(select(operators.c.key).where(operators.c.token_hash == token_hash(token))) is not None


def any_operator(connection: Connection) -> bool:
    return connection.scalar(select(func.count()).select_from(operators)) != 0


def add_operator(connection: Connection, name: str, token: str, administrator: bool, now: int) -> Row[Any]:
    made = connection.execute(
        insert(operators)
        .values(name=name, token_hash=token_hash(token), administrator=administrator, created_at=now)
        .returning(operators)
    )
    return made.one()


def list_operators(connection: Connection) -> list[Row[Any]]:
    return list(connection.execute(select(operators).order_by(operators.c.key)))


def revoke_operator(connection: Connection, key: int, now: int) -> None:
    """Make an operator's token void; at least one administrator stays."""
    found = _operator(connection, key)
    if found.administrator and found.revoked_at is None:
        others = select(func.count()).where(
            operators.c.administrator, operators.c.revoked_at.is_(None), operators.c.key != key
        )
        if not connection.scalar(others):
            raise Problem("wrong_state", f"operator {key}: the last administrator cannot be revoked")
    connection.execute(
        update(operators).where(operators.c.key == key, operators.c.revoked_at.is_(None)).values(revoked_at=now)
    )
    _end_sessions(connection, key)


def rotate_operator(connection: Connection, key: int) -> str:
    """A new token for an operator; the old one is void. A revoked operator is let in again."""
    _operator(connection, key)
    token = new_token()
    connection.execute(
        update(operators).where(operators.c.key == key).values(token_hash=token_hash(token), revoked_at=None)
    )
    _end_sessions(connection, key)
    return token


def _end_sessions(connection: Connection, key: int) -> None:
    """Whoever has the old token shall be out of the console too."""
    connection.execute(delete(sessions).where(sessions.c.operator_key == key))


def _operator(connection: Connection, key: int) -> Row[Any]:
    found = connection.execute(select(operators).where(operators.c.key == key)).one_or_none()
    if found is None:
        raise Problem("not_found", f"operator {key}: there is no such operator")
    return found
