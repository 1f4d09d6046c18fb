"""The one writer: gathers what is to be stored, commits it together, and only then says that it is stored.

A commit that is safe on the disk costs milliseconds, whatever it holds. So reports that arrive within a few of them
share one (group commit). All other writes go the same way, each in a savepoint of its own: with one writer, nothing
waits for a lock, and what is judged in a transaction is still true when it commits.

Gathering happens on the event loop and committing in a thread, one batch at a time. Handing over single reports would
wake the thread for each, and two threads that wake each other spend their time on the interpreter's lock.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from sottovoce.protocol.problems import Problem
from sottovoce.server.clock import Clock
from sottovoce.server.metrics import Metrics
from sottovoce.server.storage.reports import Receipt, ReportStore, Submission

T = TypeVar("T")
log = logging.getLogger("sottovoce.server.writer")


@dataclass(slots=True, eq=False)
class _Report:
    submission: Submission
    answer: "asyncio.Future[Receipt]"

    @property
    def rows(self) -> int:
        return 1 + len(self.submission.report.tasks)


@dataclass(slots=True, eq=False)
class _Action(Generic[T]):
    apply: Callable[[Connection], T]
    answer: "asyncio.Future[T]"
    rows: int = 1


_Item: TypeAlias = _Report | _Action[Any]
_Outcomes: TypeAlias = list[tuple[_Item, Any]]  # what to answer, or an exception


class Writer:
    """Owns all writing to the database. Its methods are for the event loop, but for `run_and_wait`."""

    def __init__(
        self, engine: Engine, clock: Clock, metrics: Metrics, *, rows: int, milliseconds: float, waiting: int
    ) -> None:
        self._engine = engine.execution_options(write=True)
        self._clock = clock
        self._metrics = metrics
        self._rows = rows
        self._seconds = milliseconds / 1000
        self._most_waiting = waiting
        self._store = ReportStore()
        self._waiting: list[_Item] = []
        self._waiting_rows = 0
        self._due = False  # the first of those waiting has waited long enough
        self._busy = False
        self._open = False
        self._batches: SimpleQueue[list[_Item] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="writer")
        metrics.queue_depth.set_function(lambda: len(self._waiting))

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._idle = asyncio.Event()
        self._idle.set()
        self._open = True
        self._thread.start()

    async def close(self) -> None:
        """Store what is waiting, then stop."""
        if not self._open:
            return
        self._open = False
        self._due = True
        self._hand_over()
        await self._idle.wait()
        self._batches.put(None)
        self._thread.join()

    def submit(self, submission: Submission) -> "asyncio.Future[Receipt]":
        """Store a report; the answer comes after the commit."""
        report = _Report(submission, self._loop.create_future())
        self._add(report)
        return report.answer

    def run(self, apply: Callable[[Connection], T]) -> "asyncio.Future[T]":
        """Do something in a transaction; the answer comes after the commit."""
        action = _Action(apply, self._loop.create_future())
        self._add(action)
        return action.answer

    def run_and_wait(self, apply: Callable[[Connection], T]) -> T:
        """The same for other threads."""

        async def on_the_loop() -> T:
            return await self.run(apply)

        return asyncio.run_coroutine_threadsafe(on_the_loop(), self._loop).result()

    def _add(self, item: _Item) -> None:
        if not self._open:
            raise Problem("unavailable", "the server is stopping", retry_after=5)
        if len(self._waiting) >= self._most_waiting:
            raise Problem("unavailable", f"over {self._most_waiting:,} reports are waiting to be stored", retry_after=5)
        if not self._waiting:
            self._loop.call_later(self._seconds, self._fall_due)
        self._waiting.append(item)
        self._waiting_rows += item.rows
        if self._waiting_rows >= self._rows:
            self._fall_due()

    def _fall_due(self) -> None:
        self._due = True
        self._hand_over()

    def _hand_over(self) -> None:
        """Give the thread what has waited long enough, unless it is at work."""
        if self._busy or not self._due or not self._waiting:
            return
        rows, count = 0, 0
        while count < len(self._waiting) and rows < self._rows:
            rows += self._waiting[count].rows
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        self._waiting_rows -= rows
        self._due = bool(self._waiting)
        self._busy = True
        self._idle.clear()
        self._batches.put(batch)

    def _tell(self, outcomes: _Outcomes) -> None:
        """Give everybody his answer, and the thread its next batch."""
        self._busy = False
        self._hand_over()
        if not self._busy:
            self._idle.set()
        for item, outcome in outcomes:
            if item.answer.done():  # the client has gone
                continue
            if isinstance(outcome, Exception):
                item.answer.set_exception(outcome)
            else:
                item.answer.set_result(outcome)

    def _work(self) -> None:
        while (batch := self._batches.get()) is not None:
            self._loop.call_soon_threadsafe(self._tell, self._commit(batch))

    def _commit(self, batch: Sequence[_Item]) -> _Outcomes:
        """Each with its outcome: what to answer, or an exception."""
        try:
            started = time.perf_counter()
            with self._engine.begin() as connection:
                outcomes = self._apply(connection, batch)
            self._metrics.batch_reports.observe(sum(isinstance(item, _Report) for item in batch))
            self._metrics.commit_seconds.observe(time.perf_counter() - started)
            return outcomes
        except Exception as failure:
            outage = as_problem(failure)
            if outage is not None or len(batch) == 1:
                log.error("nothing stored", extra={"items": len(batch)}, exc_info=True)
                return [(item, as_problem(failure) or Problem("internal")) for item in batch]
            # One of them is at fault, or another process was faster: each alone, so that the others do not suffer.
            log.warning("batch divided", extra={"kind": type(failure).__name__, "items": len(batch)})
            return [outcome for item in batch for outcome in self._commit([item])]

    def _apply(self, connection: Connection, batch: Sequence[_Item]) -> _Outcomes:
        reports = [item for item in batch if isinstance(item, _Report)]
        verdicts = self._store.store(connection, [item.submission for item in reports], self._clock())
        outcomes: _Outcomes = list(zip(reports, verdicts, strict=True))
        for item in batch:
            if isinstance(item, _Action):
                try:
                    with connection.begin_nested():
                        outcomes.append((item, item.apply(connection)))
                except Problem as problem:
                    outcomes.append((item, problem))
        return outcomes


def as_problem(failure: Exception) -> Problem | None:
    """A failure of the database itself, as callers are told; None if it is about what they sent."""
    if isinstance(failure, DBAPIError) and not isinstance(failure, IntegrityError):
        words = str(failure.orig).lower()
        # PostgreSQL's class 53100; SQLite's SQLITE_FULL, and its I/O error at a limit of the file's size.
        if getattr(failure.orig, "sqlstate", "") == "53100" or "disk is full" in words or "disk i/o" in words:
            return Problem("storage_full", "the database has no room left", retry_after=60)
    lost = isinstance(failure, DBAPIError) and failure.connection_invalidated
    if lost or isinstance(failure, OperationalError | InterfaceError | PoolTimeout):
        return Problem("unavailable", "the database cannot be reached", retry_after=5)
    return None
