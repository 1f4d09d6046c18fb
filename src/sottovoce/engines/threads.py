"""Threads that share the work of a pass."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

from sottovoce.errors import BadParameter

Item = TypeVar("Item")
Result = TypeVar("Result")


def usual_threads() -> int:
    """SOTTOVOCE_THREADS, or the number of cores that this process may use."""
    requested = os.environ.get("SOTTOVOCE_THREADS", "0").strip() or "0"
    if not (requested.isascii() and requested.isdigit()):
        raise BadParameter(
            f"SOTTOVOCE_THREADS={requested!r}: it must be a whole number; set it to 0, or not at all, to use all cores"
        )
    if int(requested):
        return int(requested)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> Iterator[Result]:
    """Results in the order of the items. The threads, including the calling one, process one item after another.

    After an error, no thread begins another item, and none is left running.
    """
    if threads == 1 or len(items) == 1:
        yield from map(work, items)
        return
    waiting = deque(enumerate(items))
    done: dict[int, Result] = {}

    def take() -> bool:
        try:
            place, item = waiting.popleft()
        except IndexError:
            return False
        try:
            done[place] = work(item)
        except BaseException:
            waiting.clear()
            raise
        return True

    def take_all() -> None:
        while take():
            pass

    helpers = [_pool(threads - 1).submit(take_all) for _ in range(threads - 1)]
    next_number = 0
    try:
        while take():
            while next_number in done:
                yield done.pop(next_number)
                next_number += 1
        for helper in helpers:
            helper.result()
        while next_number in done:
            yield done.pop(next_number)
            next_number += 1
    finally:
        waiting.clear()
        wait(helpers)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="sottovoce")


# A forked child has the pool's record of its threads, but not the threads themselves.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
