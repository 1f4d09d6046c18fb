"""What a method asks of an engine.

Truth discovery is two sums and a driver step: by object (Σ w·x, Σ w), by user (Σ loss). An engine computes both sums
over all claims; the method turns losses into weights. So a method is written once and runs wherever the claims are.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lookup:
    """Weights of claims: rows by the user's own variance, columns by the claim's distance from the truth."""

    table: Floats
    inliers: Floats  # probability that a claim of this size is not a gross error
    step: float  # difference in size between neighbouring columns


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
    move: float  # the largest of a truth
    precision: Floats  # of each truth, in the claims' units: the sum of weights, or the information
    counts: Floats | None = None  # of each user's claims, without gross errors; with a lookup only
    misfit: Floats | None = None  # mean weighted loss of each object, 1 where its unit is right; with a tail only
    doubts: Floats | None = None  # of each user, the variances of the truths that they claim; with a tail only


class Engine(Protocol):
    """Claims over which passes can be made, any number of times."""

    n_claims: int
    n_users: int
    n_objects: int

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

    def user_sums(self, factor: Floats) -> Floats:
        """For each user the sum over their claims of the object's factor."""

    def weighted_means(self, weights: Floats) -> Floats:
        """Mean of each object's claims under the given weights of users."""

    def sample(self, truths: Floats, most: int) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats]:
        """Objects, users and residuals of about ``most`` claims, spread over all objects."""
