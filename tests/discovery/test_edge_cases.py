"""Small, constant and isolated data: defined, finite, without warnings (which are errors in these tests)."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.discovery import discovered
from sottovoce.errors import BadParameter

nan = float("nan")
METHODS = [sv.NoiseAware, sv.CRH, sv.GTM, sv.CATD, sv.LFCN, sv.Mean, sv.Median]
EVERY_METHOD = pytest.mark.parametrize(
    "method", [*METHODS, lambda: sv.CRH(loss="absolute"), lambda: sv.CRH(normalise="max")],
    ids=[*(method.__name__ for method in METHODS), "CRH absolute", "CRH max"],
)  # fmt: skip


@EVERY_METHOD
@pytest.mark.parametrize(
    ("matrix", "truths"),
    [
        ([[7.0]], [7.0]),
        ([[1.0, 2.0, 3.0]], [1.0, 2.0, 3.0]),
        ([[4.0], [4.0], [4.0]], [4.0]),
        ([[5.0, 6.0], [5.0, 6.0]], [5.0, 6.0]),
        ([[1.0, nan], [nan, 2.0]], [1.0, 2.0]),
        ([[1e140, 1.0], [1e140, 1.0]], [1e140, 1.0]),
    ],
    ids=["one claim", "one user", "one object, all agree", "constant", "nobody compared", "huge"],
)
def test_where_there_is_no_conflict_the_truth_is_what_is_claimed(method, matrix, truths):
    fit = method().fit(sv.Claims.from_matrix(matrix))
    np.testing.assert_allclose(fit.truths_, truths, rtol=1e-12)
    assert np.isfinite(fit.weights_).all()
    assert fit.converged_
    low, high = fit.intervals()
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()


@EVERY_METHOD
def test_a_user_who_agrees_with_nobody_still_gives_the_truth_of_what_only_they_claim(method):
    fit = method().fit(sv.Claims.from_matrix([[1.0, 2.0, nan], [1.1, 2.1, nan], [900.0, -900.0, 33.0]]))
    assert fit.truths_[2] == pytest.approx(33.0)


@EVERY_METHOD
def test_two_users_who_disagree_have_a_truth_between_their_claims(method):
    fit = method().fit(sv.Claims.from_matrix([[0.0], [1.0]]))
    assert 0 <= fit.truths_[0] <= 1


@pytest.mark.parametrize("method", [sv.CRH, sv.GTM])
def test_a_user_with_one_claim_does_not_take_over(method):
    rng = np.random.default_rng(0)
    matrix = 10 + rng.standard_normal((20, 15))
    matrix[0, 1:] = nan
    matrix[0, 0] = np.median(matrix[1:, 0])
    fit = method().fit(sv.Claims.from_matrix(matrix))
    assert fit.weights_[0] < 6 * np.median(fit.weights_)


def test_users_nobody_can_be_compared_with_get_the_mean_weight():
    fit = sv.CRH().fit(sv.Claims.from_matrix([[1.0, nan], [2.0, nan], [4.0, nan], [nan, 5.0]]))
    assert fit.weights_[3] == pytest.approx(fit.weights_[:3].mean())


@pytest.mark.parametrize(
    ("method", "option"),
    [
        (sv.CRH(max_iter=0), "max_iter"),
        (sv.CRH(tol=-1), "tol"),
        (sv.CRH(tol=float("nan")), "tol"),
        (sv.CRH(loss="cubic"), "loss"),
        (sv.GTM(beta=0), "beta"),
        (sv.CATD(significance=1.5), "significance"),
    ],
)
def test_bad_options_are_reported_at_fit(method, option):
    with pytest.raises(ValueError, match=option):
        method.fit(sv.Claims.from_matrix([[1.0]]))


@pytest.mark.parametrize("target", ["value", "mean"])
@pytest.mark.parametrize("law", ["gaussian:1e75", "fresh:1e-149", "floored:1e149:1", "shared:1e-300", "gaussian:1e-99"])
def test_noise_of_any_size_has_intervals(law, target):
    claims = sv.worlds.synthetic(20, 6, seed=1).claims
    low, high = sv.NoiseAware(noise=law, target=target).fit(claims).intervals()
    assert (low < high).all()


@pytest.mark.parametrize("law", ["gaussian:1e300", "gaussian:1e76", "fresh:1e-300", "floored:1e300:1"])
def test_noise_whose_weights_would_vanish_is_refused(law):
    claims = sv.worlds.synthetic(20, 6, seed=1).claims
    with pytest.raises(sv.errors.BadParameter, match=r"noise law .*: its variance is .*use a larger unit"):
        sv.NoiseAware(noise=law).fit(claims)


@pytest.mark.parametrize(
    "truth",
    ["tall", None, nan, 10**400, True, np.True_, b"3", np.str_("a"), np.str_("3"), np.array([1.0, 2.0]),
     np.datetime64("2026-01-01"), np.complex64(1)],
    ids=lambda truth: type(truth).__name__,
)  # fmt: skip
def test_a_known_truth_that_is_not_a_number_is_refused(truth):
    claims = sv.Claims.from_matrix([[10.0, 21.0], [10.2, 20.8], [14.0, 30.0]])
    with pytest.raises(BadParameter, match="of 0: it must be a finite number for an object with claims"):
        sv.NoiseAware().fit(claims, known={0: truth})


@pytest.mark.parametrize("truth", [3, Decimal("3.0"), Fraction(3), np.float32(3), np.int8(3)], ids=repr)
def test_a_known_truth_may_be_a_number_of_any_type(truth):
    claims = sv.Claims.from_matrix([[10.0, 21.0], [10.2, 20.8], [14.0, 30.0]])
    assert sv.NoiseAware().fit(claims, known={0: truth}).truths_[0] == 3.0


def test_the_reason_is_true_for_one_mean_and_beside_wide_intervals():
    scales = np.array([1.0, 1.0, 1.0, 1000.0])
    result = discovered(sv.Mean(), sv.Claims.from_matrix(np.random.default_rng(1).normal(size=(10, 4)) * scales))
    high = result.interval[1]
    means = result.means.copy()
    means[0] = high[0] + 1
    reason = replace(result, means=means).reason
    assert reason.startswith("1 of 4 means lies outside its truth's interval: that of 0 is ")
    means[1] = high[1] + 2
    assert "intervals; the mean of 1 is furthest from its truth (by" in replace(result, means=means).reason
    means[3] = (means[3] + high[3]) / 2
    assert "intervals; of these, the mean of 1 is furthest from" in replace(result, means=means).reason
