"""The participant's file: what they agreed to, what they released, and what is still to be sent. One SQLite file each.

Everything is stored here durably before it leaves the device. That is why a crash at any
point, or a second process with the same file, cannot make the device draw noise twice for one task: the primary key of
``released_tasks`` prevents it.
"""

import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from sottovoce.device.participant_limits import Limits
from sottovoce.protocol import Manifest, Problem, Promise
from sottovoce.protocol.canonical import sha256_of
from sottovoce.protocol.promise import distance_words

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


# What files of an earlier version lack.
_ADDED = {
    1: "ALTER TABLE memberships ADD COLUMN task_order TEXT",
    2: "ALTER TABLE memberships ADD COLUMN cuts BLOB",
}
_TABLES = {"limits", "memberships", "consents", "releases", "released_tasks"}
# SQLite's messages about an inconsistent file: bad pages or schema, or invalid text.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT}


def _make(path: Path) -> None:
    """Create a file, complete and on disk before it gets its name; if another process was faster, its file stays."""
    whole = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        # Created here before SQLite opens it, so that nobody else can read it even for a moment.
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


def now() -> datetime:
    """The time of the device's clock, which is only recorded, never relied on."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Membership:
    """A campaign that the participant joined."""

    promise: Promise
    manifest: Manifest
    campaign: str
    server: str
    invitation: str
    enrolment_key: str | None
    participant_token: str | None
    joined_at: str
    withdrawn_at: str | None
    withdrawal_confirmed: int  # 0 or 1
    cuts: bytes | None  # the published cuts as they were fetched last
    task_order: tuple[int, ...] | None  # in which the device answers tasks, where it draws which ones


@dataclass(frozen=True)
class Release:
    """What left the device, or is about to."""

    promise: Promise
    report_id: str
    campaign: str
    server: str
    manifest_sha256: str
    body: bytes
    distance: str
    unit: str
    released_at: str
    state: str = "queued"
    problem: str | None = None
    detail: str | None = None


class ParticipantFile:
    """One participant's file; several processes may use it at once."""

    def __init__(self, path: str | Path, clock: Callable[[], datetime] = now) -> None:
        self.path = Path(path)
        self._clock = clock
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            if not self.path.exists():
                # Looked for again after its log: another process may have made both in the meantime.
                if self.path.with_name(f"{self.path.name}-wal").exists() and not self.path.exists():
                    raise Problem("damaged_file", f"file {self.path}: it is missing, though its log is there")
                _make(self.path)
            if self.path.is_file() and self.path.stat().st_size == 0:
                # A new file gets its name when it is complete, so this one has lost its content.
                raise Problem("damaged_file", f"file {self.path}: it is empty, though a ledger never is")
            self._connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            try:
                self._check()  # before changing a file that may not be ours
                os.chmod(self.path, 0o600)
                self._connection.execute("PRAGMA synchronous = FULL")
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.DatabaseError as mistake:
            raise self._trouble(mistake) from None
        except UnicodeDecodeError:  # SQLite quotes the damaged text in its message
            raise Problem("damaged_file", f"file {self.path}: its schema is not valid text") from None

    def _check(self) -> None:
        """Refuse a file that is not ours, or damaged: a ledger that forgets would let noise be drawn twice."""
        ((version,),) = self._rows("PRAGMA user_version")
        if version not in (*_ADDED, VERSION):
            raise Problem(
                "unknown_file", f"file {self.path}: its version is {version}, and this program knows {VERSION}"
            )
        tables = {name for (name,) in self._rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if missing := sorted(_TABLES - tables):
            raise Problem("damaged_file", f"file {self.path}: its table {missing[0]!r} is missing")
        ((verdict,), *_) = self._rows("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise Problem("damaged_file", f"file {self.path}: {' '.join(str(verdict).split())}")
        if version != VERSION:
            self._bring_up_to_date()

    def _bring_up_to_date(self) -> None:
        """Add what a file of an earlier version lacks, once; another process may be faster."""
        with self._transaction():
            ((version,),) = self._rows("PRAGMA user_version")
            for earlier in range(version, VERSION):
                self._connection.execute(_ADDED[earlier])
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _trouble(self, mistake: sqlite3.DatabaseError) -> Problem:
        """The problem behind an SQLite error: the file is busy, is not a participant's file, or is damaged."""
        code = getattr(mistake, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        kind = "unknown_file" if code == sqlite3.SQLITE_NOTADB else "file_trouble"
        if code in _DAMAGE:
            kind = "damaged_file"
        return Problem(kind, f"file {self.path}: {mistake}")

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, mistake: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(mistake, sqlite3.DatabaseError):
            raise self._trouble(mistake) from mistake

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Exclusive access from the first read to the commit, which is on disk when the block ends."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _rows(self, statement: str, *values: object) -> list[Any]:
        return self._connection.execute(statement, values).fetchall()

    def _moment(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")

    # limits

    @property
    def limits(self) -> Limits:
        rows = self._rows("SELECT epsilon, delta, distance, total_epsilon, total_delta FROM limits")
        return Limits(*rows[0]) if rows else Limits()

    def set_limits(self, limits: Limits) -> None:
        self._connection.execute("INSERT OR REPLACE INTO limits VALUES (1, ?, ?, ?, ?, ?)", astuple(limits))

    def spent(self) -> Promise:
        """What all campaigns together may have learnt: each counts once, for all that it may ask. ε and δ add up."""
        (row,) = self._rows(
            "SELECT total(epsilon), total(delta) FROM "
            "(SELECT max(epsilon) AS epsilon, max(delta) AS delta FROM releases GROUP BY campaign)"
        )
        return Promise(*row)

    # memberships and consent

    def memberships(self) -> list[Membership]:
        return [self._membership(row) for row in self._rows(f"{_MEMBERSHIPS} ORDER BY rowid")]

    def membership(self, campaign: str) -> Membership | None:
        rows = self._rows(f"{_MEMBERSHIPS} WHERE campaign = ?", campaign)
        return self._membership(rows[0]) if rows else None

    def _membership(self, row: Any) -> Membership:
        *figures, data, sha256 = row[:4]
        if sha256_of(data) != sha256:
            raise Problem("damaged_file", f"file {self.path}: a manifest in it is not the one that was agreed to")
        manifest, order = _manifest(data), row[-1]
        drawn = None if order is None else tuple(json.loads(order))
        joined = Membership(Promise(*figures), manifest, *[*row[4:-1], drawn])
        if manifest.device_draws and sorted(joined.task_order or ()) != list(range(len(manifest.tasks))):
            raise Problem("damaged_file", f"file {self.path}: the drawn tasks of {joined.campaign!r} are missing")
        if joined.enrolment_key is None and joined.participant_token is None:
            raise Problem("damaged_file", f"file {self.path}: the keys of campaign {joined.campaign!r} are missing")
        return joined

    def consent(
        self,
        server: str,
        manifest: Manifest,
        promise: Promise,
        invitation: str,
        enrolment_key: str,
        trusted: bool,
        task_order: Sequence[int] | None = None,
    ) -> Membership:
        """Record that the participant agreed to these bytes, and the secrets of the enrolment to come.

        A campaign that is joined already stays as it is. An enrolment that did not succeed may be tried with another
        invitation, and a campaign to which nothing was released may be joined again on other terms.
        """
        with self._transaction():
            before = self.membership(manifest.campaign)
            if before and before.withdrawn_at:
                raise Problem("withdrawn", f"campaign {manifest.campaign!r}: you withdrew on {before.withdrawn_at}")
            same = before is not None and before.manifest.sha256 == manifest.sha256
            if before and same and (before.participant_token or before.invitation == invitation):
                return before
            if before and not same and self._rows("SELECT 1 FROM releases WHERE campaign = ?", manifest.campaign):
                raise Problem(
                    "manifest_changed",
                    f"campaign {manifest.campaign!r}: you consented to manifest {before.manifest.sha256[:12]}… and "
                    f"released readings under it; this is {manifest.sha256[:12]}…",
                )
            if before and same:
                task_order = before.task_order  # drawn once
            moment, data = self._moment(), manifest.bytes()
            self._connection.execute(
                "INSERT INTO consents (campaign, manifest_sha256, manifest, server_trusted, given_at) "
                "VALUES (?, ?, ?, ?, ?)",
                (manifest.campaign, manifest.sha256, data, int(trusted), moment),
            )
            self._connection.execute(
                "INSERT OR REPLACE INTO memberships (campaign, server, manifest, manifest_sha256, epsilon, delta, "
                "invitation, enrolment_key, joined_at, task_order) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (manifest.campaign, server, data, manifest.sha256, promise.epsilon, promise.delta,
                 invitation, enrolment_key, moment, None if task_order is None else json.dumps(task_order)),
            )  # fmt: skip
        joined = self.membership(manifest.campaign)
        assert joined is not None
        return joined

    def consents(self, campaign: str) -> list[dict[str, Any]]:
        """When the participant agreed to which manifest."""
        rows = self._rows(
            "SELECT manifest_sha256, server_trusted, given_at FROM consents WHERE campaign = ? ORDER BY id", campaign
        )
        return [{"manifest_sha256": row[0], "server_trusted": bool(row[1]), "given_at": row[2]} for row in rows]

    def enrolled(self, campaign: str, participant_token: str) -> None:
        """The server has enrolled the participant; the key that made the enrolment repeatable is forgotten."""
        self._connection.execute(
            "UPDATE memberships SET participant_token = ?, enrolment_key = NULL "
            "WHERE campaign = ? AND participant_token IS NULL",
            (participant_token, campaign),
        )

    def keep_cuts(self, campaign: str, cuts: bytes) -> None:
        """Keep the published cuts, for a release without a network."""
        self._connection.execute("UPDATE memberships SET cuts = ? WHERE campaign = ?", (cuts, campaign))

    def withdraw(self, campaign: str) -> None:
        """From now on nothing is sent to this campaign; what was released stays in the ledger."""
        with self._transaction():
            self._connection.execute(
                "UPDATE memberships SET withdrawn_at = coalesce(withdrawn_at, ?) WHERE campaign = ?",
                (self._moment(), campaign),
            )
            self._connection.execute("UPDATE releases SET state = 'withdrawn' WHERE campaign = ?", (campaign,))

    def confirm_withdrawal(self, campaign: str) -> None:
        self._connection.execute("UPDATE memberships SET withdrawal_told = 1 WHERE campaign = ?", (campaign,))

    # releases

    def release(self, campaign: str, draw: "Draw", keep: Mapping[str, str]) -> Release:
        """Draw noise for a campaign and store it, in one atomic step.

        ``draw`` gets the membership and the tasks released before, and returns the report; it runs while no other
        process can write to this file. ``keep`` are raw readings to keep, by task.
        """
        with self._transaction():
            membership = self.membership(campaign)
            if membership is None:
                raise Problem("not_joined", f"campaign {campaign!r}: you have not joined it")
            released = dict(
                self._rows(
                    "SELECT task, released_at FROM released_tasks JOIN releases USING (report_id) "
                    "WHERE released_tasks.campaign = ? ORDER BY task",
                    campaign,
                )
            )
            report_id, tasks, body = draw(membership, released)
            manifest = membership.manifest
            release = Release(
                membership.promise, report_id, campaign, membership.server, manifest.sha256, body,
                distance_words(manifest), manifest.unit, self._moment(),
            )  # fmt: skip
            self._connection.execute(
                "INSERT INTO releases (report_id, campaign, server, manifest_sha256, body, epsilon, delta, distance, "
                "unit, released_at, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued')",
                (report_id, campaign, release.server, release.manifest_sha256, body, *astuple(release.promise),
                 release.distance, release.unit, release.released_at),
            )  # fmt: skip
            self._connection.executemany(
                "INSERT INTO released_tasks VALUES (?, ?, ?, ?)",
                [(campaign, task, report_id, keep.get(task)) for task in tasks],
            )
        return release

    def releases(self, campaign: str | None = None, state: str | None = None) -> list[Release]:
        rows = self._rows(
            "SELECT epsilon, delta, report_id, campaign, server, manifest_sha256, body, distance, unit, released_at, "
            "state, problem, detail FROM releases "
            "WHERE coalesce(campaign = ?, 1) AND coalesce(state = ?, 1) ORDER BY id",
            campaign,
            state,
        )
        return [Release(Promise(*row[:2]), *row[2:]) for row in rows]

    def tasks_of(self, report_id: str) -> dict[str, str | None]:
        """The tasks of a release, with the raw readings where they were kept."""
        return dict(self._rows("SELECT task, reading FROM released_tasks WHERE report_id = ? ORDER BY task", report_id))

    def settle(self, report_id: str, state: str, refusal: Problem | None) -> None:
        """Record the outcome of a queued report."""
        self._connection.execute(
            "UPDATE releases SET state = ?, problem = ?, detail = ? WHERE report_id = ? AND state = 'queued'",
            (state, refusal and refusal.code, refusal and refusal.detail, report_id),
        )


Draw = Callable[[Membership, Mapping[str, str]], tuple[str, Iterable[str], bytes]]

_MEMBERSHIPS = (
    "SELECT epsilon, delta, manifest, manifest_sha256, campaign, server, invitation, enrolment_key, participant_token, "
    "joined_at, withdrawn_at, withdrawal_told = 1, cuts, task_order FROM memberships"
)


_manifest = lru_cache(maxsize=32)(Manifest.parse)  # the same few bytes are read again and again
