"""The only writer: collects what is to be stored, commits it together, and confirms it only then.

A durable commit takes milliseconds, whatever it holds. So reports that arrive within a few milliseconds share one
(group commit). All other writes go the same way, each in a savepoint of its own.

On SQLite there is no other writer. On PostgreSQL there may be other processes: rows are locked before they are judged,
so that what is judged in a transaction is still true when it commits, and a transaction that conflicts with another
process is repeated.

Collecting happens on the event loop and committing in a thread, one batch at a time. Handing over single reports would
wake the thread for each, and two threads that wake each other spend their time on the interpreter's lock.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from sottovoce.protocol.problems import Problem
from sottovoce.server.clock import Clock
from sottovoce.server.fast.wire import Submission
from sottovoce.server.metrics import Metrics
from sottovoce.server.storage.engine import empty_log, take_erased
from sottovoce.server.storage.reports import ConcurrentChange, Receipt, ReportStore

T = TypeVar("T")
# PostgreSQL's serialization failure, deadlock, and rows that have appeared or gone since they were looked up.
_CONFLICTS = ("40001", "40P01", "23505", "23503")
_PAUSES = (0.0, 0.01, 0.05, 0.2, 0.5)  # seconds before the next attempt
_LOG_SECONDS = 1.0  # before the next attempt to empty the log
log = logging.getLogger("sottovoce.server.writer")


@dataclass(slots=True, eq=False)
class _Action(Generic[T]):
    apply: Callable[[Connection], T]
    answer: "asyncio.Future[T]"
    rows: int = 1


_Item: TypeAlias = Submission | _Action[Any]
_Outcomes: TypeAlias = list[tuple[_Item, Any]]  # the response, or an exception


class Writer:
    """Owns all writing to the database. Its methods, except `run_and_wait`, are for the event loop."""

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
        self._log_is_clean = False  # a server that was killed may have left erased readings in the log
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
        """Store a report; returns after the commit."""
        submission.answer = self._loop.create_future()
        self._add(submission)
        return submission.answer

    def run(self, apply: Callable[[Connection], T]) -> "asyncio.Future[T]":
        """Run an action in a transaction; returns after the commit."""
        action = _Action(apply, self._loop.create_future())
        self._add(action)
        return action.answer

    def run_and_wait(self, apply: Callable[[Connection], T]) -> T:
        """Like `run`, for other threads."""

        async def on_the_loop() -> T:
            return await self.run(apply)

        return asyncio.run_coroutine_threadsafe(on_the_loop(), self._loop).result()

    def _add(self, item: _Item) -> None:
        if not self._open:
            raise Problem("unavailable", "the server is stopping", retry_after=5)
        if len(self._waiting) >= self._most_waiting:
            raise Problem(
                "unavailable",
                f"too many reports are waiting to be stored: at most {self._most_waiting:,} may",
                retry_after=5,
            )
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
        """Give the thread what has waited long enough, unless it is busy."""
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

    def _answer(self, outcomes: _Outcomes) -> None:
        """Answer everybody, and give the thread its next batch."""
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
        while True:
            try:
                batch = self._batches.get(timeout=None if self._log_is_clean else _LOG_SECONDS)
            except Empty:
                self._log_is_clean = empty_log(self._engine)
                continue
            if batch is None:
                return
            outcomes = self._commit(batch)
            if not self._log_is_clean:
                self._log_is_clean = empty_log(self._engine)
            self._loop.call_soon_threadsafe(self._answer, outcomes)

    def _commit(self, batch: Sequence[_Item]) -> _Outcomes:
        """Commit a batch; each item gets its outcome: the response, or an exception."""
        reports = [item for item in batch if isinstance(item, Submission)]
        actions = [item for item in batch if isinstance(item, _Action)]
        # In two transactions: reports lock their senders and then their campaign. If the locks of actions came after
        # these, two processes could wait for each other.
        return [outcome for some in (reports, actions) if some for outcome in self._commit_together(some)]

    def _commit_together(self, batch: Sequence[_Item]) -> _Outcomes:
        for pause in _PAUSES:
            try:
                return self._transact(batch)
            except Exception as found:
                failure = found
                if not _is_conflict(found):
                    break
                log.info("conflict with another process", extra={"kind": type(found).__name__, "items": len(batch)})
                time.sleep(pause * random.uniform(0.5, 1))
        outage = as_problem(failure)
        if outage is not None or len(batch) == 1:
            log.error("a batch could not be stored", extra={"items": len(batch)}, exc_info=failure)
            return [(item, outage or Problem("internal")) for item in batch]
        # One of the items causes the failure: try each on its own, so that the others are stored.
        log.warning(
            "a batch failed, so its items are stored one by one",
            extra={"kind": type(failure).__name__, "items": len(batch)},
        )
        return [outcome for item in batch for outcome in self._commit_together([item])]

    def _transact(self, batch: Sequence[_Item]) -> _Outcomes:
        started = time.perf_counter()
        with self._engine.begin() as connection:
            outcomes = self._apply(connection, batch)
            erased = take_erased(connection)
        if erased:
            self._log_is_clean = False
        self._metrics.batch_reports.observe(sum(isinstance(item, Submission) for item in batch))
        self._metrics.commit_seconds.observe(time.perf_counter() - started)
        return outcomes

    def _apply(self, connection: Connection, batch: Sequence[_Item]) -> _Outcomes:
        reports = [item for item in batch if isinstance(item, Submission)]
        verdicts = self._store.store(connection, reports, self._clock())
        outcomes: _Outcomes = list(zip(reports, verdicts, strict=True))
        for item in batch:
            if isinstance(item, _Action):
                try:
                    with connection.begin_nested():
                        outcomes.append((item, item.apply(connection)))
                except Problem as problem:
                    outcomes.append((item, problem))
        return outcomes


def _is_conflict(failure: Exception) -> bool:
    """Whether another process changed the same rows at the same moment; a second attempt sees its changes."""
    return isinstance(failure, ConcurrentChange) or (
        isinstance(failure, DBAPIError) and getattr(failure.orig, "sqlstate", None) in _CONFLICTS
    )


def as_problem(failure: Exception) -> Problem | None:
    """The problem that callers get for a failure of the database itself; None if what they sent is the cause."""
    if isinstance(failure, DBAPIError) and not isinstance(failure, IntegrityError):
        words = str(failure.orig).lower()
        # PostgreSQL's class 53100; SQLite's SQLITE_FULL, and its I/O error at a limit of the file's size.
        if getattr(failure.orig, "sqlstate", "") == "53100" or "disk is full" in words or "disk i/o" in words:
            return Problem("storage_full", "the database has no space left", retry_after=60)
        if _is_conflict(failure):
            return Problem("unavailable", "other servers were changing the same rows", retry_after=1)
    lost = isinstance(failure, DBAPIError) and failure.connection_invalidated
    if lost or isinstance(failure, OperationalError | InterfaceError | PoolTimeout):
        return Problem("unavailable", "the database cannot be reached", retry_after=5)
    return None
