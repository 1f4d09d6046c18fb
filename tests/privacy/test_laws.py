"""Noise laws: their text form, and simulated noise that follows them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sottovoce as sv

positive = st.floats(1e-12, 1e12)
LAWS = st.one_of(
    positive.map(sv.SharedVariance), positive.map(sv.FreshVariance), positive.map(sv.Gaussian),
    st.tuples(positive, positive).map(lambda pair: sv.FlooredVariance(*pair)),
)  # fmt: skip


@given(law=LAWS)
def test_what_is_printed_is_parsed_again(law):
    assert sv.parse_law(str(law)) == law


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("shared", "shared:RATE"),
        ("shared:0.5:1", "must be one of"),
        ("floored:1", "floored:FLOOR:RATE"),
        ("cauchy:1", "must be one of"),
        ("shared:much", "must be numbers"),
        ("shared:-1", "finite number above 0"),
        ("shared:0", "finite number above 0"),
        ("fresh:nan", "finite number above 0"),
        ("gaussian:inf", "finite number above 0"),
        ("", "must be one of"),
    ],
)
def test_bad_laws_are_reported_with_the_right_form(text, words):
    with pytest.raises(ValueError, match=words):
        sv.parse_law(text)


def test_whole_numbers_are_numbers_and_truth_values_are_not():
    assert str(sv.SharedVariance(2)) == "shared:2"
    assert str(sv.Gaussian(np.float64(1.5))) == "gaussian:1.5"
    with pytest.raises(ValueError, match="finite number above 0"):
        sv.SharedVariance(True)


USERS = np.repeat(np.arange(400), 50)


def noise(law):
    return law.simulate(np.zeros(len(USERS)), USERS, np.random.default_rng(7)).reshape(400, 50)


def passes(noise, distribution):
    # Kolmogorov and Smirnov, with a probability of 1 in 1,000 to fail by accident; the seed is fixed.
    assert stats.kstest(noise, distribution.cdf).pvalue > 1e-3


def test_fresh_noise_is_laplace():
    passes(noise(sv.FreshVariance(0.5)).ravel(), stats.laplace(scale=1.0))


def test_gaussian_noise_is_normal():
    passes(noise(sv.Gaussian(3.0)).ravel(), stats.norm(scale=3.0))


def test_shared_noise_is_laplace_across_users_and_normal_within_one():
    drawn = noise(sv.SharedVariance(0.5))
    passes(drawn[:, 0], stats.laplace(scale=1.0))
    # Within a user, a reading over the root mean square of the other 49 is Student's t whatever their variance.
    ratios = drawn[:, 0] / np.sqrt((drawn[:, 1:] ** 2).mean(axis=1))
    passes(ratios, stats.t(49))


@pytest.mark.parametrize(
    ("law", "alike"),
    [(sv.SharedVariance(0.5), True), (sv.FlooredVariance(0.1, 1.0), True), (sv.FreshVariance(0.5), False)],
)
def test_sizes_of_one_users_noise_go_together_only_where_they_have_one_variance(law, alike):
    sizes = np.log(np.abs(noise(law)))
    # Two halves of each user's readings: without a common variance the correlation has a standard error of 0.05.
    correlation = np.corrcoef(sizes[:, :25].mean(axis=1), sizes[:, 25:].mean(axis=1))[0, 1]
    assert (correlation > 0.5) if alike else (abs(correlation) < 0.2)


def test_floored_noise_never_has_less_than_the_floor():
    law = sv.FlooredVariance(4.0, 0.5)
    variances = (noise(law) ** 2).mean(axis=1)
    # 400 variances of 50 draws each: E = 6, Var = 4 + 2·E[y²]/50 with E[y²] = 36 + 4
    assert abs(variances.mean() - law.mean_variance) < 4 * np.sqrt((4 + 2 * 40 / 50) / 400)
    assert stats.chi2(50).cdf(variances.min() * 50 / 4.0) > 1e-6


def test_simulated_noise_leaves_the_values_it_is_given_alone():
    values = np.arange(3.0)
    sv.SharedVariance(1.0).simulate(values, np.array([0, 1, 2]), np.random.default_rng(0))
    assert values.tolist() == [0, 1, 2]
