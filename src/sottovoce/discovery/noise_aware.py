"""The noise-aware estimator: it knows the law of the noise, and learns the rest."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sottovoce.discovery.acceleration import Acceleration
from sottovoce.discovery.base import Floats, Progress, TruthDiscovery, UserLosses, check_level
from sottovoce.discovery.quality import Quality
from sottovoce.discovery.state import Checkpoint, Common, State
from sottovoce.engines import Engine, Lookup, Step
from sottovoce.engines.aware import BOUND, DOUBT
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import FreshVariance, NoiseLaw, parse_law
from sottovoce.privacy.normal_laplace import normal_laplace

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
_ROWS, _COLUMNS = 40, 600  # of the lookup for fresh noise


class NoiseAware(TruthDiscovery):
    """Truths under a known noise law: nearly as accurate as if every user's quality were known.

    Claims are x = truth + Normal(0, v_s) + noise, the noise by the law that devices used. Users' variances v_s have a
    gamma prior that is learnt from the crowd, so a user with one claim gets the crowd's weight. A user counts with
    w_s = E[1/(v_s + noise variance) | his residuals]; under fresh noise each reading has a weight of its own,
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

    def __init__(self, noise: NoiseLaw | str | None = None, *, max_iter: int = 1000, tol: float = 1e-6) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.noise = noise

    def weigh(self, losses: UserLosses) -> Floats:
        raise NotImplementedError("weights follow from the posterior of users' qualities, not from losses alone")

    def fit(
        self,
        claims: Any,
        *,
        start: TruthDiscovery | State | None = None,
        known: Mapping[Any, float] | None = None,
        progress: Progress | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> "NoiseAware":
        """Find truths and weights; ``known`` gives the truths of some objects, by label; the rest as in all methods."""
        self._known = dict(known or {})
        return super().fit(claims, start=start, progress=progress, checkpoint=checkpoint)

    def _discover(self, engine: Engine, progress: Progress | None) -> None:
        law = parse_law(self.noise) if isinstance(self.noise, str) else self.noise
        self._spreads = engine.spreads()
        spreads = np.where(self._spreads > 0, self._spreads, 1.0)
        truths, known = self._with_known(engine, self._first_truths(engine))
        given = truths[known]
        typical = _typical_variance(engine, self._spreads)
        objects = _ObjectScales(engine, typical) if law is None else None
        quality = Quality(law, 1.0 if objects else typical)
        lookup = _FreshLookup(law, typical) if isinstance(law, FreshVariance) else None
        coincide = law is None and _claims_coincide(engine)
        tailed = not lookup and not coincide
        tail = _FIRST_TAIL if tailed else 0.0
        schedule: tuple[int, ...] = _LEARNING
        kind = type(law).__name__
        earlier = self._mostly_the_same(engine, kind)
        if earlier:
            same_objects, same_users = earlier.common_objects(self.objects_), earlier.common_users(self.users_)
            if earlier.iteration > max(_LEARNING_AGAIN):
                schedule = _LEARNING_AGAIN
            tail = earlier.learnt["tail"] if tailed else 0.0
            quality.begin_with(earlier.learnt["prior"])
            if objects:
                objects.begin_with(earlier.by_object["log scale"], same_objects)
        # As long as nothing is known about users, all are alike.
        belief = quality.belief(np.full(engine.n_users, quality.scale), np.ones(engine.n_users))
        if earlier:
            belief = belief.updated(earlier.by_user, same_users)
        center = engine.medians()
        unit = objects.unit if objects else np.ones(engine.n_objects)
        acceleration = Acceleration()
        history: list[float] = []
        settled = False
        learning = True
        while len(history) < self.max_iter and not settled:
            step = Step(center, unit, spreads, known=known, tail=tail, lookup=lookup.rows if lookup else None)
            swept = engine.sweep(step, lookup.places(belief.learnt) if lookup else belief.weight, truths)
            truths = swept.truths
            counts = engine.claims_per_user.astype(np.float64) if swept.counts is None else swept.counts
            squares, counts = np.maximum(swept.losses, 1e-12 * quality.scale), np.maximum(counts, 0.5)
            at_rest = self.tol > 0 and len(history) > max(schedule) and swept.move <= self.tol
            if len(history) in schedule or at_rest or (learning and len(history) > max(schedule)):
                moved = quality.learn(squares, counts)
                if lookup is None and (history or earlier) and len(history) <= max(schedule):
                    sample = _standard_squares(engine, truths, unit, belief.weight)
                    tail = _learn_tail(sample) if tailed else 0.0
                    if objects and swept.misfit is not None:
                        unit = objects.learn(swept.misfit, sample)
                belief = quality.belief(squares, counts)
                settled = at_rest and not moved
                if len(history) >= max(schedule):
                    learning = moved
                    if not learning:
                        quality.freeze(squares, counts)
                        acceleration = Acceleration()
            else:
                if not learning:
                    ahead = acceleration.ahead(np.concatenate((truths / spreads, np.log(squares))))
                    truths, squares = ahead[: len(truths)] * spreads, np.exp(ahead[len(truths) :])
                belief = quality.belief(squares, counts)
            history.append(swept.move)
            scales = {"log scale": objects.logs} if objects else {}
            learnt = {"law": kind, "tail": tail, "prior": quality.prior}
            self._leave(len(history), {"truth": truths, **scales}, vars(belief), learnt)
            if progress is not None:
                progress(len(history), swept.move)
        self.truths_ = swept.truths
        if coincide:  # errors are rare and gross: the truth is what somebody claims, not between two claims
            middling = Step(center, np.ones(engine.n_objects), spreads, average="median")
            self.truths_ = engine.sweep(middling, belief.weight, truths).truths
        self.truths_[known] = given
        self._conclude(history)
        if lookup:
            self.weights_ = lookup.information(belief.learnt)
            precision = engine.object_sums(self.weights_)
        else:
            self.weights_ = belief.weight
            # The marginal likelihood is flatter than the one at the mean weights, the more uncertain these are.
            uncertain = engine.weighted_squares(truths, belief.spread) * unit**4
            whole = swept.precision * (1 + tail) / (1 + 3 * tail)
            precision = np.maximum(whole - uncertain, _LEAST_PRECISION * whole)
        self.effective_users_, _ = engine.precision(truths, self.weights_)
        # Where nobody can be compared with anybody, nothing is known of errors.
        told = known.any() or bool((engine.comparable() > 0).any())
        self._variance = np.where(known, 0.0, 1 / precision if told else np.inf)

    def _mostly_the_same(self, engine: Engine, kind: str) -> State | None:
        """The earlier state, if it knows most of these objects and users: only then its beliefs are of this crowd."""
        earlier = self._earlier
        if earlier is None or earlier.learnt.get("law") != kind:
            return None
        objects, users = earlier.common_objects(self.objects_)[0], earlier.common_users(self.users_)[0]
        share = min(len(objects) / engine.n_objects, len(users) / engine.n_users)
        return earlier if share >= _MOSTLY else None

    def _with_known(self, engine: Engine, truths: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        known = np.zeros(engine.n_objects, bool)
        if self._known:
            place_of = {label: place for place, label in enumerate(engine.object_labels.tolist())}
            for label, truth in self._known.items():
                if label not in place_of or not math.isfinite(truth):
                    raise BadParameter(
                        f"known truth {truth!r} of {label!r}: it must be a finite number for an object with claims; "
                        "leave the others out"
                    )
                truths[place_of[label]], known[place_of[label]] = truth, True
        return truths, known

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high end of an interval for each truth: normal, with the information of the marginal likelihood."""
        check_level(level)
        half = float(ndtri((1 + level) / 2)) * np.sqrt(self._variance)
        return self.truths_ - half, self.truths_ + half


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


class _FreshLookup:
    """Weights and information of readings with fresh noise, by users' own variance."""

    def __init__(self, law: FreshVariance, typical: float) -> None:
        # Without any error of the user's own, the peak of Laplace noise is a kink, and iterations would not settle.
        least = max(1e-5 * typical, (0.05 * law.scale) ** 2)
        most = max(1e4 * typical, law.scale**2)  # the second where claims agree better than such noise lets them
        self._logs = np.linspace(math.log(least), math.log(most), _ROWS)
        widest = 25 * law.scale + 6 * math.sqrt(typical)
        sizes = np.linspace(0, widest, _COLUMNS)
        step = sizes[1]
        sizes[0] = 1e-3 * step
        weights, inliers, information = [], [], []
        for variance in np.exp(self._logs):
            score, density = normal_laplace(sizes, variance, law.scale)
            # Gross errors: Cauchy, three times as wide as what is expected.
            gamma = 3 * math.sqrt(variance + 2 * law.scale**2)
            gross = _GROSS * gamma / math.pi / (gamma**2 + sizes**2)
            total = (1 - _GROSS) * density + gross
            slope = (1 - _GROSS) * density * score - gross * 2 * sizes / (gamma**2 + sizes**2)
            weights.append(-slope / (sizes * total))
            inliers.append((1 - _GROSS) * density / total)
            information.append(_fisher_information(variance, law.scale))
        self.rows = Lookup(np.array(weights), np.array(inliers), float(step))
        self._information = np.array(information)

    def places(self, own: Floats) -> tuple[Floats, Floats]:
        """Positions among the rows, and information, of users with these variances."""
        places = np.clip((np.log(own) - self._logs[0]) / (self._logs[1] - self._logs[0]), 0, _ROWS - 1.000001)
        return places, self.information(own)

    def information(self, own: Floats) -> Floats:
        return np.asarray(np.exp(np.interp(np.log(own), self._logs, np.log(self._information))))


def _fisher_information(variance: float, scale: float) -> float:
    """Information of one reading about the truth: the mean of the squared score.

    Summed as far as the law reaches, which for a user who errs much is farther than the lookup.
    """
    sizes = np.linspace(0, 25 * scale + 8 * math.sqrt(variance), 2000)
    score, density = normal_laplace(sizes, variance, scale)
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
