"""The participant's file as a database: its tables, and how it is made, checked and written.

A new file gets its name only when it is complete. A file that is damaged, of another kind or of a later version is
refused before anything in it changes.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sottovoce.protocol import Problem

VERSION = 3
_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE limits (                      -- the participant's own limits; one row, or none for the usual ones
    only INTEGER PRIMARY KEY CHECK (only = 1),
    epsilon REAL NOT NULL, delta REAL NOT NULL, distance REAL NOT NULL,
    total_epsilon REAL NOT NULL, total_delta REAL NOT NULL
) STRICT;
CREATE TABLE memberships (                 -- campaigns that the participant joined
    campaign TEXT PRIMARY KEY,             -- the campaign's id, wherever it is served from
    server TEXT NOT NULL,                  -- where to send
    manifest BLOB NOT NULL,                -- the bytes that they consented to
    manifest_sha256 TEXT NOT NULL,
    epsilon REAL NOT NULL,                 -- what it promises, as judged on joining
    delta REAL NOT NULL,
    invitation TEXT NOT NULL,              -- the token of the link
    enrolment_key TEXT,                    -- makes a repeated enrolment give the same answer; forgotten once enrolled
    participant_token TEXT,                -- secret; null until enrolled
    joined_at TEXT NOT NULL,
    withdrawn_at TEXT,                     -- from then on nothing is sent
    withdrawal_told INTEGER NOT NULL DEFAULT 0,  -- whether the server has confirmed it
    task_order TEXT,                       -- places of the tasks in an order drawn on joining; null: all are answered
    cuts BLOB                              -- the published cuts as they were fetched last; null: never
) STRICT;
CREATE TABLE consents (                    -- never changed, never erased
    id INTEGER PRIMARY KEY,
    campaign TEXT NOT NULL,
    manifest_sha256 TEXT NOT NULL,
    manifest BLOB NOT NULL,
    server_trusted INTEGER NOT NULL,       -- 1: the link carried no hash, the server's word was taken
    given_at TEXT NOT NULL
) STRICT;
CREATE TABLE releases (                    -- the ledger, and by its state the outbox
    id INTEGER PRIMARY KEY,                -- order of release; clocks may jump
    report_id TEXT NOT NULL UNIQUE,
    campaign TEXT NOT NULL,
    server TEXT NOT NULL,                  -- to whom
    manifest_sha256 TEXT NOT NULL,
    body BLOB NOT NULL,                    -- the exact bytes of every attempt
    epsilon REAL NOT NULL, delta REAL NOT NULL, distance TEXT NOT NULL, unit TEXT NOT NULL,
    released_at TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'delivered', 'refused', 'withdrawn')),
    problem TEXT,                          -- code of the refusal
    detail TEXT                            -- what the server said about it
) STRICT;
CREATE TABLE released_tasks (              -- one release per campaign and task, ever
    campaign TEXT NOT NULL,
    task TEXT NOT NULL,
    report_id TEXT NOT NULL,
    reading TEXT,                          -- the raw reading, only if they asked to keep it
    PRIMARY KEY (campaign, task)
) STRICT, WITHOUT ROWID;
"""


# What files of earlier versions lack.
_ADDED = {
    1: "ALTER TABLE memberships ADD COLUMN task_order TEXT",
    2: "ALTER TABLE memberships ADD COLUMN cuts BLOB",
}
_TABLES = {"limits", "memberships", "consents", "releases", "released_tasks"}
# SQLite's error codes for an inconsistent file: bad pages or schema, or invalid text.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT}


def _make(path: Path) -> None:
    """Create a file, complete and on disk before it gets its name; if another process was faster, its file stays."""
    whole = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        # Created here before SQLite opens it, so that nobody else can read it, even for a moment.
        os.close(os.open(whole, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(whole, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version = {VERSION};COMMIT;")
        finally:
            connection.close()
        try:
            os.link(whole, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                os.rename(whole, path)
    finally:
        for ending in ("", "-wal", "-shm"):
            whole.with_name(whole.name + ending).unlink(missing_ok=True)


class Database:
    """An open participant's file; several processes may use it at once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            if not self.path.exists():
                # Looked for again after its log was found: another process may have made both in the meantime.
                if self.path.with_name(f"{self.path.name}-wal").exists() and not self.path.exists():
                    raise Problem("damaged_file", f"file {self.path}: it is missing, although its log exists")
                _make(self.path)
            if self.path.is_file() and self.path.stat().st_size == 0:
                # A new file gets its name when it is complete, so this one has lost its content.
                raise Problem("damaged_file", f"file {self.path}: it is empty, which a ledger never is")
            self.connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                self._check()  # before changing a file that may be of another kind
                os.chmod(self.path, 0o600)
                self.connection.execute("PRAGMA synchronous = FULL")
            except BaseException:
                self.connection.close()
                raise
        except sqlite3.DatabaseError as mistake:
            raise self._trouble(mistake) from None
        except UnicodeDecodeError:  # SQLite quotes the damaged text in its message
            raise Problem("damaged_file", f"file {self.path}: its schema is not valid text") from None

    def _check(self) -> None:
        """Refuse a file of another kind, or a damaged one: with an incomplete ledger, noise could be drawn twice."""
        ((version,),) = self.rows("PRAGMA user_version")
        if version not in (*_ADDED, VERSION):
            raise Problem(
                "unknown_file",
                f"file {self.path}: its version is {version}, and this program reads versions {min(_ADDED)} to "
                f"{VERSION}",
            )
        tables = {name for (name,) in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if missing := sorted(_TABLES - tables):
            raise Problem("damaged_file", f"file {self.path}: its table {missing[0]!r} is missing")
        ((verdict,), *_) = self.rows("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise Problem("damaged_file", f"file {self.path}: {' '.join(str(verdict).split())}")
        if version != VERSION:
            self._migrate()

    def _migrate(self) -> None:
        """Add what a file of an earlier version lacks, unless another process has just done it."""
        with self.transaction():
            ((version,),) = self.rows("PRAGMA user_version")
            for earlier in range(version, VERSION):
                self.connection.execute(_ADDED[earlier])
            self.connection.execute(f"PRAGMA user_version = {VERSION}")

    def _trouble(self, mistake: sqlite3.DatabaseError) -> Problem:
        """The problem behind an SQLite error: the file is busy, is not a participant's file, or is damaged."""
        code = getattr(mistake, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        kind = "unknown_file" if code == sqlite3.SQLITE_NOTADB else "file_trouble"
        if code in _DAMAGE:
            kind = "damaged_file"
        return Problem(kind, f"file {self.path}: {mistake}")

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, mistake: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(mistake, sqlite3.DatabaseError):
            raise self._trouble(mistake) from mistake

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Exclusive access from the first read to the commit, which is on disk when the block ends."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def rows(self, statement: str, *values: object) -> list[Any]:
        return self.connection.execute(statement, values).fetchall()
