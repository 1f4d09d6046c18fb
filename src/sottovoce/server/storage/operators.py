"""Operators: who may run campaigns. Tokens are compared by their hashes; they are shown once and never stored."""

from sqlalchemy import Connection, delete, func, insert, select, update

from sottovoce.protocol.problems import Problem
from sottovoce.protocol.tokens import new_token, same_hash, token_hash
from sottovoce.server.storage.rows import OperatorRow, all_rows, one_row, row_or_none
from sottovoce.server.storage.tables import operators, replaced_tokens, sessions


def operator_with(connection: Connection, token: str, *, lock: bool = False) -> OperatorRow:
    """The operator with this token; with a lock, the token stays valid until the transaction ends."""
    hashed = token_hash(token)
    named = select(operators).where(operators.c.token_hash == hashed)
    operator = row_or_none(connection, OperatorRow, named.with_for_update(read=True) if lock else named)
    if operator is None or not same_hash(operator.token_hash, hashed) or operator.revoked_at is not None:
        raise Problem(
            "unauthorised",
            "the token: it does not belong to any operator",
            fix="use an operator's token that was not replaced or revoked",
        )
    return operator


def ensure_operator(connection: Connection, token: str, now: int) -> bool:
    """Add an administrator with this token if it is new; False if the token was replaced or revoked."""
    hashed = token_hash(token)
    if connection.scalar(select(replaced_tokens).where(replaced_tokens.c.token_hash == hashed)) is not None:
        return False
    operator = row_or_none(connection, OperatorRow, select(operators).where(operators.c.token_hash == hashed))
    if operator is None:
        add_operator(connection, "operator", token, administrator=True, now=now)
    return operator is None or operator.revoked_at is None


def any_operator(connection: Connection) -> bool:
    return connection.scalar(select(func.count()).select_from(operators)) != 0


def add_operator(connection: Connection, name: str, token: str, administrator: bool, now: int) -> OperatorRow:
    columns = {"name": name, "token_hash": token_hash(token), "administrator": administrator, "created_at": now}
    return one_row(connection, OperatorRow, insert(operators).values(columns).returning(operators))


def list_operators(connection: Connection) -> list[OperatorRow]:
    return all_rows(connection, OperatorRow, select(operators).order_by(operators.c.key))


def rename_operator(connection: Connection, key: int, name: str) -> OperatorRow:
    _locked(connection, key)
    named = update(operators).where(operators.c.key == key).values(name=name)
    return one_row(connection, OperatorRow, named.returning(operators))


def revoke_operator(connection: Connection, key: int, now: int) -> None:
    """Revoke an operator's token; at least one administrator stays."""
    # All of them are locked, so that two administrators cannot revoke each other at the same moment.
    administrators = connection.scalars(
        select(operators.c.key)
        .where(operators.c.administrator, operators.c.revoked_at.is_(None))
        .order_by(operators.c.key)
        .with_for_update()
    ).all()
    _locked(connection, key)
    if administrators == [key]:
        raise Problem(
            "wrong_state",
            f"operator {key}: the last administrator cannot be revoked",
            fix="add another administrator first",
        )
    connection.execute(
        update(operators).where(operators.c.key == key, operators.c.revoked_at.is_(None)).values(revoked_at=now)
    )
    _end_sessions(connection, key)


def rotate_operator(connection: Connection, key: int) -> str:
    """A new token for an operator; the old one never works again. A revoked operator regains access."""
    operator = _locked(connection, key)
    connection.execute(insert(replaced_tokens).values(token_hash=operator.token_hash))
    token = new_token()
    connection.execute(
        update(operators).where(operators.c.key == key).values(token_hash=token_hash(token), revoked_at=None)
    )
    _end_sessions(connection, key)
    return token


def _end_sessions(connection: Connection, key: int) -> None:
    """The old token must not keep anybody signed in to the console."""
    connection.execute(delete(sessions).where(sessions.c.operator_key == key))


def _locked(connection: Connection, key: int) -> OperatorRow:
    operator = row_or_none(connection, OperatorRow, select(operators).where(operators.c.key == key).with_for_update())
    if operator is None:
        raise Problem("not_found", f"operator {key}: there is no such operator", fix="check the number")
    return operator
