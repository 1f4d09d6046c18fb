"""Storing reports: many at once, each judged on its own."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, update

from sottovoce.digits import counted
from sottovoce.protocol.manifest import Manifest, Task
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.report import Report
from sottovoce.protocol.tokens import same_hash
from sottovoce.server.fast.bulk import insert_rows
from sottovoce.server.fast.wire import Submission
from sottovoce.server.storage.offers import cuts_text, was_offered
from sottovoce.server.storage.participants import unknown_participant
from sottovoce.server.storage.rows import OpenCampaign, ParticipantRow, TaskRow, all_rows
from sottovoce.server.storage.tables import campaigns, details, participants, readings, reports, tasks

_OFFERS_KEPT = 100_000
_CAMPAIGNS_KEPT = 64  # manifests kept parsed; an open one never changes
_REPORT = ("campaign_key", "report_id", "participant_key", "content_hash", "received_at", "readings", "cohort")
_DETAIL = ("campaign_key", "participant_key", "place", "content")
_READING = ("campaign_key", "participant_key", "place", "value", "cohort")


@dataclass(slots=True, frozen=True)
class Receipt:
    """A report that is stored, now or by an earlier attempt."""

    new: bool
    readings: int
    over_quota: tuple[str, ...] = ()  # tasks that had enough readings; the report's own were not stored


class ConcurrentChange(Exception):
    """Another process changed what was judged before it could be stored; it must be judged again."""


@dataclass(slots=True, frozen=True)
class _Terms:
    """What is fixed about a campaign once it is open."""

    manifest: Manifest
    place_of: dict[str, int]
    quotas: dict[int, int]  # by place
    cells: tuple[int, ...]  # by place: possible answers; 0 for numbers, 1 where a value is not the whole answer

    def fit(self, places: list[int], report: Submission) -> bool:
        """A quick check of values that are numbers, or numbers of choices; False where a closer look is needed."""
        cells = self.cells
        return report.parsed is None and all(
            not (most := cells[place]) or 0 <= value < most > 1
            for place, value in zip(places, report.values, strict=True)
        )


class ReportStore:
    """Judges and stores batches of reports."""

    def __init__(self) -> None:
        self._terms: OrderedDict[int, _Terms] = OrderedDict()
        self._offered: OrderedDict[tuple[int, int, str], None] = OrderedDict()  # cuts that were published

    def store(self, connection: Connection, submissions: Sequence[Submission], now: int) -> list[Receipt | Problem]:
        """A verdict for each. What is accepted is stored when the transaction commits."""
        if not submissions:
            return []
        batch = _Batch(connection, submissions, now, self)
        verdicts: list[Receipt | Problem] = []
        for submission in submissions:
            try:
                verdicts.append(batch.accept(submission))
            except Problem as problem:
                verdicts.append(problem)
        batch.write()
        return verdicts

    def check_cuts(self, connection: Connection, campaign_key: int, place_of: dict[str, int], report: Report) -> None:
        """Refuse cuts that were never published: cuts of a device's own choosing could lead the search astray."""
        for reading in report.readings:
            if reading.cuts is None:
                continue
            offer = (campaign_key, place_of[reading.task], cuts_text(reading.cuts))
            if offer not in self._offered:
                if not was_offered(connection, *offer):
                    raise Problem(
                        "unknown_cuts", f"cuts {offer[2]} of task {reading.task!r}: they were never published"
                    )
                self._offered[offer] = None  # what was published stays valid
                if len(self._offered) > _OFFERS_KEPT:
                    self._offered.popitem(last=False)

    def terms(self, connection: Connection, campaign: OpenCampaign) -> _Terms:
        terms = self._terms.get(campaign.key)
        if terms is None:
            rows = all_rows(connection, TaskRow, select(tasks).where(tasks.c.campaign_key == campaign.key))
            manifest = Manifest.parse(campaign.manifest)
            terms = _Terms(
                manifest,
                {row.id: row.place for row in rows},
                {row.place: row.quota for row in rows if row.quota is not None},
                tuple(_cells(manifest, task) for task in manifest.tasks),
            )
            self._terms[campaign.key] = terms
            if len(self._terms) > _CAMPAIGNS_KEPT:
                self._terms.popitem(last=False)
        return terms


def _cells(manifest: Manifest, task: Task) -> int:
    part = manifest.part_of(task)
    if part.cells is None:
        return 0
    return part.cells if task.kind == "choice" and part.cells_reported == 1 else 1


class _Batch:
    """What is stored about the senders of one batch, and what is to be added."""

    def __init__(self, connection: Connection, submissions: Sequence[Submission], now: int, store: ReportStore) -> None:
        self._connection = connection
        self._now = now
        self._store = store
        # Locked across processes: two reports of one participant are judged one after the other, and
        # each sees what the other one stored. In the order of their keys, so that batches never deadlock.
        self._participant_of = {
            row.token_hash: row
            for row in all_rows(
                connection,
                ParticipantRow,
                select(participants)
                .where(participants.c.token_hash.in_({one.token_hash for one in submissions}))
                .order_by(participants.c.key)
                .with_for_update(key_share=True),
            )
        }
        named = select(*(campaigns.c[name] for name in OpenCampaign._fields)).where(
            campaigns.c.id.in_({submission.campaign_id for submission in submissions})
        )
        self._campaign_of = {row.id: row for row in all_rows(connection, OpenCampaign, named)}
        self._known = self._find_known(submissions)
        self._answered = self._find_answered()
        self._taken = self._lock_quotas()
        self._filled: set[tuple[int, int]] = set()  # tasks with a quota that get readings from this batch
        self._reports: list[tuple[Any, ...]] = []
        self._readings: list[tuple[int, int, int, int, int]] = []
        self._details: list[tuple[int, int, int, str]] = []

    def _find_known(self, submissions: Iterable[Submission]) -> dict[tuple[int, str], tuple[int, str | None, int]]:
        """Sender, content hash and number of readings of reports that were stored under the ids of this batch."""
        query = select(
            reports.c.campaign_key, reports.c.report_id, reports.c.participant_key, reports.c.content_hash,
            reports.c.readings,
        ).where(
            # Not pairs of both: for those SQLite would read the whole table.
            reports.c.campaign_key.in_({campaign.key for campaign in self._campaign_of.values()}),
            reports.c.report_id.in_({one.report_id for one in submissions}),
        )  # fmt: skip
        return {(row[0], row[1]): (row[2], row[3], row[4]) for row in self._connection.execute(query)}

    def _find_answered(self) -> dict[int, set[int]]:
        """Places of the tasks that the senders have answered before."""
        answered: dict[int, set[int]] = {row.key: set() for row in self._participant_of.values()}
        query = select(readings.c.participant_key, readings.c.place).where(
            readings.c.campaign_key.in_({row.campaign_key for row in self._participant_of.values()}),
            readings.c.participant_key.in_(answered),
        )
        for participant, place in self._connection.execute(query):
            answered[participant].add(place)
        return answered

    def _lock_quotas(self) -> dict[int, dict[int, int]]:
        """Readings that tasks with a quota have, by campaign and place; locked until the counts are updated."""
        senders = {row.campaign_key for row in self._participant_of.values()}
        limited = [
            campaign.key
            for campaign in self._campaign_of.values()
            if campaign.state == "open"
            and campaign.key in senders
            and self._store.terms(self._connection, campaign).quotas
        ]
        taken: dict[int, dict[int, int]] = {key: {} for key in limited}
        if limited:
            rows = self._connection.execute(
                select(tasks.c.campaign_key, tasks.c.place, tasks.c.taken)
                .where(tasks.c.campaign_key.in_(limited), tasks.c.quota.is_not(None))
                .order_by(tasks.c.campaign_key, tasks.c.place)
                .with_for_update(key_share=True)
            )
            for campaign_key, place, count in rows:
                taken[campaign_key][place] = count
        return taken

    def accept(self, report: Submission) -> Receipt:
        """Accept a report, or raise the problem with it."""
        participant, campaign = self._sender(report)
        known = self._known.get((campaign.key, report.report_id))
        if known is not None:
            return _replay(report, participant.key, known)
        self._refuse_if_closed(campaign)
        terms = self._store.terms(self._connection, campaign)
        try:
            places = [terms.place_of[task] for task in report.tasks]
        except KeyError:
            places = []
        known_terms = places and report.manifest_sha256 == terms.manifest.sha256
        if not known_terms or len(places) > terms.manifest.most_answers or not terms.fit(places, report):
            report.as_report().check(terms.manifest)  # raises a problem that says what is wrong

        if report.parsed is not None:
            self._store.check_cuts(self._connection, campaign.key, terms.place_of, report.parsed)

        answered = self._answered[participant.key]
        if answered and terms.manifest.readings_come_at_once:
            raise Problem(
                "task_already_reported",
                "a second report: under this noise law all readings must be in one report",
                fix="nothing can be added to the first one",
            )
        if not answered.isdisjoint(places):
            task = next(task for task in report.tasks if terms.place_of[task] in answered)
            raise Problem(
                "task_already_reported", f"task {task!r}: this participant has already answered it in another report"
            )
        if len(answered) + len(places) > terms.manifest.most_answers:
            raise Problem(
                "too_many_readings",
                f"{counted(len(answered), 'reading')} before and {len(places):,} now: a participant may give at most "
                f"{terms.manifest.most_answers:,}",
            )
        full = self._full(campaign.key, terms, places)
        if len(full) == len(places):
            raise Problem("quota_reached", f"task {report.tasks[0]!r}: it has enough readings")

        campaign_key, participant_key, cohort = campaign.key, participant.key, campaign.cohort + 1
        added = [
            (campaign_key, participant_key, place, value, cohort)
            for place, value in zip(places, report.values, strict=True)
            if place not in full
        ]
        self._readings += added
        if report.parsed is not None:
            self._details += [
                (campaign_key, participant_key, terms.place_of[reading.task], reading.detail)
                for reading in report.parsed.readings
                if reading.detail is not None and terms.place_of[reading.task] not in full
            ]
        self._reports.append(
            (campaign_key, report.report_id, participant_key, report.content_hash, self._now, len(added), cohort)
        )
        # Later reports of the same batch are judged as if this one were stored already.
        self._known[campaign_key, report.report_id] = (participant_key, report.content_hash, len(added))
        taken = set(places) - full
        answered |= taken
        for place in taken & terms.quotas.keys():
            self._taken[campaign_key][place] += 1
            self._filled.add((campaign_key, place))
        return Receipt(True, len(added), tuple(terms.manifest.tasks[place].id for place in sorted(full)))

    def _sender(self, submission: Submission) -> tuple[ParticipantRow, OpenCampaign]:
        participant = self._participant_of.get(submission.token_hash)
        if participant is None or not same_hash(participant.token_hash, submission.token_hash):
            raise unknown_participant()
        campaign = self._campaign_of.get(submission.campaign_id)
        if campaign is None or campaign.key != participant.campaign_key:
            raise Problem("forbidden", f"campaign {submission.campaign_id!r}: the token is for another campaign")
        if participant.withdrawn_at is not None:
            raise Problem("withdrawn", "the participant has withdrawn from this campaign")
        return participant, campaign

    def _refuse_if_closed(self, campaign: OpenCampaign) -> None:
        if campaign.deadline is not None and campaign.deadline <= self._now:
            raise Problem("deadline_passed", f"campaign {campaign.id!r}: its deadline has passed")
        if campaign.state != "open":
            raise Problem("campaign_not_open", f"campaign {campaign.id!r}: it is {campaign.state}")

    def _full(self, campaign_key: int, terms: _Terms, places: list[int]) -> set[int]:
        """The tasks that have enough readings."""
        if not terms.quotas:
            return set()
        taken = self._taken[campaign_key]
        return {place for place in places if place in terms.quotas and taken[place] >= terms.quotas[place]}

    def write(self) -> None:
        insert_rows(self._connection, reports, _REPORT, self._reports)
        insert_rows(self._connection, readings, _READING, self._readings)
        insert_rows(self._connection, details, _DETAIL, self._details)
        for key, place in sorted(self._filled):
            self._connection.execute(
                update(tasks)
                .where(tasks.c.campaign_key == key, tasks.c.place == place)
                .values(taken=self._taken[key][place])
            )
        added = Counter((row[0], row[-1]) for row in self._reports)
        # Last, as all reports of a campaign share this row. Closing the campaign, or ending its cohort, waits for this
        # transaction; afterwards nothing is added to what was closed or ended.
        for (key, cohort), count in sorted(added.items()):
            counted = self._connection.execute(
                update(campaigns)
                .where(campaigns.c.key == key, campaigns.c.state == "open", campaigns.c.cohort == cohort - 1)
                .values(
                    reports=campaigns.c.reports + count,
                    changes=campaigns.c.changes + count,
                    changed_at=self._now,
                )
            )
            if counted.rowcount != 1:
                raise ConcurrentChange(f"campaign {key} was closed, or its cohort {cohort} ended")


def _replay(report: Submission, participant_key: int, known: tuple[int, str | None, int]) -> Receipt:
    sender, content_hash, count = known
    if sender != participant_key:
        raise Problem(
            "report_conflict",
            f"report {report.report_id}: this id belongs to another participant's report",
            fix="draw a new random id",
        )
    if content_hash is None:
        raise Problem("erased", f"report {report.report_id}: it was received, and its readings have been erased since")
    if not same_hash(content_hash, report.content_hash):
        raise Problem(
            "report_conflict", f"report {report.report_id}: a report with this id and other content is stored"
        )
    return Receipt(False, count)
