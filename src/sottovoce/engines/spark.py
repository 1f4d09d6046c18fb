"""The Spark engine: one task per block, on any cluster whose machines can read the folder of the pack.

Workers map blocks into memory themselves. Only arrays by user and by object go through Spark: a pass broadcasts the
arrays by user and sends the arrays by object with the task of their block; the result of a block comes back as a
`PartialResult`. A task has no side effects, and parts are added up in the order of their blocks. So a task that is run
again, or a worker that is lost, does not change a single bit of the result.
"""

import gc
import socket
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, Self

from sottovoce.claims.blocks import Pack, is_pack
from sottovoce.engines import spark_session
from sottovoce.engines.blockwise import PackEngine, PartialResult, Work, compute, joined
from sottovoce.engines.operations import Operation
from sottovoce.errors import BadParameter, ClusterError, SottovoceError, UnreadableFile

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext

# Parts are added up on the cluster, this many at a time, until the sums of the remaining parts fit into the driver.
_PARTS_AT_ONCE = 8
_DRIVER_BYTES = 1 << 26
# Spark moves a task's result in one piece, whose length is a signed 32-bit number; no pass has more than two sums.
_PIECE_BYTES = 1 << 31
_MOST_SUMS = 2

Source = tuple[str, str, int]  # folder, pack id, round
# A worker returns an error as a result: if it were raised, the task would be retried, and Java's stack would hide it.
Outcome = PartialResult | SottovoceError
Numbered = tuple[int, Outcome]


class SparkEngine(PackEngine):
    """Passes over the blocks of a pack on a Spark cluster.

    ``master`` is any that Spark accepts: ``local[4]``, ``spark://host:7077``, ``yarn``, … A session is started at the
    first pass and stopped by `close`, or at the end of a ``with`` block. If the process already has a session, it is
    used and left running.
    """

    def __init__(self, pack: Pack, master: str = "local[*]") -> None:
        super().__init__(pack)
        if 8 * _MOST_SUMS * self.n_users >= _PIECE_BYTES:
            raise BadParameter(
                f"{self.n_users:,} users: the Spark engine moves the sums of all users in one piece of at most 2 GiB, "
                f"which is enough for {_PIECE_BYTES // (8 * _MOST_SUMS) - 1:,} users; use the disk engine"
            )
        self.master = master
        self._own: SparkContext | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the session, if this engine started it."""
        if self._own is not None:
            spark_session.stop(self._own)
            self._own = None

    @cached_property
    def runs(self) -> list[range]:
        return [range(number, number + 1) for number in range(len(self.pack.manifest.blocks))]

    def map(self, work: Work) -> Iterator[PartialResult]:
        context = self._session()
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        try:
            outcomes = self._outcomes(context, work)
        except Py4JError as error:
            if _was_interrupted(error):
                raise KeyboardInterrupt from error
            raise _explained(error) from error
        for outcome in outcomes:
            if isinstance(outcome, SottovoceError):
                raise outcome
            yield outcome

    def _outcomes(self, context: "SparkContext", work: Work) -> list[Outcome]:
        """The outcomes of blocks, or of groups of consecutive blocks."""
        manifest = self.pack.manifest
        if 8 * work.sums * self.n_users >= _PIECE_BYTES:
            raise BadParameter(
                f"{work.sums} sums for each of {self.n_users:,} users: the Spark engine moves them in one piece of at "
                "most 2 GiB; use the disk engine"
            )
        source = str(self.pack.folder.resolve()), manifest.pack, manifest.round
        tasks = [(run[0], work.arrays(*self.objects_of(run))) for run in self.runs]
        shared = context.broadcast((source, replace(work, by_object=(), by_cell=(), cells=None)))
        try:
            parts = context.parallelize(tasks, len(tasks)).map(partial(_of_block, shared))
            left = len(tasks)
            while left > 1 and 8 * work.sums * self.n_users * left > _DRIVER_BYTES:
                left = -(-left // _PARTS_AT_ONCE)
                parts = _added_up(parts, left, _PARTS_AT_ONCE)
            return [outcome for _, outcome in parts.collect()]
        finally:
            shared.destroy()

    def _session(self) -> "SparkContext":
        running = spark_session.running()
        if running is not None:
            return spark_session.join(running, self.master)
        self._own = spark_session.start(self.master, self._heap())
        return self._own

    def _heap(self) -> int:
        """Bytes that Java may need at the driver: arrays sent and received, each held in a few copies."""
        return (1 << 29) + 4 * (max(_DRIVER_BYTES, 8 * _MOST_SUMS * self.n_users) + 40 * self.n_objects)


def _added_up(parts: "RDD[Numbered]", groups: int, fan: int) -> "RDD[Numbered]":
    """The sums of groups of ``fan`` consecutive parts. Spark's own tree would add them in the order of arrival."""
    return parts.map(partial(_with_group, fan)).partitionBy(groups, int).mapPartitions(_sum_of_group)


def _with_group(fan: int, part: Numbered) -> tuple[int, Numbered]:
    return part[0] // fan, part


def _sum_of_group(keyed: Iterable[tuple[int, Numbered]]) -> Iterator[Numbered]:
    together = sorted(keyed, key=lambda entry: entry[1][0])
    yield together[0][0], _sum([outcome for _, (_, outcome) in together])


def _sum(outcomes: list[Outcome]) -> Outcome:
    parts: list[PartialResult] = []
    for outcome in outcomes:
        if isinstance(outcome, SottovoceError):
            return outcome
        parts.append(outcome)
    sums = parts[0].sums.copy()
    for part in parts[1:]:
        sums += part.sums
    return PartialResult(joined([part.arrays for part in parts]), sums)


def _of_block(shared: "Broadcast[tuple[Source, Work]]", task: tuple[int, dict[str, Any]]) -> Numbered:
    """The task: what a worker does."""
    number, arrays = task
    source, work = shared.value
    try:
        part = compute([_opened(*source).block(number)], replace(work, **arrays))
    except SottovoceError as error:
        return number, error
    _settle(work.operation)
    return number, part


@lru_cache(maxsize=1)
def _opened(folder: str, name: str, round: int) -> Pack:
    """The pack, which a worker keeps from task to task, so that it checks each block once, not in each pass."""
    if not is_pack(folder):
        raise UnreadableFile(
            f"{folder}: the worker {socket.gethostname()} cannot find this pack, but workers read the blocks "
            "themselves; put it on storage that all machines mount at the same path"
        )
    pack = Pack(folder)
    if (pack.manifest.pack, pack.manifest.round) != (name, round):
        raise UnreadableFile(
            f"{folder}: the worker {socket.gethostname()} finds pack {pack.manifest.pack}, round "
            f"{pack.manifest.round}, not {name}, round {round}; a pack must not change during a run: open it again"
        )
    return pack


@cache
def _settle(operation: Operation) -> None:
    """Exclude all loaded code from garbage collection after an operation's first block.

    PySpark collects garbage after each task, and going through everything that the compiler has loaded would take
    longer than the task.
    """
    gc.collect()
    gc.freeze()


def _was_interrupted(error: BaseException) -> bool:
    """Whether an error followed from a Ctrl-C, after which there is no connection to Java any more."""
    while error.__context__ is not None:
        error = error.__context__
        if isinstance(error, KeyboardInterrupt):
            return True
    return False


def _explained(error: Exception) -> ClusterError:
    message = spark_session.reason(error)
    if "No module named 'sottovoce'" in message:
        return ClusterError(
            f"{message}: workers run the kernels themselves; install sottovoce on every machine, for the Python that "
            "PYSPARK_PYTHON names"
        )
    return ClusterError(
        f"the work failed on the cluster, even when retried: {message}; see Spark's logs there for details"
    )
