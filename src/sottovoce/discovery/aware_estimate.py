"""Truths of the noise-aware estimator, and how certain they are, from the results of its iteration.

The variance of a truth is the inverse of the information in the marginal likelihood, because users' weights are
uncertain. It also includes what the model of errors does not cover: claims that scatter more than the model predicts,
plain averages that disagree, few users who decide, rounded claims, offsets that users may have in common, and the bias
that known truths reveal.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sottovoce.discovery.between_steps import StepEvidence
from sottovoce.discovery.common_bias import CommonBias
from sottovoce.discovery.copied_figures import MOST_CLAIMS as MOST_COPIED
from sottovoce.discovery.copied_figures import MOST_ROUNDS, votes
from sottovoce.discovery.cross_check import PlainAverages, cross_check
from sottovoce.discovery.iteration import Estimate, FitInput, Floats
from sottovoce.discovery.object_scales import NORMAL_DEVIATION, ObjectScales
from sottovoce.discovery.own_influence import MOST_CLAIMS, OwnInfluence
from sottovoce.discovery.own_offsets import common_variance
from sottovoce.discovery.quality import Belief, Quality
from sottovoce.discovery.reading_lookup import ReadingLookup
from sottovoce.discovery.rounding import shared_variance
from sottovoce.discovery.scatter_check import SEVERAL, Pulls
from sottovoce.engines import Engine, Step, Sweep

SAMPLE = 20_000  # claims
LEAST_COUNT = 1e-3  # a user's errors count as at least this many, even where nobody else decides
_CROWD_SWEEPS = 5  # to estimate the truths of known objects as if they were not known
_CERTAIN = 1e6  # degrees of freedom: practically a normal law
# The least degrees of freedom of a truth; the largest relative variance of a weight, from one claim and from several.
_LEAST_FREEDOM, _MOST_DOUBT = 2.0, (0.3, 1.5)
_FEW, _SHARE_OF_ONE = 3.0, 0.1  # effective users; share of a plain mean's variance, for a single user
_LEAST_TOTAL = 0.1  # share of an object's total weight that remains at least, as changes are estimated from a sample
_LEAST_PRECISION = 0.3  # of a truth, as a share of that at the mean weights


@dataclass(frozen=True, eq=False)
class AwareEstimate:
    """The results of the iteration when it ends."""

    given: FitInput
    step: Step  # the last one
    swept: Sweep  # its result
    truths: Floats  # from which the next step would start
    quality: Quality
    belief: Belief
    residuals: tuple[Floats, Floats]  # each user's sum of squared errors, and how many independent errors it stands for
    independent: Floats  # share of a user's errors that are not repetitions
    worth: float  # how much a squared error says about its user, relative to normal errors
    scatter_unit: Floats  # of objects, from the scatter of claims alone
    rounded_to: float
    noisy: bool
    opinions: bool
    coincide: bool
    lookup: ReadingLookup | None
    objects: ObjectScales | None
    steps: StepEvidence | None

    @property
    def engine(self) -> Engine:
        return self.given.engine

    @property
    def tail(self) -> float:
        return self.step.tail or 0.0

    def estimate(self) -> Estimate:
        engine, known, belief = self.engine, self.given.known, self.belief
        truths = self.swept.truths
        if self.coincide:  # errors are rare and gross: the truth is one of the claims, not a value between them
            truths = self._voted()
        truths[known] = self.given.known_truths
        if self.lookup:
            weights = self.lookup.information(belief.learnt)
            precision = engine.object_sums(weights)
        else:
            weights = belief.weight
            # The more uncertain the weights, the flatter is the marginal likelihood beside that at the mean weights.
            uncertain = engine.weighted_squares(self.truths, belief.spread) * self.step.unit**4
            whole = self.swept.precision * (1 + self.tail) / (1 + 3 * self.tail)
            precision = np.maximum(whole - uncertain, _LEAST_PRECISION * whole)
        effective_users, scatter = engine.precision(self.truths, weights)
        # If no user can be compared with another one, nothing is known about errors.
        compared = known.any() or bool((engine.comparable() > 0).any())
        variance = 1 / precision if compared else np.full(engine.n_objects, np.inf)
        freedom, of_weights = (None, None) if self.noisy and not self.opinions else self._freedom()
        several, pulls = (engine.claims_per_object >= SEVERAL) & ~known, Pulls()
        if freedom is not None and of_weights is not None and not self.coincide:
            if compared:
                pulls = self._pulls(several, variance, effective_users)
                variance = np.where(several, pulls.factor * variance, variance)
            # Degrees of freedom widen the intervals for uncertain weights, so the variance must not count these again.
            variance = variance * (of_weights + 1) / (of_weights + 3)
            if compared and self.opinions:
                # Nothing is known about how opinions are distributed, so their scatter about each object counts, unless
                # there are only two, whose scatter is mostly chance.
                enough = np.maximum(effective_users, 1 + _LEAST_FREEDOM)
                seen = np.where(engine.claims_per_object > 2, scatter * enough / (enough - 1), 0.0)
                freedom = np.where(seen > variance, np.minimum(freedom, enough - 1), freedom)
                variance = np.maximum(variance, seen)
        variance = variance + self._added_where_few_decide(effective_users, truths)
        bias = self._common_bias() if known.any() and compared else None
        if compared and not (self.coincide or bias):
            if self.opinions and not self.noisy:
                truths, variance = self._without_own_influence(truths, variance)
            plain = PlainAverages.of(engine, self.opinions)
            if not self.noisy:
                truths = np.where(several, truths + pulls.mean_share * (plain.mean - truths), truths)
            # Under noise, users' weights differ so much that the scatter of a weighted median is not known.
            medians = truths if self.opinions or self.noisy else self._weighted_medians(belief.weight)
            checked = cross_check(truths, variance, plain, medians, ~known, self.noisy)
            variance = checked.variance
            if not self.noisy:  # noise hides where between the averages the truth lies
                peaked = several & ~checked.plain  # if errors are skewed, the median aims elsewhere
                truths = np.where(
                    peaked, checked.truths + pulls.median_share * (medians - checked.truths), checked.truths
                )
            freedom = np.full(engine.n_objects, _CERTAIN) if freedom is None else freedom
            freedom = np.where(checked.plain, np.minimum(freedom, np.maximum(engine.claims_per_object - 1, 1)), freedom)
        if compared and not self.noisy:
            if self.steps and not bias:
                voted = self._voted()
                if self.steps.prefer(voted, truths):  # the new interval still covers the one around the averages
                    truths, variance = voted, (np.sqrt(variance) + np.abs(voted - truths) / 2) ** 2
            deciding = np.minimum(scatter, 1 / self.swept.precision) * effective_users
            variance = variance + shared_variance(self.rounded_to, deciding)
        if compared and not (self.coincide or self.opinions or bias):
            objects, users, residuals = engine.sample(self.truths, SAMPLE)
            errors = residuals * self.step.unit[objects] * np.sqrt(weights[users])
            in_common = common_variance(users, errors, engine.n_users)
            variance = variance + in_common * engine.claims_per_object / precision
        if bias:
            truths = np.where(known, truths, truths - bias.shift / self.scatter_unit)
            variance, freedom = bias.widened(variance, _CERTAIN if freedom is None else freedom, self.scatter_unit)
        return Estimate(truths, weights, effective_users, np.where(known, 0.0, variance), freedom)

    def _pulls(self, several: NDArray[np.bool_], variance: Floats, effective_users: Floats) -> Pulls:
        """What the pulls of claims say about the truths, from objects with several claims."""
        if not several.any():
            return Pulls()
        objects, users, residuals = self.engine.sample(self.truths, SAMPLE)
        chosen = several[objects]
        objects, users, residuals = objects[chosen], users[chosen], residuals[chosen] * self.step.unit[objects[chosen]]
        assumed = float(np.exp(np.log(variance * self.swept.precision)[several].mean()))
        shares = 1 / np.maximum(effective_users[objects], 1 + _LEAST_FREEDOM)
        weights, spreads = self.belief.weight[users], self.belief.spread[users]
        medians = not (self.opinions or self.steps)  # claims that agree because of rounding make a peak as well
        followed = self.independent[users] * spreads
        return Pulls.of(residuals, weights, self.worth * spreads, followed, self.tail, shares, assumed, medians)

    def _without_own_influence(self, truths: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Truths and variances without the influence of claims on their own weights."""
        engine, swept, known = self.engine, self.swept, self.given.known
        squares, counts = self.residuals
        objects, users, residuals = engine.sample(swept.truths, MOST_CLAIMS)
        weights, totals = self.belief.weight[users], swept.precision[objects]
        other_squares = np.maximum(squares[users] - residuals**2, (squares - swept.losses)[users])
        other_counts = np.maximum(counts[users] - (1 - weights / totals), LEAST_COUNT)
        independent = self.independent[users]
        others = self.quality.evaluate(other_squares * independent, other_counts * independent).weight
        claims, change = engine.claims_per_object, others - weights
        sampled = np.maximum(np.bincount(objects, minlength=engine.n_objects), 1)
        changes = np.bincount(objects, change, engine.n_objects) * claims / sampled
        totals = np.maximum(totals + changes[objects], _LEAST_TOTAL * totals)
        pulls = claims[objects] * change * residuals / totals / np.sqrt(variance[objects])
        corrected, wider = OwnInfluence.learn(pulls[~known[objects]]).corrected(truths, variance, claims)
        corrected = np.clip(corrected, *engine.ranges())  # a weighted mean never lies outside the range of the claims
        return np.where(known, truths, corrected), np.where(known, variance, wider)

    def _weighted_medians(self, weights: Floats) -> Floats:
        by_median = Step(self.step.center, np.ones(self.engine.n_objects), self.step.spread, average="median")
        return self.engine.sweep(by_median, weights, self.truths).truths

    def _voted(self) -> Floats:
        """Truths by vote, in which users who are also right about other objects count more."""
        engine, known = self.engine, self.given.known
        truths = self._weighted_medians(self.belief.weight)
        for _ in range(MOST_ROUNDS):
            truths[known] = self.given.known_truths
            objects, users, residuals = engine.sample(truths, MOST_COPIED)
            counted = votes(objects, users, residuals / self.step.spread[objects], engine.n_users)
            before, truths = truths, self._weighted_medians(counted)
            if np.array_equal(before[~known], truths[~known]):
                break
        return truths

    def _added_where_few_decide(self, effective_users: Floats, truths: Floats) -> Floats:
        """What is added to the variance where fewer than three users decide.

        Only a few claims show that these users are accurate, so the typical scatter of the claims, which a single
        absurd claim does not change, counts a little. If claims coincide, errors are gross, and all scatter counts.
        """
        engine, claims = self.engine, self.engine.claims_per_object
        enough = np.minimum(claims, _FEW)
        lacking = np.clip((enough - effective_users) / np.maximum(enough - 1, 1), 0, 1)
        if self.coincide:
            share, spread, middle = 1.0, self.given.deviations, engine.means()
        else:
            share, spread, middle = _SHARE_OF_ONE, NORMAL_DEVIATION * engine.deviations(), engine.medians()
        scatter = (spread**2 + (middle - truths) ** 2) / np.maximum(claims - 1, 1)
        return np.asarray(share * lacking**2 * scatter)

    def _common_bias(self) -> CommonBias | None:
        """The bias of the crowd, from its estimates of the known objects as if their truths were not known."""
        engine, known = self.engine, self.given.known
        truths = self.truths.copy()
        quality = self.lookup.places(self.belief.learnt) if self.lookup else self.belief.weight
        crowd = replace(self.step, known=np.zeros(engine.n_objects, bool))
        for _ in range(_CROWD_SWEEPS):
            truths = engine.sweep(crowd, quality, truths).truths
        errors, unit = truths[known] - self.truths[known], self.scatter_unit[known]
        # Judged by the scatter of these claims, because the users' posteriors mistake the bias for their own errors.
        users, scatter = (each[known] for each in engine.precision(truths, self.belief.weight))
        variance = scatter * users / np.maximum(users - 1, 0.5)
        return CommonBias.learn(errors * unit, variance * unit**2)

    def _freedom(self) -> tuple[Floats, Floats]:
        """Degrees of freedom of the truths' variances, and those that follow from the users' weights alone."""
        belief, engine = self.belief, self.engine
        # The posterior of a user with a single claim comes from all users,
        once = engine.claims_per_user == 1
        spread = np.minimum(belief.spread, np.where(once, _MOST_DOUBT[0], _MOST_DOUBT[1]) * belief.weight**2)
        total = engine.object_sums(belief.weight)
        doubt = engine.object_sums(spread) / total**2
        doubt = doubt + self.objects.doubt if self.objects else doubt
        # so it is no more certain than all claims together make it. For opinions, no law is known that would say more.
        from_crowd = 1.0 if self.opinions else engine.object_sums(np.where(once, belief.weight, 0.0)) / total
        errors = max(engine.n_claims - engine.n_objects, 1) * self.worth
        return _freedom_of(np.maximum(doubt, from_crowd**2 * 2 / errors)), _freedom_of(doubt)


def _freedom_of(doubt: Floats) -> Floats:
    """Degrees of freedom of a variance that is known up to this relative variance."""
    return np.clip(2 / np.maximum(doubt, 1e-12), _LEAST_FREEDOM, _CERTAIN)
