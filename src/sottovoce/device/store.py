"""The participant's file: one SQLite file with what they agreed to, what they released, and what is still to be sent.

Everything is stored here durably before it leaves the device. So neither a crash at any point nor a second process with
the same file can make the device draw noise twice for one task: the primary key of ``released_tasks`` prevents it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from sottovoce.device.database import Database
from sottovoce.device.participant_limits import Limits
from sottovoce.protocol import Manifest, Problem, Promise
from sottovoce.protocol.canonical import sha256_of
from sottovoce.protocol.promise import distance_words


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
    task_order: tuple[int, ...] | None  # in which the device answers tasks, if it draws which ones


@dataclass(frozen=True)
class Release:
    """What has left the device, or is about to."""

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


class ParticipantFile(Database):
    """One participant's file; several processes may use it at once."""

    def __init__(self, path: str | Path, clock: Callable[[], datetime] = now) -> None:
        super().__init__(path)
        self._clock = clock

    def _moment(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="seconds")

    # limits

    @property
    def limits(self) -> Limits:
        rows = self.rows("SELECT epsilon, delta, distance, total_epsilon, total_delta FROM limits")
        return Limits(*rows[0]) if rows else Limits()

    def set_limits(self, limits: Limits) -> None:
        self.connection.execute("INSERT OR REPLACE INTO limits VALUES (1, ?, ?, ?, ?, ?)", astuple(limits))

    def spent(self) -> Promise:
        """What all campaigns together may have learnt. Each counts once, for everything it may ask; ε and δ add up."""
        (row,) = self.rows(
            "SELECT total(epsilon), total(delta) FROM "
            "(SELECT max(epsilon) AS epsilon, max(delta) AS delta FROM releases GROUP BY campaign)"
        )
        return Promise(*row)

    # memberships and consent

    def memberships(self) -> list[Membership]:
        return [self._membership(row) for row in self.rows(f"{_MEMBERSHIPS} ORDER BY rowid")]

    def membership(self, campaign: str) -> Membership | None:
        rows = self.rows(f"{_MEMBERSHIPS} WHERE campaign = ?", campaign)
        return self._membership(rows[0]) if rows else None

    def _membership(self, row: Any) -> Membership:
        *figures, data, sha256 = row[:4]
        if sha256_of(data) != sha256:
            raise Problem("damaged_file", f"file {self.path}: a manifest in it is not the one that was agreed to")
        manifest, order = _manifest(data), row[-1]
        drawn = None if order is None else tuple(json.loads(order))
        joined = Membership(Promise(*figures), manifest, *[*row[4:-1], drawn])
        if manifest.device_draws and sorted(joined.task_order or ()) != list(range(len(manifest.tasks))):
            raise Problem(
                "damaged_file", f"file {self.path}: the drawn tasks of campaign {joined.campaign!r} are missing"
            )
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

        A campaign that was already joined on the same terms stays as it is. An enrolment that did not succeed may be
        tried again with another invitation, and a campaign to which nothing was released may be joined again on other
        terms.
        """
        with self.transaction():
            before = self.membership(manifest.campaign)
            if before and before.withdrawn_at:
                raise Problem("withdrawn", f"campaign {manifest.campaign!r}: you withdrew on {before.withdrawn_at}")
            same = before is not None and before.manifest.sha256 == manifest.sha256
            if before and same and (before.participant_token or before.invitation == invitation):
                return before
            if before and not same and self.rows("SELECT 1 FROM releases WHERE campaign = ?", manifest.campaign):
                raise Problem(
                    "manifest_changed",
                    f"campaign {manifest.campaign!r}: you consented to manifest {before.manifest.sha256[:12]}… and "
                    f"released readings under it; this one is {manifest.sha256[:12]}…",
                )
            if before and same:
                task_order = before.task_order  # drawn once
            moment, data = self._moment(), manifest.bytes()
            self.connection.execute(
                "INSERT INTO consents (campaign, manifest_sha256, manifest, server_trusted, given_at) "
                "VALUES (?, ?, ?, ?, ?)",
                (manifest.campaign, manifest.sha256, data, int(trusted), moment),
            )
            self.connection.execute(
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
        rows = self.rows(
            "SELECT manifest_sha256, server_trusted, given_at FROM consents WHERE campaign = ? ORDER BY id", campaign
        )
        return [{"manifest_sha256": row[0], "server_trusted": bool(row[1]), "given_at": row[2]} for row in rows]

    def enrolled(self, campaign: str, participant_token: str) -> None:
        """The server has enrolled the participant; the key that made the enrolment repeatable is forgotten."""
        self.connection.execute(
            "UPDATE memberships SET participant_token = ?, enrolment_key = NULL "
            "WHERE campaign = ? AND participant_token IS NULL",
            (participant_token, campaign),
        )

    def keep_cuts(self, campaign: str, cuts: bytes) -> None:
        """Keep the published cuts, for a release without a network."""
        self.connection.execute("UPDATE memberships SET cuts = ? WHERE campaign = ?", (cuts, campaign))

    def withdraw(self, campaign: str) -> None:
        """Stop taking part: from now on nothing is sent to this campaign. What was released stays in the ledger."""
        with self.transaction():
            self.connection.execute(
                "UPDATE memberships SET withdrawn_at = coalesce(withdrawn_at, ?) WHERE campaign = ?",
                (self._moment(), campaign),
            )
            self.connection.execute("UPDATE releases SET state = 'withdrawn' WHERE campaign = ?", (campaign,))

    def confirm_withdrawal(self, campaign: str) -> None:
        self.connection.execute("UPDATE memberships SET withdrawal_told = 1 WHERE campaign = ?", (campaign,))

    # releases

    def release(self, campaign: str, draw: "Draw", keep: Mapping[str, str]) -> Release:
        """Draw noise for a campaign and store it, in one atomic step.

        ``draw`` gets the membership and the tasks released before, and returns the report's id, tasks and bytes; no
        other process can write to this file while it runs. ``keep`` are raw readings to keep, by task.
        """
        with self.transaction():
            membership = self.membership(campaign)
            if membership is None:
                raise Problem("not_joined", f"campaign {campaign!r}: you have not joined it")
            released = dict(
                self.rows(
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
            self.connection.execute(
                "INSERT INTO releases (report_id, campaign, server, manifest_sha256, body, epsilon, delta, distance, "
                "unit, released_at, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued')",
                (report_id, campaign, release.server, release.manifest_sha256, body, *astuple(release.promise),
                 release.distance, release.unit, release.released_at),
            )  # fmt: skip
            self.connection.executemany(
                "INSERT INTO released_tasks VALUES (?, ?, ?, ?)",
                [(campaign, task, report_id, keep.get(task)) for task in tasks],
            )
        return release

    def releases(self, campaign: str | None = None, state: str | None = None) -> list[Release]:
        rows = self.rows(
            "SELECT epsilon, delta, report_id, campaign, server, manifest_sha256, body, distance, unit, released_at, "
            "state, problem, detail FROM releases "
            "WHERE coalesce(campaign = ?, 1) AND coalesce(state = ?, 1) ORDER BY id",
            campaign,
            state,
        )
        return [Release(Promise(*row[:2]), *row[2:]) for row in rows]

    def tasks_of(self, report_id: str) -> dict[str, str | None]:
        """The tasks of a release, with the raw readings if they were kept."""
        return dict(self.rows("SELECT task, reading FROM released_tasks WHERE report_id = ? ORDER BY task", report_id))

    def settle(self, report_id: str, state: str, refusal: Problem | None) -> None:
        """Record the outcome of a queued report."""
        self.connection.execute(
            "UPDATE releases SET state = ?, problem = ?, detail = ? WHERE report_id = ? AND state = 'queued'",
            (state, refusal and refusal.code, refusal and refusal.detail, report_id),
        )


Draw = Callable[[Membership, Mapping[str, str]], tuple[str, Iterable[str], bytes]]

_MEMBERSHIPS = (
    "SELECT epsilon, delta, manifest, manifest_sha256, campaign, server, invitation, enrolment_key, participant_token, "
    "joined_at, withdrawn_at, withdrawal_told = 1, cuts, task_order FROM memberships"
)


_manifest = lru_cache(maxsize=32)(Manifest.parse)  # the same few bytes are read again and again
