"""The disk engine: streams blocks that together may be larger than memory."""

from collections.abc import Iterator

from sottovoce.claims.blocks import Block, Pack
from sottovoce.engines.blockwise import BlockwiseEngine, Part, Work, compute
from sottovoce.engines.memory import pool, usual_threads


class DiskEngine(BlockwiseEngine):
    """Passes over the blocks of a pack, each mapped into memory while it is computed and let go after.

    The next block is read ahead meanwhile. In memory are arrays by user and by object, a table of users for each run
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
        return pool(self.threads).map(over, self.runs)

    def _stream(self, run: range) -> Iterator[Block]:
        for number in run:
            if number + 1 in run:
                self.pack.read_ahead(number + 1)
            yield self.pack.block(number)
