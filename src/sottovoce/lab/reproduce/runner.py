"""Runs experiments in several processes, keeps finished work, and resumes after an interruption."""

import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from functools import cached_property
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import sottovoce
from sottovoce.errors import BadParameter
from sottovoce.lab.reproduce import FIGURES, named
from sottovoce.lab.reproduce.experiment import Experiment, ExperimentOutcome, Parameters, Reproduction, Setting
from sottovoce.lab.reproduce.page import write_page
from sottovoce.lab.reproduce.style import draw_files, require_matplotlib
from sottovoce.lab.reproduce.tables import Table
from sottovoce.progress import Progress

# The code with which results are computed: if it changes, kept results are computed again.
_PACKAGES = ("claims", "engines", "privacy", "discovery", "comparisons", "worlds", "planning")
_SHARED = tuple(f"lab/reproduce/{name}.py" for name in ("experiment", "tables", "encrypted", "answer_sets"))


def reproduce(
    names: Sequence[str],
    out: str | Path,
    setting: Setting,
    processes: int | None = None,
    progress: Progress[str, int, int] | None = None,
) -> Reproduction:
    """Make figures (PNG, SVG, CSV) and the page that shows them; all of them if no names are given.

    ``progress`` gets what was finished last, how many pieces are done, and how many there are.

    Finished pieces of work are kept in the folder's ``.cache`` and not done again. The numbers do not depend on how
    many processes work (times are measured separately, after the rest).
    """
    if processes is not None and processes < 1:
        raise BadParameter(f"processes={processes}: at least one is needed; leave it out for one per core")
    require_matplotlib()
    asked = {named(name).name for name in names or FIGURES}
    wanted = [named(name) for name in FIGURES if name in asked]
    out = Path(out)
    left_out = {one.name: why for one in wanted if (why := one.missing())}
    works = [_Work(one, one.tasks(setting), out / ".cache") for one in wanted if one.name not in left_out]
    (out / ".cache").mkdir(parents=True, exist_ok=True)

    def announce(what: str) -> None:
        if progress is not None:
            progress(what, sum(work.done for work in works), sum(len(work.tasks) + 1 for work in works))

    announce("starting")
    computed = sum(len(work.open) for work in works)
    with _pool(processes or _cores()) as pool:
        _run_together([work for work in works if not work.experiment.exclusive], pool, out, announce)
    for work in works:
        if work.experiment.exclusive:
            for place in work.open:
                work.keep(place, work.experiment.run(work.tasks[place]))
                announce(work.experiment.title)
            draw_files(work.experiment, work.table, out)
            work.drawn = True
            announce(work.experiment.title)
    outcomes = [ExperimentOutcome(work.experiment, work.table, work.experiment.verdict(work.table)) for work in works]
    unused = setting.unused([work.experiment for work in works])
    made = Reproduction(out, setting, outcomes, left_out, computed, unused)
    write_page(made)
    return made


class _Work:
    """An experiment, its pieces of work, and the rows of those that are finished."""

    def __init__(self, experiment: Experiment, tasks: list[Parameters], folder: Path) -> None:
        self.experiment = experiment
        self.tasks = tasks
        self.drawn = False
        self._file = folder / f"{experiment.name}.jsonl"
        code = _fingerprint(experiment)
        self._keys = [_digest(json.dumps([experiment.name, task, code], sort_keys=True).encode()) for task in tasks]
        self._kept = _read_kept(self._file)

    @property
    def open(self) -> list[int]:
        """Places of the tasks that are still to be done."""
        return [place for place, key in enumerate(self._keys) if key not in self._kept]

    @property
    def done(self) -> int:
        return len(self.tasks) - len(self.open) + self.drawn

    def keep(self, place: int, rows: Table) -> None:
        key = self._keys[place]
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "rows": rows}) + "\n")
        self._kept[key] = rows

    @cached_property
    def table(self) -> Table:
        return self.experiment.collect([row for key in self._keys for row in self._kept[key]])


def _run_together(works: list[_Work], pool: ProcessPoolExecutor, out: Path, announce: Callable[[str], None]) -> None:
    """Compute what is still missing, and draw each figure as soon as its table is complete."""
    waiting: dict[Future[Any], tuple[_Work, int | None]] = {}

    def draw_if_whole(work: _Work) -> None:
        if not work.open:
            waiting[pool.submit(draw_files, work.experiment, work.table, out)] = (work, None)

    for work in works:
        for number in work.open:
            waiting[pool.submit(work.experiment.run, work.tasks[number])] = (work, number)
        draw_if_whole(work)
    while waiting:
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            work, place = waiting.pop(future)
            result = future.result()
            if place is None:
                work.drawn = True
            else:
                work.keep(place, result)
                draw_if_whole(work)
            announce(work.experiment.title)


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that start clean (threads do not survive a fork) and leave interruptions to this one."""
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _start_worker)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its parent ends: otherwise it would wait for work forever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read_kept(path: Path) -> dict[str, Table]:
    kept = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # cut off by an interruption
                continue
            kept[entry["key"]] = entry["rows"]
    return kept


def _fingerprint(experiment: Experiment) -> str:
    """The version, and the code that results depend on."""
    package = Path(sottovoce.__file__).parent
    files = sorted(path for name in _PACKAGES for path in (package / name).rglob("*.py"))
    own = package.joinpath(*type(experiment).__module__.split(".")[1:]).with_suffix(".py")
    code = b"".join(path.read_bytes() for path in (*files, *(package / name for name in _SHARED), own))
    return f"{sottovoce.__version__} {_digest(code)}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
