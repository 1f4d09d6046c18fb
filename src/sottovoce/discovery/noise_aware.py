"""The noise-aware estimator: it knows the law of the noise, and learns the rest."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from sottovoce.discovery.acceleration import Acceleration
from sottovoce.discovery.aware_choices import AwareChoices
from sottovoce.discovery.base import TruthDiscovery, check_level
from sottovoce.discovery.between_steps import StepEvidence
from sottovoce.discovery.choices import ChoiceInput, ChoiceIteration
from sottovoce.discovery.common_bias import CommonBias
from sottovoce.discovery.copied_figures import MOST_CLAIMS as MOST_COPIED
from sottovoce.discovery.copied_figures import MOST_ROUNDS, claims_coincide, votes
from sottovoce.discovery.cross_check import PlainAverages, cross_check
from sottovoce.discovery.iteration import Estimate, FitInput, Floats, Iteration, Knowledge, UserLosses
from sottovoce.discovery.object_scales import NORMAL_DEVIATION, ObjectScales, typical_variance
from sottovoce.discovery.own_influence import MOST_CLAIMS, OwnInfluence
from sottovoce.discovery.own_offsets import independent_share, repeated_share, squares_worth
from sottovoce.discovery.quality import Quality
from sottovoce.discovery.reading_lookup import ReadingLookup
from sottovoce.discovery.rounding import rounding_step, shared_variance
from sottovoce.discovery.scatter_check import SEVERAL, Pulls
from sottovoce.discovery.state import State
from sottovoce.discovery.tails import FIRST_TAIL, learn_tail, learn_whole_tail
from sottovoce.discovery.target import Target, check_target, likely_target
from sottovoce.engines import Engine, Step, Sweep
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import Gaussian, NoiseLaw, parse_law, parse_noise_law

_LEARNING = (0, 1, 2, 3, 5, 8, 12)  # iterations at which the crowd's prior, tails and units of objects are learnt
_LEARNING_AGAIN = (0, 1, 2)  # the same after an earlier fit of mostly the same objects and users
# Of few claims, beliefs from before may keep an answer that nobody finds from scratch, and save next to no time.
_MOSTLY, _FEWEST_CLAIMS = 0.9, 1000
_SAMPLE = 20_000
_FIRST_REST = 1e-3  # move of a truth
_MOST_LESSONS = 60
_FARTHEST_PRIOR = 4.0  # of its steps from lesson to lesson, which are known less well than those of truths
_FARTHEST_LOG = 30.0  # of a user's squares and counts, from what is seen
_CROWD_SWEEPS = 5  # to find what the crowd alone says about known objects
_LEAST_COUNT = 1e-3  # of a user's errors, where they alone decide
# Squares beside those of a user's errors, over the typical one: no claim is infinitely accurate, least of all a copy;
# and one who has few claims may agree with others by chance.
_RESOLUTION, _COPIED, _BY_CHANCE = 1e-4, 0.02, 0.04
_LEAST_FREEDOM, _MOST_DOUBT = 2.0, (0.3, 1.5)  # of a user's weight, relative variance: with one claim, with several
_FEW, _SHARE_OF_ONE = 3.0, 0.1  # effective users; of the variance of a plain mean, where one decides alone
_LEAST_TOTAL = 0.1  # of the weights about an object, where some of its claims say what all would be
_LARGEST_VARIANCE = 1e150  # of noise: squares of weights have to be numbers as well
_LEAST_PRECISION = 0.3  # of a truth, against that at the mean weights


class NoiseAware(TruthDiscovery):
    """Truths under a known noise law: nearly as accurate as if every user's quality were known.

    Claims are x = truth + Normal(0, v_s) + noise, the noise by the law that devices used. Users' variances v_s have a
    gamma prior that is learnt from the crowd, so a user with one claim gets the crowd's weight. A user counts with
    w_s = E[1/(v_s + noise variance) | their residuals]; under fresh noise each reading has a weight of its own,
    -f'(r)/(r·f(r)) with f the density of error and noise together. The uncertainty of the truths is added back to the
    residuals, or one user could capture a truth. Without noise, objects may differ in scale. Readings far off count
    less (Student's t, its degrees of freedom learnt); where claims mostly coincide, users vote.

    Parameters
    ----------
    noise
        The law of the noise that devices added, or its text form; None if nothing was added.
    target
        ``"value"``: what a careful person would measure, so readings that are far off are errors. ``"mean"``: the
        crowd's average opinion, so users are weighed by quality, and no reading is discounted for being far off. By
        default the claims decide: those that pile up at an end of their scale, or use a few values about all objects,
        are opinions. Under noise the default is ``"value"``. `target_` says which it was.

    Examples
    --------
    >>> import sottovoce as sv
    >>> world = sv.worlds.synthetic(150, 30, seed=1)
    >>> law = sv.SharedVariance(rate=0.5)
    >>> noisy = world.with_simulated_noise(law, seed=2)
    >>> ours, mean = (method.fit(noisy.claims).truths_ for method in (sv.NoiseAware(noise=law), sv.Mean()))
    >>> bool(abs(ours - world.truths).mean() < abs(mean - world.truths).mean())
    True
    """

    name = "noise-aware"
    title = "noise-aware"
    words = "people who agree with the crowd count more, given how much noise was added."
    kinds = ("number", "choice")
    takes_known = True

    target_: Target

    def __init__(
        self,
        noise: NoiseLaw | str | None = None,
        *,
        target: Target | None = None,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.noise = noise
        self.target = target

    def weigh(self, losses: UserLosses) -> Floats:
        """Expected precisions, where each user's loss is the sum of their squared errors."""
        squares, counts = losses.sum, np.asarray(losses.count, np.float64)
        quality = Quality(self._law(), float(np.median(losses.mean)), int(counts.max()))
        quality.learn(squares, counts)
        return quality.belief(squares, counts).weight

    def begin(self, given: FitInput) -> Iteration:
        check_target(self.target)
        law = self._law()
        coincide = law is None and self.target is None and claims_coincide(given.engine)
        self.target_ = self.target or ("value" if law or coincide else likely_target(given.engine))
        return _AwareIteration(given, law, self.target_, self.tol)

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        return AwareChoices(given, parse_law(self.noise) if isinstance(self.noise, str) else self.noise, self.tol)

    def _law(self) -> NoiseLaw | None:
        law = parse_noise_law(self.noise) if isinstance(self.noise, str) else self.noise
        if law and not law.constant_variance <= _LARGEST_VARIANCE:
            raise BadParameter(
                f"noise law {law}: its variance is {law.constant_variance:g}: weights can be computed up to "
                f"{_LARGEST_VARIANCE:g}; use a larger unit for claims and noise"
            )
        return law

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high end of an interval for each truth.

        The variance is the inverse of the information in the marginal likelihood. Under noise the interval is normal;
        without, weights are learnt from the residuals of a few claims, and it is Student's t with the degrees of
        freedom that follow from their uncertainty.
        """
        check_level(level)
        tail = (1 + level) / 2
        half = ndtri(tail) if self._freedom is None else stdtrit(self._freedom, tail)
        half = half * np.sqrt(self._variance)
        return self.truths_ - half, self.truths_ + half


class _AwareIteration(Iteration):
    """Truths from what is believed of users, then beliefs from how far their claims lie from the truths."""

    _swept: Sweep  # the last pass over the claims

    def __init__(self, given: FitInput, law: NoiseLaw | None, target: Target, tol: float) -> None:
        self._given, self._engine, self._tol = given, given.engine, tol
        engine = self._engine
        self._spreads, self._center = given.spreads, engine.medians()
        self._opinions, self._noisy = target == "mean", law is not None
        typical = typical_variance(engine, given.deviations)
        self._rounded_to = 0.0 if law else rounding_step(engine)
        self._steps = StepEvidence(engine, self._rounded_to) if self._rounded_to and not self._opinions else None
        # Where claims are rounded, whether users vote is decided at the end.
        self._coincide = not (law or self._opinions or self._steps) and claims_coincide(engine)
        self._objects = ObjectScales(engine, typical, self._coincide) if law is None and not self._opinions else None
        noise = law.reading_noise() if law else None
        if noise and self._opinions:  # a mean takes readings as they are: of the noise only the variance counts
            law, noise = Gaussian(math.sqrt(noise.variance)), None
        self._quality = Quality(law, 1.0 if self._objects else typical, int(engine.claims_per_user.max()))
        self._lookup = ReadingLookup(noise, typical) if noise else None
        # Without noise, one who agrees with themselves alone must not capture truths; see `_residuals`.
        self._rejects = not self._opinions and (law is not None or self._coincide)
        constant = self._lookup or self._coincide or self._opinions
        self._learn_tail = None if constant else learn_tail if self._rejects else learn_whole_tail
        self._tail = FIRST_TAIL if self._learn_tail else 0.0
        self._kind = f"{type(law).__name__} {target}"
        self._warm = _mostly_the_same(given, self._kind)
        self._truths = given.first_truths(self._center) if self._warm else self._center.copy()
        self._truths[given.known] = given.known_truths
        schedule = self._begin_with(self._warm) if self._warm else _LEARNING
        self._schedule, self._last_lesson = schedule, max(schedule)
        # As long as nothing is known about users, all are alike.
        self._belief = self._quality.belief(np.full(engine.n_users, self._quality.scale), np.ones(engine.n_users))
        if self._warm:
            self._belief = self._belief.updated(self._warm.by_user, self._warm.common_users(engine.user_labels))
        self._take_unit(self._objects.unit if self._objects else np.ones(engine.n_objects))
        # Later units of known objects include the crowd's bias; these come from the scatter of claims alone.
        self._scatter_unit = self._unit
        self._acceleration, self._priors = Acceleration(), Acceleration(_FARTHEST_PRIOR)
        self._independent = np.ones(engine.n_users)  # share of a user's errors that are not repetitions
        self._worth = 1.0  # what a square says about its user, over what it would say if errors were normal
        self._done = self._lessons = 0
        self._rest = max(tol, _FIRST_REST)  # at moves below this, learn again

    def _begin_with(self, earlier: State) -> tuple[int, ...]:
        """Take over what an earlier fit of mostly the same crowd has learnt; when to learn again."""
        self._tail = earlier.learnt["tail"] if self._learn_tail else 0.0
        self._quality.begin_with(np.array(earlier.learnt["prior"]))
        if self._objects:
            common = earlier.common_objects(self._engine.object_labels)
            self._objects.begin_with(earlier.by_object["log scale"], common)
        return _LEARNING_AGAIN if earlier.iteration > max(_LEARNING_AGAIN) else _LEARNING

    def _take_unit(self, unit: Floats) -> None:
        self._unit = unit
        # Rounded claims that agree may be off together, by up to half a step (W. F. Sheppard's correction, 1898).
        self._rounding = self._rounded_to**2 / 12 * unit**2 if self._steps else None
        self._rounding_of_users = 0.0 if self._rounding is None else self._engine.user_sums(self._rounding)

    def advance(self) -> float:
        lookup, known = self._lookup, self._given.known
        quality = lookup.places(self._belief.learnt) if lookup else self._belief.weight
        self._swept = swept = self._engine.sweep(self._step(known), quality, self._truths)
        self._truths = swept.truths
        squares, counts = (each * self._independent for each in self._residuals(swept))
        resting = self._done > self._last_lesson and swept.move <= self._rest
        if self._done in self._schedule or (resting and self._tol > 0):
            moved = self._learn(squares, counts) and self._lessons < _MOST_LESSONS
            if moved and resting:
                self._quality.begin_with(self._priors.ahead(self._quality.prior))
            self._belief = self._quality.belief(squares, counts)
            self._acceleration = Acceleration()
            if resting:
                self.settled = not moved and swept.move <= self._tol
                self._rest = max(self._rest / 10, self._tol) if moved else self._tol
            if self._done >= self._last_lesson and not self.settled:
                self._quality.freeze(squares, counts)
        else:
            if self._done > self._last_lesson:
                squares, counts = self._extrapolate(squares, counts)
            self._belief = self._quality.belief(squares, counts)
        self._done += 1
        return swept.move

    def _step(self, known: NDArray[np.bool_]) -> Step:
        rows = self._lookup.rows if self._lookup else None
        return Step(
            self._center, self._unit, self._spreads, known=known, tail=self._tail, rejects=self._rejects, lookup=rows
        )

    def _residuals(self, swept: Sweep) -> tuple[Floats, Floats]:
        """Each user's sum of squares, and how many errors it stands for.

        Truths lie nearer to their claims than the claims' errors are large. Either the truths' variances are added back
        to the squares, or a claim counts as one error less its own share in the truth. The second is right even where a
        single user decides about an object; under noise nobody can.
        """
        claims = self._engine.claims_per_user.astype(np.float64)
        if swept.doubts is None:
            assert swept.counts is not None
            return np.maximum(swept.losses, 1e-12 * self._quality.scale), np.maximum(swept.counts, 0.5)
        if self._rejects:
            least = claims * _COPIED if self._coincide else 1e-12
            return swept.losses + swept.doubts + least * self._quality.scale, claims
        counts = np.maximum(claims - self._belief.weight * swept.doubts, _LEAST_COUNT)
        usual = min(self._quality.scale, self._quality.mean)  # units of objects leave the scale open
        # Who has no share in the truths of their objects agrees with others by accuracy, not by chance. Of opinions,
        # even many agree by chance.
        by_chance = _BY_CHANCE * (1 if self._opinions else 1 - counts / claims)
        return swept.losses + (counts * _RESOLUTION + by_chance) * usual + self._rounding_of_users, counts

    def _learn(self, squares: Floats, counts: Floats) -> bool:
        """Learn the crowd's prior, tails and units of objects; whether they still change."""
        self._lessons += 1
        kinds = self._done <= self._last_lesson and not self._coincide  # copied figures are right, or grossly wrong
        moved = self._quality.learn(squares, counts, kinds)
        if self._lookup is None and (self._done or self._warm) and self._done <= self._last_lesson:
            objects, users, errors = _standard_errors(self._engine, self._truths, self._unit, self._belief.weight)
            sample = errors**2
            if self._rounding is not None:
                sample += self._rounding[objects] * self._belief.weight[users]
            if not self._rejects:
                kept = errors * np.sqrt((1 + self._tail) / (1 + self._tail * sample))
                repeated = repeated_share(users, kept, self._engine.n_users)
                self._independent = independent_share(self._engine.claims_per_user, repeated)
                if self._opinions:
                    self._worth = squares_worth(users, sample, self._engine.n_users)
                    self._independent = self._independent * self._worth
            self._tail = self._learn_tail(sample) if self._learn_tail else self._tail
            if self._objects and self._swept.misfit is not None:
                self._take_unit(self._objects.learn(self._swept.misfit, objects, sample))
        return moved

    def _extrapolate(self, squares: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Go on from a point farther along the way: its truths are kept, its squares and counts returned."""
        users = np.concatenate((np.log(squares), np.log(counts)))
        ahead = self._acceleration.ahead(np.concatenate((self._truths / self._spreads, users)))
        objects, many = len(self._truths), len(squares)
        self._truths = ahead[:objects] * self._spreads
        users = np.exp(np.clip(ahead[objects:], users - _FARTHEST_LOG, users + _FARTHEST_LOG))
        return users[:many], np.minimum(users[many:], self._engine.claims_per_user * self._independent)

    def knowledge(self) -> Knowledge:
        scales = {"log scale": self._objects.logs} if self._objects else {}
        learnt = {"law": self._kind, "tail": self._tail, "prior": tuple(self._quality.prior)}
        return Knowledge({"truth": self._truths, **scales}, vars(self._belief), learnt)

    def estimate(self) -> Estimate:
        engine, known, belief = self._engine, self._given.known, self._belief
        truths = self._swept.truths
        if self._coincide:  # errors are rare and gross: the truth is what somebody claims, not between two claims
            truths = self._voted()
        truths[known] = self._given.known_truths
        if self._lookup:
            weights = self._lookup.information(belief.learnt)
            precision = engine.object_sums(weights)
        else:
            weights = belief.weight
            # The marginal likelihood is flatter than the one at the mean weights, the more uncertain these are.
            uncertain = engine.weighted_squares(self._truths, belief.spread) * self._unit**4
            whole = self._swept.precision * (1 + self._tail) / (1 + 3 * self._tail)
            precision = np.maximum(whole - uncertain, _LEAST_PRECISION * whole)
        effective_users, scatter = engine.precision(self._truths, weights)
        # Where nobody can be compared with anybody, nothing is known of errors.
        compared = known.any() or bool((engine.comparable() > 0).any())
        variance = 1 / precision if compared else np.full(engine.n_objects, np.inf)
        freedom = None if self._noisy and not self._opinions else self._freedom()
        if freedom is not None and not self._coincide:
            # The information in Student's t is less than its scale says: not to be counted twice.
            variance = variance * (freedom + 1) / (freedom + 3)
        several, pulls = (engine.claims_per_object >= SEVERAL) & ~known, Pulls()
        if freedom is not None and not self._coincide and compared:
            pulls = self._pulls(several, variance, effective_users)
            variance = np.where(several, pulls.factor * variance, variance)
            if self._opinions:
                # Nothing is known of how opinions are distributed: where those about an object scatter more, it counts.
                enough = np.maximum(effective_users, 1 + _LEAST_FREEDOM)
                seen = scatter * enough / (enough - 1)
                freedom = np.where(seen > variance, np.minimum(freedom, enough - 1), freedom)
                variance = np.maximum(variance, seen)
        variance = variance + self._added_where_few_decide(effective_users, truths)
        bias = self._common_bias() if known.any() and compared else None
        if compared and not (self._noisy or self._coincide or bias):
            assert freedom is not None
            if self._opinions:
                truths, variance = self._without_own_influence(truths, variance)
            plain = PlainAverages.of(engine, self._opinions)
            truths = np.where(several, truths + pulls.mean_share * (plain.mean - truths), truths)
            medians = truths if self._opinions else self._weighted_medians(belief.weight)
            checked = cross_check(truths, variance, plain, medians, ~known)
            truths, variance = checked.truths, checked.variance
            peaked = several & ~checked.plain  # of skewed errors, a median has a place of its own
            truths = np.where(peaked, truths + pulls.median_share * (medians - truths), truths)
            freedom = np.where(checked.plain, np.minimum(freedom, np.maximum(engine.claims_per_object - 1, 1)), freedom)
        if compared and not self._noisy:
            if self._steps and not bias:
                voted = self._voted()
                if self._steps.prefer(voted, truths):  # and the interval holds what it held about the averages
                    truths, variance = voted, (np.sqrt(variance) + np.abs(voted - truths) / 2) ** 2
            deciding = np.minimum(scatter, 1 / self._swept.precision) * effective_users
            variance = variance + shared_variance(self._rounded_to, deciding)
        if bias:
            truths = np.where(known, truths, truths - bias.shift / self._scatter_unit)
            variance, freedom = bias.widened(variance, 1e6 if freedom is None else freedom, self._scatter_unit)
        return Estimate(truths, weights, effective_users, np.where(known, 0.0, variance), freedom)

    def _pulls(self, several: NDArray[np.bool_], variance: Floats, effective_users: Floats) -> Pulls:
        """What the claims about objects with several of them say about the truths."""
        if not several.any():
            return Pulls()
        objects, users, residuals = self._engine.sample(self._truths, _SAMPLE)
        chosen = several[objects]
        objects, users, residuals = objects[chosen], users[chosen], residuals[chosen] * self._unit[objects[chosen]]
        assumed = float(np.exp(np.log(variance * self._swept.precision)[several].mean()))
        shares = 1 / np.maximum(effective_users[objects], 1 + _LEAST_FREEDOM)
        weights, spreads = self._belief.weight[users], self._belief.spread[users]
        medians = not (self._opinions or self._steps)  # those who agree by rounding make a peak as well
        followed = self._independent[users] * spreads
        return Pulls.of(residuals, weights, self._worth * spreads, followed, self._tail, shares, assumed, medians)

    def _without_own_influence(self, truths: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Truths and variances without what claims do to their own weights."""
        engine, swept, known = self._engine, self._swept, self._given.known
        squares, counts = self._residuals(swept)
        objects, users, residuals = engine.sample(swept.truths, MOST_CLAIMS)
        weights, totals = self._belief.weight[users], swept.precision[objects]
        other_squares = np.maximum(squares[users] - residuals**2, (squares - swept.losses)[users])
        other_counts = np.maximum(counts[users] - (1 - weights / totals), _LEAST_COUNT)
        independent = self._independent[users]
        others = self._quality.evaluate(other_squares * independent, other_counts * independent).weight
        claims, change = engine.claims_per_object, others - weights
        sampled = np.maximum(np.bincount(objects, minlength=engine.n_objects), 1)
        changes = np.bincount(objects, change, engine.n_objects) * claims / sampled
        totals = np.maximum(totals + changes[objects], _LEAST_TOTAL * totals)
        pulls = claims[objects] * change * residuals / totals / np.sqrt(variance[objects])
        found, wider = OwnInfluence.learn(pulls[~known[objects]]).corrected(truths, variance, claims)
        found = np.clip(found, *engine.ranges())  # no weights lead beyond the claims
        return np.where(known, truths, found), np.where(known, variance, wider)

    def _weighted_medians(self, weights: Floats) -> Floats:
        middling = Step(self._center, np.ones(self._engine.n_objects), self._spreads, average="median")
        return self._engine.sweep(middling, weights, self._truths).truths

    def _voted(self) -> Floats:
        """What users claim who are right about other objects too."""
        engine, known = self._engine, self._given.known
        truths = self._weighted_medians(self._belief.weight)
        for _ in range(MOST_ROUNDS):
            truths[known] = self._given.known_truths
            objects, users, residuals = engine.sample(truths, MOST_COPIED)
            counted = votes(objects, users, residuals / self._spreads[objects], engine.n_users)
            before, truths = truths, self._weighted_medians(counted)
            if np.array_equal(before[~known], truths[~known]):
                break
        return truths

    def _added_where_few_decide(self, effective_users: Floats, truths: Floats) -> Floats:
        """Added to the variance where fewer than three users decide.

        That they are the accurate ones rests on a few claims of theirs, so the scatter of most others counts a little;
        one absurd claim is no reason. Where claims coincide, errors are gross, and all of it counts.
        """
        engine, claims = self._engine, self._engine.claims_per_object
        enough = np.minimum(claims, _FEW)
        lacking = np.clip((enough - effective_users) / np.maximum(enough - 1, 1), 0, 1)
        if self._coincide:
            share, spread, middle = 1.0, self._given.deviations, engine.means()
        else:
            share, spread, middle = _SHARE_OF_ONE, NORMAL_DEVIATION * engine.deviations(), engine.medians()
        scatter = (spread**2 + (middle - truths) ** 2) / np.maximum(claims - 1, 1)
        return np.asarray(share * lacking**2 * scatter)

    def _common_bias(self) -> CommonBias | None:
        """What the crowd would have said about the known objects shows how it errs."""
        engine, known = self._engine, self._given.known
        truths = self._truths.copy()
        quality = self._lookup.places(self._belief.learnt) if self._lookup else self._belief.weight
        for _ in range(_CROWD_SWEEPS):
            truths = engine.sweep(self._step(np.zeros(engine.n_objects, bool)), quality, truths).truths
        errors, unit = truths[known] - self._truths[known], self._scatter_unit[known]
        # By the scatter of these claims: what is believed of users has taken the bias for an error of their own.
        users, scatter = (each[known] for each in engine.precision(truths, self._belief.weight))
        variance = scatter * users / np.maximum(users - 1, 0.5)
        return CommonBias.learn(errors * unit, variance * unit**2)

    def _freedom(self) -> Floats:
        """Degrees of freedom of the truths' variances: how well those are known who decide about an object."""
        belief, engine = self._belief, self._engine
        # One with a single claim is believed to be like the others, and that is learnt from all of them,
        once = engine.claims_per_user == 1
        spread = np.minimum(belief.spread, np.where(once, _MOST_DOUBT[0], _MOST_DOUBT[1]) * belief.weight**2)
        total = engine.object_sums(belief.weight)
        doubt = engine.object_sums(spread) / total**2
        doubt = doubt + self._objects.doubt if self._objects else doubt
        # but not better than all claims together show how far they err. Opinions have no law that says more than these.
        believed = 1.0 if self._opinions else engine.object_sums(np.where(once, belief.weight, 0.0)) / total
        errors = max(engine.n_claims - engine.n_objects, 1) * self._worth
        doubt = np.maximum(doubt, believed**2 * 2 / errors)
        return np.clip(2 / np.maximum(doubt, 1e-12), _LEAST_FREEDOM, 1e6)


def _mostly_the_same(given: FitInput, kind: str) -> State | None:
    """The earlier state, if it knows most of these objects and users: only then its beliefs are of this crowd."""
    earlier, engine = given.earlier, given.engine
    if earlier is None or earlier.learnt.get("law") != kind or engine.n_claims < _FEWEST_CLAIMS:
        return None
    objects, users = earlier.common_objects(engine.object_labels)[0], earlier.common_users(engine.user_labels)[0]
    share = min(len(objects) / engine.n_objects, len(users) / engine.n_users)
    return earlier if share >= _MOSTLY else None


def _standard_errors(
    engine: Engine, truths: Floats, unit: Floats, weights: Floats
) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats]:
    """Objects, users and residuals of a sample of claims, in their users' deviations."""
    objects, users, residuals = engine.sample(truths, _SAMPLE)
    return objects, users, np.asarray(residuals * unit[objects] * np.sqrt(weights[users]))
