"""Engines over blocks of whole objects: every pass is one piece of work, done block by block, its sums added up.

`Work` says what is to be done; `compute` does it for some blocks in a row. A subclass of `BlockwiseEngine` supplies
`map`, which has `compute` run for each of the engine's runs of blocks, wherever that may be, and gives the parts in the
order of the runs. Runs follow from the pack alone and sums are added in their order: so the bits of a result depend
neither on the number of threads or machines nor on which of them is done first.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims.blocks import Block, Pack
from sottovoce.engines import operations
from sottovoce.engines.base import AwareStep, AwareSweep, Floats, Step
from sottovoce.engines.operations import Arrays, Given, Operation

# More runs than this would not keep more threads busy, and each has sums by user of its own to be added up.
_RUNS = 32
_SUMS_BYTES = 1 << 27


@dataclass(frozen=True, eq=False)
class Work:
    """One pass over the claims. All of it can be pickled: operations are functions of a module."""

    operation: Operation
    n_users: int
    by_object: Arrays = ()
    by_user: Arrays = ()
    constants: tuple[Any, ...] = ()
    sums: int = 0  # by user

    def part(self, first: int, last: int) -> "Work":
        """The same for some objects only."""
        return replace(self, by_object=tuple(array[first:last] for array in self.by_object))


@dataclass(frozen=True, eq=False)
class Part:
    """What a run of blocks gives."""

    arrays: Arrays
    sums: Arrays


def compute(blocks: Iterable[Block], work: Work) -> Part:
    """Do the work for blocks in a row; its arrays by object begin with the first block's first object."""
    sums = tuple(np.zeros(work.n_users) for _ in range(work.sums))
    found: list[Arrays] = []
    first = None
    for block in blocks:
        first = block.first_object if first is None else first
        place = slice(block.first_object - first, block.first_object - first + block.n_objects)
        mine = tuple(array[place] for array in work.by_object)
        found.append(work.operation(block, Given(mine, work.by_user, work.constants, sums)))
    return Part(tuple(np.concatenate(parts) for parts in zip(*found, strict=True)), sums)


class BlockwiseEngine(ABC):
    """All that methods ask of an engine, over the blocks of a pack. Arrays by user and by object are in memory."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self.n_claims = len(pack)
        self.n_users = pack.manifest.users
        self.n_objects = pack.manifest.objects

    @abstractmethod
    def map(self, work: Work) -> Iterator[Part]:
        """The part of each run of blocks, in the order of ``runs``."""

    @cached_property
    def runs(self) -> list[range]:
        """Numbers of the blocks that are computed one after the other into the same sums."""
        blocks = len(self.pack.manifest.blocks)
        runs = min(blocks, _RUNS, max(2, _SUMS_BYTES // (16 * self.n_users)))
        edges = [blocks * run // runs for run in range(runs + 1)]
        return [range(first, last) for first, last in pairwise(edges)]

    def objects_of(self, run: range) -> tuple[int, int]:
        """Numbers of the first object of a run, and of the first one after it."""
        first, last = self.pack.manifest.blocks[run[0]], self.pack.manifest.blocks[run[-1]]
        return first.first_object, last.first_object + last.objects

    @property
    def user_labels(self) -> NDArray[Any]:
        return self.pack.user_labels

    @property
    def object_labels(self) -> NDArray[Any]:
        return self.pack.object_labels

    @property
    def claims_per_user(self) -> NDArray[np.int64]:
        return self.pack.claims_per_user

    @property
    def claims_per_object(self) -> NDArray[np.int64]:
        return self.pack.claims_per_object

    @property
    def object_ages(self) -> NDArray[np.int64]:
        return self.pack.object_ages

    def means(self) -> Floats:
        return self._plain[0]

    def medians(self) -> Floats:
        return self._plain[1]

    def spreads(self) -> Floats:
        return self._plain[2]

    @cached_property
    def _plain(self) -> Arrays:
        return self._pass(operations.plain)[0]

    def deviations(self) -> Floats:
        return self._deviations

    @cached_property
    def _deviations(self) -> Floats:
        return self._pass(operations.deviations, (self.medians(),))[0][0]

    def comparable(self) -> NDArray[np.int64]:
        if (self.claims_per_object > 1).all():
            return self.claims_per_user
        return self.user_sums((self.claims_per_object > 1).astype(np.float64)).astype(np.int64)

    def score(self, step: Step, truths: Floats) -> Floats:
        arrays = (step.center, step.unit, (truths - step.center) * step.unit)
        return self._pass(operations.score, arrays, constants=(step.average == "median",), sums=1)[1][0]

    def sweep(self, step: Step, weights: Floats, truths: Floats) -> tuple[Floats, Floats, float]:
        operation = operations.sweep_means if step.average == "mean" else operations.sweep_medians
        prior = step.prior_weight, step.prior_mean
        (moved,), (losses,) = self._pass(operation, (step.center, step.unit), (weights,), prior, sums=1)
        return moved, losses, _largest_move(moved, truths, step.spread)

    def precision(self, truths: Floats, weights: Floats) -> tuple[Floats, Floats]:
        effective, variance = self._pass(operations.precision, (truths,), (weights,))[0]
        return effective, variance

    def sweep_aware(
        self, step: AwareStep, quality: Floats | tuple[NDArray[np.intp], Floats, Floats], truths: Floats
    ) -> AwareSweep:
        if isinstance(quality, tuple):
            look = step.lookup
            assert look is not None, "places of users are places in a lookup"
            (moved, precision), sums = self._pass(
                operations.sweep_fresh, (step.center, step.known, truths), quality,
                (look.table, look.inliers, look.step), sums=2,
            )  # fmt: skip
            misfit = np.ones(self.n_objects)  # units are not learnt where noise is fresh
        else:
            (moved, precision, misfit), sums = self._pass(
                operations.sweep_normal, (step.center, step.unit, step.known, truths), (quality,),
                (step.tail,), sums=2,
            )  # fmt: skip
        squares, counts = sums
        move = _largest_move(moved, truths, step.spread)
        return AwareSweep(moved, precision, misfit, squares, counts, move)

    def weighted_squares(self, truths: Floats, factor: Floats) -> Floats:
        return self._pass(operations.weighted_squares, (truths,), (factor,))[0][0]

    def object_sums(self, factor: Floats) -> Floats:
        return self._pass(operations.object_sums, (), (factor,))[0][0]

    def user_sums(self, factor: Floats) -> Floats:
        return self._pass(operations.user_sums, (factor,), sums=1)[1][0]

    def weighted_means(self, weights: Floats) -> Floats:
        return self._pass(operations.weighted_means, (self.medians(),), (weights,))[0][0]

    def sample(self, truths: Floats, most: int) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats]:
        objects, users, residuals = self._pass(
            operations.sample, (truths,), constants=(max(1, self.n_claims // most),)
        )[0]
        return objects, users, residuals

    def _pass(
        self,
        operation: Operation,
        by_object: Arrays = (),
        by_user: Arrays = (),
        constants: tuple[Any, ...] = (),
        sums: int = 0,
    ) -> tuple[Arrays, Arrays]:
        """Arrays of all blocks in a row, and sums by user of all blocks."""
        totals = tuple(np.zeros(self.n_users) for _ in range(sums))
        found: list[Arrays] = []
        for part in self.map(Work(operation, self.n_users, by_object, by_user, constants, sums)):
            found.append(part.arrays)
            for total, sum_here in zip(totals, part.sums, strict=True):
                total += sum_here
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True)), totals


def _largest_move(moved: Floats, truths: Floats, spread: Floats) -> float:
    return float((np.abs(moved - truths) / spread).max())
