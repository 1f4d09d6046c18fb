"""Random secrets of the server itself, the same for all processes that share a database."""

import secrets

from sqlalchemy import Connection, select

from sottovoce.server.storage.tables import server_secrets

_BYTES = 32


def known_secret(connection: Connection, name: str) -> bytes | None:
    """A secret that was made before."""
    return connection.scalar(select(server_secrets.c.secret).where(server_secrets.c.name == name))


def server_secret(connection: Connection, name: str) -> bytes:
    """A secret by its name, made when it is first needed. Two processes that make it at once get the same one."""
    known = known_secret(connection, name)
    if known is None:
        connection.exec_driver_sql(
            "INSERT INTO server_secrets (name, secret) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            if connection.dialect.name == "postgresql"
            else "INSERT INTO server_secrets (name, secret) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (name, secrets.token_bytes(_BYTES)),
        )
        known = known_secret(connection, name)
    assert known is not None
    return known
