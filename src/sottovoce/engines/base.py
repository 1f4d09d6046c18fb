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

    def means(self) -> Floats:
        """Plain mean of each object."""

    def medians(self) -> Floats:
        """Plain median of each object."""

    def spreads(self) -> Floats:
        """Standard deviation of each object's claims (divided by their number, not one less)."""

    def comparable(self) -> NDArray[np.int64]:
        """For each user, how many of his claims are about objects that somebody else claims too."""

    def score(self, step: Step, truths: Floats) -> Floats:
        """Loss of each user at the given truths."""

    def sweep(self, step: Step, weights: Floats, truths: Floats) -> tuple[Floats, Floats, float]:
        """Truths under the given weights, the loss of each user at them, and the largest move from ``truths``."""

    def precision(self, truths: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Per object, the effective number of users (Σw)²/Σw², and Σ w²(x - truth)² / (Σw)²."""
