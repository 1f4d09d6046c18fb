"""Errors that users repeat: one with a long stride measures every hallway too short, a strict rater is strict always.

If the errors of a user correlate with ρ from object to object, N of them say as much as N/(1 + (N - 1)ρ) that do not
(the design effect of L. Kish, Survey Sampling, 1965). Otherwise a few users who happen to share an offset would look
accurate, the surer the more they claim, and decide about everything.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CLEAR = 2.0  # standard errors: a correlation below is taken for chance


def repeated_share(users: NDArray[np.int32], errors: Floats, n_users: int) -> float:
    """The correlation ρ of a user's errors, as far as it is more than chance.

    ``errors`` are of a sample of claims, in deviations of their users.
    """
    claims = np.maximum(np.bincount(users, minlength=n_users), 1)
    square, many = float(np.mean(errors**2)) if len(errors) else 0.0, float((claims - 1).sum())
    if many == 0 or square == 0:
        return 0.0
    sums, squares = np.bincount(users, errors, n_users), np.bincount(users, errors**2, n_users)
    found = float(((sums**2 - squares) / claims).sum()) / many / square
    chance = float((2 * (claims - 1) / claims).sum()) / many**2  # variance, if there is no correlation
    return min(found * max(0.0, 1 - _CLEAR**2 * chance / found**2), 1.0) if found > 0 else 0.0


def independent_share(claims: NDArray[np.int64], repeated: float) -> Floats:
    """How many of a user's errors are as good as independent, over their number."""
    return np.asarray(1 / (1 + np.maximum(claims - 1, 0) * repeated))


def squares_worth(users: NDArray[np.int32], squares: Floats, n_users: int) -> float:
    """What a square says about its user, over what it would say if errors were normal, which have a kurtosis of 3."""
    claims = np.bincount(users, minlength=n_users)
    sums, fourth = np.bincount(users, squares, n_users), np.bincount(users, squares**2, n_users)
    apart = float((sums**2 - fourth).sum())  # squares of a user times their other squares
    if apart <= 0:
        return 1.0
    kurtosis = float((fourth * (claims - 1)).sum()) / apart
    return min(1.0, 2 / max(kurtosis - 1, 1e-12))
