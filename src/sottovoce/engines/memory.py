"""The memory engine: threads over blocks of claims that fit in memory."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.claims.blocks import ObjectBlock
from sottovoce.engines.blockwise import RUNS, BlockwiseEngine, PartialResult, Work, compute
from sottovoce.engines.threads import in_threads, usual_threads

# If a table of users (weight and loss) fits in a core's cache beside the claims, iterations in the order of objects are
# fastest. If it does not, its scattered additions miss the cache, and blocks in the order of users are faster, above
# all if claims have their own weights. Nanoseconds of one core per claim in an iteration of CRH and of NoiseAware, with
# 10⁷ claims about 10⁵ objects and 2 MB of cache per core:
#
#   users              5·10⁴          10⁵         3·10⁵
#   objects first     2.6, 6.2     3.8, 18      6.5, 21
#   users first       3.6, 6.8     3.6, 7.1     3.8, 13
_SCATTER_USERS = 1 << 16
# A run has its own table of users, which one thread adds to the others, so it should have many more claims than users.
# It also costs about ten microseconds of Python, which should be little compared with the time for its claims. But with
# fewer runs than cores, some cores would be idle.
_CLAIMS_PER_RUN = 1 << 17
_CLAIMS_PER_USER = 8
_LEAST_RUNS = 4
# For blocks in the order of users: each claim should find its user near that of the claim before, and the block's
# objects in the core's cache.
_LEAST_BLOCK, _LARGEST_BLOCK = 1 << 18, 1 << 21
# Below this many claims, handing work to a thread costs more than it saves.
_CLAIMS_PER_THREAD = 1 << 15


class MemoryEngine(BlockwiseEngine):
    """Passes over claims in memory.

    ``threads`` defaults to SOTTOVOCE_THREADS, or else to the number of cores that this process may use; ``ages`` says
    how many rounds of claims ago each object was last claimed.
    """

    summaries_at_once = False

    def __init__(self, claims: Claims, threads: int | None = None, ages: NDArray[np.int64] | None = None) -> None:
        super().__init__(claims, claims.n_users, claims.n_objects)
        self.object_ages = np.zeros(claims.n_objects, np.int64) if ages is None else ages
        self.threads = max(1, min(threads or usual_threads(), self.n_claims // _CLAIMS_PER_THREAD))
        self._runs = _runs(claims, self.n_users > _SCATTER_USERS and claims.kind == "number")
        self._blocks = [(block,) for run in self._runs for block in run]

    def map(self, work: Work) -> Iterator[PartialResult]:
        def over(run: Sequence[ObjectBlock]) -> PartialResult:
            mine = work.part(run[0].first_object, run[-1].first_object + run[-1].n_objects)
            return compute(run, mine, together=self.kind == "number" and not run[0].iterates_by_user)

        return in_threads(over, self._runs if work.sums else self._blocks, self.threads)


def _runs(claims: Claims, by_user: bool) -> list[tuple[ObjectBlock, ...]]:
    """Runs of about equally many claims: blocks of whole objects that are computed one by one into the same sums.

    They depend on the claims alone, never on the number of threads.
    """
    size = len(claims.values)
    fitting = size // (_CLAIMS_PER_USER * claims.n_users)
    runs = max(1, min(RUNS, size // _CLAIMS_PER_RUN, max(_LEAST_RUNS, fitting)))
    runs = 1 << (runs.bit_length() - 1)  # so that 2 or 4 threads have the same amount to do
    each = 1
    if by_user:
        each = -(-size // (runs * min(max(2 * claims.n_users, _LEAST_BLOCK), _LARGEST_BLOCK)))
    edges = np.searchsorted(claims.offsets, size * np.arange(runs * each + 1) // (runs * each))
    blocks = [_block(claims, first, last, by_user) for first, last in pairwise(np.unique(edges).tolist())]
    return [tuple(blocks[place : place + each]) for place in range(0, len(blocks), each)]


def _block(claims: Claims, first: int, last: int, by_user: bool) -> ObjectBlock:
    begin, end = int(claims.offsets[first]), int(claims.offsets[last])
    return ObjectBlock(
        first, last - first, begin, by_user,
        claims.offsets[first : last + 1] - begin, claims.users[begin:end], claims.values[begin:end], claims.n_users,
    )  # fmt: skip
