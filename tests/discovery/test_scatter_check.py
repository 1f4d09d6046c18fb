"""Truths compared with the scatter of the claims: right models are kept; wrong ones and better averages are noticed."""

import numpy as np
import pytest
from scipy.special import ndtri

import sottovoce as sv
from sottovoce.discovery import aware_estimate
from sottovoce.discovery.scatter_check import Pulls
from sottovoce.discovery.variance_prior import VariancePrior
from sottovoce.engines import MemoryEngine
from sottovoce.worlds import crowd


def pulls(errors, weight=1.0, spread=0.0, followed=None, tail=0.0, assumed=1.0, medians=False):
    many = len(errors)
    each = (np.full(many, number) for number in (weight, spread, spread if followed is None else followed))
    return Pulls.of(errors, *each, tail, np.zeros(many), assumed, medians)


def factor(errors, **model):
    return pulls(errors, **model).factor


def test_variances_of_a_right_model_are_kept():
    """The mean of 20,000 squares has a standard error of 1 %."""
    errors = np.random.default_rng(1).standard_normal(20_000)
    assert factor(errors) == pytest.approx(1, abs=0.04)
    assert factor(3 * errors, weight=1 / 9) == pytest.approx(1, abs=0.04)


def test_errors_twice_as_large_as_the_weights_say_double_the_deviation_up_to_a_limit():
    errors = np.random.default_rng(2).standard_normal(20_000)
    assert factor(np.sqrt(2) * errors) == pytest.approx(2, abs=0.08)
    assert factor(2 * errors) == 3.0


def test_the_factor_is_the_variance_of_an_average_with_that_tail():
    """Student's t with 4 degrees of freedom: simulated truths, weighed by the same tail, have this variance."""
    rng, tail = np.random.default_rng(3), 0.25

    def weighed(errors):
        far = tail * errors**2
        return (1 + tail) / np.where(far <= 1, 1 + far, 2 * np.sqrt(far))

    errors = rng.standard_t(4, (4000, 50))
    truths = np.zeros(len(errors))
    for _ in range(30):
        kept = weighed(errors - truths[:, None])
        truths = (kept * errors).sum(axis=1) / kept.sum(axis=1)
    kept = weighed(errors)
    found = factor(errors.ravel(), tail=tail)
    # Over the inverse of the sum of weights, which `assumed=1` stands for; of 4,000 truths, to within 2 · 2.2 %.
    assert found == pytest.approx(truths.var() * kept.sum(axis=1).mean(), rel=0.07)


def test_smaller_variances_are_used_less_what_may_be_chance():
    errors = 0.9 * np.random.default_rng(4).standard_normal(20_000)
    assert factor(errors) == pytest.approx(0.81, abs=0.05)
    few = ndtri((np.arange(20) + 0.5) / 20)
    squares = 0.81 * few**2
    assert factor(0.9 * few) == pytest.approx(squares.mean() + squares.std() / np.sqrt(20) / 2)
    assert factor(few) == 1.0
    assert factor(0.1 * errors) == 0.7


@pytest.mark.parametrize("errors", [np.zeros(20), np.ones(3)])
def test_too_little_data_changes_nothing(errors):
    assert pulls(errors) == Pulls(1.0, 0.0)


def test_the_mean_counts_as_far_as_it_varies_less():
    """The best share of two averages of 20 claims each, simulated, beside the one from the pulls of all claims."""
    rng, tail = np.random.default_rng(6), 0.25
    size, expected = (5000, 20), []
    for errors in (rng.uniform(-2, 2, size), rng.standard_normal(size), rng.standard_t(3, size)):
        truths = np.zeros(len(errors))
        for _ in range(30):
            far = tail * (errors - truths[:, None]) ** 2
            kept = 1 / np.where(far <= 1, 1 + far, 2 * np.sqrt(far))
            truths = (kept * errors).sum(axis=1) / kept.sum(axis=1)
        apart = truths - errors.mean(axis=1)
        best = min(max(float((truths * apart).mean() / (apart**2).mean()), 0.0), 1.0)
        expected.append(best)
        assert pulls(errors.ravel(), tail=tail).mean_share == pytest.approx(best, abs=0.15)
    assert expected == pytest.approx([1, 1, 0], abs=0.1)  # nothing varies less than a mean of normal errors


def test_the_median_counts_as_far_as_it_varies_less():
    """Simulated medians of 2,001 claims, and truths that discount far claims by a tail, beside the pulls of all."""
    rng, tail = np.random.default_rng(7), 0.25
    for draw, expected in ((rng.laplace, 1.0), (rng.normal, 0.0)):
        errors = draw(0, 1, (300, 2001))
        truths, medians = np.zeros(len(errors)), np.median(errors, axis=1)
        for _ in range(30):
            far = tail * (errors - truths[:, None]) ** 2
            kept = 1 / np.where(far <= 1, 1 + far, 2 * np.sqrt(far))
            truths = (kept * errors).sum(axis=1) / kept.sum(axis=1)
        apart = truths - medians
        best = min(max(float((truths * apart).mean() / (apart**2).mean()), 0.0), 1.0)
        assert best == pytest.approx(expected, abs=0.3)  # of 300 truths
        found = pulls(errors[:20].ravel(), tail=tail, medians=True).median_share
        assert expected / 2 <= found <= max(expected, 0.1)  # as far as it is clear
        assert pulls(errors[:20].ravel(), tail=tail).median_share == 0


@pytest.mark.slow
@pytest.mark.parametrize("users", [None, 60])
def test_errors_with_a_sharp_peak_are_about_as_good_as_the_median(users):
    """Half of everybody's claims have errors a twentieth as large: truths had 1.18 times the median's error."""
    ours, median, held = [], [], []
    for seed in range(6):
        rng = np.random.default_rng((seed, 53))
        truths, places = rng.uniform(0, 10, 20), np.repeat(np.arange(20), 30)
        who = np.concatenate([rng.permutation(users)[:30] for _ in truths]) if users else np.arange(600)
        errors = np.where(rng.random(600) < 0.5, 0.1, 2.0) * rng.standard_normal(600)
        engine = MemoryEngine(sv.Claims.from_arrays(who, places, truths[places] + errors), threads=1)
        fit = sv.NoiseAware(target="value").fit(engine)
        ours.append(np.abs(fit.truths_ - truths).mean())
        median.append(np.abs(engine.medians() - truths).mean())
        held.append((np.abs(fit.truths_ - truths) <= fit.intervals()[1] - fit.truths_).mean())
    assert np.mean(ours) < 1.06 * np.mean(median)
    assert np.mean(held) > 0.93


@pytest.mark.parametrize("target", ["value", "mean"])
def test_where_tails_are_light_the_mean_is_taken(target):
    """Users who are all alike, with uniform errors: weights could only follow chance, at a cost of up to 8 %."""
    ours, plain = [], []
    for seed in range(8):
        rng = np.random.default_rng((seed, 52))
        truths = rng.uniform(0, 10, 10)
        matrix = truths + rng.uniform(-1, 1, (30, 10))
        matrix[rng.random(matrix.shape) < 0.3] = np.nan
        engine = MemoryEngine(sv.Claims.from_matrix(matrix), threads=1)
        ours.append(np.abs(sv.NoiseAware(target=target).fit(engine).truths_ - truths).mean())
        plain.append(np.abs(engine.means() - truths).mean())
    assert np.mean(ours) < 1.01 * np.mean(plain)


@pytest.mark.parametrize("target", ["value", "mean"])
def test_a_prior_that_does_not_describe_users_makes_intervals_wider(monkeypatch, target):
    """One distribution for users of two kinds: the weights are too sure of themselves."""
    monkeypatch.setattr(VariancePrior, "learn", VariancePrior.search)
    claims = MemoryEngine(crowd(20, 100, "two kinds", seed=np.random.default_rng(5)).claims, threads=1)
    seen = sv.NoiseAware(target=target).fit(claims).intervals()
    monkeypatch.setattr(aware_estimate.Pulls, "of", lambda *_: Pulls())
    believed = sv.NoiseAware(target=target).fit(claims).intervals()
    assert np.median((seen[1] - seen[0]) / (believed[1] - believed[0])) > 1.02


def test_weights_that_hardly_follow_a_claim_do_not_make_a_mean_better():
    """Uncertain weights make intervals wider; how far a truth follows its claims is a separate question."""
    errors = np.random.default_rng(7).standard_normal(20_000)
    assert pulls(errors, spread=0.4).mean_share > 0.9
    uncertain = pulls(errors, spread=0.4, followed=0.0)
    assert uncertain.mean_share == 0
    assert uncertain.factor == pulls(errors, spread=0.4).factor > 2


@pytest.mark.slow
def test_two_camps_of_users_are_not_averaged_more_than_helps():
    """Half of the users are always too high and half too low, by as much as they err otherwise."""
    ratios = []
    for seed in range(16):
        rng = np.random.default_rng((seed, 83))
        truths, deviations = rng.uniform(5, 30, 30), np.exp(rng.normal(-0.3, 0.5, (40, 1)))
        errors = rng.choice([-1, 1], (40, 1)) + rng.standard_normal((40, 30))
        claims = sv.Claims.from_matrix(truths + deviations * errors / np.sqrt(2))
        fits = (method.fit(MemoryEngine(claims, threads=1)) for method in (sv.NoiseAware(), sv.Mean()))
        ours, mean = (np.abs(fit.truths_ - truths).mean() for fit in fits)
        ratios.append(np.log(ours / mean))
    # Over 40 other crowds it is 0.826, with a standard error of 0.043 for 16; it was 0.884 while all spread counted.
    assert np.mean(ratios) < np.log(0.826 + 2 * 0.043)
