"""Background jobs: new results, deadlines, retention. They run in threads, so that requests never wait for them.

Results have a thread of their own: readings are erased in time even if a computation fails or never ends.
"""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Any

from sqlalchemy import Connection, Engine, select

from sottovoce.protocol.manifest import Manifest
from sottovoce.server.clock import Clock, moment
from sottovoce.server.compared import BoardCache, compared_tasks, with_figures
from sottovoce.server.gold import from_stored
from sottovoce.server.metrics import Metrics
from sottovoce.server.results import Computation, encode, warm_up
from sottovoce.server.same_findings import same_findings
from sottovoce.server.settings import Settings
from sottovoce.server.steps import IncludedClaims, next_step
from sottovoce.server.storage.campaigns import close_overdue
from sottovoce.server.storage.claims import load_readings, load_sets
from sottovoce.server.storage.engine import MAINTENANCE_LOCK, RESULTS_LOCK
from sottovoce.server.storage.locks import JobsLock
from sottovoce.server.storage.offers import (
    CountedAnswers,
    Offers,
    counted_answers,
    has_offers,
    publish_offers,
)
from sottovoce.server.storage.results import (
    add_results,
    mark_published,
    mark_trouble,
    newest_results,
    next_version,
    outdated_campaigns,
)
from sottovoce.server.storage.retention import begin_erasing, erasable_campaigns, erase_some
from sottovoce.server.storage.rows import CampaignRow, ErasableCampaign, OutdatedCampaign, one_row
from sottovoce.server.storage.steps import advance, keep_included, load_included, show_spent, spent_unseen
from sottovoce.server.storage.tables import campaigns
from sottovoce.server.storage.writer import Writer

log = logging.getLogger("sottovoce.server.jobs")
_EVERY_SECONDS = 0.5
# A step is considered when no report has arrived for this long: with the pause above and the computation, within 5 s.
_QUIET_MILLISECONDS = 2_000
# While reports keep arriving, it is considered only after this many changes, and this share of all earlier ones, since
# storing reports comes first. Fewer would not do: each step may leave the last few claims of a task waiting, and those
# that the last step leaves are left out.
_ENOUGH_CHANGES = 1_000
_ENOUGH_SHARE = 0.5
_COMPARED_SHARE = 1 / 30  # the same for campaigns that compare
_PAUSE_FACTOR = 10  # and not before this many times as long as the last computation took
# How long readings that are due to be erased wait for results that have not been computed.
_GRACE_SECONDS = 600.0


class Jobs:
    """The background threads. All state is in the database, so a restart loses nothing."""

    def __init__(self, engine: Engine, writer: Writer, clock: Clock, settings: Settings, metrics: Metrics) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._maintenance_lock, self._results_lock = JobsLock(engine, MAINTENANCE_LOCK), JobsLock(engine, RESULTS_LOCK)
        self._stop = Event()
        self._threads = (
            Thread(target=self._maintain, name="maintenance", daemon=True),
            Thread(target=self._make_results, name="results", daemon=True),
        )
        self._not_before = 0.0
        self._boards = BoardCache()
        self._failed: dict[int, int] = {}  # campaigns whose results could not be computed, and at which step
        self._awaited: dict[int, float] = {}  # campaigns to be erased whose results are awaited, and since when

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=2)  # a long computation is abandoned: the next start repeats it

    def _maintain(self) -> None:
        while not self._stop.wait(_EVERY_SECONDS):
            _each(partial(self._maintenance_lock.run, partial(_each, self.close_overdue, self.show_spent, self.erase)))
        self._maintenance_lock.release()

    def _make_results(self) -> None:
        _each(warm_up)
        while not self._stop.wait(_EVERY_SECONDS):
            _each(partial(self._results_lock.run, partial(_each, self.recompute)))
        self._results_lock.release()

    def tick(self) -> None:
        """One round of everything that is due."""
        _each(self.close_overdue, self.show_spent, self.recompute, self.erase)

    def close_overdue(self) -> None:
        closed = self._writer.run_and_wait(lambda connection: close_overdue(connection, self._clock()))
        if closed:
            log.info("campaigns closed at their deadline", extra={"campaigns": closed})

    def show_spent(self) -> None:
        """Show operators which invitations are spent, where enough have been spent since the last time."""
        with self._engine.connect() as connection:
            due = spent_unseen(connection, self._settings.least_claims)
        if due:
            self._writer.run_and_wait(lambda connection: show_spent(connection, due))

    def recompute(self, at_once: bool = False) -> None:
        """Take the steps that are due, or ``at_once`` all that are possible, and compute their results."""
        with self._engine.connect() as connection:
            outdated = outdated_campaigns(connection)
        _each(*(partial(self._bring_up_to_date, campaign, at_once) for campaign in outdated))

    def _bring_up_to_date(self, campaign: OutdatedCampaign, at_once: bool) -> None:
        if campaign.waiting and (at_once or campaign.state == "closed" or self._due(campaign)):
            least = self._settings.least_claims
            self._writer.run_and_wait(lambda connection: advance(connection, campaign.key, least, self._clock()))
        with self._engine.connect() as connection:
            query = select(campaigns.c.step, campaigns.c.published).where(campaigns.c.key == campaign.key)
            step, published = connection.execute(query).one()
        if step > published and self._failed.get(campaign.key) != step:
            self._compute(campaign.key)

    def _due(self, campaign: OutdatedCampaign) -> bool:
        new = campaign.changes - campaign.computed
        enough = new >= max(_ENOUGH_CHANGES, _ENOUGH_SHARE * campaign.computed)
        if enough and time.monotonic() >= self._not_before:
            return True
        # The cuts that the next participants compare with should follow the latest answers.
        few = new >= max(self._settings.least_claims, _COMPARED_SHARE * campaign.computed)
        if few and time.monotonic() >= self._not_before and self._compares(campaign.key):
            return True
        quiet = self._clock() - campaign.changed_at
        return bool(quiet >= _QUIET_MILLISECONDS or quiet < 0)  # negative if the clock was set back

    def _compares(self, campaign_key: int) -> bool:
        with self._engine.connect() as connection:
            return has_offers(connection, campaign_key)

    def _compute(self, campaign_key: int) -> None:
        started = time.perf_counter()
        due = self._load(campaign_key)
        trouble = None
        new_offers: Offers = {}
        try:
            found = due.computation.find()
            if not all(result.fit.converged_ for result in found.values()):
                trouble = "not converged"
            content = due.computation.results({} if trouble else found, version=0, as_of=self._clock())
            if compared_tasks(due.computation.manifest):
                compared = self._boards.evaluate(campaign_key, due.computation, due.answers)
                content = with_figures(content, compared, due.computation.manifest)
                new_offers = compared.offers
        except Exception as failure:
            log.error("results could not be computed", extra={"campaign": campaign_key}, exc_info=True)
            trouble = f"failed: {type(failure).__name__}"[:100]
            content = due.computation.results({}, version=0, as_of=self._clock())
        if trouble:
            # What was published stays; the method is tried again at the next step.
            self._failed[campaign_key] = due.step
        else:
            self._failed.pop(campaign_key, None)
        version = self._writer.run_and_wait(
            partial(self._keep, due=due, content=content, trouble=trouble, new_offers=new_offers)
        )
        seconds = time.perf_counter() - started
        self._not_before = time.monotonic() + _PAUSE_FACTOR * seconds
        self._metrics.result_seconds.observe(seconds)
        log.info(
            "computation of results ended", extra={"campaign": campaign_key, "version": version, "trouble": trouble}
        )

    def _keep(
        self, connection: Connection, *, due: "_Due", content: dict[str, Any], trouble: str | None, new_offers: Offers
    ) -> int | None:
        """Publish results together with their step. If no figures could be computed yet, they hold only counts."""
        erasing = select(campaigns.c.erasing_at).where(campaigns.c.key == due.key)
        if connection.scalar(erasing) is not None:
            return None
        if trouble:
            mark_trouble(connection, due.key, trouble, self._clock())
            if not due.computation.first:
                return None
        else:
            mark_published(connection, due.key, due.step)
        keep_included(connection, due.key, due.included, due.computation.step.included)
        publish_offers(connection, due.key, new_offers, self._clock())
        if same_findings(newest_results(connection, due.key).content, encode(content)):
            return None
        return self._add_version(connection, due.key, content)

    def _add_version(self, connection: Connection, campaign_key: int, content: dict[str, Any]) -> int:
        content["version"] = next_version(connection, campaign_key)
        add_results(
            connection, campaign_key, content["version"], content["method"], content["reports"], self._clock(),
            encode(content),
        )  # fmt: skip
        return int(content["version"])

    def _load(self, campaign_key: int) -> "_Due":
        with _snapshot(self._engine) as connection:
            campaign = one_row(connection, CampaignRow, select(campaigns).where(campaigns.c.key == campaign_key))
            readings = load_readings(connection, campaign_key, campaign.cohort)
            included = load_included(connection, campaign_key)
            before = json.loads(newest_results(connection, campaign_key).content)
            manifest, least = Manifest.parse(campaign.manifest), self._settings.least_claims
            has_sets = any(part.cells_reported > 1 for part in manifest.parts)
            sets = load_sets(connection, campaign_key) if has_sets else {}
            compares = bool(compared_tasks(manifest))
            answers = counted_answers(connection, campaign_key, campaign.cohort) if compares else []
        step = next_step(included, readings, campaign.cohort, least, len(manifest.tasks))
        guarantee = json.loads(campaign.guarantee or "{}")
        known = from_stored(campaign.known) if campaign.state == "closed" else {}
        computation = Computation(
            manifest, guarantee, campaign.method, campaign.target, step, campaign.shown_reports, least, before, sets,
            known,
        )  # fmt: skip
        return _Due(campaign_key, campaign.step, included, computation, answers)

    def erase(self) -> None:
        """Erase the readings that are due. Results that could not be computed by then never will be."""
        with self._engine.connect() as connection:
            due = erasable_campaigns(connection, self._clock(), self._settings.retention_days)
        for campaign in due:
            if campaign.erasing_at is None:
                if not campaign.complete and not self._given_up(campaign):
                    continue
                begin = partial(self._begin_erasing, campaign_key=campaign.key, complete=campaign.complete)
                self._writer.run_and_wait(begin)
            while not self._writer.run_and_wait(partial(erase_some, campaign_key=campaign.key, now=self._clock())):
                if self._stop.is_set():
                    return
            self._awaited.pop(campaign.key, None)
            log.info("readings erased", extra={"campaign": campaign.key})

    def _given_up(self, campaign: ErasableCampaign) -> bool:
        """Whether computing the last results failed or is taking too long."""
        since = self._awaited.setdefault(campaign.key, time.monotonic())
        return self._failed.get(campaign.key) == campaign.step or time.monotonic() - since >= _GRACE_SECONDS

    def _begin_erasing(self, connection: Connection, campaign_key: int, complete: bool) -> None:
        begin_erasing(connection, campaign_key, self._clock())
        if complete:
            return
        content = json.loads(newest_results(connection, campaign_key).content)
        when = moment(self._clock())
        text = f"The readings were erased on {when}, before the last results could be computed from them."
        content["warnings"] = [*content["warnings"], {"code": "erased_early", "text": text}]
        self._add_version(connection, campaign_key, content)


@dataclass(frozen=True)
class _Due:
    """A step of a campaign whose results are to be computed."""

    key: int
    step: int
    included: IncludedClaims  # what the last publication is based on
    computation: Computation
    answers: list[CountedAnswers]  # to comparisons


def _each(*parts: Callable[[], None]) -> None:
    """Run jobs one by one, even if one fails. A failed job is repeated in the next round."""
    for part in parts:
        try:
            part()
        except Exception:  # the database cannot be reached, or the server is stopping
            log.warning("a background job failed and will be repeated", exc_info=True)


def _snapshot(engine: Engine) -> Connection:
    """A connection with a consistent snapshot: the campaign and its readings belong together."""
    if engine.dialect.name == "postgresql":
        return engine.connect().execution_options(isolation_level="REPEATABLE READ")
    return engine.connect()
