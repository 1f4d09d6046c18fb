"""What a method asks of an engine.

Truth discovery is two sums and a driver step: by object (Σ w·x, Σ w), by user (Σ loss). An engine computes both sums
over all claims; the method turns losses into weights. So a method is written once and runs wherever the claims lie.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Step:
    """How one iteration aggregates, scores and measures its moves, object by object.

    A claim x of object n is looked at as e = (x - center_n) * unit_n. The truth is the weighted mean of the e,
    together with ``prior_weight`` of a prior at ``prior_mean``, or their weighted median; the loss of a claim is its
    squared, or absolute, distance from it. Moves of a truth are measured in units of ``spread``.
    """

    center: Floats
    unit: Floats
    spread: Floats
    average: Literal["mean", "median"] = "mean"  # a mean goes with squared loss, a median with absolute loss
    prior_weight: float = 0.0
    prior_mean: float = 0.0


@dataclass(frozen=True, eq=False)
class Lookup:
    """Weights of readings with fresh noise: rows by the user's own variance, columns by the reading's size."""

    table: Floats
    inliers: Floats  # chance that a reading of this size is no gross error
    step: float  # size from one column to the next


@dataclass(frozen=True, eq=False)
class AwareStep:
    """How one iteration of the noise-aware estimator looks at the claims; like `Step`."""

    center: Floats
    unit: Floats
    spread: Floats
    known: NDArray[np.bool_]  # objects whose truth is given
    tail: float = 0.0  # 1/degrees of freedom of Student's t, 0 for normal errors
    lookup: Lookup | None = None


@dataclass(frozen=True)
class AwareSweep:
    """What one pass of the noise-aware estimator gives."""

    truths: Floats
    precision: Floats  # of each truth, in the claims' units
    misfit: Floats  # mean weighted square of each object's residuals: 1 where its unit is right
    squares: Floats  # of each user's residuals, with the truths' own uncertainty added back
    counts: Floats
    move: float


class Engine(Protocol):
    """Claims that can be passed over again and again."""

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
        """For each user, how many of his claims are about objects that somebody else claims too."""

    def score(self, step: Step, truths: Floats) -> Floats:
        """Loss of each user at the given truths."""

    def sweep(self, step: Step, weights: Floats, truths: Floats) -> tuple[Floats, Floats, float]:
        """Truths under the given weights, the loss of each user at them, and the largest move from ``truths``."""

    def precision(self, truths: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Per object, the effective number of users (Σw)²/Σw², and Σ w²(x - truth)² / (Σw)²."""

    def sweep_aware(
        self, step: AwareStep, quality: Floats | tuple[NDArray[np.intp], Floats, Floats], truths: Floats
    ) -> AwareSweep:
        """One pass of the noise-aware estimator; ``quality`` is users' weights, or their places in the lookup."""

    def weighted_squares(self, truths: Floats, factor: Floats) -> Floats:
        """For each object the sum over its claims of the user's factor times the squared residual."""

    def object_sums(self, factor: Floats) -> Floats:
        """For each object the sum over its claims of the user's factor."""

    def user_sums(self, factor: Floats) -> Floats:
        """For each user the sum over his claims of the object's factor."""

    def weighted_means(self, weights: Floats) -> Floats:
        """Mean of each object's claims under the given weights of users."""

    def sample(self, truths: Floats, most: int) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats]:
        """Objects, users and residuals of about so many claims, spread over all objects."""
