"""What a method asks of an engine.

Truth discovery is two sums and a driver step: by object (Σ w·x, Σ w), by user (Σ loss). An engine computes both sums
over all claims; the method turns losses into weights. So a method is written once and runs wherever the claims are.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims.answers import Answers
from sottovoce.claims.kinds import Kind

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lookup:
    """A table of claims' weights: rows by the user's own variance, columns by the claim's distance from the truth."""

    pulls: Floats  # weight times distance, in columns: what a claim adds to the score
    inliers: Floats  # probability that a claim of this size is not a gross error
    step: float  # difference in size between neighbouring columns

    @cached_property
    def table(self) -> Floats:
        """Pulls and inliers side by side: a claim needs both, and they are read together."""
        return np.stack((self.pulls, self.inliers), axis=-1)


@dataclass(frozen=True, eq=False)
class Step:
    """How one iteration aggregates, scores and measures its moves, object by object.

    A claim x of object n is transformed to e = (x - center_n) * unit_n. The truth is the weighted mean of the e,
    together with ``prior_weight`` of a prior at ``prior_mean``, or their weighted median; the loss of a claim is its
    squared, or absolute, distance from it. Moves of a truth are measured in units of ``spread``.

    With a ``tail`` or a ``lookup`` each claim has a weight of its own, which depends on its distance from the previous
    truth, and means have no prior. Losses of claims that are gross errors then count for less, and with a lookup
    they include the variance of the truth. A lookup takes claims in their own units.
    """

    center: Floats
    unit: Floats
    spread: Floats
    average: Literal["mean", "median"] = "mean"  # a mean goes with squared loss, a median with absolute loss
    prior_weight: float = 0.0
    prior_mean: float = 0.0
    known: NDArray[np.bool_] | None = None  # objects whose truth is given, where claims have weights of their own
    tail: float | None = None  # 1/degrees of freedom of Student's t, 0 for normal errors
    rejects: bool = True  # with a tail: whether a claim that is too far off loses all its weight
    lookup: Lookup | None = None


@dataclass(frozen=True, eq=False)
class Sweep:
    """The results of one iteration."""

    truths: Floats
    losses: Floats  # of each user
    move: float  # the largest move of a truth, in units of its spread
    precision: Floats  # of each truth, in the claims' units: the sum of weights, or the information
    counts: Floats | None = None  # of each user's claims, without gross errors; with a lookup only
    misfit: Floats | None = None  # mean weighted loss of each object, 1 where its unit is right; with a tail only
    doubts: Floats | None = None  # of each user, the variances of the truths that they claim; with a tail only


@dataclass(frozen=True, eq=False)
class Poll:
    """How one iteration turns votes for options into chances.

    Each claim votes for its option with its user's weight, in the group to which its object belongs; with ``slopes``
    the vote also depends on the chance that the option had before. The option with most votes is the truth, of several
    the first; with ``softmax`` chances are in proportion to the exponentials of the votes.
    """

    weights: Floats  # of users, or of users × groups
    slopes: Floats | None = None  # of the same shape
    groups: NDArray[np.int64] | None = None  # of each object, where there are several
    softmax: bool = False
    prior: Floats | None = None  # votes that each option has beforehand
    unseen: Floats | None = None  # for each object, what its options that nobody named weigh in the softmax
    known: NDArray[np.int64] | None = None  # each object's option that is known to be true; -1: none; -2: unnamed
    mix: float = 0.0  # share of the old chances in the new ones


@dataclass(frozen=True, eq=False)
class Rest:
    """The objects at rest: their chances stay as they are until votes have moved by more than the object's slack.

    Until then their claims need not be counted.
    """

    slack: Floats  # of each object; one that does not rest has none
    votes: tuple[Floats, ...]  # of users, when the slack was found
    prior: Floats | None  # votes beforehand; another array if they have changed


@dataclass(frozen=True, eq=False)
class Polled:
    """The results of one iteration over choices, from which the next one goes on."""

    chances: Floats  # of each option of each object
    agreed: Floats  # users × groups: the sum of the chances of what they chose; with habits, of truths × answers
    move: float = 0.0  # the largest move of a chance
    rest: Rest | None = None  # in the next iteration of the same kind: only votes and the mix may differ


class Engine(Protocol):
    """Claims over which passes can be made, any number of times."""

    n_claims: int
    n_users: int
    n_objects: int

    @property
    def kind(self) -> Kind: ...

    @property
    def answers(self) -> Answers:
        """The options, where claims are choices; arrays by option are in the order of their cells."""

    @property
    def user_labels(self) -> NDArray[Any]: ...

    @property
    def object_labels(self) -> NDArray[Any]: ...

    @property
    def claims_per_user(self) -> NDArray[np.int64]: ...

    @property
    def claims_per_object(self) -> NDArray[np.int64]: ...

    @property
    def object_ages(self) -> NDArray[np.int64]:
        """Rounds of claims since each object was last claimed; 0 everywhere where all claims came at once."""

    def means(self) -> Floats:
        """Plain mean of each object."""

    def medians(self) -> Floats:
        """Plain median of each object."""

    def spreads(self) -> Floats:
        """Standard deviation of each object's claims (divided by their number, not one less)."""

    def deviations(self) -> Floats:
        """Median distance of each object's claims from their median."""

    def ranges(self) -> tuple[Floats, Floats]:
        """The smallest and the largest claim about each object."""

    def comparable(self) -> NDArray[np.int64]:
        """For each user, how many of their claims are about objects that somebody else claims too."""

    def score(self, step: Step, truths: Floats) -> Floats:
        """Loss of each user at the given truths."""

    def sweep(self, step: Step, users: Floats | tuple[Floats, Floats], truths: Floats) -> Sweep:
        """Truths, the loss of each user at them, and their moves from ``truths``.

        ``users`` are weights, or with a lookup positions among its rows and the information in one claim.
        """

    def precision(self, truths: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Per object, the effective number of users (Σw)²/Σw², and Σ w²(x - truth)² / (Σw)²."""

    def weighted_squares(self, truths: Floats, factor: Floats) -> Floats:
        """For each object the sum over its claims of the user's factor times the squared residual."""

    def object_sums(self, factor: Floats) -> Floats:
        """For each object the sum over its claims of the user's factor."""

    def effective_users(self, weights: Floats) -> Floats:
        """For choices, the effective number of users (Σw)²/Σw² per object; not a number where all weights are 0."""

    def user_sums(self, factor: Floats) -> Floats:
        """For each user the sum over their claims of the object's factor."""

    def weighted_means(self, weights: Floats) -> Floats:
        """Mean of each object's claims under the given weights of users."""

    def sample(self, truths: Floats, most: int) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats]:
        """Objects, users and residuals of about ``most`` claims, spread over all objects."""

    def tally(self, weights: Floats) -> Floats:
        """For each option the sum of the weights of those who chose it."""

    def agree(self, chances: Floats) -> Floats:
        """For each user the sum of the chances of the options that they chose."""

    def agree_by_truth(self, chances: Floats) -> Floats:
        """For each user the sums of the chances of truths × answers, where all objects share their options."""

    def poll(self, poll: Poll, before: Polled) -> Polled:
        """Chances from votes, and how often each user is right; only what has moved is added up again."""

    def confuse(
        self, rows: Floats, prior: Floats, before: Polled, known: NDArray[np.int64] | None = None, mix: float = 0.0,
        corrected: Floats | None = None,
    ) -> Polled:  # fmt: skip
        """The same for users with habits, where all objects share their options.

        ``rows`` holds for each user log probabilities, truth by truth, of each answer; ``prior`` those of truths.
        ``corrected`` is what a claim itself contributes to its row, per chance of the truth.
        """
