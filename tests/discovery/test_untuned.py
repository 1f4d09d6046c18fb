"""The default method on data for which it was not tuned: convergence, the right target, and honest intervals."""

import warnings

import numpy as np
import pytest
from scipy.special import stdtrit

import sottovoce as sv
from sottovoce.discovery.acceleration import Acceleration
from sottovoce.discovery.common_bias import CommonBias
from sottovoce.discovery.copied_figures import claims_coincide
from sottovoce.discovery.own_influence import OwnInfluence
from sottovoce.discovery.target import likely_target
from sottovoce.engines import MemoryEngine
from sottovoce.errors import ConvergenceWarning
from sottovoce.worlds import IMITATIONS, crowd
from sottovoce.worlds.crowds import any_claims, any_crowd, resampled


def coverage(fit, truths):
    low, high = fit.intervals()
    return float(((low <= truths) & (truths <= high)).mean())


def imitation(name, seed=0):
    return IMITATIONS[name](np.random.default_rng((seed, 5)))


@pytest.mark.slow
def test_small_random_sets_and_resamples_converge():
    """`python -m bench.convergence` searches 3,000, and resamples of real sets."""
    searched = [(any_claims(seed), (None, None, "fresh:0.5", "shared:0.5")[seed // 4 % 4]) for seed in range(60)]
    searched += [(resampled(imitation(name).claims, np.random.default_rng(1)), None) for name in IMITATIONS]
    for claims, law in searched:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            sv.NoiseAware(noise=law).fit(MemoryEngine(claims, threads=1))


@pytest.mark.parametrize("seed", [346, 1019, 1336])
def test_claims_that_contradict_each_other_under_noise_do_not_keep_a_truth_creeping(seed):
    """Two claims far apart, each a gross error if the other is right: truths moved slowly for ever."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        sv.NoiseAware(noise="fresh:0.5").fit(MemoryEngine(any_claims(seed), threads=1))


@pytest.mark.parametrize(
    ("seed", "law"), [(60, "fresh:0.5"), (276, "shared:0.5"), (382, "floored:2:0.5"), (698, "gaussian:1")]
)
def test_imitations_that_the_supposed_noise_does_not_fit_converge(seed, law):
    """Fits went around in circles, or stalled; `python -m bench.convergence` searches 4,000 crowds and
    imitations."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        sv.NoiseAware(noise=law).fit(MemoryEngine(any_crowd(seed), threads=1))


def test_steps_away_from_where_two_groups_disagree_do_not_lead_around_in_circles():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        sv.NoiseAware().fit(imitation("populations", 110).claims)


def test_a_number_far_from_zero_does_not_spoil_the_prediction_of_others():
    """A truth a long way from zero, in units of a tiny spread, is rounded more than other truths move."""
    acceleration, state, steps = Acceleration(), np.array([1e16, 5.0, 1.0]), 0
    while np.abs(state[1:]).max() > 1e-9 and steps < 1000:
        state, steps = acceleration.ahead(state * [1.0, 0.95, 0.9]), steps + 1
    assert steps < 30  # 440 plain steps


def test_an_accelerated_step_that_does_not_help_is_undone():
    """A fixed point beside a cliff: from far away, leaps over it would lead back and forth."""

    def onward(x):
        return np.where(x < 1, 0.95 * x, 3.0 - 0.9 * x)

    acceleration, state = Acceleration(), np.array([0.9])
    for _ in range(200):
        state = acceleration.ahead(onward(state))
    assert abs(float(onward(state)[0] - state[0])) < 1e-6


def test_acceleration_ends_overshooting():
    """Plain steps of these maps go back and forth, each time farther."""
    for slope in (-1.2, -3.0):
        acceleration, state = Acceleration(), np.array([5.0, 1.0])
        for _ in range(40):
            state = acceleration.ahead(np.array([slope * (state[0] - 1) + 1, 0.9 * state[1]]))
        assert state == pytest.approx([1.0, 0.0], abs=1e-9)


def test_acceleration_leaves_an_unstable_fixed_point():
    """Beginning beside 0, from which plain steps lead away slowly: they end at 1, and so must this."""
    acceleration, state, steps = Acceleration(), np.array([1e-5]), 0
    while abs(float(state[0]) - 1) > 1e-6 and steps < 1000:
        state, steps = acceleration.ahead(state + 0.02 * (state - state**3)), steps + 1
    assert steps < 200  # 900 plain steps


@pytest.mark.parametrize("name", ["hallways", "ratings"])
def test_order_labels_shift_and_scale_do_not_matter(name):
    claims = imitation(name).claims
    users, objects, values = claims.user_labels[claims.users], claims.object_labels[claims.objects], claims.values
    fit = sv.NoiseAware().fit(claims)
    width = fit.intervals()[1] - fit.truths_ + 1e-9
    order = np.random.default_rng(1).permutation(len(values))
    mixed = sv.NoiseAware().fit(sv.Claims.from_arrays(users[order], objects[order], values[order]))
    assert mixed.truths_.tolist() == fit.truths_.tolist()
    moved = sv.NoiseAware().fit(sv.Claims.from_arrays(users, objects, values * 4.0 + 128))
    assert np.all(np.abs((moved.truths_ - 128) / 4 - fit.truths_) < 0.01 * width)


@pytest.mark.alike
@pytest.mark.parametrize("seed", range(16))
def test_order_labels_shift_and_scale_do_not_matter_for_any_claims(seed):
    """Small sets of any scale, a quarter of them with claims that coincide, half of them with a law of noise."""
    claims, law = any_claims(seed), (None, None, "fresh:0.5", "shared:0.5")[seed // 4 % 4]
    users, objects, values = claims.users, claims.objects, claims.values
    rng = np.random.default_rng((seed, 9))

    def fit(users, objects, values):
        return sv.NoiseAware(noise=law).fit(MemoryEngine(sv.Claims.from_arrays(users, objects, values), threads=1))

    first = fit(users, objects, values)
    order = rng.permutation(len(values))
    mixed = fit(users[order], objects[order], values[order])
    assert mixed.truths_.tolist() == first.truths_.tolist()
    assert [end.tolist() for end in mixed.intervals()] == [end.tolist() for end in first.intervals()]
    # Other orders of additions, and iterations that end within tol of the same truths: 1e-4 of an object's range.
    ranges = np.array([np.ptp(values[objects == place]) for place in range(claims.n_objects)])
    most = 1e-4 * ranges + 1e-10 * (np.abs(values).max() + 200)
    new_users, new_objects = rng.permutation(claims.n_users), rng.permutation(claims.n_objects)
    renamed = fit(new_users[users], new_objects[objects], values)
    assert np.all(np.abs(renamed.truths_[new_objects] - first.truths_) <= most)
    for scale, shift in ((4.0, 128.0), (1e-3, -5.0)) if law is None else ((1.0, 128.0), (-1.0, 0.0)):
        moved = fit(users, objects, values * scale + shift)
        assert np.all(np.abs((moved.truths_ - shift) / scale - first.truths_) <= most)


@pytest.mark.alike
@pytest.mark.parametrize("errors", ["heavy-tailed", "skewed"])
@pytest.mark.parametrize(("objects", "claims"), [(30, 3), (30, 10), (100, 2)])
def test_intervals_hold_where_few_claim_each_object(errors, objects, claims):
    """Where one user could decide alone, 24 to 50 % were covered. Of 240 truths, the standard error is at most 2 %."""
    covered = []
    for seed in range(240 // objects + 1):
        world = crowd(objects, claims, errors, seed=np.random.default_rng((seed, 31)))
        covered.append(coverage(sv.NoiseAware(target="value").fit(world.claims), world.truths))
    assert np.mean(covered) > 0.93 - 2 * 0.02


@pytest.mark.alike
@pytest.mark.parametrize("target", ["value", "mean"])
@pytest.mark.parametrize(("objects", "claims"), [(4, 30), (30, 10), (30, 30)])
def test_users_of_two_kinds_are_told_apart(objects, claims, target):
    """Nearly as good as if everybody's variance were known, and nearly as certain: errors were 1.13 to 1.35 times as
    large.

    Of 120 truths or more; errors of both on the same claims differ by a few per cent.
    """
    ours, oracle, covered = [], [], []
    for seed in range(120 // objects + 1):
        world = crowd(objects, claims, "two kinds", seed=np.random.default_rng((seed, 41)))
        fit, claimed = sv.NoiseAware(target=target).fit(world.claims), world.claims
        weights = 1 / world.error_variances[claimed.users]
        best = np.bincount(claimed.objects, weights * claimed.values) / np.bincount(claimed.objects, weights)
        ours.append(np.abs(fit.truths_ - world.truths).mean())
        oracle.append(np.abs(best - world.truths).mean())
        covered.append(coverage(fit, world.truths))
    assert np.mean(ours) < 1.1 * np.mean(oracle)
    assert np.mean(covered) > 0.93 - 2 * 0.02


def test_two_users_and_four_objects_are_as_certain_as_their_differences():
    """Both count equally, so the variance of a mean is a quarter of that of a difference, of which there are four:
    Student's t with four degrees of freedom. In most crowds intervals were a fifth narrower."""
    ratios = []
    for seed in range(60):
        matrix = np.random.default_rng((seed, 1)).standard_normal((2, 4)) + 3.0 * np.arange(4)
        low, high = sv.NoiseAware(target="mean").fit(sv.Claims.from_matrix(matrix)).intervals()
        half = stdtrit(4, 0.975) * np.sqrt(((matrix[0] - matrix[1]) ** 2).sum() / 16)
        # Of a usual object: where the two differ much, the interval is wider.
        ratios.append(np.median(high - low) / 2 / half)
    assert np.median(ratios) > 0.9


def test_ratings_are_opinions_and_measurements_are_not():
    assert likely_target(MemoryEngine(imitation("ratings").claims)) == "mean"
    for name in ("hallways", "dots", "prices", "populations"):
        assert likely_target(MemoryEngine(imitation(name).claims)) == "value"
    stars = np.random.default_rng(2).integers(1, 6, (20, 12)).astype(float)
    assert sv.NoiseAware().fit(sv.Claims.from_matrix(stars)).target_ == "mean"


def test_a_rating_is_about_as_good_as_the_mean_and_its_interval_no_worse():
    for seed in range(3):
        world = imitation("ratings", seed)
        fit, mean = sv.NoiseAware().fit(world.claims), sv.Mean().fit(world.claims)
        errors = [np.abs(each.truths_ - world.truths).mean() for each in (fit, mean)]
        assert errors[0] < 1.05 * errors[1]
        assert coverage(fit, world.truths) >= coverage(mean, world.truths)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("errors", "objects", "claims"),
    [("two kinds", 5, 30), ("two kinds", 10, 5), ("skewed", 20, 100), ("skewed", 5, 30)],
)
def test_intervals_of_means_hold_the_mean(errors, objects, claims):
    """70 to 80 % were held: by corrections towards plain means by chance, and by claims that weigh themselves.

    Of 120 truths, the standard error is at most 2.4 %.
    """
    covered, ours, plain = [], [], []
    for seed in range(120 // objects):
        world = crowd(objects, claims, errors, centre="mean", seed=np.random.default_rng((seed, 41)))
        fit = sv.NoiseAware(target="mean").fit(MemoryEngine(world.claims, threads=1))
        covered.append(coverage(fit, world.truths))
        ours.append(np.abs(fit.truths_ - world.truths).mean())
        plain.append(np.abs(sv.Mean().fit(world.claims).truths_ - world.truths).mean())
    assert np.mean(covered) > 0.93 - 2 * 0.024
    assert np.mean(ours) < 0.8 * np.mean(plain)


def test_claims_that_weigh_themselves_are_seen_beyond_chance():
    rng = np.random.default_rng(7)
    by_chance = [OwnInfluence.learn(rng.normal(0, 1, 100)) for _ in range(300)]
    # A mean of 100 has a deviation of 0.1, and what is not beyond it is not corrected.
    assert np.sqrt(np.mean([one.shift**2 for one in by_chance])) < 0.1
    assert np.median([one.shift for one in by_chance]) == 0
    clear = OwnInfluence.learn(rng.normal(0.5, 1, 10_000))
    assert clear.shift == pytest.approx(0.5, abs=0.05)
    for nothing in (np.zeros(3), np.zeros(0)):
        assert OwnInfluence.learn(nothing) == OwnInfluence(0.0, 0.0, 0.0)


def test_a_correction_never_leads_beyond_the_claims():
    matrix = np.array([[0.0, np.nan], [0.0, np.nan], [0.25, 0.0]])
    fit = sv.NoiseAware(target="mean").fit(sv.Claims.from_matrix(matrix))
    assert 0 < fit.truths_[0] < 0.25
    assert fit.truths_[1] == 0


def test_a_mean_discounts_nobody_for_being_far_off():
    matrix = np.array([[0.0, 1, 2], [0, 1, 2], [1, 0, 2], [30, 31, 29], [1, 2, 0]])
    fit = sv.NoiseAware(target="mean").fit(sv.Claims.from_matrix(matrix))
    # All but a common correction for what claims do to their own weights.
    shifts = (fit.truths_ - np.average(matrix, axis=0, weights=fit.weights_)) / (fit.intervals()[1] - fit.truths_)
    assert np.abs(shifts).max() < 0.05


@pytest.mark.parametrize("law", ["fresh:0.5", "shared:0.5", "gaussian:1"])
def test_opinions_under_noise_have_a_mean(law):
    world = sv.worlds.synthetic(100, 10, seed=3).with_simulated_noise(sv.parse_law(law), 4)
    fit = sv.NoiseAware(noise=law, target="mean").fit(world.claims)
    assert fit.converged_
    assert (
        np.abs(fit.truths_ - world.truths).mean()
        < 1.5 * np.abs(sv.Mean().fit(world.claims).truths_ - world.truths).mean()
    )


def test_an_unknown_target_is_refused():
    with pytest.raises(ValueError, match=r"'median'.*'value'.*leave it out"):
        sv.NoiseAware(target="median").fit(sv.Claims.from_matrix([[1.0, 2.0]]))


def test_copies_are_judged_against_chance():
    """Half of all claims are 0 about everything: they coincide, but nobody copies."""
    rng = np.random.default_rng(4)
    popular = np.where(rng.random((30, 20)) < 0.6, 0.0, rng.uniform(0, 100, (30, 20)))
    assert not claims_coincide(MemoryEngine(sv.Claims.from_matrix(popular)))
    copied = np.where(rng.random((30, 20)) < 0.6, rng.uniform(0, 100, 20), rng.uniform(0, 100, (30, 20)))
    assert claims_coincide(MemoryEngine(sv.Claims.from_matrix(copied)))


@pytest.mark.parametrize("step", [1, 2, 5])
def test_rounded_measurements_are_not_copies(step):
    """Up to half of the claims about an object coincide, but as many lie one step off; voting cost a third to twice."""
    rng = np.random.default_rng(step)
    matrix = np.round((rng.uniform(0, 50, 30) + rng.normal(0, 2, (7, 30))) / step) * step
    assert not claims_coincide(MemoryEngine(sv.Claims.from_matrix(matrix)))


def test_copies_are_found_among_few_claims_too():
    rng = np.random.default_rng(8)
    figures = np.exp(rng.normal(9, 2, 60)).round()
    copied = np.where(rng.random((3, 60)) < 0.7, figures, np.round(figures * np.exp(rng.normal(0, 0.2, (3, 60)))))
    assert claims_coincide(MemoryEngine(sv.Claims.from_matrix(copied)))


def test_known_truths_reveal_the_common_bias():
    """A crowd of which everybody reads 2 too much: with ten known truths the others are corrected."""
    rng = np.random.default_rng(5)
    covered, errors = [], []
    for _ in range(8):
        truths = rng.uniform(0, 50, 40)
        matrix = truths + 2 + rng.normal(0, 0.5, 40) + rng.normal(0, 1, (30, 40))
        fit = sv.NoiseAware().fit(sv.Claims.from_matrix(matrix), known=dict(enumerate(truths[:10])))
        low, high = fit.intervals()
        covered.append(((low <= truths) & (truths <= high))[10:].mean())
        errors.append(np.abs(fit.truths_ - truths)[10:].mean())
    assert np.mean(errors) < 0.6  # 2.0 without; the objects' own deviation alone gives 0.4
    assert np.mean(covered) > 0.9  # of 240 truths in 8 worlds


def test_the_common_bias_is_the_same_in_any_unit():
    rng = np.random.default_rng(7)
    truths = rng.uniform(0, 50, 40)
    matrix = truths + 2 + rng.normal(0, 0.5, 40) + rng.normal(0, 1, (30, 40))

    def fitted(unit):
        known = dict(enumerate(unit * truths[:10]))
        fit = sv.NoiseAware().fit(sv.Claims.from_matrix(unit * matrix), known=known)
        return np.array([fit.truths_, *fit.intervals()]) / unit

    for unit in (1e-3, 1e3):
        assert fitted(unit) == pytest.approx(fitted(1.0), rel=1e-9)


def test_no_bias_is_found_where_there_is_none():
    rng = np.random.default_rng(6)
    found = [CommonBias.learn(rng.normal(0, 1, 10), np.ones(10)) for _ in range(300)]
    shifts = np.array([bias.shift for bias in found])
    assert np.mean(np.abs(shifts)) < 0.25  # a mean of ten has a mean size of 0.25
    assert CommonBias.learn(np.ones(2), np.ones(2)) is None
    sure = CommonBias.learn(rng.normal(3, 1, 400), np.full(400, 1.0))
    assert sure.shift == pytest.approx(3, abs=0.2)
    assert sure.variance < 0.3


def test_a_few_gross_errors_are_not_a_common_bias():
    """As with copied figures: most objects are right, so a correction by the mean error would make them wrong."""
    rng = np.random.default_rng(10)
    errors = np.where(rng.random(200) < 0.1, rng.exponential(30, 200), 0.0)
    found = CommonBias.learn(errors, np.full(200, 0.01))
    assert found.shift == 0
    assert found.variance > errors.var()
