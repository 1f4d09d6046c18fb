"""The disk engine: streams blocks that together may be larger than memory."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import wait

from sottovoce.claims.blocks import Block, Pack
from sottovoce.engines.blockwise import BlockwiseEngine, Part, Work, compute
from sottovoce.engines.memory import pool, usual_threads


class DiskEngine(BlockwiseEngine):
    """Passes over the blocks of a pack, each mapped into memory while it is computed and let go after.

    The next block is read ahead meanwhile. In memory are arrays by user and by object, sums by user for each run
    of blocks, and as many blocks as there are threads.
    """

    def __init__(self, pack: Pack, threads: int | None = None) -> None:
        super().__init__(pack)
        self.threads = max(1, min(threads or usual_threads(), len(self.runs)))

    def map(self, work: Work) -> Iterator[Part]:
        def over(run: range) -> Part:
            return compute(self._stream(run), work.part(*self.objects_of(run)))

        if self.threads == 1:
            return map(over, self.runs)
        return self._in_threads(over)

    def _in_threads(self, over: Callable[[range], Part]) -> Iterator[Part]:
        waiting = deque(pool(self.threads).submit(over, run) for run in self.runs)
        try:
            while waiting:
                yield waiting.popleft().result()
        finally:  # after an error no thread goes on reading the pack: its files may be put right, or away
            for run in waiting:
                run.cancel()
            wait(waiting)

    def _stream(self, run: range) -> Iterator[Block]:
        for number in run:
            if number + 1 in run:
                self.pack.read_ahead(number + 1)
            yield self.pack.block(number)
