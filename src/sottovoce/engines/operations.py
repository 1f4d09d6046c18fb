"""What can be done with one block of claims.

Iterations take the claims as they lie in the block, in the order of users; what is done only once, and weighted
medians, put them in the order of objects first, and then use the kernels that the memory engine uses too.

Every operation is a function of this module, so that it can be sent to another process by name. It takes a block and
what is `Given` with it, and gives arrays, mostly one entry an object.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims.blocks import Block
from sottovoce.engines import aware, by_user, kernels
from sottovoce.engines.base import Floats

Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Given:
    """What an operation needs besides a block."""

    by_object: Arrays  # entries of the block's objects only
    by_user: Arrays
    constants: tuple[Any, ...]
    sums: Arrays  # by user: the operation adds to them


Operation = Callable[[Block, Given], Arrays]


def plain(block: Block, given: Given) -> Arrays:
    """Means, medians and spreads."""
    means, medians, spreads = _new(block, 3)
    kernels.means(*_numbers(block), means)
    kernels.medians(*_numbers(block), medians)
    kernels.spreads(*_numbers(block), means, spreads)
    return means, medians, spreads


def deviations(block: Block, given: Given) -> Arrays:
    (center,), (out,) = given.by_object, _new(block, 1)
    kernels.deviations(*_numbers(block), center, out)
    return (out,)


def score(block: Block, given: Given) -> Arrays:
    center, unit, scaled = given.by_object
    (absolute,), (losses,) = given.constants, given.sums
    by_user.score(*_claims(block), center, unit, absolute, scaled, losses)
    return ()


def sweep_means(block: Block, given: Given) -> Arrays:
    center, unit = given.by_object
    prior_weight, prior_mean = given.constants
    (weights,), (losses,), (new,) = given.by_user, given.sums, _new(block, 1)
    by_user.sweep_means(*_claims(block), weights, center, unit, prior_weight, prior_mean, new, losses)
    return (new,)


def sweep_medians(block: Block, given: Given) -> Arrays:
    center, unit = given.by_object
    (weights,), (losses,), (new, scaled) = given.by_user, given.sums, _new(block, 2)
    order = np.empty(len(block.values), np.int32)
    kernels.order_by_value(*_numbers(block), order)
    ones = np.ones(block.n_objects)
    kernels.weighted_medians(*_rows(block), order, weights, center, unit, ones, center, new, scaled)
    by_user.score(*_claims(block), center, unit, True, scaled, losses)
    return (new,)


def sweep_normal(block: Block, given: Given) -> Arrays:
    center, unit, known, old = given.by_object
    (weights,), (tail,), (squares, counts) = given.by_user, given.constants, given.sums
    new, precision, misfit = _new(block, 3)
    by_user.sweep_normal(
        *_claims(block), weights, center, unit, known, tail, old, new, precision, misfit, squares, counts
    )
    return new, precision, misfit


def sweep_fresh(block: Block, given: Given) -> Arrays:
    center, known, old = given.by_object
    cells, places, information = given.by_user
    (table, inliers, step), (squares, counts) = given.constants, given.sums
    new, precision = _new(block, 2)
    by_user.sweep_fresh(
        *_claims(block), cells, places, information, table, inliers, step, center, known, old, new, precision,
        squares, counts,
    )  # fmt: skip
    return new, precision


def precision(block: Block, given: Given) -> Arrays:
    (truths,), (weights,), (effective, variance) = given.by_object, given.by_user, _new(block, 2)
    kernels.precision(*_rows(block), weights, truths, effective, variance)
    return effective, variance


def weighted_squares(block: Block, given: Given) -> Arrays:
    (truths,), (factor,), (out,) = given.by_object, given.by_user, _new(block, 1)
    aware.weighted_squares(*_rows(block), truths, factor, out)
    return (out,)


def object_sums(block: Block, given: Given) -> Arrays:
    (factor,), (out,) = given.by_user, _new(block, 1)
    offsets, users, _ = block.by_object
    kernels.object_sums(0, block.n_objects, offsets, users, factor, out)
    return (out,)


def user_sums(block: Block, given: Given) -> Arrays:
    (factor,), (sums,) = given.by_object, given.sums
    offsets, users, _ = block.by_object
    kernels.user_sums(0, block.n_objects, offsets, users, factor, sums)
    return ()


def weighted_means(block: Block, given: Given) -> Arrays:
    (center,), (weights,), (new, scaled) = given.by_object, given.by_user, _new(block, 2)
    ones = np.ones(block.n_objects)
    kernels.weighted_means(*_rows(block), weights, center, ones, ones, 0.0, 0.0, center, new, scaled)
    return (new,)


def sample(block: Block, given: Given) -> Arrays:
    """Every so many-th of all claims: object, user, residual."""
    (truths,), (stride,) = given.by_object, given.constants
    places = np.arange(-block.first_claim % stride, len(block.values), stride)
    offsets, users, values = block.by_object
    objects = np.searchsorted(offsets, places, "right") - 1
    return (objects + block.first_object, users[places], values[places] - truths[objects])


def _claims(block: Block) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    return block.users, block.objects, block.values


def _rows(block: Block) -> tuple[int, int, NDArray[np.int64], NDArray[np.int32], Floats]:
    """How kernels see a whole block, object by object."""
    return 0, block.n_objects, *block.by_object


def _numbers(block: Block) -> tuple[int, int, NDArray[np.int64], Floats]:
    offsets, _, values = block.by_object
    return 0, block.n_objects, offsets, values


def _new(block: Block, count: int) -> Arrays:
    return tuple(np.empty(block.n_objects) for _ in range(count))
