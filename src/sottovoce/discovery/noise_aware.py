"""The noise-aware estimator: it knows the law of the noise, and learns the rest."""

import math

import numpy as np
from scipy.special import ndtri

from sottovoce.discovery.acceleration import Acceleration
from sottovoce.discovery.aware_choices import AwareChoices
from sottovoce.discovery.base import TruthDiscovery, check_level
from sottovoce.discovery.choices import ChoiceInput, ChoiceIteration
from sottovoce.discovery.iteration import Estimate, FitInput, Floats, Iteration, Knowledge, UserLosses
from sottovoce.discovery.quality import Quality
from sottovoce.discovery.state import Common, State
from sottovoce.engines import Engine, Lookup, Step, Sweep
from sottovoce.engines.aware import BOUND, DOUBT
from sottovoce.privacy.laws import NoiseLaw, ReadingNoise, parse_law, parse_noise_law

_LEARNING = (0, 1, 2, 3, 5, 8, 12)  # iterations at which the crowd's prior, tails and units of objects are learnt
_LEARNING_AGAIN = (0, 1, 2)  # the same after an earlier fit of mostly the same objects and users
_MOSTLY = 0.9
_TAILS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.8)  # 1/degrees of freedom
_FIRST_TAIL = 0.25  # before anything is known, far readings count little
_SAMPLE = 20_000
_GROSS = 0.01  # share of gross errors allowed for among readings with fresh noise
_NORMAL_DEVIATION = 1.4826  # standard deviation over median deviation of a normal law
_LEAST_SCALE = 1e-6  # of objects, against the typical one
_LEAST_PRECISION = 0.3  # of a truth, against that at the mean weights
_ROWS, _COLUMNS = 40, 600  # of the lookup for readings that are weighed one by one


class NoiseAware(TruthDiscovery):
    """Truths under a known noise law: nearly as accurate as if every user's quality were known.

    Claims are x = truth + Normal(0, v_s) + noise, the noise by the law that devices used. Users' variances v_s have a
    gamma prior that is learnt from the crowd, so a user with one claim gets the crowd's weight. A user counts with
    w_s = E[1/(v_s + noise variance) | their residuals]; under fresh noise each reading has a weight of its own,
    -f'(r)/(r·f(r)) with f the density of error and noise together. The uncertainty of the truths is added back to the
    residuals, or one user could capture a truth. Without noise, objects may differ in scale. Readings far off count
    less (Student's t, its degrees of freedom learnt); where claims mostly coincide, truths are weighted medians.

    Parameters
    ----------
    noise
        The law of the noise that devices added, or its text form; None if nothing was added.

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

    def __init__(self, noise: NoiseLaw | str | None = None, *, max_iter: int = 1000, tol: float = 1e-6) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.noise = noise

    def weigh(self, losses: UserLosses) -> Floats:
        """Expected precisions, where each user's loss is the sum of their squared errors."""
        squares, counts = losses.sum, np.asarray(losses.count, np.float64)
        quality = Quality(self._law(), float(np.median(losses.mean)))
        quality.learn(squares, counts)
        return quality.belief(squares, counts).weight

    def begin(self, given: FitInput) -> Iteration:
        return _AwareIteration(given, self._law(), self.tol)

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        return AwareChoices(given, parse_law(self.noise) if isinstance(self.noise, str) else self.noise, self.tol)

    def _law(self) -> NoiseLaw | None:
        return parse_noise_law(self.noise) if isinstance(self.noise, str) else self.noise

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high end of an interval for each truth: normal, with the information of the marginal likelihood."""
        check_level(level)
        half = float(ndtri((1 + level) / 2)) * np.sqrt(self._variance)
        return self.truths_ - half, self.truths_ + half


class _AwareIteration(Iteration):
    """Truths from what is believed of users, then beliefs from how far their claims lie from the truths."""

    _swept: Sweep  # the last pass over the claims

    def __init__(self, given: FitInput, law: NoiseLaw | None, tol: float) -> None:
        self._given, self._engine, self._tol = given, given.engine, tol
        engine = self._engine
        self._spreads, self._center = given.spreads, engine.medians()
        self._truths = given.first_truths(self._center)
        typical = _typical_variance(engine, given.deviations)
        self._objects = _ObjectScales(engine, typical) if law is None else None
        self._quality = Quality(law, 1.0 if self._objects else typical)
        noise = law.reading_noise() if law else None
        self._lookup = _ReadingLookup(noise, typical) if noise else None
        self._coincide = law is None and _claims_coincide(engine)
        self._tailed = not self._lookup and not self._coincide
        self._tail = _FIRST_TAIL if self._tailed else 0.0
        self._kind = type(law).__name__
        self._warm = _mostly_the_same(given, self._kind)
        schedule = self._begin_with(self._warm) if self._warm else _LEARNING
        self._schedule, self._last_lesson = schedule, max(schedule)
        # As long as nothing is known about users, all are alike.
        self._belief = self._quality.belief(np.full(engine.n_users, self._quality.scale), np.ones(engine.n_users))
        if self._warm:
            self._belief = self._belief.updated(self._warm.by_user, self._warm.common_users(engine.user_labels))
        self._unit = self._objects.unit if self._objects else np.ones(engine.n_objects)
        self._acceleration = Acceleration()
        self._done, self._learning = 0, True

    def _begin_with(self, earlier: State) -> tuple[int, ...]:
        """Take over what an earlier fit of mostly the same crowd has learnt; when to learn again."""
        self._tail = earlier.learnt["tail"] if self._tailed else 0.0
        self._quality.begin_with(earlier.learnt["prior"])
        if self._objects:
            common = earlier.common_objects(self._engine.object_labels)
            self._objects.begin_with(earlier.by_object["log scale"], common)
        return _LEARNING_AGAIN if earlier.iteration > max(_LEARNING_AGAIN) else _LEARNING

    def advance(self) -> float:
        lookup, known = self._lookup, self._given.known
        rows = lookup.rows if lookup else None
        step = Step(self._center, self._unit, self._spreads, known=known, tail=self._tail, lookup=rows)
        quality = lookup.places(self._belief.learnt) if lookup else self._belief.weight
        self._swept = swept = self._engine.sweep(step, quality, self._truths)
        self._truths = swept.truths
        counts = self._engine.claims_per_user.astype(np.float64) if swept.counts is None else swept.counts
        squares, counts = np.maximum(swept.losses, 1e-12 * self._quality.scale), np.maximum(counts, 0.5)
        after_lessons = self._done > self._last_lesson
        at_rest = self._tol > 0 and after_lessons and swept.move <= self._tol
        if self._done in self._schedule or at_rest or (self._learning and after_lessons):
            moved = self._learn(squares, counts)
            self._belief = self._quality.belief(squares, counts)
            self.settled = at_rest and not moved
            if self._done >= self._last_lesson:
                self._learning = moved
                if not moved:
                    self._quality.freeze(squares, counts)
                    self._acceleration = Acceleration()
        else:
            if not self._learning:
                squares = self._extrapolate(squares)
            self._belief = self._quality.belief(squares, counts)
        self._done += 1
        return swept.move

    def _learn(self, squares: Floats, counts: Floats) -> bool:
        """Learn the crowd's prior, tails and units of objects; whether the prior still changes."""
        moved = self._quality.learn(squares, counts)
        if self._lookup is None and (self._done or self._warm) and self._done <= self._last_lesson:
            sample = _standard_squares(self._engine, self._truths, self._unit, self._belief.weight)
            self._tail = _learn_tail(sample) if self._tailed else 0.0
            if self._objects and self._swept.misfit is not None:
                self._unit = self._objects.learn(self._swept.misfit, sample)
        return moved

    def _extrapolate(self, squares: Floats) -> Floats:
        """Go on from a point farther along the way: its truths are kept, its squares returned."""
        ahead = self._acceleration.ahead(np.concatenate((self._truths / self._spreads, np.log(squares))))
        size = len(self._truths)
        self._truths = ahead[:size] * self._spreads
        return np.asarray(np.exp(ahead[size:]))

    def knowledge(self) -> Knowledge:
        scales = {"log scale": self._objects.logs} if self._objects else {}
        learnt = {"law": self._kind, "tail": self._tail, "prior": self._quality.prior}
        return Knowledge({"truth": self._truths, **scales}, vars(self._belief), learnt)

    def estimate(self) -> Estimate:
        engine, known, belief = self._engine, self._given.known, self._belief
        truths = self._swept.truths
        if self._coincide:  # errors are rare and gross: the truth is what somebody claims, not between two claims
            middling = Step(self._center, np.ones(engine.n_objects), self._spreads, average="median")
            truths = engine.sweep(middling, belief.weight, self._truths).truths
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
        effective_users, _ = engine.precision(self._truths, weights)
        # Where nobody can be compared with anybody, nothing is known of errors.
        compared = known.any() or bool((engine.comparable() > 0).any())
        return Estimate(truths, weights, effective_users, np.where(known, 0.0, 1 / precision if compared else np.inf))


def _mostly_the_same(given: FitInput, kind: str) -> State | None:
    """The earlier state, if it knows most of these objects and users: only then its beliefs are of this crowd."""
    earlier, engine = given.earlier, given.engine
    if earlier is None or earlier.learnt.get("law") != kind:
        return None
    objects, users = earlier.common_objects(engine.object_labels)[0], earlier.common_users(engine.user_labels)[0]
    share = min(len(objects) / engine.n_objects, len(users) / engine.n_users)
    return earlier if share >= _MOSTLY else None


class _ObjectScales:
    """Scales of objects, learnt where they differ by more than chance (empirical Bayes on their logarithms).

    Chance is what claims of one scale would show: the logarithm of a mean of m squares with kurtosis κ has a variance
    of about (κ - 1)/m. Heavy tails alone make objects look different, and must not be taken for scales.
    """

    def __init__(self, engine: Engine, typical: float) -> None:
        self._claims = engine.claims_per_object
        _, _, residuals = engine.sample(engine.medians(), _SAMPLE)
        robust = (engine.deviations() * _NORMAL_DEVIATION) ** 2
        self._middle = math.log(typical)
        # One claim more, of the typical scale: an object whose claims all agree has a small scale, not none.
        logs = np.log((self._claims * robust + typical) / (self._claims + 1))
        self._logs = self._shrunk(logs, np.minimum(residuals**2 / typical, BOUND))

    @property
    def unit(self) -> Floats:
        return np.asarray(np.exp(-self._logs / 2))

    @property
    def logs(self) -> Floats:
        """Logarithms of the scales, over the typical one."""
        return self._logs - self._middle

    def begin_with(self, earlier: Floats, common: Common) -> None:
        here, there = common
        self._logs[here] = earlier[there] + self._middle

    def learn(self, misfit: Floats, squares: Floats) -> Floats:
        """Units from each object's mean square in its present unit, and a sample of squares of readings."""
        misfit = (self._claims * misfit + 1) / (self._claims + 1)
        self._logs = self._shrunk(self._logs + np.log(misfit), np.minimum(squares, BOUND))
        return self.unit

    def _shrunk(self, logs: Floats, squares: Floats) -> Floats:
        kurtosis = float(np.mean(squares**2)) / max(float(np.mean(squares)) ** 2, 1e-300)
        chance = max(kurtosis - 1, 2.0) / self._claims
        weights = 1 / (1 + chance)
        middle = float(np.average(logs, weights=weights))
        beyond = max(0.0, float(np.average((logs - middle) ** 2 - chance, weights=weights)))
        # The middle stays where it is: what all objects have in common belongs to the users.
        return np.asarray(self._middle + (logs - middle) * beyond / (beyond + chance))


class _ReadingLookup:
    """Weights and information of readings that are weighed one by one, by users' own variance."""

    def __init__(self, noise: ReadingNoise, typical: float) -> None:
        # Without any error of the user's own, the peak of Laplace noise is a kink, and iterations would not settle.
        least = max(1e-5 * typical, (0.05 * noise.scale) ** 2)
        most = max(1e4 * typical, noise.scale**2)  # the second where claims agree better than such noise lets them
        self._logs = np.linspace(math.log(least), math.log(most), _ROWS)
        widest = 25 * noise.scale + 6 * math.sqrt(typical)
        sizes = np.linspace(0, widest, _COLUMNS)
        step = sizes[1]
        sizes[0] = 1e-3 * step
        weights, inliers, information = [], [], []
        for variance in np.exp(self._logs):
            score, density = noise.score_and_density(sizes, variance)
            # Gross errors: Cauchy, three times as wide as what is expected.
            gamma = 3 * math.sqrt(variance + noise.variance)
            gross = _GROSS * gamma / math.pi / (gamma**2 + sizes**2)
            total = (1 - _GROSS) * density + gross
            slope = (1 - _GROSS) * density * score - gross * 2 * sizes / (gamma**2 + sizes**2)
            weights.append(-slope / (sizes * total))
            inliers.append((1 - _GROSS) * density / total)
            information.append(_fisher_information(variance, noise))
        self.rows = Lookup(np.array(weights), np.array(inliers), float(step))
        self._information = np.array(information)

    def places(self, own: Floats) -> tuple[Floats, Floats]:
        """Positions among the rows, and information, of users with these variances."""
        places = np.clip((np.log(own) - self._logs[0]) / (self._logs[1] - self._logs[0]), 0, _ROWS - 1.000001)
        return places, self.information(own)

    def information(self, own: Floats) -> Floats:
        return np.asarray(np.exp(np.interp(np.log(own), self._logs, np.log(self._information))))


def _fisher_information(variance: float, noise: ReadingNoise) -> float:
    """Information of one reading about the truth: the mean of the squared score.

    Summed as far as the law reaches, which for a user who errs much is farther than the lookup.
    """
    sizes = np.linspace(0, 25 * noise.scale + 8 * math.sqrt(variance), 2000)
    score, density = noise.score_and_density(sizes, variance)
    return 2 * float(np.trapezoid(score**2 * density, sizes))


def _typical_variance(engine: Engine, spreads: Floats) -> float:
    """Variance of claims about a typical object, untouched by gross errors where most claims are free of them."""
    for found in (engine.deviations() * _NORMAL_DEVIATION, spreads):
        if (found > 0).any():
            return float(np.median(found[found > 0]) ** 2)
    return 1.0


def _claims_coincide(engine: Engine) -> bool:
    """Whether claims are mostly exact repetitions, as those of web sources: their spike is not to be taken for a tail.

    Of five or more claims that never coincide, at most a fifth lie at the median.
    """
    objects, _, residuals = engine.sample(engine.medians(), _SAMPLE)
    several = engine.claims_per_object[objects] >= 5
    return bool(several.any() and np.mean(residuals[several] == 0) > 1 / 3)


def _standard_squares(engine: Engine, truths: Floats, unit: Floats, weights: Floats) -> Floats:
    """Squares of a sample of residuals, in their users' deviations."""
    objects, users, residuals = engine.sample(truths, _SAMPLE)
    return np.asarray((residuals * unit[objects]) ** 2 * weights[users])


def _learn_tail(squares: Floats) -> float:
    """The tail under which standardised residuals are most likely, each with its own best scale."""
    squares = squares[(squares > 0) & (squares < DOUBT)]
    if len(squares) < 50:
        return 0.1
    best, found = -math.inf, 0.0
    for tail in _TAILS:
        scale = float(np.median(squares)) / 0.455
        for _ in range(20):
            scale = float(np.mean(squares * (1 + tail) / (1 + tail * squares / scale)))
        if tail == 0:
            fit = -float(np.mean(squares)) / scale / 2
        else:
            freedom = 1 / tail
            fit = (
                math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom / 2) / 2
                - (freedom + 1) / 2 * float(np.mean(np.log1p(tail * squares / scale)))
            )  # fmt: skip
        fit = len(squares) * (fit - math.log(scale) / 2)
        if fit > best + 2:  # a heavier tail has to earn its place
            best, found = fit, tail
    return found
