"""Do truths differ from the plain averages of the same claims by more than the model of errors explains?

If the model is right, an estimate r is the best one, and the mean m differs from it by chance, with the variance
Var(m) - Var(r) (J. A. Hausman, Econometrica 46 (1978), doi:10.2307/1913827). If m - r is larger, for single objects or
to the same side for all, errors are not as the model assumes: they are skewed, or users who agree with each other err
together. It is then unknown which of the two is nearer to the truth, so the result is a compromise between them, with
the intervals of the plain averages, widened because of the doubt.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from sottovoce.engines import Engine

Floats = NDArray[np.float64]

_SEVERAL = 5  # least number of claims about an object whose averages are compared, and of such objects
_MEDIAN_VARIANCE = np.pi / 2  # of a median, over that of a mean, of normal errors
_NORMAL_DEVIATION = 1.4826
_LEAST_EXPECTED = 0.2  # of the squared difference, over the mean's variance
# Probability of rejecting a model that is right. Noise hides a lot, and under noise only intervals are changed.
_CHANCE, _CHANCE_UNDER_NOISE = 0.003, 0.05


@dataclass(frozen=True, eq=False)
class PlainAverages:
    """The mean of each object's claims, and the variances of their mean and median according to their scatter."""

    mean: Floats
    variance: Floats  # of the mean
    median_variance: Floats
    favour: float  # weight of the mean against the median: a half if equally precise, 0 if half as precise
    compared: NDArray[np.bool_]  # objects with enough claims

    @classmethod
    def of(cls, engine: Engine, opinions: bool) -> "PlainAverages":
        """The averages of all claims. The truth about ``opinions`` is a mean, so their medians are not used."""
        claims, mean = engine.claims_per_object, engine.means()
        variance = engine.spreads() ** 2 / np.maximum(claims - 1, 1)
        robust = _MEDIAN_VARIANCE * (_NORMAL_DEVIATION * engine.deviations()) ** 2 / claims
        compared = (claims >= _SEVERAL) & (variance > 0)
        both = compared & (robust > 0)
        if opinions or not both.any():
            return cls(mean, variance, variance, 1.0, compared)
        excess = float(np.exp(np.mean(np.log(variance[both] / robust[both]))))
        return cls(mean, variance, np.where(robust > 0, robust, variance), max(0.0, 1 - excess / 2), both)


@dataclass(frozen=True, eq=False)
class Checked:
    """Truths and variances after the comparison."""

    truths: Floats
    variance: Floats
    plain: NDArray[np.bool_]  # objects whose variance is mostly that of plain averages


def cross_check(
    truths: Floats, variance: Floats, plain: PlainAverages, medians: Floats, unknown: NDArray[np.bool_], noisy: bool
) -> Checked:
    """Compare the truths of the ``unknown`` objects with plain means, and with medians of weighted claims."""
    unlikely = (_CHANCE_UNDER_NOISE if noisy else _CHANCE) / 2  # on either side
    seen = plain.compared & unknown
    if int(seen.sum()) < _SEVERAL:
        return Checked(truths, variance, np.zeros(len(truths), bool))
    mean = _Difference.of(plain.mean - truths, variance, plain.variance, seen, unlikely)
    median = _Difference.of(medians - truths, variance, _MEDIAN_VARIANCE * variance, seen, unlikely)
    # If errors are skewed, mean and median lie on either side of the truths. Medians alone may be off by chance:
    # between two camps a median lies in one of them, and the same users decide about all objects.
    other_side = np.clip(median.common, np.minimum(-mean.seen, 0), np.maximum(-mean.seen, 0))
    # Differences of single objects are taken from means only: a median of few claims jumps.
    shift = plain.favour * (mean.common + mean.own) + (1 - plain.favour) * other_side
    shifted = np.where(unknown, truths + shift, truths)
    # The more precise the mean is in comparison with the median, the more of the mean's own interval must be covered.
    rival = min(1.0, 3 * plain.favour)
    both = (np.sqrt(plain.variance) + np.abs(plain.mean - shifted) / 2) ** 2
    scatter = rival * both + (1 - rival) * plain.median_variance
    wider = np.where(unknown, max(mean.doubt, median.doubt) * np.maximum(scatter - variance, 0), 0.0)
    corrected = plain.favour**2 * mean.variance + (1 - plain.favour) ** 2 * median.variance
    return Checked(shifted, variance + np.maximum(wider, np.where(unknown, corrected, 0.0)), wider > variance)


@dataclass(frozen=True, eq=False)
class _Difference:
    """The part of the differences between an average and the truths that is more than chance."""

    seen: Floats  # the common difference to one side, by chance or not, in each object's unit
    common: Floats  # the part of it that is more than chance
    own: Floats  # of each object
    doubt: float  # whether the model is wrong, from 0 to 1
    variance: Floats  # of the common part

    @classmethod
    def of(
        cls, differences: Floats, variance: Floats, plain: Floats, seen: NDArray[np.bool_], unlikely: float
    ) -> "_Difference":
        many, scale = int(seen.sum()), np.sqrt(plain)
        each = np.divide(differences, scale, out=np.zeros(len(scale)), where=scale > 0)
        expected = float(np.maximum(1 - variance[seen] / plain[seen], _LEAST_EXPECTED).mean())
        common, around = float(each[seen].mean()), float(each[seen].var())
        to_one_side, chance = many * common**2, max(around, expected)
        one_by_one = _beyond_chance(around, (1 - ndtri(unlikely) * np.sqrt(2 / many)) * expected)
        farthest = float(stdtrit(many - 1, unlikely)) ** 2
        doubt = min(1.0, 3 * max(_beyond_chance(to_one_side, farthest * chance), one_by_one))
        # Plain averages may be far less precise than truths. The less precise they are, the clearer a difference must
        # be, because a correction by chance would cost more than it gains. A correction is as uncertain as its basis.
        kept = _beyond_chance(to_one_side, float((plain[seen] / variance[seen]).mean()) * chance)
        own = one_by_one * (each - kept * common)
        return cls(common * scale, kept * common * scale, own * scale, doubt, kept**2 * chance / many * plain)


def _beyond_chance(seen: float, expected: float) -> float:
    """The share of what is seen that is more than expected."""
    return max(0.0, 1 - expected / seen) if seen > 0 else 0.0
