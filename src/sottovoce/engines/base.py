"""What a method needs of an engine.

An iteration of truth discovery is two sums, by object (Σ w·x, Σ w) and by user (Σ loss), and a step from losses to
weights. An engine computes both sums over all claims; the method turns losses into weights. So a method is written once
and runs wherever the claims are.
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
        """Pulls and inliers side by side, because a claim needs both at once."""
        return np.stack((self.pulls, self.inliers), axis=-1)


@dataclass(frozen=True, eq=False)
class Step:
    """How one iteration aggregates and scores claims, and measures the moves of truths, object by object.

    A claim x of object n is transformed to e = (x - center_n) * unit_n. The truth is the weighted mean of the e,
    together with ``prior_weight`` of a prior at ``prior_mean``, or their weighted median; the loss of a claim is its
    squared, or absolute, distance from it. Moves of a truth are measured in units of ``spread``.

    With a ``tail`` or a ``lookup``, each claim has its own weight, which depends on its distance from the previous
    truth, and means have no prior. Losses of claims that are gross errors then count for less, and with a lookup,
    losses include the variance of the truth. With a lookup, claims are used in their own units.
    """

    center: Floats
    unit: Floats
    spread: Floats
    average: Literal["mean", "median"] = "mean"  # a mean goes with squared loss, a median with absolute loss
    prior_weight: float = 0.0
    prior_mean: float = 0.0
    known: NDArray[np.bool_] | None = None  # objects whose truth is given, if claims have their own weights
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
    misfit: Floats | None = None  # mean weighted loss of each object, 1 if its unit is right; with a tail only
    doubts: Floats | None = None  # of each user, the sum of the variances of their objects' truths; with a tail only


@dataclass(frozen=True, eq=False)
class Poll:
    """How one iteration turns votes for options into chances.

    Each claim votes for its option with its user's weight, in the group to which its object belongs; with ``slopes``,
    the vote also depends on the chance that the option had before. The option with most votes is the truth, or the
    first of several; with ``softmax``, chances are in proportion to the exponentials of the votes.
    """

    weights: Floats  # of users, or of users × groups
    slopes: Floats | None = None  # of the same shape
    groups: NDArray[np.int64] | None = None  # of each object, if there are several
    softmax: bool = False
    prior: Floats | None = None  # votes that each option has beforehand
    unseen: Floats | None = None  # for each object, the weight in the softmax of the options that nobody chose
    known: NDArray[np.int64] | None = None  # each object's option that is known to be true; -1: none; -2: not chosen
    mix: float = 0.0  # share of the old chances in the new ones


@dataclass(frozen=True, eq=False)
class Rest:
    """The objects at rest: their chances do not change until votes have moved by more than the object's slack.

    Until then, their claims need not be counted.
    """

    slack: Floats  # of each object; 0 or less for objects that do not rest
    votes: tuple[Floats, ...]  # of users, when the slack was computed
    prior: Floats | None  # votes beforehand; another array if they have changed


@dataclass(frozen=True, eq=False)
class Polled:
    """The results of one iteration over choices, from which the next one continues."""

    chances: Floats  # of each option of each object
    agreed: Floats  # users × groups: the sum of the chances of what they chose; with habits, of truths × answers
    move: float = 0.0  # the largest move of a chance
    rest: Rest | None = None  # for the next iteration of the same kind, in which only votes and the mix may differ


class Engine(Protocol):
    """Claims over which passes can be made, any number of times."""

    n_claims: int
    n_users: int
    n_objects: int

    @property
    def kind(self) -> Kind: ...

    @property
    def answers(self) -> Answers:
        """The options, if claims are choices; arrays by option are in the order of the cells."""

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
        """Rounds of claims since each object was last claimed; 0 for all objects if all claims came at once."""

    def means(self) -> Floats:
        """Plain mean of each object."""

    def medians(self) -> Floats:
        """Plain median of each object."""

    def spreads(self) -> Floats:
        """Standard deviation of each object's claims (divided by their number, not by one less)."""

    def deviations(self) -> Floats:
        """Median distance of each object's claims from their median."""

    def ranges(self) -> tuple[Floats, Floats]:
        """The smallest and the largest claim about each object."""

    def comparable(self) -> NDArray[np.int64]:
        """For each user, how many of their claims are about objects that somebody else claims too."""

    def score(self, step: Step, truths: Floats) -> Floats:
        """Loss of each user at the given truths."""

    def sweep(self, step: Step, users: Floats | tuple[Floats, Floats], truths: Floats) -> Sweep:
        """New truths, the loss of each user at these, and the largest move from ``truths``.

        ``users`` are weights or, with a lookup, positions among its rows and the information in one claim.
        """

    def precision(self, truths: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Per object, the effective number of users (Σw)²/Σw², and Σ w²(x - truth)² / (Σw)²."""

    def weighted_squares(self, truths: Floats, factor: Floats) -> Floats:
        """For each object, the sum over its claims of the user's factor times the squared residual."""

    def object_sums(self, factor: Floats) -> Floats:
        """For each object, the sum over its claims of the user's factor."""

    def effective_users(self, weights: Floats) -> Floats:
        """For choices, the effective number of users (Σw)²/Σw² per object; NaN if all weights are 0."""

    def user_sums(self, factor: Floats) -> Floats:
        """For each user, the sum over their claims of the object's factor."""

    def weighted_means(self, weights: Floats) -> Floats:
        """Mean of each object's claims under the given weights of users."""

    def sample(self, truths: Floats, most: int) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats]:
        """Objects, users and residuals of about ``most`` claims, spread over all objects."""

    def tally(self, weights: Floats) -> Floats:
        """For each option, the sum of the weights of the users who chose it."""

    def agree(self, chances: Floats) -> Floats:
        """For each user, the sum of the chances of the options that they chose."""

    def agree_by_truth(self, chances: Floats) -> Floats:
        """For each user, the sums of the chances of truths × answers, if all objects share their options."""

    def poll(self, poll: Poll, before: Polled) -> Polled:
        """Chances from votes, and how often each user is right; only what has moved is summed again."""

    def confuse(
        self, rows: Floats, prior: Floats, before: Polled, known: NDArray[np.int64] | None = None, mix: float = 0.0,
        corrected: Floats | None = None,
    ) -> Polled:  # fmt: skip
        """The same for users with habits, if all objects share their options.

        ``rows`` holds each user's log probabilities of each answer, truth by truth; ``prior`` holds those of truths.
        ``corrected`` is what a claim itself contributes to its row, per chance of the truth.
        """
