"""The original paper's theorems: printed ones against values computed by hand, corrected ones against simulation.

Simulated means are held to 4.5 standard errors, estimated from the same draws: a correct formula fails once in
150,000, and the seeds are fixed.
"""

import json
import math

import numpy as np
import pytest
import typer
from scipy.special import ndtr
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.theorem import theorem
from sottovoce.errors import BadParameter
from sottovoce.planning import paper
from sottovoce.privacy.laws import SharedVariance
from sottovoce.worlds import synthetic


def agrees(draws, expected):
    error = draws.std() / math.sqrt(len(draws))
    return abs(draws.mean() - expected) < 4.5 * error


def variance_agrees(draws, expected):
    # The variance of a sample variance comes from the fourth moment.
    squares = (draws - draws.mean()) ** 2
    return agrees(squares, expected)


def pair_means(rng, error_rate, level, participants, crowds):
    errors = rng.exponential(1 / error_rate, (crowds, participants))
    noises = rng.exponential(level / error_rate, errors.shape)
    return np.sqrt(errors[:, :, None] + (errors + noises)[:, None, :]).mean((1, 2))


# Sensitive information


def test_the_printed_distance_holds_less_often_than_claimed():
    rng = np.random.default_rng(1)
    deviations = np.sqrt(rng.exponential(1 / 25, 200_000))
    first, second = rng.standard_normal((2, 200_000)) * deviations
    distance = paper.printed_distance(25, b=3, eta=0.95)
    assert paper.true_probability(25, distance) == pytest.approx(0.77, abs=0.005)
    assert paper.claimed_probability(3, 0.95) == pytest.approx(0.943, abs=0.0005)
    assert agrees(np.abs(first - second) <= distance, paper.true_probability(25, distance))
    # Another event: a reading and the truth.
    assert agrees(np.abs(first) <= distance, 1 - math.exp(-math.sqrt(50) * distance))


@pytest.mark.parametrize("error_rate", [0.2, 1, 25])
def test_the_corrected_distance_holds_as_often_as_claimed(error_rate):
    rng = np.random.default_rng(2)
    b, eta = 1.5, 0.6  # loose enough that the probability is far from 1
    deviations = np.sqrt(rng.exponential(1 / error_rate, 100_000))
    first, second = rng.standard_normal((2, 100_000)) * deviations
    distance = paper.corrected_distance(error_rate, b, eta)
    chance = paper.true_probability(error_rate, distance)
    assert agrees(np.abs(first - second) <= distance, chance)
    assert chance == pytest.approx(1 - math.exp(-paper.sensitivity_factor(b, eta)))


def test_the_claim_is_never_above_the_truth_at_the_corrected_distance():
    for b in np.linspace(0.2, 6, 30):
        for eta in np.linspace(0.02, 0.999, 30):
            assert paper.claimed_probability(b, eta) <= paper.true_probability(7, paper.corrected_distance(7, b, eta))


def test_factor_and_distances_by_hand():
    assert paper.sensitivity_factor(3, 0.95) == pytest.approx(3 * math.sqrt(2 * math.log(20)))
    assert paper.sensitivity_factor(2, 1 - math.exp(-2)) == pytest.approx(4)
    assert paper.printed_distance(4, 2, 1 - math.exp(-2)) == pytest.approx(1)
    assert paper.corrected_distance(4, 2, 1 - math.exp(-2)) == pytest.approx(2)


# Theorem 4.8


@pytest.mark.parametrize(
    ("epsilon", "printed", "exact"), [(0.5, 0.393, 0.266), (1, 0.221, 0.187), (2, 0.118, 0.111), (8, 0.031, 0.031)]
)
def test_delta_at_the_check_values(epsilon, printed, exact):
    assert paper.paper_delta(0.5, 1, epsilon) == pytest.approx(printed, abs=0.0005)
    assert paper.exact_delta(0.5, 1, epsilon) == pytest.approx(exact, abs=0.0005)


def test_the_exact_delta_is_that_of_a_gaussian_mechanism_whose_variance_is_known():
    rng = np.random.default_rng(3)
    deviations = np.sqrt(rng.exponential(1 / 0.8, 200_000))
    epsilon, distance = 0.7, 1.3
    half, slope = distance / (2 * deviations), epsilon * deviations / distance
    deltas = ndtr(half - slope) - np.exp(epsilon) * ndtr(-half - slope)
    assert agrees(deltas, paper.exact_delta(0.8, distance, epsilon))


def test_the_printed_delta_is_a_bound_and_the_rates_are_the_inverses():
    for epsilon in (0.01, 0.5, 3, 40):
        for delta in (1e-9, 1e-5, 0.1, 0.9):
            printed, corrected = paper.printed_rate(epsilon, delta, 2), paper.corrected_rate(epsilon, delta, 2)
            assert printed < corrected
            assert paper.paper_delta(printed, 2, epsilon) == pytest.approx(delta)
            assert paper.exact_delta(corrected, 2, epsilon) == pytest.approx(delta)
            assert paper.exact_delta(corrected, 2, epsilon) < paper.paper_delta(corrected, 2, epsilon)


def test_lowest_levels_by_hand():
    delta = 1 - math.exp(-0.5)  # ℓ = 1/2
    eta = 1 - math.exp(-2)  # with b = 2: γ_s = 4
    assert paper.printed_lowest_level(5, 0.8, delta, b=2, eta=eta) == pytest.approx(16 / (2 * 5 * 0.8 * 0.5))
    assert paper.corrected_lowest_level(0.8, delta, b=2, eta=eta) == pytest.approx(16 / (2 * 0.5 * 1.3))
    for error_rate in (0.3, 7):
        rate = error_rate / paper.corrected_lowest_level(0.8, delta, b=2, eta=eta)
        assert paper.exact_delta(rate, paper.corrected_distance(error_rate, 2, eta), 0.8) == pytest.approx(delta)


# Lemma 4.4


def test_a_weighted_mean_with_falling_weights_is_at_most_the_plain_one():
    rng = np.random.default_rng(4)
    for _ in range(200):
        values, weights = np.sort(rng.standard_normal(7)), np.sort(rng.exponential(1, 7))[::-1]
        shuffled = rng.permutation(7)
        check = paper.weigh_values(values[shuffled], weights[shuffled])
        assert check.decreasing
        assert check.holds
        assert check.weighted == pytest.approx(np.average(values, weights=weights))
    rising = paper.weigh_values([1, 2, 6], weights=[1, 2, 3])
    assert (rising.decreasing, rising.holds) == (False, False)
    tied = paper.weigh_values([1, 2, 2, 3], weights=[4, 2, 3, 1])
    assert (tied.decreasing, tied.holds) == (True, True)


def test_the_lemma_rests_on_all_pairs():
    values, weights = np.array([1.0, 2, 6, 7, 9]), np.array([5.0, 3, 2, 2, 1])
    pairs = sum(
        (weights[one] - weights[other]) * (values[one] - values[other]) for other in range(5) for one in range(other)
    )
    assert paper.pair_sum(values, weights) == pytest.approx(pairs)
    assert paper.pair_sum([1, 2, 6], [3, 2, 1]) == -15


@pytest.mark.parametrize(
    ("values", "weights", "words"),
    [
        ([1, 2], [1], "2 values and 1 weights"),
        ([], [], "0 values"),
        ([1, math.nan], [1, 1], "must be finite"),
        ([1, 2], [1, -1], "not negative"),
        ([1, 2], [0, 0], "not all 0"),
    ],
)
def test_invalid_weights_are_refused(values, weights, words):
    with pytest.raises(BadParameter, match=words):
        paper.weigh_values(values, weights)


def test_pairs_obey_the_lemma_one_index_at_a_time():
    rng = np.random.default_rng(5)
    for _ in range(300):
        errors, noises = rng.exponential(1, 6), rng.exponential(rng.exponential(5), 6)
        pairs = np.sqrt(errors[:, None] + (errors + noises)[None, :])
        weights, noisy_weights = np.empty(6), np.empty(6)
        weights[np.argsort(errors)] = np.sort(rng.pareto(1, 6))[::-1]
        noisy_weights[np.argsort(errors + noises)] = np.sort(rng.pareto(1, 6))[::-1]
        weighted = weights @ pairs @ noisy_weights / (weights.sum() * noisy_weights.sum())
        assert weighted <= pairs.mean() + 1e-12


def test_pair_weights_need_not_fall_with_the_distance():
    errors, noisy = np.array([1.0, 4.0]), np.array([2.0, 4.5])
    pairs = np.sqrt(errors[:, None] + noisy[None, :])
    weights = np.array([3.0, 2.9])[:, None] * np.array([10.0, 1.0])[None, :]
    assert not paper.weigh_values(pairs, weights).decreasing


# Theorem 4.3


def test_mean_distance_at_the_check_values():
    assert paper.corrected_pair_distance(1, 0.5) == pytest.approx(1.513, abs=0.0005)
    assert paper.printed_pair_distance(1, 0.5) == pytest.approx(1.038, abs=0.0005)
    assert paper.corrected_pair_distance(3, 1) == pytest.approx(15 / 16 * math.sqrt(math.pi / 3))
    assert paper.printed_pair_distance(1, 1) == math.inf
    assert paper.corrected_alpha(1, 2) == pytest.approx(3.05, abs=0.005)
    assert paper.corrected_alpha(10, 20) == pytest.approx(2.16, abs=0.005)
    assert paper.printed_alpha(1, 0.5) == pytest.approx(2 * math.sqrt(2 / math.pi) * 1.038, abs=0.001)
    for level in (0.3, 0.999, 1.001, 6):  # as in the paper, with its 2 corrected
        root = math.sqrt(level)
        long = math.sqrt(math.pi / 2) / (1 - level) * (0.75 - level * (level + root + 1) / (2 * (1 + root)))
        assert paper.corrected_pair_distance(2, level) == pytest.approx(long, rel=1e-9)


@pytest.mark.parametrize(("error_rate", "level"), [(1, 0.5), (2, 1), (5, 30)])
def test_mean_distance_is_that_of_simulated_pairs(error_rate, level):
    rng = np.random.default_rng(6)
    errors = rng.gamma(2, 1 / error_rate, 200_000)
    distances = np.sqrt(errors + rng.exponential(level / error_rate, 200_000))
    assert agrees(distances, paper.corrected_pair_distance(error_rate, level))
    assert not agrees(distances, paper.printed_pair_distance(error_rate, level))


@pytest.mark.parametrize(
    ("error_rate", "level", "participants", "crowds"), [(1, 2, 2, 200_000), (3, 0.2, 5, 60_000), (2, 40, 15, 20_000)]
)
def test_mean_over_pairs_is_that_of_simulated_crowds(error_rate, level, participants, crowds):
    means = pair_means(np.random.default_rng(7), error_rate, level, participants, crowds)
    expected = paper.corrected_pair_mean(error_rate, level, participants)
    assert agrees(means, expected.mean)
    assert variance_agrees(means, expected.variance)
    assert not variance_agrees(means, paper.printed_pair_variance(error_rate, level, participants))


def test_variance_over_pairs_falls_like_one_over_the_users():
    scaled = [users * paper.corrected_pair_mean(2, 2, users).variance for users in (10**3, 10**5)]
    assert scaled == pytest.approx([0.235, 0.235], abs=0.0006)
    around = [paper.corrected_pair_mean(2, level, 50).variance for level in (1 - 1e-7, 1, 1 + 1e-7)]
    assert around == pytest.approx([around[1]] * 3, rel=1e-6)
    # The printed one: (E[Y²] − E[Y]²)/S².
    printed = (4 / 2 - paper.printed_pair_distance(2, 2) ** 2) / 50**2
    assert paper.printed_pair_variance(2, 2, 50) == pytest.approx(printed)


def test_corrected_beta_bounds_the_simulated_chance():
    means = math.sqrt(2 / math.pi) * pair_means(np.random.default_rng(8), 2, 2, 12, 20_000)
    for deviations in (1.2, 2, 3):
        alpha = means.mean() + deviations * means.std()
        bound = paper.corrected_beta(alpha, 12, 2, 2)
        assert (means >= alpha).mean() <= bound
        # Mean and standard deviation are themselves simulated, here to about 1 and 3 in 400.
        assert bound == pytest.approx(1 / deviations**2, rel=0.05)
    assert paper.corrected_beta(means.mean() * 0.9, 12, 2, 2) == 1


def test_corrected_beta_bounds_the_error_of_real_aggregates():
    def error(seed):
        world = synthetic(20, 60, error_rate=2, seed=seed)
        noisy = world.with_simulated_noise(SharedVariance(1.0), seed + 1000)
        return np.abs(sv.CRH().fit(world.claims).truths_ - sv.CRH().fit(noisy.claims).truths_).mean()

    alpha = math.sqrt(2 / math.pi) * paper.corrected_pair_mean(2, 2, 20).mean
    assert paper.corrected_beta(1.5 * alpha, 20, 2, 2) < 0.2
    # The bound goes through pairs of users, and is loose: even a third of its mean is never reached.
    assert max(error(seed) for seed in range(20)) < alpha / 3


def test_the_printed_theorem_is_false_just_below_equal_rates():
    error_rate, level, alpha, beta = 2, 0.9, 0.01, 0.01
    assert paper.printed_alpha(error_rate, level) < 0 < alpha
    assert level < paper.printed_highest_level(alpha, beta, 150, error_rate)
    assert paper.printed_beta(alpha, 150, error_rate, level) == 0

    def error(seed):
        world = synthetic(150, 30, error_rate=error_rate, seed=seed)
        noisy = world.with_simulated_noise(SharedVariance(error_rate / level), seed + 1000)
        return np.abs(sv.CRH().fit(world.claims).truths_ - sv.CRH().fit(noisy.claims).truths_).mean()

    # If the probability of an error of alpha were at most 1 in 100, ten out of ten would happen once in 10^20.
    assert min(error(seed) for seed in range(10)) > alpha
    assert paper.corrected_beta(alpha, 150, error_rate, level) == 1


def test_printed_highest_level_by_hand():
    # √π·(1·0.1·100/(4√2) + √π/8 + 1 + 2/√π) − 2
    assert paper.printed_highest_level(1, 0.1, 10, 1) == pytest.approx(1.772454 * 4.117703 - 2, abs=1e-5)
    assert paper.printed_highest_level(1, 0.1, 10, 3) == pytest.approx(3 * 1.772454 * 4.117703 - 2, abs=2e-5)


def test_printed_beta_is_where_the_printed_level_is_reached():
    beta = paper.printed_beta(0.5, 10, 0.5, 0.76)
    assert beta is not None
    assert 0 < beta < 1
    assert paper.printed_highest_level(0.5, beta, 10, 0.5) == pytest.approx(0.76)
    assert paper.printed_beta(1.0, 150, 1, 0.5) is None  # α_{λ1,c} is 1.66 as printed


def test_appendix_by_hand_and_by_simulation():
    rates = paper.equal_rates(2)
    assert rates.printed_alpha == pytest.approx(3.75)
    assert rates.corrected_alpha == pytest.approx(1.875)
    assert rates.corrected_alpha == pytest.approx(paper.corrected_alpha(2, 1))
    assert rates.printed_variance == pytest.approx(48 - 48 * math.pi)
    assert rates.corrected_variance == pytest.approx(3.8214, abs=1e-4)
    assert paper.equal_rates(1.12).printed_variance > 0 > paper.equal_rates(1.13).printed_variance
    distances = np.sqrt(np.random.default_rng(9).gamma(3, 1 / 2, 200_000))
    assert variance_agrees(distances, rates.corrected_variance / (16 * 2))


# Theorem 4.9


def test_printed_levels_keep_the_condition_of_theorem_43():
    levels = paper.TradeOffTheorem(0.05, 150, 2, 1, 0.1).printed_levels(20)
    assert levels.low == paper.printed_lowest_level(2, 1, 0.1)
    assert (round(levels.low), round(levels.high), levels.gaps) == (128, 196, ())
    assert paper.printed_alpha(2, levels.high) == pytest.approx(20)
    assert levels.high < paper.printed_highest_level(20, 0.05, 150, 2)
    assert (
        paper.TradeOffTheorem(0.05, 150, 2, 1, 0.1).printed_levels(3) is None
    )  # between the bounds α_{λ1,c} is 16 and more
    assert paper.TradeOffTheorem(0.1, 10, 3, 1, 1e-9).printed_levels(0.1) is None  # the bounds have changed places


@pytest.mark.parametrize(
    ("alpha", "error_rate", "delta"), [(4, 2, 0.9), (2.05, 1, 0.99), (2.125, 1, 0.9999), (9, 1, 0.2)]
)
def test_printed_levels_are_those_at_which_both_printed_bounds_hold(alpha, error_rate, delta):
    levels = paper.TradeOffTheorem(0.05, 150, error_rate, 50, delta).printed_levels(alpha)
    low = paper.printed_lowest_level(error_rate, 50, delta)
    high = paper.printed_highest_level(alpha, 0.05, 150, error_rate)
    for level in np.geomspace(low / 2, 2 * high, 997):
        legal = low <= level <= high and paper.printed_alpha(error_rate, level) < alpha
        within = levels.low <= level <= levels.high and not any(gap.low < level < gap.high for gap in levels.gaps)
        assert legal == within, level


def test_the_bounds_meet_on_the_frontier():
    trade = paper.TradeOffTheorem(0.05, 150, 2, 1, 0.1)
    printed, corrected = trade.printed_frontier(), trade.corrected_frontier()
    assert printed.level == paper.printed_lowest_level(2, 1, 0.1)
    assert trade.printed_levels(printed.alpha * 1.001).low == printed.level
    assert trade.printed_levels(printed.alpha * 0.999) is None
    assert paper.corrected_beta(corrected.alpha, 150, 2, corrected.level) == pytest.approx(0.05)
    levels = trade.corrected_levels(corrected.alpha * 1.0001)
    assert levels.high == pytest.approx(corrected.level, rel=1e-3)
    assert trade.corrected_levels(corrected.alpha * 0.9999) is None


def test_without_the_condition_on_alpha_the_printed_bounds_meet_where_c_is_the_largest_level():
    # c = 200 of a crowd with λ1 = 0.01 and few users: there C decides, not α_{λ1,c}.
    alpha = paper.printed_least_alpha(0.0001, 2, 0.001, 0.5)
    assert alpha > paper.printed_alpha(0.001, 0.5)
    assert paper.printed_highest_level(alpha, 0.0001, 2, 0.001) == pytest.approx(0.5)


def test_corrected_levels_keep_both_promises_and_no_more():
    levels = paper.TradeOffTheorem(0.05, 150, 2, 1, 0.1).corrected_levels(20)
    assert levels is not None
    assert levels.low == pytest.approx(paper.corrected_lowest_level(1, 0.1))
    assert paper.corrected_beta(20, 150, 2, levels.high) == pytest.approx(0.05)
    assert paper.corrected_beta(20, 150, 2, levels.high * 1.01) > 0.05
    assert paper.corrected_beta(20, 150, 2, levels.low) < 0.05


@pytest.mark.parametrize(
    ("alpha", "beta", "delta"),
    [
        (20, 0.05, 1e-6),  # privacy asks for more noise than the error allows
        (0.5, 0.05, 0.99),  # less than the mean of the bound without any noise
        (1.1, 1e-6, 0.99),  # more than that, but never so surely
    ],
)
def test_there_may_be_no_corrected_level(alpha, beta, delta):
    assert paper.TradeOffTheorem(beta, 150, 1, 1, delta).corrected_levels(alpha) is None


def test_useful_levels_start_at_zero_or_where_noise_has_made_users_alike():
    assert paper.useful_levels(3, 0.01, 150, 1).low == 0
    beta = 2.3e-5  # the bound falls from 2.42e-5 to 2.13e-5 before it rises
    levels = paper.useful_levels(10, beta, 150, 1)
    assert 0 < levels.low < levels.high
    for level in (levels.low, levels.high):
        assert paper.corrected_beta(10, 150, 1, level) == pytest.approx(beta)
    assert paper.corrected_beta(10, 150, 1, levels.low / 2) > beta
    assert paper.corrected_beta(10, 150, 1, math.sqrt(levels.low * levels.high)) < beta
    easy = paper.TradeOffTheorem(beta, 150, 1, epsilon=50, delta=0.999).corrected_levels(10)
    assert easy.low == max(levels.low, paper.corrected_lowest_level(50, 0.999))


def test_useful_levels_depend_on_the_error_in_units_of_the_users_own():
    assert paper.useful_levels(3, 0.01, 150, 4).high == pytest.approx(paper.useful_levels(6, 0.01, 150, 1).high)


# All together

CAMPAIGN = {"alpha": 4.0, "beta": 0.05, "participants": 150, "epsilon": 1.0, "delta": 0.1}


def test_report_has_each_figure_as_printed_and_as_corrected():
    report = paper.compare(2.0, 0.5, **CAMPAIGN)
    rows = {row.symbol: (row.printed, row.corrected) for row in report.rows}
    assert (report.level, report.noise_rate) == (4, 0.5)
    assert rows["Δ_s"] == (paper.printed_distance(2), paper.corrected_distance(2))
    assert rows["λ2"] == (
        paper.printed_rate(1, 0.1, paper.printed_distance(2)),
        paper.corrected_rate(1, 0.1, paper.corrected_distance(2)),
    )
    assert rows["c"] == (paper.printed_lowest_level(2, 1, 0.1), paper.corrected_lowest_level(1, 0.1))
    assert rows["δ(ε)"] == (
        paper.paper_delta(0.5, paper.printed_distance(2), 1),
        paper.exact_delta(0.5, paper.corrected_distance(2), 1),
    )
    assert rows["E[Y]"] == (paper.printed_pair_distance(2, 4), paper.corrected_pair_distance(2, 4))
    assert rows["α_{λ1,c}"] == (paper.printed_alpha(2, 4), paper.corrected_alpha(2, 4))
    assert rows["β"] == (paper.printed_beta(4, 150, 2, 4), paper.corrected_beta(4, 150, 2, 4))
    assert rows["C"] == (paper.printed_highest_level(4, 0.05, 150, 2), paper.useful_levels(4, 0.05, 150, 2).high)
    assert report.corrected_levels is None  # an error this small leaves no room for this much noise
    for word in ("not a bound", "N → ∞", "Lemma 4.4", "independent", "3.05"):
        assert any(word in sentence for sentence in report.assumed)
    assert json.loads(json.dumps(report.summary(), allow_nan=False))["rows"][0]["printed"] == rows["Δ_s"][0]


def test_report_without_a_noise_rate_takes_the_one_that_keeps_the_promise():
    report = paper.compare(2.0, None, **CAMPAIGN)
    assert report.level == pytest.approx(paper.corrected_lowest_level(1, 0.1))
    assert next(row.corrected for row in report.rows if row.symbol == "δ(ε)") == pytest.approx(0.1)


def test_report_at_equal_rates_has_no_printed_number_where_the_formula_has_none():
    rows = {row.symbol: row for row in paper.compare(2.0, 2.0, **CAMPAIGN).rows}
    assert rows["E[Y]"].printed is None
    assert rows["β"].printed is None
    assert rows["α_{λ1,c}"].corrected == pytest.approx(rows["α_{λ1,1}"].corrected)


@pytest.mark.parametrize(
    ("change", "rule", "fix"),
    [
        ({"error_rate": -1.0}, "rate (λ1) must be a positive number", "1 is typical"),
        ({"error_rate": math.nan}, "rate (λ1) must be a positive number", "1 is typical"),
        ({"noise_rate": 0.0}, "rate (λ2) must be a positive number", "0.5 is typical"),
        ({"noise_rate": math.inf}, "rate (λ2) must be a positive number", "0.5 is typical"),
        ({"alpha": 0.0}, "error (α) must be a positive number", "unit of the readings"),
        ({"beta": 0.0}, "chance (β) must be above 0 and below 1", "0.05 is typical"),
        ({"beta": 1.0}, "chance (β) must be above 0 and below 1", "0.05 is typical"),
        ({"delta": 1.5}, "δ must be above 0 and below 1", "1e-5 is typical"),
        ({"eta": math.nan}, "share of the users (η) must be above 0 and below 1", "0.95 is typical"),
        ({"participants": 1}, "at least two users", "whole number from 2"),
        ({"participants": 2.5}, "at least two users", "whole number from 2"),
        ({"participants": math.nan}, "at least two users", "whole number from 2"),
        ({"epsilon": 0.0}, "ε must be a positive number", "1 is typical"),
        ({"b": -3.0}, "must be a positive number", "3 is typical"),
    ],
)
def test_a_mistake_is_reported_with_value_rule_and_fix(change, rule, fix):
    with pytest.raises(BadParameter) as refusal:
        paper.compare(**({"error_rate": 1.0, "noise_rate": 0.5, **CAMPAIGN} | change))
    ((name, value),) = change.items()
    said = str(refusal.value)
    assert said.startswith(f"{name}={value}: ")
    assert said.index(rule) < said.index(fix)


@pytest.mark.parametrize(
    "call",
    [
        lambda: paper.paper_delta(0, 1, 1),
        lambda: paper.exact_delta(1, -1, 1),
        lambda: paper.true_probability(1, math.nan),
        lambda: paper.corrected_pair_distance(1, 0),
        lambda: paper.corrected_beta(-1, 10, 1, 1),
        lambda: paper.printed_beta(1, 0, 1, 1),
        lambda: paper.printed_pair_variance(1, 1, 1),
        lambda: paper.useful_levels(1, 2, 10, 1),
        lambda: paper.equal_rates(0),
    ],
)
def test_each_function_checks_its_own_parameters(call):
    with pytest.raises(BadParameter):
        call()


# Command line

OPTIONS = [
    "--lambda1", "2", "--lambda2", "0.5", "--alpha", "4", "--beta", "0.05",
    "--participants", "150", "--epsilon", "1", "--delta", "0.1",
]  # fmt: skip


@pytest.fixture
def command():
    app = typer.Typer()
    app.command()(theorem)
    return lambda *options: CliRunner().invoke(app, options)


def test_command_prints_both_columns_and_what_is_assumed(command, monkeypatch):
    from rich.console import Console

    monkeypatch.setattr("sottovoce.cli.theorem.console", Console(width=200))
    ran = command(*OPTIONS)
    assert ran.exit_code == 0, ran.output
    for words in (
        "quantity",
        "as printed",
        "as corrected",
        "what differs",
        "α_{λ1,c}",
        "Remaining assumptions",
        "none",
    ):
        assert words in ran.output
    assert f"{paper.corrected_alpha(2, 4):.4f}" in ran.output
    assert f"{paper.printed_alpha(2, 4):.4f}" in ran.output


@pytest.mark.parametrize(
    ("noise_rate", "alpha", "privacy", "utility"),
    [
        (None, 3.0, True, False),  # the least noise for this privacy is far above what the error allows
        (None, 12.0, True, True),
        (0.5, 3.0, False, True),
        (0.02, 1.0, False, False),  # too little noise for the one, too much for the other
    ],
)
def test_verdicts_say_which_promise_is_kept(noise_rate, alpha, privacy, utility):
    """Verdicts agree with the noise levels that keep both promises, which are computed in another way."""
    given = {"beta": 0.05, "participants": 150, "epsilon": 1.0, "delta": 0.1}
    report = paper.compare(2.0, noise_rate, alpha, **given)
    assert report.corrected_verdict == paper.TheoremVerdict(privacy, utility)
    levels = report.corrected_levels
    assert (privacy and utility) == (levels is not None and levels.low <= report.level * (1 + 1e-12))
    printed = report.printed_levels
    inside = printed is not None and printed.low <= report.level <= printed.high
    inside = inside and not any(gap.low <= report.level <= gap.high for gap in printed.gaps)
    assert (report.printed_verdict.privacy and report.printed_verdict.utility) == inside


def test_command_gives_the_report_as_json(command):
    ran = command(*OPTIONS, "--b", "2", "--eta", "0.9", "--json")
    assert ran.exit_code == 0, ran.output
    expected = paper.compare(2, 0.5, **CAMPAIGN, b=2, eta=0.9).summary()
    assert json.loads(ran.output) == json.loads(json.dumps(expected))


def test_command_reports_a_mistake(command):
    ran = command(*OPTIONS, "--eta", "1")
    assert isinstance(ran.exception, BadParameter)
    assert str(ran.exception).startswith("eta=1.0: ")


@pytest.mark.parametrize("level", [0.02, 0.9999, 1.0, 1.0001, 3.0, 400.0])
@pytest.mark.parametrize("error_rate", [0.5, 4.0])
def test_density_of_a_pairs_distance_has_its_mean_and_its_square(error_rate, level):
    reach = 8 * math.sqrt((2 + level) / error_rate)
    points, steps = np.linspace(0, reach, 200_001, retstep=True)
    density = paper.corrected_pair_density(error_rate, level, points)
    assert (density >= 0).all()
    # The trapezium rule on a smooth density that ends flat; e^{-64/3} and less lies beyond.
    assert density.sum() * steps == pytest.approx(1, rel=1e-6)
    assert (density * points).sum() * steps == pytest.approx(paper.corrected_pair_distance(error_rate, level), rel=1e-6)
    assert (density * points**2).sum() * steps == pytest.approx((2 + level) / error_rate, rel=1e-6)


def test_a_negative_distance_has_no_density():
    with pytest.raises(BadParameter, match="a distance must be 0 or more"):
        paper.corrected_pair_density(1, 1, [1.0, -0.5])
