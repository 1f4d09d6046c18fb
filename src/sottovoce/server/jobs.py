"""What the server does by itself: new results, deadlines, retention. One thread, so that requests never wait for it."""

import json
import logging
import time
from functools import partial
from threading import Event, Thread

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from sottovoce.discovery import TruthDiscovery
from sottovoce.protocol.manifest import Manifest
from sottovoce.server.clock import Clock
from sottovoce.server.metrics import Metrics
from sottovoce.server.results import Computation, encode, same_findings, warm_up
from sottovoce.server.settings import Settings
from sottovoce.server.storage.campaigns import close_overdue
from sottovoce.server.storage.claims import load_readings
from sottovoce.server.storage.results import (
    add_results,
    mark_computed,
    newest_results,
    next_version,
    outdated_campaigns,
)
from sottovoce.server.storage.retention import erasable_campaigns, erase_some
from sottovoce.server.storage.tables import campaigns
from sottovoce.server.storage.writer import Writer

log = logging.getLogger("sottovoce.server.jobs")
_EVERY_SECONDS = 0.5
# Results are due when no report has come for so long: with the pause above and the computing itself, within 5 s.
_QUIET_MILLISECONDS = 2_000
# Or when so many changes have gathered, and this share of all before: while reports pour in, they come first.
_ENOUGH_CHANGES = 100
_ENOUGH_SHARE = 0.5
_PATIENCE = 10  # and then not before so many times the time that the last computation took
_FITS_KEPT = 16
_DAY = 86_400_000


class Jobs:
    """The background thread. Whatever matters is in the database, so a restart loses nothing but a head start."""

    def __init__(self, engine: Engine, writer: Writer, clock: Clock, settings: Settings, metrics: Metrics) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._stop = Event()
        self._thread = Thread(target=self._work, name="jobs", daemon=True)
        self._not_before = 0.0
        self._fits: dict[int, TruthDiscovery] = {}  # of the campaigns computed last, the newest at the end
        self._failed: dict[int, int] = {}  # campaigns whose results could not be computed, and at how many changes

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=2)  # a long computation is given up: the next start does it again

    def _work(self) -> None:
        try:
            warm_up()
        except Exception:  # results may fail likewise, and say so; deadlines and retention must not stop for that
            log.error("warming up failed", exc_info=True)
        while not self._stop.wait(_EVERY_SECONDS):
            try:
                self.tick()
            except Exception:  # the database is away, or the server is stopping: the next round, or start, does it
                log.warning("jobs put off", exc_info=True)

    def tick(self) -> None:
        """One round of everything that is due."""
        closed = self._writer.run_and_wait(lambda connection: close_overdue(connection, self._clock()))
        if closed:
            log.info("deadline passed", extra={"campaigns": closed})
        self.recompute()
        self._erase()

    def recompute(self, at_once: bool = False) -> None:
        """Compute the results that are due; all that are outdated if asked to."""
        with self._engine.connect() as connection:
            outdated = outdated_campaigns(connection)
        for campaign in outdated:
            if self._failed.get(campaign.key) == campaign.changes:
                continue
            if at_once or self._due(campaign.changes, campaign.computed, campaign.changed_at):
                self._compute(campaign.key, campaign.changes)

    def _due(self, changes: int, computed: int, changed_at: int) -> bool:
        new = changes - computed
        if new >= max(_ENOUGH_CHANGES, _ENOUGH_SHARE * computed) and time.monotonic() >= self._not_before:
            return True
        quiet = self._clock() - changed_at
        return quiet >= _QUIET_MILLISECONDS or quiet < 0  # negative: the clock was set back

    def _compute(self, campaign_key: int, changes: int) -> None:
        started = time.perf_counter()
        try:
            computation, included = self._load(campaign_key)
            found = computation.find(self._fits.get(campaign_key))
            content = computation.results(found, version=0, as_of=self._clock())
        except SQLAlchemyError:
            raise
        except Exception:
            # Results stay as they were; the next report gives the method another chance.
            self._failed[campaign_key] = changes
            log.error("results failed", extra={"campaign": campaign_key}, exc_info=True)
            return
        self._failed.pop(campaign_key, None)
        self._remember(campaign_key, None if found is None else found.fit)

        def keep(connection: Connection) -> int | None:
            mark_computed(connection, campaign_key, included)
            if same_findings(newest_results(connection, campaign_key).content, encode(content)):
                return None
            version = next_version(connection, campaign_key)
            content["version"] = version
            add_results(
                connection, campaign_key, version, content["method"], content["reports"], self._clock(), encode(content)
            )
            return version

        version = self._writer.run_and_wait(keep)
        seconds = time.perf_counter() - started
        self._not_before = time.monotonic() + _PATIENCE * seconds
        self._metrics.result_seconds.observe(seconds)
        log.info("results", extra={"campaign": campaign_key, "version": version, "reports": content["reports"]})

    def _remember(self, campaign_key: int, fit: TruthDiscovery | None) -> None:
        """The next computation begins with this one; only the campaigns computed last are remembered."""
        self._fits.pop(campaign_key, None)
        if fit is not None:
            self._fits[campaign_key] = fit
        if len(self._fits) > _FITS_KEPT:
            self._fits.pop(next(iter(self._fits)))

    def _load(self, campaign_key: int) -> tuple[Computation, int]:
        with _snapshot(self._engine) as connection:
            campaign = connection.execute(select(campaigns).where(campaigns.c.key == campaign_key)).one()
            readings = load_readings(connection, campaign_key)
        computation = Computation(
            Manifest.parse(campaign.manifest),
            json.loads(campaign.guarantee),
            campaign.method,
            readings,
            campaign.reports,
            self._settings.least_claims,
        )
        return computation, campaign.changes

    def _erase(self) -> None:
        if not self._settings.retention_days:
            return
        before = self._clock() - self._settings.retention_days * _DAY
        with self._engine.connect() as connection:
            due = erasable_campaigns(connection, before)
        for campaign_key in due:
            while not self._writer.run_and_wait(partial(erase_some, campaign_key=campaign_key, now=self._clock())):
                if self._stop.is_set():
                    return
            self._remember(campaign_key, None)
            log.info("readings erased", extra={"campaign": campaign_key})


def _snapshot(engine: Engine) -> Connection:
    """A connection that sees one moment: the campaign and its readings belong together."""
    if engine.dialect.name == "postgresql":
        return engine.connect().execution_options(isolation_level="REPEATABLE READ")
    return engine.connect()
