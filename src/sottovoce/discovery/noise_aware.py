"""The noise-aware estimator: it is given the law of the noise, and estimates everything else."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from sottovoce.discovery.acceleration import Acceleration
from sottovoce.discovery.aware_choices import AwareChoices
from sottovoce.discovery.aware_estimate import LEAST_COUNT, SAMPLE, AwareEstimate
from sottovoce.discovery.base import TruthDiscovery, check_level
from sottovoce.discovery.between_steps import StepEvidence
from sottovoce.discovery.choices import ChoiceInput, ChoiceIteration
from sottovoce.discovery.copied_figures import claims_coincide
from sottovoce.discovery.iteration import Estimate, FitInput, Floats, Iteration, Knowledge, UserLosses
from sottovoce.discovery.object_scales import ObjectScales, typical_variance
from sottovoce.discovery.own_offsets import independent_share, repeated_share, squares_worth
from sottovoce.discovery.quality import Quality
from sottovoce.discovery.reading_lookup import ReadingLookup
from sottovoce.discovery.rounding import rounding_step
from sottovoce.discovery.state import State
from sottovoce.discovery.tails import FIRST_TAIL, learn_tail, learn_whole_tail
from sottovoce.discovery.target import Target, check_target, likely_target
from sottovoce.engines import Engine, Step, Sweep
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import Gaussian, NoiseLaw, parse_law, parse_noise_law

_LEARNING = (0, 1, 2, 3, 5, 8, 12)  # iterations in which the crowd's prior, tails and units of objects are estimated
_LEARNING_AGAIN = (0, 1, 2)  # the same after an earlier fit of mostly the same objects and users
# With few claims, earlier posteriors could keep truths that no fit from scratch finds, and would save almost no time.
_MOSTLY, _FEWEST_CLAIMS = 0.9, 1000
# The prior is estimated again once moves are below this; and the same, relative to the first move after an estimation.
_FIRST_REST, _CALM = 1e-3, 0.01
_MOST_UPDATES = 60
_FARTHEST_PRIOR = 4.0  # how far to extrapolate a prior, in lengths of its step; a prior is less certain than truths are
_FARTHEST_LOG = 30.0  # how far to extrapolate users' squares and counts, in logarithms
# Added to the squares of a user's errors, relative to the typical one: no claim is infinitely accurate, least of all a
# copy; and a user with few claims may agree with others by chance.
_RESOLUTION, _COPIED, _BY_CHANCE = 1e-4, 0.02, 0.04
_LARGEST_VARIANCE = 1e150  # of noise: squares of weights must not underflow


class NoiseAware(TruthDiscovery):
    """Truths under a known noise law: nearly as accurate as if every user's quality were known.

    Claims are x = truth + Normal(0, v_s) + noise, with noise from the law that devices used. The prior of users'
    variances v_s, one gamma law or a mixture of two, is estimated from the crowd, so a user with a single claim gets a
    typical weight. A user's weight is w_s = E[1/(v_s + noise variance) | their residuals]; under fresh noise, each
    reading has its own weight, -f'(r)/(r·f(r)) with f the density of error and noise together. Under noise, the
    variances of the truths are added to the sum of a user's squared residuals; without noise, a claim counts as one
    error less its own share in the truth. Otherwise one user could capture a truth. Readings that are far off count
    less. Without noise, errors follow Student's t with estimated degrees of freedom, and objects may differ in scale;
    if claims mostly coincide, users vote.

    For choices, a user has a chance of being right, and a randomised answer is right by the chances of the law. The
    chances of users have a beta prior that is estimated from the crowd. If the crowd is not too large, and all objects
    share a short list of options, users may also have habits.

    Parameters
    ----------
    noise
        The law of the noise that devices added, or its text form; None if nothing was added.
    target
        ``"value"``: what a careful person would measure, so readings that are far off are errors. ``"mean"``: the
        crowd's average opinion, so users are weighed by quality, and no reading is discounted for being far off. By
        default, the claims decide: if they pile up at an end of their scale, or use only a few different values, they
        are opinions. Under noise, the default is ``"value"``. `target_` is the target that was used.

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
        """Expected precisions, from losses that are each user's sum of squared errors."""
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
                f"noise law {law}: its variance is {law.constant_variance:g}, but weights can be computed only up to "
                f"{_LARGEST_VARIANCE:g}; use a larger unit for claims and noise"
            )
        return law

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high end of an interval for each truth.

        The variance is the inverse of the information in the marginal likelihood, and what the model does not cover is
        added to it. Without noise, weights are estimated from the residuals of a few claims, and the interval is
        Student's t, with degrees of freedom that follow from the uncertainty of the weights. Under noise, the interval
        is normal, unless plain averages disagree with the truths or known truths reveal a bias of the crowd.
        """
        check_level(level)
        self._check_intervals()
        tail = (1 + level) / 2
        half = ndtri(tail) if self._freedom is None else stdtrit(self._freedom, tail)
        half = half * np.sqrt(self._variance)
        return self.truths_ - half, self.truths_ + half


class _AwareIteration(Iteration):
    """Truths from the users' posteriors, then posteriors from how far the users' claims lie from the truths."""

    _swept: Sweep  # the last pass over the claims

    def __init__(self, given: FitInput, law: NoiseLaw | None, target: Target, tol: float) -> None:
        self._given, self._engine, self._tol = given, given.engine, tol
        engine = self._engine
        self._spreads, self._center = given.spreads, engine.medians()
        self._opinions, self._noisy = target == "mean", law is not None
        typical = typical_variance(engine, given.deviations)
        self._rounded_to = 0.0 if law else rounding_step(engine)
        self._steps = StepEvidence(engine, self._rounded_to) if self._rounded_to and not self._opinions else None
        # If claims are rounded, it is decided at the end whether users vote.
        self._coincide = not (law or self._opinions or self._steps) and claims_coincide(engine)
        self._objects = ObjectScales(engine, typical, self._coincide) if law is None and not self._opinions else None
        noise = law.reading_noise() if law else None
        if noise and self._opinions:  # a mean does not discount readings, so only the variance of the noise counts
            law, noise = Gaussian(math.sqrt(noise.variance)), None
        self._quality = Quality(law, 1.0 if self._objects else typical, int(engine.claims_per_user.max()))
        self._lookup = ReadingLookup(noise, typical) if noise else None
        # Without noise, a user who agrees only with themselves must not capture truths; see `_residuals`.
        self._rejects = not self._opinions and (law is not None or self._coincide)
        constant = self._lookup or self._coincide or self._opinions
        self._learn_tail = None if constant else learn_tail if self._rejects else learn_whole_tail
        self._tail = FIRST_TAIL if self._learn_tail else 0.0
        self._kind = f"{type(law).__name__} {target}"
        self._warm = _mostly_the_same(given, self._kind)
        self._truths = given.first_truths(self._center) if self._warm else self._center.copy()
        self._truths[given.known] = given.known_truths
        schedule = self._begin_with(self._warm) if self._warm else _LEARNING
        self._schedule, self._last_update = schedule, max(schedule)
        # As long as nothing is known about users, all count the same.
        self._belief = self._quality.belief(np.full(engine.n_users, self._quality.scale), np.ones(engine.n_users))
        if self._warm:
            self._belief = self._belief.updated(self._warm.by_user, self._warm.common_users(engine.user_labels))
        self._set_unit(self._objects.unit if self._objects else np.ones(engine.n_objects))
        # Later units of known objects include the crowd's bias; these come from the scatter of claims alone.
        self._scatter_unit = self._unit
        self._acceleration, self._priors = Acceleration(), Acceleration(_FARTHEST_PRIOR)
        self._independent = np.ones(engine.n_users)  # share of a user's errors that are not repetitions
        self._worth = 1.0  # how much a squared error says about its user, relative to normal errors
        self._done = self._updates = 0
        # Estimate the prior again once moves are below this; None: not known yet.
        self._rest: float | None = max(tol, _FIRST_REST)

    def _begin_with(self, earlier: State) -> tuple[int, ...]:
        """Take over the results of an earlier fit of mostly the same crowd; returns when to estimate them again."""
        self._tail = earlier.learnt["tail"] if self._learn_tail else 0.0
        self._quality.begin_with(np.array(earlier.learnt["prior"]))
        if self._objects:
            common = earlier.common_objects(self._engine.object_labels)
            self._objects.begin_with(earlier.by_object["log scale"], common)
        return _LEARNING_AGAIN if earlier.iteration > max(_LEARNING_AGAIN) else _LEARNING

    def _set_unit(self, unit: Floats) -> None:
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
        if self._rest is None:  # the step right after the prior was estimated
            self._rest = max(self._tol, min(_FIRST_REST, _CALM * swept.move))
        resting = self._done > self._last_update and swept.move <= self._rest
        if self._done in self._schedule or (resting and self._tol > 0):
            moved = self._learn(squares, counts) and self._updates < _MOST_UPDATES
            if moved and resting:
                self._quality.begin_with(self._priors.ahead(self._quality.prior))
            self._belief = self._quality.belief(squares, counts)
            self._acceleration = Acceleration()
            if resting:
                self.settled = not moved and swept.move <= self._tol
                self._rest = None if moved else self._tol
            if self._done >= self._last_update and not self.settled:
                self._quality.freeze(squares, counts)
        else:
            if self._done > self._last_update:
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

        Claims lie nearer to the estimated truths than to the real ones. Either the truths' variances are added to the
        sum of the squares, or a claim counts as one error less its own share in the truth. The second is right even
        where a single user decides about an object, which nobody can under noise.
        """
        claims = self._engine.claims_per_user.astype(np.float64)
        if swept.doubts is None:
            assert swept.counts is not None
            return np.maximum(swept.losses, 1e-12 * self._quality.scale), np.maximum(swept.counts, 0.5)
        if self._rejects:
            least = claims * _COPIED if self._coincide else 1e-12
            return swept.losses + swept.doubts + least * self._quality.scale, claims
        counts = np.maximum(claims - self._belief.weight * swept.doubts, LEAST_COUNT)
        usual = min(self._quality.scale, self._quality.mean)  # the units of objects do not fix the scale
        # A user whose claims hardly influence the truths agrees with others by accuracy, not by chance. With opinions,
        # even users with many claims agree by chance.
        by_chance = _BY_CHANCE * (1 if self._opinions else 1 - counts / claims)
        return swept.losses + (counts * _RESOLUTION + by_chance) * usual + self._rounding_of_users, counts

    def _learn(self, squares: Floats, counts: Floats) -> bool:
        """Estimate the crowd's prior, tails and units of objects; returns whether they still change."""
        self._updates += 1
        kinds = self._done <= self._last_update and not self._coincide  # copied figures are right, or grossly wrong
        moved = self._quality.learn(squares, counts, kinds)
        if self._lookup is None and (self._done or self._warm) and self._done <= self._last_update:
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
                self._set_unit(self._objects.learn(self._swept.misfit, objects, sample))
        return moved

    def _extrapolate(self, squares: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """Continue from a point farther along the way: keep its truths, and return its squares and counts."""
        counted = self._rejects and self._lookup is None  # counts stay those of the claims
        users = np.log(squares) if counted else np.concatenate((np.log(squares), np.log(counts)))
        ahead = self._acceleration.ahead(np.concatenate((self._truths / self._spreads, users)))
        objects, many = len(self._truths), len(squares)
        self._truths = ahead[:objects] * self._spreads
        users = np.exp(np.clip(ahead[objects:], users - _FARTHEST_LOG, users + _FARTHEST_LOG))
        if counted:
            return users, counts
        return users[:many], np.minimum(users[many:], self._engine.claims_per_user * self._independent)

    def knowledge(self) -> Knowledge:
        scales = {"log scale": self._objects.logs} if self._objects else {}
        learnt = {"law": self._kind, "tail": self._tail, "prior": tuple(self._quality.prior)}
        return Knowledge({"truth": self._truths, **scales}, vars(self._belief), learnt)

    def estimate(self) -> Estimate:
        return AwareEstimate(
            given=self._given,
            step=self._step(self._given.known),
            swept=self._swept,
            truths=self._truths,
            quality=self._quality,
            belief=self._belief,
            residuals=self._residuals(self._swept),
            independent=self._independent,
            worth=self._worth,
            scatter_unit=self._scatter_unit,
            rounded_to=self._rounded_to,
            noisy=self._noisy,
            opinions=self._opinions,
            coincide=self._coincide,
            lookup=self._lookup,
            objects=self._objects,
            steps=self._steps,
        ).estimate()


def _mostly_the_same(given: FitInput, kind: str) -> State | None:
    """The earlier state, if it has most of these objects and users; otherwise it does not describe this crowd."""
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
    objects, users, residuals = engine.sample(truths, SAMPLE)
    return objects, users, np.asarray(residuals * unit[objects] * np.sqrt(weights[users]))
