"""Users who repeat the same error, and errors whose squares carry little information: neither earns large weights."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.discovery.own_offsets import common_variance, independent_share, repeated_share, squares_worth
from sottovoce.engines import MemoryEngine

USERS, CLAIMS = 60, 12
WHO = np.repeat(np.arange(USERS, dtype=np.int32), CLAIMS)


@pytest.mark.parametrize("correlation", [0.2, 0.5, 0.9])
def test_errors_that_users_repeat_are_seen(correlation):
    """A scale of 60 capped squares has a standard error of 2.03/√60, about a quarter of it."""
    rng = np.random.default_rng(1)
    offsets = rng.normal(0, np.sqrt(correlation), USERS)
    errors = offsets[WHO] + rng.normal(0, np.sqrt(1 - correlation), len(WHO))
    error = 0.27 * correlation * (1 - correlation)
    assert repeated_share(WHO, errors, USERS) == pytest.approx(correlation, abs=3 * error + 0.05)


def test_errors_that_nobody_repeats_are_not_taken_for_offsets():
    found = [
        repeated_share(WHO, np.random.default_rng((seed, 3)).standard_normal(len(WHO)), USERS) for seed in range(100)
    ]
    assert np.median(found) == 0
    assert np.mean(found) < 0.007  # a standard error is 2.03/√60/11 = 0.024, and what counts is beyond two of them


def test_a_fifth_that_is_far_off_does_not_speak_for_all():
    """Their errors correlate perfectly and those of the others not at all; the typical user is one of the others."""
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(150, dtype=np.int32), 30)
    errors = rng.standard_normal(len(who))
    errors[who < 30] = 1 + 0.1 * errors[who < 30]
    assert repeated_share(who, errors, 150) < 0.05  # the mean correlation is 0.2


def test_an_error_that_is_always_repeated_counts_once():
    assert independent_share(np.array([1, 2, 10]), 0.0).tolist() == [1, 1, 1]
    assert independent_share(np.array([1, 2, 10]), 1.0) * [1, 2, 10] == pytest.approx([1, 1, 1])


def test_gross_errors_do_not_hide_what_all_may_have_in_common():
    """It has a tenth of the variance that is repeated. Without a limit on each error, gross ones would leave none."""
    rng = np.random.default_rng(5)
    errors = rng.normal(0, np.sqrt(0.5), USERS)[WHO] + rng.normal(0, np.sqrt(0.5), len(WHO))
    found = common_variance(WHO, errors, USERS)
    assert found == pytest.approx(0.05, abs=0.02)  # of a correlation of 0.5, within 3 standard errors as above
    errors[:: CLAIMS + 1] += 100.0
    assert common_variance(WHO, errors, USERS) > found / 4


@pytest.mark.slow
def test_intervals_allow_for_an_offset_that_all_have_in_common():
    """A third of the deviation of users' own offsets, unseen by any claim. It is the same for all objects of a crowd.

    So coverages of 150 crowds have a standard error of at most √(.95 · .05 / 150) = 0.018; it was .87 without.
    """
    law, covered = sv.Gaussian(0.5), []
    for seed in range(150):
        rng = np.random.default_rng((seed, 5))
        who = np.concatenate([rng.choice(60, 8, replace=False) for _ in range(30)])
        offsets = rng.normal(0, 1 / 3) + rng.normal(0, 1, 60)
        truths, what = rng.uniform(0, 20, 30), np.repeat(np.arange(30), 8)
        values = truths[what] + offsets[who] + rng.normal(0, 0.5, len(who))
        noisy = law.simulate(values, who, np.random.default_rng((seed, 6)))
        fit = sv.NoiseAware(noise=law).fit(sv.Claims.from_arrays(who, what, noisy))
        low, high = fit.intervals()
        covered.append(np.mean((low <= truths[fit.objects_]) & (truths[fit.objects_] <= high)))
    assert np.mean(covered) > 0.95 - 2 * 0.018 - 0.01  # the truths' own variances are estimated too


def test_no_errors_show_nothing():
    nobody = np.zeros(0, np.int32)
    assert repeated_share(nobody, np.zeros(0), 3) == 0
    assert repeated_share(WHO, np.zeros(len(WHO)), USERS) == 0
    assert squares_worth(nobody, np.zeros(0), 3) == 1
    assert squares_worth(np.arange(4, dtype=np.int32), np.ones(4), 4) == 1  # one claim each


def test_squares_of_errors_with_a_kurtosis_say_less_whatever_the_scales_of_users():
    """They are worth 2/(κ - 1): 1 for normal errors (κ = 3), 0.4 for Laplace's (κ = 6)."""
    rng = np.random.default_rng(2)
    scales = np.exp(rng.normal(0, 1, 2000))
    who = np.repeat(np.arange(2000, dtype=np.int32), CLAIMS)
    for draw, worth in ((rng.standard_normal, 1.0), (lambda many: rng.laplace(size=many), 0.4)):
        errors = draw(len(who))
        assert squares_worth(who, errors**2, 2000) == pytest.approx(worth, abs=0.06)
        weighted = (errors * scales[who]) ** 2 / np.bincount(who, (errors * scales[who]) ** 2)[who]
        assert worth - 0.06 < squares_worth(who, weighted, 2000) < worth + 0.2  # users who never err much count too


def test_a_few_who_share_an_offset_do_not_decide_about_everything():
    """People who measure hallways by their own stride: intervals held 71 % of the truths."""
    covered, ours, plain = [], [], []
    for seed in range(12):
        rng = np.random.default_rng((seed, 61))
        truths = rng.uniform(5, 30, 15)
        matrix = truths * np.exp(rng.normal(0, 0.15, (10, 1))) + rng.normal(0, 0.5, (10, 15))
        fit, mean = (
            method.fit(MemoryEngine(sv.Claims.from_matrix(matrix), threads=1))
            for method in (sv.NoiseAware(), sv.Mean())
        )
        low, high = fit.intervals()
        covered.append(((low <= truths) & (truths <= high)).mean())
        ours.append(np.abs(fit.truths_ - truths).mean())
        plain.append(np.abs(mean.truths_ - truths).mean())
    # Truths of a crowd are off together, so these are twelve observations, not 180.
    assert np.mean(covered) > 0.85
    assert np.mean(ours) < 1.25 * np.mean(plain)


@pytest.mark.slow
def test_ratings_of_a_few_objects_are_as_good_as_the_mean():
    """Of a dozen objects rated by 40 people, whoever happened to agree on zeros counted up to 35 times as much."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng((seed, 71))
        merit, strict, wild = rng.uniform(-1.2, 1, 14), rng.normal(0, 0.15, 40), np.exp(rng.normal(-0.6, 0.3, 40))

        def rated(objects, users, rng=rng, merit=merit, strict=strict, wild=wild):
            opinions = merit[objects] + strict[users] + rng.standard_normal(len(users)) * wild[users]
            return np.clip(np.round(opinions * 20) * 5, 0, 100)

        objects = np.repeat(np.arange(14), 8)
        users = np.concatenate([rng.choice(40, 8, replace=False) for _ in range(14)])
        claims = sv.Claims.from_arrays(users, objects, rated(objects, users))
        everybody = np.tile(np.arange(40), 25)
        truths = np.array([rated(np.full(1000, place), everybody).mean() for place in range(14)])
        fits = (method.fit(MemoryEngine(claims, threads=1)) for method in (sv.NoiseAware(), sv.Mean()))
        ours, plain = (np.abs(fit.truths_ - truths).mean() for fit in fits)
        ratios.append(ours / plain)
    assert np.mean(np.log(ratios)) < np.log(1.1)  # 1.25 before; the standard error is 0.03
