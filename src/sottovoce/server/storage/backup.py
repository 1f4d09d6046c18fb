"""Backup and restore of a SQLite database, with a check.

The database of a running server is copied as it is between two commits. PostgreSQL has better tools of its own; the
error message names them.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from alembic.script import ScriptDirectory

from sottovoce.claims.table_file import check_exists
from sottovoce.claims.writing import whole_file
from sottovoce.errors import BadParameter, UnreadableFile
from sottovoce.server.storage import migrations
from sottovoce.server.storage.engine import parse_url, without_password

_BUSY_SECONDS = 30.0
_BROKEN = "it is not a database of Sottovoce, or it is damaged; use an older backup"


@dataclass(frozen=True)
class BackupContents:
    """The contents of a database that passed the check."""

    revision: str
    current: bool  # has the schema of this version; an older one is brought up to date when the server starts
    campaigns: int
    reports: int
    bytes: int


def back_up(database: str, out: Path) -> BackupContents:
    """Copy a database into a new file, even while the server runs; the file appears once it is checked."""
    source = _file_of(database, "make a copy with pg_dump --format=custom --file=FILE URL, even while the server runs")
    if out.exists():
        raise UnreadableFile(f"{out}: it exists already, and a backup is not overwritten; name another file")
    return _copy(source, out)


def restore(backup: Path, database: str, *, replace: bool = False) -> BackupContents:
    """Check a backup and put it in place as a server's database; the server must not be running."""
    target = _file_of(database, "restore with pg_restore --clean --if-exists --dbname=URL FILE")
    if target.exists() and not replace:
        raise BadParameter(
            f"{target}: there is a database already, which would be lost; restore to another place, or add --replace"
        )
    return _copy(backup, target, replacing=target.exists())


def _file_of(database: str, for_postgresql: str) -> Path:
    rule = "it must be a SQLite database, sqlite:///FILE"
    url = parse_url(database, f"{rule}; for example sqlite:///sottovoce.db")
    if url.get_backend_name() != "sqlite" or not url.database:
        raise BadParameter(f"database {without_password(url)}: {rule}; for PostgreSQL, {for_postgresql}")
    return Path(url.database)


def _copy(source: Path, target: Path, replacing: bool = False) -> BackupContents:
    check_exists(source)
    with whole_file(target) as temporary:
        # Created here, so that nobody else can read it even for a moment.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with (
            _errors_reported(source),
            closing(_opened(source)) as original,
            closing(sqlite3.connect(temporary)) as copy,
        ):
            # In one step, so in one transaction: writers continue meanwhile, and no commit is copied in part.
            original.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            contents = _checked(copy, source)
        if replacing:
            _take_out_of_use(target)
    return contents


def _opened(path: Path) -> sqlite3.Connection:
    # Not read-only: such a connection would leave its log behind, perhaps for a server that may not touch it.
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=_BUSY_SECONDS)


@contextmanager
def _errors_reported(source: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as mistake:
        raise UnreadableFile(f"{source}: {mistake}; {_BROKEN}") from None


def _checked(connection: sqlite3.Connection, source: Path) -> BackupContents:
    """The contents of a copy, if it passes the check."""
    verdicts = [verdict for (verdict,) in connection.execute("PRAGMA integrity_check(1)")]
    if verdicts != ["ok"] or connection.execute("PRAGMA foreign_key_check").fetchone():
        found = "some rows refer to missing ones" if verdicts == ["ok"] else verdicts[0]
        raise UnreadableFile(f"{source}: {found}; {_BROKEN}")
    revisions = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    if len(revisions) != 1:
        raise UnreadableFile(f"{source}: it does not name its schema; {_BROKEN}")
    ((revision,),) = revisions
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    if revision not in {script.revision for script in scripts.walk_revisions()}:
        raise UnreadableFile(
            f"{source}: its schema {revision!r} is unknown to this version of the program; use the newer version that "
            "made it"
        )
    ((campaigns, reports),) = connection.execute(
        "SELECT (SELECT count(*) FROM campaigns), (SELECT count(*) FROM reports)"
    )
    ((size,),) = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    return BackupContents(revision, revision == scripts.get_current_head(), campaigns, reports, size)


def _take_out_of_use(database: Path) -> None:
    """Make sure that nobody has the database open, and that no log of it is left for the new one to pick up."""
    try:
        with closing(sqlite3.connect(database, timeout=0)) as connection:
            # Leaving the write-ahead log needs exclusive access, so this fails while a server runs.
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as mistake:
        if mistake.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise BadParameter(f"{database}: a server is using it; stop the server first") from None
    except sqlite3.DatabaseError:
        pass  # damaged, which is why it is restored
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
