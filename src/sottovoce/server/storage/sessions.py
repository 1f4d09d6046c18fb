"""Sessions: operators who signed in to the console. Only the hash of the secret in a browser's cookie is stored."""

from sqlalchemy import Connection, delete, insert, select

from sottovoce.protocol.problems import Problem
from sottovoce.protocol.tokens import new_token, same_hash, token_hash
from sottovoce.server.storage.operators import operator_with
from sottovoce.server.storage.rows import OperatorRow
from sottovoce.server.storage.tables import operators, sessions


def start_session(connection: Connection, operator_token: str, now: int, milliseconds: int) -> str:
    """The secret of a new session, for the holder of an operator's token. Expired sessions are removed as well."""
    operator = operator_with(connection, operator_token, lock=True)
    connection.execute(delete(sessions).where(sessions.c.expires_at <= now))
    token = new_token()
    connection.execute(
        insert(sessions).values(
            token_hash=token_hash(token), operator_key=operator.key, created_at=now, expires_at=now + milliseconds
        )
    )
    return token


def operator_in(connection: Connection, token: str, now: int) -> OperatorRow:
    """The operator of a session."""
    hashed = token_hash(token)
    row = connection.execute(
        select(sessions.c.token_hash, operators)
        .join(sessions, sessions.c.operator_key == operators.c.key)
        .where(sessions.c.token_hash == hashed, sessions.c.expires_at > now, operators.c.revoked_at.is_(None))
    ).one_or_none()
    if row is None or not same_hash(row[0], hashed):
        raise Problem("unauthorised", "the session: it has expired, or there was none")
    return OperatorRow(*row[1:])


def end_session(connection: Connection, token: str) -> None:
    connection.execute(delete(sessions).where(sessions.c.token_hash == token_hash(token)))


def any_session(connection: Connection) -> bool:
    return connection.scalar(select(sessions.c.operator_key).limit(1)) is not None
