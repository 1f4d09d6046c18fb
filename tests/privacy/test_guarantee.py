"""Guarantees compared with simulations, other integrals and the figures known from theory."""

import math
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

import sottovoce as sv
from sottovoce.errors import UnwiseChoice
from sottovoce.privacy.radial import RadialProfile
from sottovoce.privacy.sentence import privacy_sentence


def bessel_log_density(rate, n, r):
    """Logarithm of the symmetric multivariate Laplace density up to a constant, by scipy's Bessel function."""
    x = math.sqrt(2 * rate) * r
    return (1 - n / 2) * np.log(r) + np.log(special.kve(n / 2 - 1, x)) - x


def simulated_delta(rate, distance, n, epsilon, draws=400_000, seed=0):
    """E[(1 - e^{ε - L})₊] by Monte Carlo, with its standard error."""
    rng = np.random.default_rng(seed)
    variance = rng.exponential(1 / rate, draws)
    along = rng.standard_normal(draws) * np.sqrt(variance)
    across = variance * rng.chisquare(n - 1, draws)
    loss = bessel_log_density(rate, n, np.hypot(along, np.sqrt(across)))
    loss = loss - bessel_log_density(rate, n, np.hypot(along - distance, np.sqrt(across)))
    gain = -np.expm1(np.minimum(epsilon - loss, 0))
    return gain.mean(), gain.std() / math.sqrt(draws)


EPSILONS = (0.5, 1, 2, 8)
KNOWN = {  # rate 0.5, distance 1
    1: (0.2212, 0, 0, 0),
    2: (0.236, 0.082, 6.6e-4, 0),
    3: (0.243, 0.113, 0.016, 1.4e-7),
    10: (0.257, 0.163, 0.078, 0.008),
    30: (0.263, 0.179, 0.100, 0.021),
}


@pytest.mark.parametrize("readings", KNOWN)
def test_known_figures_of_the_shared_law(readings):
    promise = sv.SharedVariance(0.5).guarantee(distance=1.0, readings=readings)
    for epsilon, expected in zip(EPSILONS, KNOWN[readings], strict=True):
        assert promise.delta(epsilon) == pytest.approx(expected, rel=0.05, abs=1e-12 if expected < 1e-6 else 6e-4)


def test_known_figures_for_any_number_of_readings_and_as_printed():
    promise = sv.SharedVariance(0.5).guarantee(distance=1.0, readings=10**6)
    for epsilon, any_number, printed in zip(
        EPSILONS, (0.266, 0.187, 0.111, 0.031), (0.393, 0.221, 0.118, 0.031), strict=True
    ):
        assert promise.delta(epsilon) == promise.delta_any_n(epsilon) == pytest.approx(any_number, abs=6e-4)
        assert promise.paper_delta(epsilon) == pytest.approx(printed, abs=6e-4)


@pytest.mark.alike
@pytest.mark.parametrize("readings", [2, 3, 10, 30])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_exact_figures_agree_with_simulation(readings, epsilon):
    mean, error = simulated_delta(0.5, 1.0, readings, epsilon)
    delta = sv.SharedVariance(0.5).guarantee(readings=readings).delta(epsilon)
    assert abs(delta - mean) < 4 * error  # 1 in 16,000 to fail by accident, for each; seeds are fixed


def test_participant_level_agrees_with_simulation():
    mean, error = simulated_delta(0.1, math.sqrt(5), 5, 1.0)
    delta = sv.SharedVariance(0.1).guarantee(readings=5, unit="participant").delta(1.0)
    assert abs(delta - mean) < 4 * error


@pytest.mark.parametrize(("rate", "epsilon"), [(0.5, 1.0), (0.02, 1.0), (1e-4, 1.0), (1e-7, 0.5), (1e-9, 2.0)])
def test_three_readings_to_six_digits_by_another_integral(rate, epsilon):
    # For n = 3 the density is e^{-κr}/r, elementary. In bipolar coordinates (r, r') the volume is 2π r r' dr dr'/D, and
    # δ = κ²/2D ∫∫ (r' e^{-κr} - e^ε r e^{-κr'})₊ dr dr' over |r - r'| ≤ D ≤ r + r': another way, without angles.
    kappa, distance = math.sqrt(2 * rate), 1.0

    def inner(r):
        # Where r' e^{κr'} > e^ε r e^{κr}: one root in r', by Lambert's function.
        root = special.lambertw(kappa * r * math.exp(epsilon + kappa * r)).real / kappa
        low, high = max(root, abs(r - distance)), r + distance
        if low >= high:
            return 0.0
        first = math.exp(-kappa * r) * (high**2 - low**2) / 2
        return first - math.exp(epsilon) * r * (math.exp(-kappa * low) - math.exp(-kappa * high)) / kappa

    edges = [0, *np.geomspace(1e-6, 60 / kappa, 120)]
    pieces = [pair for pair in pairwise(edges) if inner(sum(pair) / 2) or inner(pair[0] + 1e-12)]
    total = math.fsum(integrate.quad(inner, *pair, epsabs=0, epsrel=1e-10, limit=200)[0] for pair in pieces)
    expected = kappa**2 / (2 * distance) * total
    delta = sv.SharedVariance(rate).guarantee(readings=3).delta(epsilon)
    assert delta == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("readings", [2, 5, 30, 200])
@pytest.mark.parametrize("rate", [2.0, 1e-3, 1e-7])
def test_finer_tables_change_nothing(readings, rate, monkeypatch):
    from sottovoce.privacy import radial

    coarse_deltas = [RadialProfile(readings, math.sqrt(rate)).delta(epsilon) for epsilon in (0.3, 1.0, 3.0)]
    monkeypatch.setattr(radial, "_KNOT", 0.003)
    monkeypatch.setattr(radial, "_ANGLES", 120)
    radial.radial_noise.cache_clear()
    fine_deltas = [RadialProfile(readings, math.sqrt(rate)).delta(epsilon) for epsilon in (0.3, 1.0, 3.0)]
    radial.radial_noise.cache_clear()
    for fine, coarse in zip(fine_deltas, coarse_deltas, strict=True):
        assert coarse == pytest.approx(fine, rel=1e-6, abs=1e-18)


@pytest.mark.parametrize(("readings", "pure"), [(1, 0.38), (2, 0.41), (10, 0.75), (30, 1.41)])
def test_floored_noise_is_pure_for_finitely_many_readings(readings, pure):
    promise = sv.FlooredVariance(10.23, 1 / 13.9).guarantee(readings=readings)
    assert promise.pure_epsilon == pytest.approx(pure, abs=0.006)
    assert promise.delta(promise.pure_epsilon) == 0
    assert promise.delta(0.98 * promise.pure_epsilon) > 0


@pytest.mark.slow
def test_floored_noise_agrees_with_simulation():
    floor, rate, distance, epsilon, draws = 0.3, 0.5, 1.0, 0.5, 400_000
    rng = np.random.default_rng(3)
    guarantee = sv.FlooredVariance(floor, rate).guarantee(readings=1)
    points = np.linspace(-60, 60, 48001)
    nodes = -np.log1p(-(np.arange(4000) + 0.5) / 4000) / rate + floor  # quantiles of the variance
    density = sum(stats.norm.pdf(points, scale=math.sqrt(variance)) for variance in nodes) / len(nodes)
    x = rng.standard_normal(draws) * np.sqrt(floor + rng.exponential(1 / rate, draws))
    loss = np.interp(x, points, np.log(density)) - np.interp(x - distance, points, np.log(density))
    gain = -np.expm1(np.minimum(epsilon - loss, 0))
    assert (
        abs(guarantee.delta(epsilon) - gain.mean()) < 4 * gain.std() / math.sqrt(draws) + 1e-4
    )  # quantiles are coarse


@pytest.mark.slow
def test_fresh_noise_of_several_readings_agrees_with_simulation():
    rng = np.random.default_rng(5)
    for readings, step, epsilon in ((2, 0.7, 0.5), (5, 0.3, 0.6), (30, 0.1, 1.0)):
        noise = rng.laplace(size=(400_000, readings))
        loss = (np.abs(noise - step) - np.abs(noise)).sum(axis=1)
        gain = -np.expm1(np.minimum(epsilon - loss, 0))
        promise = sv.FreshVariance(step**2 / 2).guarantee(readings=readings, unit="participant")
        assert promise.pure_epsilon == pytest.approx(readings * step)
        assert abs(promise.delta(epsilon) - gain.mean()) < 4 * gain.std() / math.sqrt(400_000)


def test_fresh_noise_of_many_readings_against_the_tilted_lattice():
    # The same noise on a fine grid is summed in quite another way; the grid's own error falls with its square.
    for epsilon in (1.0, 5.0, 15.0):
        continuous = sv.FreshVariance(0.005).guarantee(readings=200, unit="participant").delta(epsilon)
        lattice = sv.FreshVariance(0.005).guarantee(readings=200, unit="participant", grid=1 / 1000).delta(epsilon)
        assert lattice == pytest.approx(continuous, rel=1e-4)


def test_fresh_noise_of_very_many_readings_is_bounded_from_above():
    exact, bounded = (sv.FreshVariance(0.005).guarantee(readings=n, unit="participant") for n in (200, 201))
    assert exact.pure_epsilon < bounded.pure_epsilon
    for epsilon in (1.0, 10.0, 19.9):
        assert 0 < exact.delta(epsilon) <= bounded.delta(epsilon) <= 1


def test_gaussian_noise_by_the_textbook_formula():
    for sigma, epsilon in ((3.7, 1.0), (0.5, 0.1), (1.0, 4.0)):
        a = 1 / (2 * sigma) - epsilon * sigma
        expected = stats.norm.cdf(a) - math.exp(epsilon) * stats.norm.cdf(a - 1 / sigma)
        assert sv.Gaussian(sigma).guarantee(readings=77).delta(epsilon) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "law", [sv.SharedVariance(0.4), sv.FlooredVariance(2.0, 0.5), sv.Gaussian(1.3), sv.FreshVariance(0.3)], ids=str
)
@pytest.mark.parametrize("unit", ["reading", "participant"])
def test_a_finer_grid_comes_nearer_to_continuous_noise(law, unit):
    rough, fine, finest = (law.guarantee(readings=3, unit=unit, grid=grid).delta(0.7) for grid in (0.1, 0.01, 0.001))
    assert abs(finest - fine) < abs(fine - rough)
    # What stays is the sampler's variance law, rounded up by up to a 1024th of its mean.
    assert finest == pytest.approx(law.guarantee(readings=3, unit=unit).delta_any_n(0.7), rel=4e-3)


@pytest.mark.slow
def test_the_sampled_law_summed_by_brute_force():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwiseChoice)
        promise = sv.SharedVariance(0.5).guarantee(distance=2.0, readings=30, grid=1.0)
    k = np.arange(-400, 401)
    total = 0.0
    for drawn in range(30_000):
        variance = (drawn + 1) * 2 / 1024
        weights = np.exp(-(k**2) / (2 * variance))
        shifted = np.exp(-((k - 2) ** 2) / (2 * variance))
        delta = np.maximum(weights - math.exp(0.8) * shifted, 0).sum() / weights.sum()
        total += -math.expm1(-1 / 1024) * math.exp(-drawn / 1024) * delta
    # Close variances count as one.
    assert total * (1 - 1e-12) <= promise.delta(0.8) <= total * (1 + 2e-4)


def test_several_readings_with_little_noise_on_a_coarse_grid_by_brute_force():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwiseChoice)
        promise = sv.Gaussian(0.8).guarantee(distance=1.0, readings=3, unit="participant", grid=1.0)
    k = np.arange(-12, 13)
    one = np.exp(-(k**2) / (2 * 0.64))
    one /= one.sum()
    shifted = np.exp(-((k - 1) ** 2) / (2 * 0.64)) / np.exp(-(k**2) / (2 * 0.64)).sum()
    joint, other = (np.einsum("i,j,k->ijk", part, part, part) for part in (one, shifted))
    expected = np.maximum(joint - math.e * other, 0).sum()
    assert expected * (1 - 1e-12) <= promise.delta(1.0) <= expected * (1 + 1e-8)


def test_on_a_coarse_grid_the_continuous_figure_is_not_a_bound():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwiseChoice)
        ratios = [
            law.guarantee(grid=1.0).delta(epsilon) / law.guarantee().delta_any_n(epsilon)
            for law in map(sv.SharedVariance, (0.05, 0.2, 0.5))
            for epsilon in (0.5, 1, 2)
        ]
    assert 1.05 < max(ratios) < 1.12


def test_a_coarse_grid_is_warned_about():
    with pytest.warns(UnwiseChoice, match="a tenth of the distance"):
        sv.Gaussian(1.0).guarantee(distance=1.0, grid=0.5)


def test_a_distance_between_grid_steps_counts_as_the_next_one():
    law = sv.FreshVariance(0.5)
    assert law.guarantee(distance=0.101, grid=0.01).pure_epsilon == law.guarantee(distance=0.11, grid=0.01).pure_epsilon
    # 1.1 / 0.1 is 11 steps, though in floating point it is a little more
    assert law.guarantee(distance=1.1, grid=0.1).pure_epsilon == pytest.approx(1.1, rel=1e-4)


rates, distances, epsilons = st.floats(1e-4, 20), st.floats(0.05, 5), st.floats(0.01, 6)
counts = st.sampled_from([1, 2, 3, 7, 30, 200, 500])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rate=rates, distance=distances, epsilon=epsilons, readings=counts, unit=st.sampled_from(["reading", "participant"])
)
def test_exact_is_at_most_the_closed_form_is_at_most_the_printed_bound(rate, distance, epsilon, readings, unit):
    promise = sv.SharedVariance(rate).guarantee(distance, readings, unit)
    slack = 1 + 1e-6
    assert promise.delta(epsilon) <= promise.delta_any_n(epsilon) * slack
    assert promise.delta_any_n(epsilon) <= promise.paper_delta(epsilon) * slack


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(rate=rates, distance=distances, epsilon=epsilons, floor=st.floats(0.1, 5), more=st.floats(1.05, 3))
def test_delta_falls_with_epsilon_and_rises_with_rate_distance_and_readings(rate, distance, epsilon, floor, more):
    laws = (sv.SharedVariance(rate), sv.FreshVariance(rate), sv.FlooredVariance(floor, rate), sv.Gaussian(rate**-0.5))
    louder = (sv.SharedVariance(rate * more), sv.FreshVariance(rate * more), sv.FlooredVariance(floor, rate * more),
              sv.Gaussian((rate * more) ** -0.5))  # fmt: skip
    for law, less_noise in zip(laws, louder, strict=True):
        here = law.guarantee(distance, 5).delta(epsilon) * (1 - 1e-6)
        assert law.guarantee(distance, 5).delta(epsilon * more) * (1 - 1e-6) <= here + 1e-15
        for weaker in (less_noise.guarantee(distance, 5), law.guarantee(distance * more, 5), law.guarantee(distance, 9),
                       law.guarantee(distance, 5, "participant")):  # fmt: skip
            assert here <= weaker.delta(epsilon) + 1e-15


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(rate=rates, distance=distances, epsilon=epsilons, unit=st.sampled_from(["reading", "participant"]))
def test_epsilon_of_delta_of_epsilon(rate, distance, epsilon, unit):
    laws = (sv.SharedVariance(rate), sv.FreshVariance(rate), sv.FlooredVariance(1.0, rate), sv.Gaussian(rate**-0.5))
    for law in laws:
        promise = law.guarantee(distance, 4, unit)
        delta = promise.delta(epsilon)
        if 1e-12 < delta < 1 - 1e-9:
            assert promise.delta(promise.epsilon(delta)) == pytest.approx(delta, rel=1e-6)


def test_at_a_delta_of_zero_only_pure_laws_have_an_epsilon():
    assert sv.FreshVariance(0.5).guarantee().epsilon(0) == 1.0
    with pytest.raises(ValueError, match="use a law that has one"):
        sv.SharedVariance(0.5).guarantee(readings=2).epsilon(0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"distance": 0}, "distance 0"),
        ({"distance": float("nan")}, "distance nan"),
        ({"readings": 0}, "readings 0"),
        ({"readings": 2.5}, "readings 2.5"),
        ({"unit": "city"}, "unit 'city'"),
        ({"grid": -1}, "grid -1"),
    ],
)
def test_invalid_parameters_are_reported(options, words):
    with pytest.raises(ValueError, match=words):
        sv.Gaussian(1.0).guarantee(**options)


def test_bad_epsilon_and_delta_are_reported():
    promise = sv.Gaussian(1.0).guarantee()
    for epsilon in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="epsilon"):
            promise.delta(epsilon)
    for delta in (-0.1, 1, float("nan")):
        with pytest.raises(ValueError, match="delta"):
            promise.epsilon(delta)


def test_the_sentence_says_who_what_how_much_and_what_stays_visible():
    certain = sv.FreshVariance(0.5).guarantee(distance=2.0).sentence()
    assert "learns little about any one reading: had it differed by up to 2" in certain
    assert "more than 7.39 times as likely" in certain  # e² = 7.389…, rounded up
    assert "except" not in certain
    assert "which tasks you answered" in certain
    rare = sv.Gaussian(3.73064).guarantee(readings=5, unit="participant").sentence(delta=1e-5)
    assert "learns little about your readings, even all 5 together: had each differed by up to 1" in rare
    assert "1 in 100,000" in rare


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        (0.5, 0.0, "learns almost nothing about any one reading: had it differed by up to 1 m, no conclusion would "
                   "be more than 1.65 times as likely."),
        (2.0, 1e-5, "learns little"),
        (2.0, 1e-5, "more than 7.39 times as likely, except with a chance of at most 1 in 100,000."),
        (5.0, 0.0, "may learn a lot about any one reading"),
        (9.0, 0.0, "more than 8,110 times as likely."),
        (1.0, 0.2, "may learn a lot"),
        (1.0, 0.2, "except with a chance of at most 20%."),
        (1.0, 1e-300, "at most 1 in 1,000,000,000."),
        (105.0, 1e-5, "may learn a lot about any one reading: had it differed by up to 1 m, a conclusion could be "
                      "more than a million times as likely."),
        (1e7, 0.0, "more than a million times"),
        (math.inf, 0.0, "promises nothing"),
    ],
)  # fmt: skip
def test_the_sentence_is_true_of_strong_and_of_weak_promises(epsilon, delta, words):
    assert words in privacy_sentence(epsilon, delta, "1 m", "reading", 30)


@given(epsilon=st.floats(0, 13), delta=st.floats(1e-9, 0.099))
def test_the_sentence_never_promises_more_than_is_kept(epsilon, delta):
    words = privacy_sentence(epsilon, delta, "1", "participant", 3)
    factor, odds = re.search(r"more than ([\d.,]+) times .* 1 in ([\d,]+)\.", words).groups()
    assert math.exp(epsilon) * (1 - 2e-9) <= float(factor.replace(",", "")) <= 1.01 * math.exp(epsilon) + 0.01
    assert 1 / int(odds.replace(",", "")) >= delta * (1 - 2e-9)
