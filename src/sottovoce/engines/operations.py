"""Operations on one block of claims.

A sweep and a score go through the claims in the block's own order, by user or by object, with the same result to the
last bit; all other operations go object by object.

Every operation is a function of this module, so that it can be sent to another process by name. It takes a block and
its `Inputs`, and returns arrays, mostly with one entry per object.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims.blocks import Block
from sottovoce.engines import kernels, sweeps, votes
from sottovoce.engines.base import Floats

Arrays = tuple[NDArray[Any], ...]


@dataclass(eq=False, slots=True)
class Inputs:
    """What an operation needs besides a block."""

    by_object: Arrays  # entries of the block's objects only
    per_user: Floats | None  # one row per user
    sums: Floats  # one row per user: the operation adds to them
    constants: tuple[Any, ...]
    by_cell: Arrays = ()  # entries of the options of the block's objects only
    cells: NDArray[np.int64] | None = None  # where the options of the block's objects begin, and where they end

    @property
    def factor(self) -> Floats:
        """The numbers per user, if there is one each: a plain array is faster than a table of one column."""
        assert self.per_user is not None
        return self.per_user[:, 0]

    @property
    def sum(self) -> Floats:
        """The sums by user, if there is one each."""
        return self.sums[:, 0]


Operation = Callable[[Block, Inputs], Arrays]


SUMMARIES = ("means", "medians", "spreads")


def summaries(block: Block, inputs: Inputs) -> Arrays:
    """The summaries of the block's objects that the constants name."""
    offsets, _, values = block.by_object
    return tuple(_SUMMARY[name](offsets, values) for name in inputs.constants)


def deviations(block: Block, inputs: Inputs) -> Arrays:
    (center,), (out,), (offsets, _, values) = inputs.by_object, _new(block, 1), block.by_object
    kernels.deviations(offsets, values, center, out)
    return (out,)


def ranges(block: Block, inputs: Inputs) -> Arrays:
    """The smallest and the largest claim about each object."""
    offsets, _, values = block.by_object
    first = offsets[:-1] - offsets[0]
    claimed = values[offsets[0] : offsets[-1]]
    return np.minimum.reduceat(claimed, first), np.maximum.reduceat(claimed, first)


def score(block: Block, inputs: Inputs) -> Arrays:
    (center, unit, scaled), (absolute,) = inputs.by_object, inputs.constants
    _score(block, center, unit, scaled, absolute, inputs.sum)
    return ()


def sweep_means(block: Block, inputs: Inputs) -> Arrays:
    (center, unit), prior = inputs.by_object, inputs.constants
    return _sweep(block, inputs, center, unit, prior=prior)


def sweep_medians(block: Block, inputs: Inputs) -> Arrays:
    (center, unit), (new, scaled, precision) = inputs.by_object, _new(block, 3)
    kernels.weighted_medians(*block.by_object, block.by_value, center, unit, inputs.factor, new, scaled, precision)
    _score(block, center, unit, scaled, True, inputs.sum)
    return new, precision


def sweep_tailed(block: Block, inputs: Inputs) -> Arrays:
    """A sweep with weights that decrease with a claim's distance."""
    (center, unit, old, known), tail, (misfit,) = inputs.by_object, inputs.constants, _new(block, 1)
    return (*_sweep(block, inputs, center, unit, old, known, tail=tail, misfit=misfit), misfit)


def sweep_looked_up(block: Block, inputs: Inputs) -> Arrays:
    """A sweep with weights from a table, for claims in their own units."""
    center, old, known = inputs.by_object
    return _sweep(
        block, inputs, center, np.ones(block.n_objects), old, known, tail=(0.0, True), lookup=inputs.constants
    )


def precision(block: Block, inputs: Inputs) -> Arrays:
    (truths,), (effective, variance) = inputs.by_object, _new(block, 2)
    kernels.precision(*block.by_object, truths, inputs.factor, effective, variance)
    return effective, variance


def weighted_squares(block: Block, inputs: Inputs) -> Arrays:
    (truths,), (out,) = inputs.by_object, _new(block, 1)
    kernels.weighted_squares(*block.by_object, truths, inputs.factor, out)
    return (out,)


def object_sums(block: Block, inputs: Inputs) -> Arrays:
    (out,), (offsets, users, _) = _new(block, 1), block.by_object
    kernels.object_sums(offsets, users, inputs.factor, out)
    return (out,)


def effective_users(block: Block, inputs: Inputs) -> Arrays:
    (out,), (offsets, users, _) = _new(block, 1), block.by_object
    kernels.effective_users(offsets, users, inputs.factor, out)
    return (out,)


def user_sums(block: Block, inputs: Inputs) -> Arrays:
    (factor,), (offsets, users, _) = inputs.by_object, block.by_object
    kernels.user_sums(offsets, users, factor, inputs.sum)
    return ()


def sample(block: Block, inputs: Inputs) -> Arrays:
    """Claims at equal intervals: object, user, residual."""
    (truths,), (stride,) = inputs.by_object, inputs.constants
    offsets, users, values = block.by_object
    places = np.arange(-block.first_claim % stride, len(values), stride)
    objects = np.searchsorted(offsets, places, "right") - 1
    return (objects + block.first_object, users[places], values[places] - truths[objects])


def tally(block: Block, inputs: Inputs) -> Arrays:
    """For each option, the sum of the weights of the users who chose it."""
    (cells,), (scores,) = _cells(inputs, 1)
    votes.tally(*block.by_object, cells, inputs.per_user, scores)
    return (scores,)


def agree(block: Block, inputs: Inputs) -> Arrays:
    """For each user, the sum of the chances of what they chose."""
    (cells,), (chances,) = _cells(inputs, 0)[0], inputs.by_cell
    votes.agree(*block.by_object, cells, chances, inputs.sums)
    return ()


def agree_by_truth(block: Block, inputs: Inputs) -> Arrays:
    """For each user, the sums of the chances of each truth, by what they chose."""
    (cells,), (chances,) = _cells(inputs, 0)[0], inputs.by_cell
    votes.agree_by_truth(*block.by_object, cells, chances, inputs.sums)
    return ()


def poll(block: Block, inputs: Inputs) -> Arrays:
    """Chances from votes, the slack of objects, and how far chances moved; adds to how often each user is right."""
    size, mix, softmax, has_slopes, names = inputs.constants
    arrays = dict(zip(names, (*inputs.by_object, *inputs.by_cell), strict=True))
    old, unseen, (room,) = arrays["old"], arrays.get("unseen"), _new(block, 1)
    scores = np.empty(len(old) + (0 if unseen is None else block.n_objects))
    filled = votes.count(
        *block.by_object, inputs.cells, size, arrays.get("groups"), arrays.get("prior"), unseen, arrays.get("known"),
        old, softmax, inputs.per_user, inputs.per_user if has_slopes else None, arrays["slack"], room, scores,
    )  # fmt: skip
    if softmax:
        np.exp(scores[:filled], out=scores[:filled])
    return _settle(block, inputs, arrays, mix, False, room, scores)


def confuse(block: Block, inputs: Inputs) -> Arrays:
    """The same for users with habits."""
    prior, mix, corrected, names = inputs.constants
    arrays = dict(zip(names, (*inputs.by_object, *inputs.by_cell), strict=True))
    old, (room,) = arrays["old"], _new(block, 1)
    scores = np.empty(len(old))
    filled = votes.count_rows(
        *block.by_object, inputs.cells, prior, arrays.get("known"), old, inputs.per_user, corrected, arrays["slack"],
        room, scores,
    )  # fmt: skip
    np.exp(scores[:filled], out=scores[:filled])
    return _settle(block, inputs, arrays, mix, True, room, scores)


def _settle(
    block: Block, inputs: Inputs, arrays: dict[str, NDArray[Any]], mix: float, by_truth: bool, room: Floats,
    scores: Floats,
) -> Arrays:  # fmt: skip
    _, (chances,) = _cells(inputs, 1)
    move = votes.settle(
        *block.by_object, inputs.cells, arrays.get("groups"), arrays.get("unseen"), arrays.get("known"), arrays["old"],
        mix, by_truth, arrays["slack"], room, scores, inputs.sums, chances,
    )  # fmt: skip
    return chances, room, np.array([move])


def _cells(inputs: Inputs, count: int) -> tuple[Arrays, Arrays]:
    """Where options begin, and new arrays with an entry for each."""
    assert inputs.cells is not None
    size = int(inputs.cells[-1] - inputs.cells[0])
    return (inputs.cells,), tuple(np.empty(size) for _ in range(count))


def _means(offsets: NDArray[np.int64], values: Floats) -> Floats:
    out = np.empty(len(offsets) - 1)
    kernels.means(offsets, values, out)
    return out


def _medians(offsets: NDArray[np.int64], values: Floats) -> Floats:
    out = np.empty(len(offsets) - 1)
    kernels.medians(offsets, values, out)
    return out


def _spreads(offsets: NDArray[np.int64], values: Floats) -> Floats:
    out = np.empty(len(offsets) - 1)
    kernels.spreads(offsets, values, _means(offsets, values), out)
    return out


_SUMMARY = {"means": _means, "medians": _medians, "spreads": _spreads}


def _score(block: Block, center: Floats, unit: Floats, scaled: Floats, absolute: bool, sums: Floats) -> None:
    if block.iterates_by_user:
        kernels.score_by_user(*block.by_user(center, unit), scaled, absolute, sums)
    else:
        kernels.score(*block.by_object, center, unit, scaled, absolute, sums)


def _sweep(
    block: Block,
    inputs: Inputs,
    center: Floats,
    unit: Floats,
    old: Floats | None = None,
    known: NDArray[np.bool_] | None = None,
    prior: tuple[Any, ...] = (0.0, 0.0),
    tail: tuple[Any, ...] | None = None,
    lookup: tuple[Any, ...] | None = None,
    misfit: Floats | None = None,
) -> Arrays:
    (prior_weight, prior_mean), (new, precision) = prior, _new(block, 2)
    how = center, unit, old, known, prior_weight, prior_mean, tail, lookup
    if block.iterates_by_user:
        sweeps.sweep_by_user(*block.by_user(center, unit), *how, inputs.per_user, inputs.sums, new, precision, misfit)
    else:
        sweeps.sweep_by_object(*block.by_object, *how, inputs.per_user, inputs.sums, new, precision, misfit)
    return new, precision


def _new(block: Block, count: int) -> Arrays:
    return tuple(np.empty(block.n_objects) for _ in range(count))
