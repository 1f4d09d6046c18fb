"""Opening the database: SQLite as durable as it can be, or PostgreSQL."""

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from sottovoce.errors import BadParameter, UnreadableFile

_BUSY_SECONDS = 5  # how long a connection waits for another one's lock
_CONNECT_SECONDS = 5


def open_engine(database: str) -> Engine:
    """An engine for a URL such as ``sqlite:///campaigns.db`` or ``postgresql://user@host/name``."""
    url = _checked(database)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    return create_engine(
        url.set(drivername="postgresql+psycopg"),
        # A connection that died with the server is noticed before use, so that the first request after it is served.
        pool_pre_ping=True,
        pool_size=5,
        max_overflow=10,
        pool_timeout=_CONNECT_SECONDS,
        connect_args={"connect_timeout": _CONNECT_SECONDS},
        hide_parameters=True,  # readings and hashes have no place in the words of an error
    )


def _checked(database: str) -> URL:
    rule = "it must look like sqlite:///FILE or postgresql://USER@HOST/NAME; for example sqlite:///sottovoce.db"
    try:
        url = make_url(database)
    except ArgumentError:
        raise BadParameter(f"database {database!r}: {rule}") from None
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise BadParameter(f"database {url.render_as_string()!r}: {rule}")
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise BadParameter(f"database {database!r}: reports must outlive the server, so it must be a file; {rule}")
        if not Path(url.database).resolve().parent.is_dir():
            raise UnreadableFile(f"{url.database}: there is no folder {Path(url.database).parent}; make it first")
    return url


def _sqlite(url: URL) -> Engine:
    engine = create_engine(
        url, connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False}, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        # Transactions are begun below; the driver's own way would leave the first reads of a transaction outside it.
        connection.isolation_level = None
        # WAL lets readers go on while one writes. FULL: a commit returns when it is on the disk, not before.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        # Taking the lock at once: a transaction that began by reading could not wait for it without starting over.
        write = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine
