"""Errors that users repeat: a long stride makes every hallway too short, and a strict rater is always strict.

If a user's errors correlate with ρ from object to object, N of them say as much as N/(1 + (N - 1)ρ) independent ones
(the design effect of L. Kish, Survey Sampling, 1965). Without this, a few users who happen to share an offset would
look accurate, with more certainty the more claims they make, and would decide about everything.

Whatever makes one user err in the same way about all objects may make all users do so: most people may believe that
their strides are longer than they are. No claim shows an error that all users make, but the users' own offsets show how
large such an error may be.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainc

Floats = NDArray[np.float64]

_CLEAR = 2.0  # standard errors: a smaller correlation is taken for chance
_LARGEST_RATIO = 1e6
_FAR = 3.0  # standard deviations beyond which an error counts as this many: it says nothing about offsets
# Assumed variance of an offset that all users have in common, over that of their own offsets: a third of the deviation.
_IN_COMMON = 0.1


def repeated_share(users: NDArray[np.int32], errors: Floats, n_users: int) -> float:
    """The correlation ρ of the errors of a typical user, as far as it is more than chance.

    ``errors`` are of a sample of claims, in deviations of their users.

    A user's offset has the variance ρ, and the part of errors that differs from object to object has 1 - ρ. So
    Student's t² of a user's N errors, divided by 1 + Nρ/(1 - ρ), has its usual law, and ρ is the value for which it
    does. Each user counts at most as much as one whose mean error is a standard error off; otherwise a fifth of the
    users who are far off, always to the same side, would speak for everybody.
    """
    claims = np.bincount(users, minlength=n_users)
    sums, squares = np.bincount(users, errors, n_users), np.bincount(users, errors**2, n_users)
    several = (claims > 1) & (squares > 0)
    n = claims[several]
    if not len(n):
        return 0.0
    # The mean correlation shows whether there is more than chance.
    mean = float(((sums**2 - squares)[several] / n).sum()) / float((n - 1).sum()) / float(np.mean(errors**2))
    chance = float((2 * (n - 1) / n).sum()) / float((n - 1).sum()) ** 2  # its variance, if there is no correlation
    if mean <= _CLEAR * chance**0.5:
        return 0.0
    # The capped t² shows how large the correlation is.
    along = np.minimum(sums[several] ** 2 / (n * squares[several]), 1.0)  # t²/(N - 1 + t²), a beta variable
    expected = 1 - betainc(0.5, (n - 1) / 2, 1 / n) + betainc(1.5, (n - 1) / 2, 1 / n)

    def excess(ratio: float) -> float:
        return float((np.minimum(n * along / (along + (1 + n * ratio) * (1 - along)), 1.0) - expected).sum())

    if excess(0.0) <= 0:
        return 0.0
    if excess(_LARGEST_RATIO) >= 0:  # most users repeat the same error to the last digit
        return 1.0
    ratio = float(brentq(excess, 0.0, _LARGEST_RATIO, xtol=1e-6))
    return ratio / (1 + ratio) * (1 - _CLEAR**2 * chance / mean**2)


def common_variance(users: NDArray[np.int32], errors: Floats, n_users: int) -> float:
    """Variance of the error that all users are likely to have in common, over that of a claim."""
    return _IN_COMMON * repeated_share(users, np.clip(errors, -_FAR, _FAR), n_users)


def independent_share(claims: NDArray[np.int64], repeated: float) -> Floats:
    """The share of a user's errors that count as independent."""
    return np.asarray(1 / (1 + np.maximum(claims - 1, 0) * repeated))


def squares_worth(users: NDArray[np.int32], squares: Floats, n_users: int) -> float:
    """How much a squared error says about its user, relative to normal errors, which have a kurtosis of 3."""
    return min(1.0, 2 / max(kurtosis_within(users, squares, n_users) - 1, 1e-12))


def kurtosis_within(groups: NDArray[np.integer], squares: Floats, n_groups: int) -> float:
    """Kurtosis of errors whose scale differs from group to group; 3 if no group has two of them.

    The mean fourth power over the mean product of two squares of the same group.
    """
    many = np.bincount(groups, minlength=n_groups)
    sums, fourth = np.bincount(groups, squares, n_groups), np.bincount(groups, squares**2, n_groups)
    apart = float((sums**2 - fourth).sum())
    return float((fourth * (many - 1)).sum()) / apart if apart > 0 else 3.0
