"""Who may work on a database: one server on a SQLite file; on PostgreSQL any number, each job in one of them.

Both locks belong to a process and end with it, however it ends.
"""

import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from sottovoce.errors import BadParameter
from sottovoce.server.storage.engine import database_file, refuse_foreign

log = logging.getLogger("sottovoce.server.locks")
_PRIVATE = 0o600


@contextmanager
def exclusive_file(database: str) -> Iterator[None]:
    """Reserve a SQLite file for this server, and hide it from other users of the machine; PostgreSQL needs neither.

    The lock is on a file beside the database: SQLite's own locks would be lost if anybody else in this process opened
    and closed the database, and a restored backup is another file.
    """
    path = database_file(database)
    if path is None:
        yield
        return
    refuse_foreign(path)
    lock = os.open(path.with_name(f"{path.name}-lock"), os.O_CREAT | os.O_RDWR, _PRIVATE)
    try:
        _lock(lock, path)
        _keep_private(path)
        yield
    finally:
        os.close(lock)


def _lock(file: int, database: Path) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - systems without such locks
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadParameter(
            f"database {database}: another server is using it, and a SQLite file serves one at a time; stop the other "
            "one, or move to PostgreSQL, which several servers can share"
        ) from None


def _keep_private(path: Path) -> None:
    """Only the owner reads and writes the database. SQLite gives the files beside it the same permissions."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(file.stat().st_mode)
            if not mode & 0o077:
                continue
            details = {"file": str(file), "mode": f"{mode:04o}"}
            try:
                file.chmod(_PRIVATE)
                log.warning("other users could open the database; now only its owner can", extra=details)
            except PermissionError:
                log.warning("other users can open the database", extra=details | {"fix": f"chmod 600 {file}"})


class JobsLock:
    """The lock of a background job, which runs in one process at a time.

    On PostgreSQL it is an advisory lock, held by a connection of its own. When the process ends, the database ends the
    connection, and the next process that tries gets the lock. A SQLite file has only one server anyway.
    """

    def __init__(self, engine: Engine, key: int) -> None:
        self._engine = engine
        self._key = key
        self._shared = engine.dialect.name == "postgresql"
        self._holding: Connection | None = None

    def run(self, work: Callable[[], None]) -> None:
        """Do the work unless another process is doing it. If it fails, another process may try next."""
        try:
            if self._held():
                work()
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        holding, self._holding = self._holding, None
        if holding is not None:
            with suppress(SQLAlchemyError):  # the connection may be what failed
                holding.close()

    def _held(self) -> bool:
        if not self._shared:
            return True
        if self._holding is not None:
            self._holding.exec_driver_sql("SELECT 1")  # raises if the connection, and with it the lock, is lost
            return True
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if not connection.exec_driver_sql("SELECT pg_try_advisory_lock(%s)", (self._key,)).scalar():
            connection.close()
            return False
        connection.detach()  # from the pool, which would pass it on together with the lock
        self._holding = connection
        # A machine that vanishes with the lock is noticed within a minute or so, rather than after two hours.
        for name, amount in (("idle", 30), ("interval", 10), ("count", 3)):
            connection.exec_driver_sql(f"SET tcp_keepalives_{name} = {amount}")
        log.info("running jobs", extra={"lock": self._key})
        return True
