"""The memory engine: threads over slices of claims that fit in memory."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.engines import aware, kernels
from sottovoce.engines.base import AwareStep, AwareSweep, Floats, Step

# Losses are summed block by block and then in the order of the blocks, which depend on the claims alone:
# so the result has the same bits for any number of threads.
_BLOCKS = 32
_CLAIMS_PER_BLOCK = 1 << 14
# While a table of users (weight and loss) fits in a core's own cache, one pass in the order of the objects is fastest.
# Beyond, its scattered additions miss the cache, and a second copy of the claims in the order of users is faster.
_SCATTER_USERS = 1 << 16
# Below this many claims, handing work to a thread costs more than it saves.
_CLAIMS_PER_CHUNK = 1 << 15
# Threads that sort claims by user: each needs a table of users of its own.
_TRANSPOSING = 4
# Chunks per thread: more than one, so that a thread that gets less of its core does not keep the others waiting.
_CHUNKS = 8


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="sottovoce")


# A forked child has the pool's record of its threads, but not the threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)


class MemoryEngine:
    """Passes over claims in memory.

    Needs at most twice the memory of the claims themselves, or thrice for weighted medians of very many users.
    ``threads`` defaults to SOTTOVOCE_THREADS or to the number of cores that this process may use; ``ages`` says how
    many rounds of claims ago each object was last claimed.
    """

    def __init__(self, claims: Claims, threads: int | None = None, ages: NDArray[np.int64] | None = None) -> None:
        self.claims = claims
        self.object_ages = np.zeros(claims.n_objects, np.int64) if ages is None else ages
        self.n_claims = len(claims)
        self.n_users = claims.n_users
        self.n_objects = claims.n_objects
        self.threads = max(1, min(threads or usual_threads(), self.n_claims // _CLAIMS_PER_CHUNK))
        by_users = self.n_users > _SCATTER_USERS
        blocks = 1 if by_users else max(1, min(_BLOCKS, self.n_claims // _CLAIMS_PER_BLOCK,
                                               self.n_claims // (2 * self.n_users)))  # fmt: skip
        self._blocks = _edges(claims.offsets, blocks)
        self.chunks = max(self.threads, min(_CHUNKS * self.threads, self.n_claims // _CLAIMS_PER_CHUNK))
        self._object_edges = _edges(claims.offsets, self.chunks)
        self._losses = None if by_users else np.empty((blocks, self.n_users))
        self._by_user: _ByUser | None = None

    @property
    def user_labels(self) -> NDArray[Any]:
        return self.claims.user_labels

    @property
    def object_labels(self) -> NDArray[Any]:
        return self.claims.object_labels

    @property
    def claims_per_user(self) -> NDArray[np.int64]:
        return self.claims.claims_per_user

    @property
    def claims_per_object(self) -> NDArray[np.int64]:
        return self.claims.claims_per_object

    def means(self) -> Floats:
        out = np.empty(self.n_objects)
        self._over_objects(lambda first, last: kernels.means(first, last, *self._numbers, out))
        return out

    def medians(self) -> Floats:
        return self._medians

    @cached_property
    def _medians(self) -> Floats:
        out = np.empty(self.n_objects)
        self._over_objects(lambda first, last: kernels.medians(first, last, *self._numbers, out))
        return out

    def spreads(self) -> Floats:
        center, out = self.means(), np.empty(self.n_objects)
        self._over_objects(lambda first, last: kernels.spreads(first, last, *self._numbers, center, out))
        return out

    def deviations(self) -> Floats:
        center, out = self.medians(), np.empty(self.n_objects)
        self._over_objects(lambda first, last: kernels.deviations(first, last, *self._numbers, center, out))
        return out

    def comparable(self) -> NDArray[np.int64]:
        if (self.claims_per_object > 1).all():
            return self.claims_per_user
        return self.user_sums((self.claims_per_object > 1).astype(np.float64)).astype(np.int64)

    def user_sums(self, factor: Floats) -> Floats:
        sums = np.zeros(self.n_users)
        kernels.user_sums(0, self.n_objects, self.claims.offsets, self.claims.users, factor, sums)
        return sums

    def score(self, step: Step, truths: Floats) -> Floats:
        return self._score(step, (truths - step.center) * step.unit)

    def sweep(self, step: Step, weights: Floats, truths: Floats) -> tuple[Floats, Floats, float]:
        moved = np.empty(self.n_objects)
        units = (weights, step.center, step.unit, step.spread)
        prior = (step.prior_weight, step.prior_mean)
        if step.average == "mean" and self._losses is not None:
            moves = self._over_blocks(
                lambda first, last, losses: kernels.sweep_means(
                    first, last, *self._rows, *units, *prior, truths, moved, losses
                ),
                self._blocks,
                self._losses,
            )
            return moved, self._losses.sum(axis=0), max(moves)
        scaled = self._scaled
        if step.average == "mean":
            moves = self._over_objects(
                lambda first, last: kernels.weighted_means(
                    first, last, *self._rows, *units, *prior, truths, moved, scaled
                )
            )
        else:
            order = self._order
            moves = self._over_objects(
                lambda first, last: kernels.weighted_medians(
                    first, last, *self._rows, order, *units, truths, moved, scaled
                )
            )
        return moved, self._score(step, scaled), max(moves)

    def precision(self, truths: Floats, weights: Floats) -> tuple[Floats, Floats]:
        effective, variance = np.empty(self.n_objects), np.empty(self.n_objects)
        self._over_objects(
            lambda first, last: kernels.precision(first, last, *self._rows, weights, truths, effective, variance)
        )
        return effective, variance

    def sweep_aware(
        self, step: AwareStep, quality: Floats | tuple[NDArray[np.intp], Floats, Floats], truths: Floats
    ) -> AwareSweep:
        edges = self._aware_blocks
        moved, precision, misfit = (np.empty(self.n_objects) for _ in range(3))
        squares, counts = (np.empty((len(edges) - 1, self.n_users)) for _ in range(2))
        if step.lookup is None:
            moves = self._over_blocks(
                lambda first, last, *sums: aware.sweep_normal(
                    first, last, *self._rows, quality, step.center, step.unit, step.spread, step.known, step.tail,
                    truths, moved, precision, misfit, *sums,
                ),
                edges, squares, counts,
            )  # fmt: skip
        else:
            look = step.lookup
            cells, places, information = quality
            moves = self._over_blocks(
                lambda first, last, *sums: aware.sweep_fresh(
                    first, last, *self._rows, cells, places, information, look.table, look.inliers, look.step,
                    step.center, step.spread, step.known, truths, moved, precision, *sums,
                ),
                edges, squares, counts,
            )  # fmt: skip
        return AwareSweep(moved, precision, misfit, squares.sum(axis=0), counts.sum(axis=0), max(moves))

    @cached_property
    def _aware_blocks(self) -> NDArray[np.int64]:
        """Blocks, each with two tables of users, that together take no more room than the claims."""
        fitting = self.n_claims // (2 * self.n_users)
        return _edges(self.claims.offsets, max(1, min(_BLOCKS, self.n_claims // _CLAIMS_PER_BLOCK, fitting)))

    def weighted_squares(self, truths: Floats, factor: Floats) -> Floats:
        out = np.empty(self.n_objects)
        self._over_objects(lambda first, last: aware.weighted_squares(first, last, *self._rows, truths, factor, out))
        return out

    def object_sums(self, factor: Floats) -> Floats:
        out = np.empty(self.n_objects)
        self._over_objects(
            lambda first, last: kernels.object_sums(first, last, self.claims.offsets, self.claims.users, factor, out)
        )
        return out

    def weighted_means(self, weights: Floats) -> Floats:
        out, ones, zeros = np.empty(self.n_objects), np.ones(self.n_objects), np.zeros(self.n_objects)
        self._over_objects(
            lambda first, last: kernels.weighted_means(
                first, last, *self._rows, weights, self._medians, ones, ones, 0.0, 0.0, zeros, out, self._scaled
            )
        )
        return out

    def sample(self, truths: Floats, most: int) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats]:
        places = np.arange(0, self.n_claims, max(1, self.n_claims // most))
        objects = np.searchsorted(self.claims.offsets, places, "right") - 1
        return objects, self.claims.users[places], self.claims.values[places] - truths[objects]

    def _score(self, step: Step, scaled_truths: Floats) -> Floats:
        absolute = step.average == "median"
        table = self._losses
        if table is not None:
            self._over_blocks(
                lambda first, last, losses: kernels.score_objects(
                    first, last, *self._rows, step.center, step.unit, absolute, scaled_truths, losses
                ),
                self._blocks,
                table,
            )
            return np.asarray(table.sum(axis=0))
        if self._by_user is None or self._by_user.step is not step:
            self._by_user = None  # let go of the old copy before making the new one
            self._by_user = _ByUser(self, step)
        copy, losses = self._by_user, np.empty(self.n_users)
        self.run(
            lambda first, last: kernels.score_users(
                first, last, copy.offsets, copy.objects, copy.scaled, absolute, scaled_truths, losses
            ),
            copy.edges,
        )
        return losses

    @property
    def _numbers(self) -> tuple[NDArray[np.int64], Floats]:
        return self.claims.offsets, self.claims.values

    @property
    def _rows(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
        return self.claims.offsets, self.claims.users, self.claims.values

    @cached_property
    def _order(self) -> NDArray[np.int32]:
        order = np.empty(self.n_claims, np.int32)
        self._over_objects(lambda first, last: kernels.order_by_value(first, last, *self._numbers, order))
        return order

    @cached_property
    def _scaled(self) -> Floats:
        return np.empty(self.n_objects)

    def _over_objects(self, work: Callable[[int, int], Any]) -> list[Any]:
        return self.run(work, self._object_edges)

    def _over_blocks(self, work: Callable[..., Any], edges: NDArray[np.int64], *tables: Floats) -> list[Any]:
        """Each block of objects adds to a row of its own in each of the tables of users."""

        def over(block: int, _: int) -> Any:
            rows = [table[block] for table in tables]
            for row in rows:
                row.fill(0.0)
            return work(int(edges[block]), int(edges[block + 1]), *rows)

        return self.run(over, np.arange(len(edges)))

    def run(self, work: Callable[[int, int], Any], edges: NDArray[np.int64]) -> list[Any]:
        """Let the threads, this one among them, take range after range until none is left."""
        ranges = deque(pairwise(edges.tolist()))
        results: list[Any] = []

        def help_out() -> None:
            while True:
                try:
                    first, last = ranges.popleft()
                except IndexError:
                    return
                results.append(work(first, last))

        helpers = [pool(self.threads - 1).submit(help_out) for _ in range(self.threads - 1)]
        help_out()
        for helper in helpers:
            helper.result()
        return results


class _ByUser:
    """The claims once more, in the order of users, centred and scaled for one kind of step."""

    def __init__(self, engine: MemoryEngine, step: Step) -> None:
        claims = engine.claims
        self.step = step
        self.objects = np.empty(len(claims), np.int32)
        self.scaled = np.empty(len(claims))
        # Each part of the objects has places of its own for every user, after those of the parts before it.
        parts = _edges(claims.offsets, min(engine.threads, _TRANSPOSING))
        counts = np.stack([np.bincount(claims.users[claims.offsets[first] : claims.offsets[last]],
                                       minlength=claims.n_users) for first, last in pairwise(parts)])  # fmt: skip
        self.offsets = np.concatenate([[0], counts.sum(axis=0).cumsum()])
        self.edges = _edges(self.offsets, engine.chunks)
        cursors = self.offsets[:-1] + counts.cumsum(axis=0) - counts
        part_of = {first: part for part, first in enumerate(parts[:-1].tolist())}
        engine.run(
            lambda first, last: kernels.transpose(
                first, last, claims.offsets, claims.users, claims.values, step.center, step.unit,
                cursors[part_of[first]], self.objects, self.scaled,
            ),
            parts,
        )  # fmt: skip


def usual_threads() -> int:
    """SOTTOVOCE_THREADS, or the number of cores that this process may use."""
    wanted = int(os.environ.get("SOTTOVOCE_THREADS", "0"))
    if wanted:
        return wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _edges(offsets: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Cut objects (or users) into parts of about equally many claims."""
    return np.searchsorted(offsets, int(offsets[-1]) * np.arange(parts + 1) // parts)
