"""Estimates truths from a table of comparisons."""

import math
from collections import Counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.comparisons.board import Board
from sottovoce.comparisons.posterior import Posterior, Scale
from sottovoce.comparisons.quality import estimate_accuracies
from sottovoce.comparisons.table import Comparisons
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import AnswerLaw, parse_answer_law
from sottovoce.privacy.parameters import check_range

Floats = NDArray[np.float64]
_GUESSED_SHARE = 50  # the first guess of the spread is the range divided by this: better too large than too small
_ANSWERS_FOR_ACCURACIES = 5  # per user


class ByComparison:
    """Truths from comparisons: the median of a posterior over the truth and the spread of the readings.

    P(level) = r + (1 - k·r)·(Φ((b - truth)/spread) - Φ((a - truth)/spread)) for a level between the cuts a and b, with
    r the chance of each wrong level among k. The prior of the truth is uniform over a range; the spread is estimated
    from all objects. The estimate aims at the median of the crowd's readings. With more than two levels, two objects or
    more, and at least five answers per user on average, users' accuracies are estimated too, and accurate users count
    more.
    docs/why/comparisons.md has the derivation.

    Parameters
    ----------
    noise
        The law for answers, such as ``response:1``; by default the one that the table names.
    range
        Where truths lie, as (low, high); by default the cuts' range, extended by half its width on either side.
    spread_guess
        A guess of the readings' standard deviation; better too large than too small. By default a 50th of the range.

    Attributes
    ----------
    truths_, objects_ : array
        The truth of each object, and the objects' labels.
    weights_, users_ : array
        How much each user counts: the inverse of their error variance, relative to the mean; 1 if accuracies are not
        estimated.
    claims_ : array
        Number of answers about each object.
    spreads_ : array
        Standard deviation of the readings of each object.
    """

    truths_: Floats
    objects_: NDArray[Any]
    weights_: Floats
    users_: NDArray[Any]
    claims_: NDArray[np.int64]
    spreads_: Floats

    def __init__(
        self,
        noise: AnswerLaw | str | None = None,
        *,
        range: tuple[float, float] | None = None,
        spread_guess: float | None = None,
    ) -> None:
        self.noise = noise
        self.range = range
        self.spread_guess = spread_guess

    def fit(self, comparisons: Comparisons) -> Self:
        """Estimate the truths."""
        scale = self._scale(comparisons)
        places = np.arange(len(comparisons.object_labels))
        board = Board({str(place): scale for place in places})
        answers = zip(
            comparisons.objects.tolist(), map(tuple, comparisons.cuts.tolist()), comparisons.levels.tolist(),
            strict=True,
        )  # fmt: skip
        for (place, cuts, level), count in Counter(answers).items():
            board.add(str(place), cuts, level, count)
        posteriors = [posterior for _, posterior in board.posteriors()]
        self.objects_, self.users_ = comparisons.object_labels, comparisons.user_labels
        self.claims_ = np.bincount(comparisons.objects, minlength=len(places)).astype(np.int64)
        self.spreads_ = np.exp([posterior.log_spread for posterior in posteriors])
        self.truths_ = np.array([posterior.median for posterior in posteriors])
        self.weights_ = np.ones(len(self.users_))
        self._posteriors: list[Posterior] = posteriors
        self._deviations: Floats | None = None
        per_user = len(comparisons) / len(self.users_)
        if scale.levels > 2 and per_user >= _ANSWERS_FOR_ACCURACIES and len(places) > 1:
            estimated = estimate_accuracies(
                comparisons, scale, self.truths_, np.array([posterior.deviation for posterior in posteriors]),
                float(np.mean(self.spreads_**2)),
            )  # fmt: skip
            self.truths_, self._deviations, self.weights_ = estimated
        return self

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high end of an interval for each truth.

        They are quantiles of its posterior; if accuracies are estimated, those of a normal law around the truth.
        """
        if not 0 < level < 1:
            raise BadParameter(f"level={level}: a level must be above 0 and below 1; 0.95 is typical")
        if self._deviations is None:
            low, high = np.array([posterior.interval(level) for posterior in self._posteriors]).T
            return low, high
        from scipy.special import ndtri

        half = float(ndtri((1 + level) / 2)) * self._deviations
        return self.truths_ - half, self.truths_ + half

    def _scale(self, comparisons: Comparisons) -> Scale:
        law = self.noise or comparisons.noise
        if law is None:
            raise BadParameter("noise: the table names no law for its answers; give one (--noise), such as response:1")
        law = parse_answer_law(law) if isinstance(law, str) else law
        channel = law.channel(comparisons.levels_each)
        low, high = self.range or _range_of(comparisons)
        check_range(low, high)
        guess = self.spread_guess or (high - low) / _GUESSED_SHARE
        if not 0 < guess < math.inf:
            raise BadParameter(
                f"spread_guess {guess!r}: it must be a finite number above 0; guess high rather than low"
            )
        return Scale(low, high, comparisons.levels_each, channel.miss, guess)


def _range_of(comparisons: Comparisons) -> tuple[float, float]:
    low, high = float(comparisons.cuts.min()), float(comparisons.cuts.max())
    if low == high:
        raise BadParameter(
            f"cuts: all answers compare with {low:g}, which does not show where truths lie; give the range (--range)"
        )
    return low - (high - low) / 2, high + (high - low) / 2
