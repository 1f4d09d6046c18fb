"""The disk engine: streams blocks that together may be larger than memory."""

from collections.abc import Iterator

from sottovoce.claims.blocks import Block, Pack
from sottovoce.engines.blockwise import PackEngine, PartialResult, Work, compute
from sottovoce.engines.threads import in_threads, usual_threads


class DiskEngine(PackEngine):
    """Passes over the blocks of a pack, each mapped into memory while it is processed and released afterwards.

    Meanwhile, the next block is read ahead. Memory holds arrays by user and by object, sums by user for each run of
    blocks, and as many blocks as there are threads.
    """

    def __init__(self, pack: Pack, threads: int | None = None) -> None:
        super().__init__(pack)
        self.threads = max(1, min(threads or usual_threads(), len(self.runs)))

    def map(self, work: Work) -> Iterator[PartialResult]:
        return in_threads(
            lambda run: compute(self._stream(run), work.part(*self.objects_of(run))), self.runs, self.threads
        )

    def _stream(self, run: range) -> Iterator[Block]:
        for number in run:
            if number + 1 in run:
                self.pack.read_ahead(number + 1)
            yield self.pack.block(number)
