"""The noise-aware estimator, against an oracle that knows every user's variance."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.discovery.quality import Quality
from sottovoce.engines import MemoryEngine
from sottovoce.privacy.normal_laplace import normal_laplace


def crowd(rng, law, error_rate, objects, fill=1.0, users=150):
    """Claims, truths, and the total variances that an oracle would know (of errors only under fresh noise)."""
    truths = rng.uniform(0, 10, objects)
    variances = rng.exponential(1 / error_rate, users)
    if isinstance(law, sv.SharedVariance):
        variances = variances + rng.exponential(1 / law.rate, users)
    matrix = truths + rng.standard_normal((users, objects)) * np.sqrt(variances)[:, None]
    if isinstance(law, sv.FreshVariance):
        matrix += rng.laplace(0, law.scale, matrix.shape)
    hidden = rng.random(matrix.shape) >= fill
    hidden[rng.integers(0, users, objects), np.arange(objects)] = False
    matrix[hidden] = np.nan
    return matrix, truths, variances


def oracle(matrix, law, variances):
    present = ~np.isnan(matrix)
    claimed = np.where(present, matrix, 0)
    weights = np.where(present, 1 / variances[:, None], 0)
    truths = (weights * claimed).sum(axis=0) / weights.sum(axis=0)
    if isinstance(law, sv.FreshVariance):
        for _ in range(25):  # the maximum likelihood under the right density, by reweighting
            size = np.abs(claimed - truths) + 1e-9
            scores = np.stack(
                [normal_laplace(row, variance, law.scale)[0] for row, variance in zip(size, variances, strict=True)]
            )
            weights = np.where(present, -scores / size, 0)
            truths = (weights * claimed).sum(axis=0) / weights.sum(axis=0)
    return truths


def error_ratio(law, error_rate, objects=30, fill=1.0, runs=30):
    """Error over the oracle's on the same data, with its standard error, and the coverage of 95 % intervals."""
    ours, theirs, covered = [], [], []
    for run in range(runs):
        matrix, truths, variances = crowd(np.random.default_rng((run, 11)), law, error_rate, objects, fill)
        fit = sv.NoiseAware(noise=law).fit(sv.Claims.from_matrix(matrix))
        ours.append(np.abs(fit.truths_ - truths).mean())
        theirs.append(np.abs(oracle(matrix, law, variances) - truths).mean())
        low, high = fit.intervals()
        covered.append(((low <= truths) & (truths <= high)).mean())
    ratio = np.mean(ours) / np.mean(theirs)
    error = np.std(np.array(ours) - ratio * np.array(theirs), ddof=1) / math.sqrt(runs) / np.mean(theirs)
    return ratio, error, np.mean(covered)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "error_rate", "objects", "fill", "most"),
    [
        (sv.SharedVariance(0.5), 1.0, 30, 1.0, 1.05),
        (sv.SharedVariance(0.1), 5.0, 30, 1.0, 1.05),
        (sv.SharedVariance(10.0), 1.0, 30, 1.0, 1.07),
        (sv.SharedVariance(1.0), 1.0, 5, 1.0, 1.27),
        (sv.SharedVariance(1.0), 1.0, 30, 0.2, 1.16),
        (sv.FreshVariance(0.125), 2.0, 30, 1.0, 1.05),
        (sv.FreshVariance(0.5), 2.0, 30, 1.0, 1.05),
        (sv.FreshVariance(8.0), 2.0, 30, 1.0, 1.05),
    ],
)
def test_nearly_as_accurate_as_an_oracle_with_intervals_that_keep_their_level(law, error_rate, objects, fill, most):
    ratio, error, coverage = error_ratio(law, error_rate, objects, fill)
    assert ratio - 2 * error < most  # the data do not contradict the bound
    # 30 runs × objects, somewhat dependent within a run: at most twice the independent standard error
    assert abs(coverage - 0.95) < 0.02 + 2 * math.sqrt(0.95 * 0.05 / (30 * objects))


@pytest.mark.slow
@pytest.mark.parametrize(
    "law", [sv.SharedVariance(0.5), sv.FreshVariance(0.5), sv.FlooredVariance(1.0, 1.0), sv.Gaussian(1.5)]
)
def test_it_beats_methods_that_ignore_the_noise(law):
    errors = {"aware": [], "mean": [], "median": []}
    for seed in range(8):
        world = sv.worlds.synthetic(150, 30, seed=seed)
        noisy = world.with_simulated_noise(law, seed + 100).claims
        for name, method in (("aware", sv.NoiseAware(noise=law)), ("mean", sv.Mean()), ("median", sv.Median())):
            errors[name].append(np.abs(method.fit(noisy).truths_ - world.truths).mean())
    assert np.mean(errors["aware"]) < min(np.mean(errors["mean"]), np.mean(errors["median"]))


@pytest.mark.slow
@pytest.mark.parametrize("law", [None, sv.SharedVariance(0.5), sv.FreshVariance(0.5), sv.Gaussian(1.5)], ids=str)
@pytest.mark.parametrize("trouble", ["readings off by a thousand", "users far off"])
def test_gross_errors_do_little_harm(law, trouble):
    clean, troubled = [], []
    for seed in range(12):
        rng = np.random.default_rng((seed, 3))
        world = sv.worlds.synthetic(150, 30, truth_range=(1, 10), seed=rng)
        claims = (world.with_simulated_noise(law, rng) if law else world).claims
        values = claims.values.copy()
        if trouble == "users far off":
            deviation = math.sqrt(1 + (law.mean_variance if law else 0))
            values[np.isin(claims.users, rng.permutation(150)[:30])] += 10 * deviation
        else:
            values[rng.random(len(values)) < 0.05] *= 1000
        method = sv.NoiseAware(noise=law)
        clean.append(np.abs(method.fit(claims).truths_ - world.truths).mean())
        troubled.append(np.abs(method.fit(claims.with_values(values)).truths_ - world.truths).mean())
    ratio = np.mean(troubled) / np.mean(clean)
    error = np.std(np.array(troubled) - ratio * np.array(clean), ddof=1) / math.sqrt(12) / np.mean(clean)
    assert ratio - 2 * error < 1.2


def test_weight_of_a_user_is_a_posterior_mean():
    """Compared with Monte Carlo: draw users from the prior, and keep those with residuals like this user's."""
    quality = Quality(sv.SharedVariance(0.5), scale=1.0)
    rng = np.random.default_rng(0)
    total = rng.exponential(1.0, 2_000_000) + rng.exponential(
        2.0, 2_000_000
    )  # the prior before it is estimated: mean 1, shape 1
    squares = total * rng.chisquare(4, len(total))
    for asked in (2.0, 8.0, 40.0):
        near = np.abs(squares / asked - 1) < 0.03
        inverse = 1 / total[near]
        found = quality.belief(np.array([asked]), np.array([4.0]))
        # Nodes on a logarithmic scale and a window of 6 % leave a per cent or two.
        assert found.weight[0] == pytest.approx(
            inverse.mean(), rel=0.02 + 4 * inverse.std() / inverse.mean() / math.sqrt(near.sum())
        )


def test_a_user_with_one_claim_gets_the_crowds_weight():
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((60, 20)) * 1.5
    matrix[:10, 1:] = np.nan
    fit = sv.NoiseAware(noise=sv.Gaussian(1.0)).fit(sv.Claims.from_matrix(matrix))
    assert (fit.weights_[:10] > 0.5 * np.median(fit.weights_[10:])).all()
    assert (fit.weights_[:10] < 2 * np.median(fit.weights_[10:])).all()


def test_no_reading_pulls_harder_than_fresh_noise_allows():
    """One claim moved far away moves the truth by no more than its bounded pull, √(2·rate) over the information."""
    rng = np.random.default_rng(2)
    matrix = 5 + rng.laplace(0, 1, (80, 10))
    law = sv.FreshVariance(0.5)
    before = sv.NoiseAware(noise=law).fit(sv.Claims.from_matrix(matrix))
    matrix[0, 0] += 50
    after = sv.NoiseAware(noise=law).fit(sv.Claims.from_matrix(matrix))
    low, high = before.intervals()
    information = (2 * 1.96 / (high[0] - low[0])) ** 2
    assert abs(after.truths_[0] - before.truths_[0]) < 2 * math.sqrt(2 * law.rate) / information


def test_known_truths_are_kept_and_inform_about_users():
    rng = np.random.default_rng(4)
    truths = rng.uniform(0, 10, 20)
    matrix = truths + rng.standard_normal((6, 20)) * np.array([0.1, 0.1, 3, 3, 3, 3])[:, None]
    claims = sv.Claims.from_matrix(matrix)
    fit = sv.NoiseAware().fit(claims, known={n: truths[n] for n in range(10)})
    assert fit.truths_[:10].tolist() == truths[:10].tolist()
    assert np.abs(fit.truths_[10:] - truths[10:]).mean() < 0.2
    low, high = fit.intervals()
    assert (low[:10] == high[:10]).all()
    with pytest.raises(ValueError, match="elsewhere"):
        sv.NoiseAware().fit(claims, known={"elsewhere": 1.0})


def test_objects_of_different_scale_do_not_drown_each_other():
    """Without noise a metre and a millimetre may stand side by side; users are as good on either."""
    rng = np.random.default_rng(5)
    scales = np.repeat([1.0, 1000.0], 15)
    deviations = np.sqrt(rng.exponential(1.0, 100)) + 0.05
    matrix = rng.standard_normal((100, 30)) * deviations[:, None] * scales
    errors = np.abs(sv.NoiseAware().fit(sv.Claims.from_matrix(matrix)).truths_) / scales
    separate = np.abs(sv.NoiseAware().fit(sv.Claims.from_matrix(matrix[:, :15])).truths_)
    assert errors[:15].mean() < 1.3 * separate.mean()
    assert errors.mean() < 0.8 * np.abs(matrix.mean(axis=0) / scales).mean()


@pytest.mark.alike
@pytest.mark.parametrize("law", [None, sv.SharedVariance(0.5), sv.FreshVariance(0.5)], ids=str)
def test_bits_are_the_same_for_any_number_of_threads(law):
    claims = sv.worlds.synthetic(500, 300, fill=0.8, seed=6).with_simulated_noise(law or sv.Gaussian(1.0), 7).claims
    fits = [sv.NoiseAware(noise=law, max_iter=6, tol=0).fit(MemoryEngine(claims, threads)) for threads in (1, 2, 5)]
    assert len({fit.truths_.tobytes() + fit.weights_.tobytes() for fit in fits}) == 1


def test_very_many_users_are_looked_up_and_get_the_same_weights(monkeypatch):
    from sottovoce.discovery import quality as module

    quality = Quality(sv.SharedVariance(0.5), scale=1.0)
    rng = np.random.default_rng(8)
    counts = rng.integers(1, 40, 3000).astype(float)
    squares = rng.chisquare(counts) * rng.exponential(3, 3000)
    exact = quality.belief(squares, counts)
    monkeypatch.setattr(module, "_EVALUATED_USERS", 100)
    looked_up = quality.belief(squares, counts)
    np.testing.assert_allclose(looked_up.weight, exact.weight, rtol=0.05)
    assert not np.array_equal(looked_up.weight, exact.weight)


@pytest.mark.slow
@pytest.mark.parametrize("law", [sv.SharedVariance(0.5), sv.FreshVariance(0.125)], ids=str)
@pytest.mark.parametrize(("objects", "fill"), [(5, 1.0), (100, 1.0), (30, 0.2)])
def test_intervals_cover_from_few_objects_to_many_dense_and_sparse(law, objects, fill):
    runs = max(20, 600 // objects)
    covered = []
    for run in range(runs):
        matrix, truths, _ = crowd(np.random.default_rng((run, 13)), law, 1.0, objects, fill)
        low, high = sv.NoiseAware(noise=law).fit(sv.Claims.from_matrix(matrix)).intervals()
        covered.append(((low <= truths) & (truths <= high)).mean())
    # 93 to 97 %, and twice the standard error over the runs, which are independent
    assert abs(np.mean(covered) - 0.95) < 0.02 + 2 * np.std(covered, ddof=1) / math.sqrt(runs)


@pytest.mark.parametrize("law", [None, sv.SharedVariance(0.5), sv.FreshVariance(0.5), sv.Gaussian(1.0)], ids=str)
def test_an_earlier_fit_saves_iterations_and_gives_the_same_answer(law):
    world = sv.worlds.synthetic(300, 100, fill=0.3, seed=5)
    claims = (world.with_simulated_noise(law, 6) if law else world).claims
    old = np.random.default_rng(0).random(len(claims)) > 0.01
    everything = (claims.users, claims.objects, claims.values)
    before = sv.NoiseAware(noise=law).fit(sv.Claims.from_arrays(*(column[old] for column in everything)))
    whole = sv.Claims.from_arrays(*everything)
    cold, warm = sv.NoiseAware(noise=law).fit(whole), sv.NoiseAware(noise=law).fit(whole, start=before)
    assert warm.n_iter_ <= 0.75 * cold.n_iter_
    half = cold.intervals()[1] - cold.truths_
    assert np.abs(before.truths_ - cold.truths_).max() > 0.05 * half.min()  # the new claims do matter
    assert np.all(np.abs(warm.truths_ - cold.truths_) < 0.002 * half)


def test_any_method_can_start_from_an_earlier_fit():
    world = sv.worlds.synthetic(100, 20, seed=3)
    cold = sv.CRH(tol=1e-9).fit(world.claims)
    warm = sv.CRH(tol=1e-9).fit(world.claims, start=cold)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.truths_ == pytest.approx(cold.truths_, rel=1e-8)


def test_sources_with_thousands_of_claims_and_very_different_quality():
    rng = np.random.default_rng(8)
    truths = rng.uniform(0, 1000, 2000)
    deviations = np.array([0.01, 0.1, 1, 10, 100, 300])
    claims = sv.Claims.from_matrix(truths + rng.standard_normal((6, 2000)) * deviations[:, None])
    fit = sv.NoiseAware().fit(claims)
    assert np.all(np.isfinite(fit.weights_))
    assert np.all(np.diff(fit.weights_) < 0)
    assert np.abs(fit.truths_ - truths).mean() < 0.1  # the best two, weighted, err by about 0.01


def test_where_claims_mostly_coincide_the_truth_is_one_of_them():
    rng = np.random.default_rng(9)
    truths = np.round(rng.uniform(0, 1000, 300))
    wrong = rng.random((12, 300)) < np.linspace(0.05, 0.6, 12)[:, None]
    matrix = truths + np.where(wrong, np.round(rng.normal(0, 30, (12, 300))), 0)
    fit = sv.NoiseAware().fit(sv.Claims.from_matrix(matrix))
    assert fit.converged_
    assert np.mean(fit.truths_ == truths) > 0.98
    assert fit.weights_[:4].mean() > 3 * fit.weights_[-4:].mean()


def test_heavy_tails_cost_less_than_the_median():
    rng = np.random.default_rng(10)
    ours, medians = [], []
    for _ in range(5):
        truths = rng.uniform(0, 10, 30)
        matrix = truths + rng.standard_t(2, (150, 30)) * np.sqrt(rng.exponential(1, 150))[:, None]
        ours.append(np.abs(sv.NoiseAware().fit(sv.Claims.from_matrix(matrix)).truths_ - truths).mean())
        medians.append(np.abs(np.median(matrix, axis=0) - truths).mean())
    assert np.mean(ours) < 0.9 * np.mean(medians)


def test_without_anybody_to_compare_with_errors_are_unknown():
    fit = sv.NoiseAware(noise=sv.Gaussian(1.0)).fit(sv.Claims.from_arrays(["a", "b"], ["x", "y"], [1.0, 2.0]))
    assert fit.truths_.tolist() == [1.0, 2.0]
    assert np.isinf(fit.intervals()[1]).all()


def test_the_law_may_be_text():
    claims = sv.worlds.synthetic(30, 10, seed=1).claims
    first, second = (sv.NoiseAware(noise=noise).fit(claims).truths_ for noise in ("gaussian:2.0", sv.Gaussian(2.0)))
    assert first.tolist() == second.tolist()
