"""Opening the database: SQLite as durable as it can be, or PostgreSQL."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from sottovoce.errors import BadParameter, UnreadableFile

log = logging.getLogger("sottovoce.server.database")
# Keys of advisory locks in a PostgreSQL database.
START_UP_LOCK = 7_358_061
MAINTENANCE_LOCK = 7_358_062
RESULTS_LOCK = 7_358_063
WEBHOOKS_LOCK = 7_358_064
_BUSY_SECONDS = 5  # how long a connection waits for another one's lock
_CONNECT_SECONDS = 5
# A process that hangs in the middle of a transaction, or a machine that is gone, must not keep its locks.
_LEAVE_LOCKS_AFTER = "60s"
_ERASED = "sottovoce erased"


def open_engine(database: str) -> Engine:
    """An engine for a URL such as ``sqlite:///campaigns.db`` or ``postgresql://user@host/name``."""
    url = _checked(database)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    return _postgresql(url)


def parse_url(database: str, rule: str) -> URL:
    """A database's URL. One that is malformed is not quoted: nobody can tell which part of it is a password."""
    try:
        return make_url(database)
    except (ArgumentError, ValueError):  # the latter for a port that is not a number
        raise BadParameter(f"the URL of the database is malformed: {rule}") from None


def without_password(url: URL) -> str:
    """A URL for messages. Its query may contain a password as well."""
    return url.set(query={}).render_as_string()


def database_file(database: str) -> Path | None:
    """The file of a SQLite database, whatever links lead to it; None for PostgreSQL."""
    url = _checked(database)
    return Path(url.database or "").resolve() if url.get_backend_name() == "sqlite" else None


def refuse_foreign(path: Path) -> None:
    """Refuse a SQLite file with the tables of another program, before anything is changed in it or beside it."""
    if not path.exists():
        return
    with suppress(sqlite3.DatabaseError):  # damaged, or no database at all: reported when it is opened
        tables = _tables_of(path)
        if tables and "campaigns" not in tables:
            raise UnreadableFile(
                f"{path}: its tables ({', '.join(tables[:3])}{', …' * (len(tables) > 3)}) belong to another "
                "program, but a server needs a file of its own; name a new file, or a server's database"
            )


def lock_start_up(connection: Connection) -> None:
    """Make servers that start at the same moment change the database one after the other, each in a transaction."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (START_UP_LOCK,))


def mark_erased(connection: Connection) -> None:
    """Record that readings were erased in this transaction; SQLite's log still holds them after the commit."""
    connection.info[_ERASED] = True


def take_erased(connection: Connection) -> bool:
    """Whether readings were erased since the last call."""
    return bool(connection.info.pop(_ERASED, False))


def empty_log(engine: Engine) -> bool:
    """Move SQLite's log into the database and truncate it; False while somebody still reads from it."""
    if engine.dialect.name != "sqlite":
        return True
    try:
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            # Do not wait for readers: they may take long, and reports would wait as well.
            cursor.execute("PRAGMA busy_timeout = 0")
            try:
                busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")
        finally:
            connection.close()
    except (SQLAlchemyError, sqlite3.Error):
        log.warning("the log of the database could not be emptied; trying again", exc_info=True)
        return False
    return not busy


def _postgresql(url: URL) -> Engine:
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        # A connection that was lost when PostgreSQL restarted is noticed before use, so the next request is served.
        pool_pre_ping=True,
        pool_size=5,
        max_overflow=10,
        pool_timeout=_CONNECT_SECONDS,
        connect_args={"connect_timeout": _CONNECT_SECONDS},
        hide_parameters=True,  # error messages must not contain readings or hashes
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("write", False):
            connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = '{_LEAVE_LOCKS_AFTER}'")

    return engine


def open_existing(database: str) -> Engine:
    """A read-only engine for a server's database: nothing is created, and no other file is touched."""
    url = _checked(database)
    with readable(url):
        if url.get_backend_name() == "sqlite":
            _check_file(Path(str(url.database)))
        engine = open_engine(database)
        try:
            is_ours = inspect(engine).has_table("campaigns")
        finally:
            engine.dispose()
        if not is_ours:
            raise UnreadableFile(f"{without_password(url)}: it holds no campaigns; give a server's database")
    return engine


@contextmanager
def readable(url: URL) -> Iterator[None]:
    """Report in plain words why a database cannot be read: out of reach, damaged, or of another version."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.DatabaseError) as mistake:
        reason = str(getattr(mistake, "orig", mistake)).strip().partition("\n")[0]
        raise UnreadableFile(
            f"{without_password(url)}: it cannot be read ({reason}); give a server's database that can be "
            "reached, is complete and has this version's schema"
        ) from None


def _check_file(path: Path) -> None:
    """Whether this is a sound SQLite file, before it is opened in a way that would create or change it."""
    if not path.is_file():
        raise UnreadableFile(f"{path}: there is no such file; give a server's database")
    if "campaigns" not in _tables_of(path):
        raise UnreadableFile(f"{path}: it holds no campaigns; give a server's database")


def _tables_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]


def _checked(database: str) -> URL:
    rule = "it must look like sqlite:///FILE or postgresql://USER@HOST/NAME; for example sqlite:///sottovoce.db"
    url = parse_url(database, rule)
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise BadParameter(f"database {without_password(url)!r}: {rule}")
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise BadParameter(
                f"database {without_password(url)!r}: it exists only in memory and would be lost when the server "
                "stops; name a file, such as sqlite:///sottovoce.db"
            )
        if not Path(url.database).resolve().parent.is_dir():
            raise UnreadableFile(f"{url.database}: there is no folder {Path(url.database).parent}; create it first")
        if Path(url.database).exists() and not Path(url.database).is_file():
            # Neither opened nor made private: others use a folder or a device as well.
            raise UnreadableFile(
                f"{url.database}: it is a folder or a device; the database must be a file, so name one"
            )
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
        # What is deleted is overwritten: a withdrawn reading must not remain in the file.
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        # Take the lock at once: a transaction that began by reading could not wait for it without starting over.
        write = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine
