"""What a comparison is worth: its information about the truth, its part in the search, and how many people are needed.

The errors of readings are either normal with one standard deviation, or those of the paper's crowd: each user's error
variance is drawn from Exponential(rate λ1), so errors over the whole crowd follow the Laplace law. Derivations are in
docs/why.
"""

import math
from collections.abc import Sequence

from scipy.special import ndtri

# Measured in simulations: how many answers the search takes (a factor per nat, and a constant), and the factor by which
# errors after it exceed their bound.
_HALF, _NINE_TENTHS = (1.58, -1.86), (1.85, 1.2)
_NORMAL_EXCESS, _CROWD_EXCESS = 1.1, 1.28
_TINY = 1e-3  # below this tilt, two terms of the series are exact


def information(epsilon: float, cuts: Sequence[float] = (0.0,), spread: float = 1.0) -> float:
    """Fisher information of one answer about the truth, for normal errors; ``cuts`` are relative to the truth.

    >>> round(information(1.0), 6), round(information(1.0, [1.0]), 6)
    (0.135952, 0.055542)
    """
    levels = len(cuts) + 1
    floor = 1 / (math.exp(epsilon) + levels - 1)
    places = [-math.inf, *(cut / spread for cut in cuts), math.inf]
    chances = [0.5 * math.erfc(-place / math.sqrt(2)) for place in places]
    densities = [math.exp(-(place**2) / 2) / math.sqrt(2 * math.pi) for place in places]
    gain = 1 - levels * floor
    return sum(
        (gain * (densities[level + 1] - densities[level]) / spread) ** 2
        / (floor + gain * (chances[level + 1] - chances[level]))
        for level in range(levels)
    )


def usual_information(epsilon: float, levels: int, spread: float = 1.0) -> float:
    """Information of an answer to the cuts at which the policy arrives, for normal errors."""
    quartile = float(ndtri(0.75)) * spread
    return information(epsilon, (0.0,) if levels == 2 else (-quartile, 0.0, quartile), spread)


def crowd_information(epsilon: float, error_rate: float) -> float:
    """Information of an answer to a cut at the truth, if error variances are Exponential(``error_rate`` = λ1)."""
    return 2 * error_rate * math.tanh(epsilon / 2) ** 2


def capacity(epsilon: float) -> float:
    """How much one answer can contribute to the search for the truth, in nats.

    >>> round(capacity(1.0), 6)
    0.110944
    """
    tilt = math.tanh(epsilon / 2)  # ln 2 + p·ln p + q·ln q with p, q = (1 ± tilt)/2, without its cancellation
    if tilt < _TINY:
        return tilt**2 / 2 * (1 + tilt**2 / 6)
    wrong = (1 - tilt) * math.log1p(-tilt) if tilt < 1 else 0.0
    return ((1 + tilt) * math.log1p(tilt) + wrong) / 2


def answers_to_find(epsilon: float, ratio: float) -> tuple[float, float]:
    """How many answers bring the estimate within one spread of the truth for good, in half and in 90 % of campaigns.

    ``ratio`` is the width of the range divided by the spread of the readings.
    """
    search = math.log(max(ratio, 1.0))
    half, most = (max(slope * search + start, 0.0) / capacity(epsilon) for slope, start in (_HALF, _NINE_TENTHS))
    return half, most


def expected_deviation(epsilon: float, levels: int, spread: float, width: float, participants: int) -> float:
    """Root mean squared error to expect when all participants have answered, for normal errors."""
    left = participants - answers_to_find(epsilon, width / spread)[0]
    return _after_search(_NORMAL_EXCESS, usual_information(epsilon, levels, spread), left, width)


def expected_crowd_deviation(epsilon: float, error_rate: float, width: float, participants: float) -> float:
    """The same in a crowd whose error variances are Exponential(``error_rate`` = λ1)."""
    left = participants - answers_to_find(epsilon, width * math.sqrt(error_rate))[0]
    return _after_search(_CROWD_EXCESS, crowd_information(epsilon, error_rate), left, width)


def _after_search(excess: float, information_each: float, answers: float, width: float) -> float:
    """The error after the search; at most that of a guess that is uniform over the range."""
    guess = width / math.sqrt(12)
    return min(guess, excess / math.sqrt(information_each * answers)) if answers > 0 else guess


def shift_by_liars(epsilon: float, share: float, spread: float = 1.0) -> float:
    """How far the estimate moves if this share of participants all say "higher" without noise; it may have no limit.

    >>> round(shift_by_liars(1.0, 0.1), 3)
    0.306
    """
    pull = share / (2 * (1 - share) * math.tanh(epsilon / 2))
    return spread * float(ndtri(0.5 + pull)) if pull < 0.5 else math.inf
