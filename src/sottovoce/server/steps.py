"""Which claims the published figures of each task are based on. They change in steps, each of at least k claims.

A *cohort* is everybody who reported in one period, which ends when at least k participants have. When it ends depends
on how many reported, never on what. So even somebody who knows the order in which people reported cannot tell the
members of a cohort apart. A task with too few new claims for a step keeps them for a later one.

What may be published is decided here, for each task on its own. Take the means of all versions ever published. Whoever
multiplies each by its number of claims has sums over sets of claims S₁, S₂, …, and can form any combination Σ aᵥ·Sᵥ. A
claim is in the sets from the step where it entered to the one where it was withdrawn, so its coefficient is a
difference of two prefix sums of a. Draw each step as a node, one more node for "still there", and each claim as an
edge from where it entered to where it left. The claims that a combination is about are the edges between nodes with
different prefix sums. So no combination is about fewer than k claims if and only if no cut of this graph has fewer than
k edges.

A new step splits the node "still there": fresh claims connect both halves, withdrawn ones move to the new half, the
others stay. A cut between the halves has each earlier step on one side, and so cuts either its withdrawn claims or its
remaining ones. Hence it has at least k edges if

    fresh + Σ over earlier steps of min(withdrawn, remaining) ≥ k,

which is the condition used here. Counting changes is not enough. Let claims 1–5 make the first step, 6–10 the second,
and let 1 and 6–10 be withdrawn: six changes, but the third mean would differ from the first only by claim 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.server.storage.claims import Readings

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class IncludedClaims:
    """How many claims entered the results of a task with which cohort, in the order of places and cohorts."""

    places: Ints
    cohorts: Ints
    claims: Ints

    def counts(self, tasks: int) -> Ints:
        """Claims that the published figures are based on, by the place of the task."""
        return np.bincount(self.places, self.claims, minlength=tasks).astype(np.int64)

    def entered(self, readings: Readings) -> Ints:
        """For each reading, the row with which it entered the results; -1 if it waits for a later step of its task."""
        most = max(self.cohorts.max(initial=0), readings.cohorts.max(initial=0)) + 1
        rows = np.searchsorted(self.places * most + self.cohorts, readings.places * most + readings.cohorts)
        known = rows < len(self.places)
        known[known] = self.places[rows[known]] == readings.places[known]
        return np.where(known, rows, -1)


_NONE = np.empty(0, np.int64)
NOTHING_INCLUDED = IncludedClaims(_NONE, _NONE, _NONE)


@dataclass(frozen=True)
class ResultStep:
    """What the next results are based on."""

    included: IncludedClaims
    readings: Readings  # those that the figures are based on
    changed: Flags  # by the place of the task: whether it takes a step
    whole: Flags  # whether nobody in its figures has withdrawn since
    retracted: Flags  # whether its figures are removed, since k were withdrawn and too few are left


def next_step(included: IncludedClaims, readings: Readings, cohort: int, least: int, tasks: int) -> ResultStep:
    """Let every task with enough new claims take a step. ``readings`` are those of complete cohorts.

    ``cohort`` is the last complete one, ``least`` is k.
    """
    rows = included.entered(readings)
    fresh = np.bincount(readings.places[rows < 0], minlength=tasks)
    remaining = np.bincount(rows[rows >= 0], minlength=len(included.places))
    withdrawn = included.claims - remaining

    def by_task(counts: Ints) -> Ints:
        return np.bincount(included.places, counts, minlength=tasks).astype(np.int64)

    changed = fresh + by_task(np.minimum(withdrawn, remaining)) >= least
    retracted = ~changed & (by_task(withdrawn) >= least) & (fresh + by_task(remaining) < least)
    grown = np.flatnonzero(changed & (fresh > 0))
    places = np.concatenate([included.places, grown])
    cohorts = np.concatenate([included.cohorts, np.full(len(grown), cohort)])
    claims = np.concatenate([np.where(changed[included.places], remaining, included.claims), fresh[grown]])
    order = np.lexsort((cohorts, places))
    kept = (rows >= 0) | changed[readings.places]
    after = IncludedClaims(places[order], cohorts[order], claims[order])
    return ResultStep(after, readings.where(kept), changed, by_task(withdrawn) == 0, retracted)
