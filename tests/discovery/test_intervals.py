"""Plug-in intervals."""

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv


def test_interval_of_the_mean_is_students(sparse):
    low, high = sv.Mean().fit(sv.Claims.from_matrix(sparse)).intervals(0.9)
    for n, column in enumerate(sparse.T):
        values = column[~np.isnan(column)]
        wanted = stats.t.interval(0.9, len(values) - 1, values.mean(), stats.sem(values))
        np.testing.assert_allclose((low[n], high[n]), wanted, rtol=1e-9)


@pytest.mark.alike
@pytest.mark.parametrize("method", [sv.CRH(), sv.CRH(loss="absolute"), sv.GTM(), sv.Mean(), sv.Median()], ids=repr)
def test_intervals_cover_the_truth_about_as_often_as_stated(method):
    # 40 worlds × 30 objects; objects of a world share their weights, so their errors are almost independent.
    # Standard error of the coverage is about sqrt(.95 · .05 / 1200) = 0.0063; plug-in variances are not exact,
    # so 4 points are allowed in addition to 3.3 standard errors.
    covered = []
    for seed in range(40):
        world = sv.worlds.synthetic(100, 30, seed=seed)
        low, high = method.fit(world.claims).intervals()
        covered.append((low <= world.truths) & (world.truths <= high))
    assert abs(np.mean(covered) - 0.95) < 0.06


def test_a_wider_level_is_wider(dense):
    fit = sv.CRH().fit(sv.Claims.from_matrix(dense))
    narrow, wide = fit.intervals(0.5), fit.intervals(0.99)
    assert (wide[0] < narrow[0]).all()
    assert (narrow[1] < wide[1]).all()


def test_a_lone_claim_is_as_uncertain_as_a_typical_claim():
    rng = np.random.default_rng(3)
    matrix = np.full((31, 6), np.nan)
    matrix[:30, :5] = rng.normal(0, 2.0, (30, 5))
    matrix[30, 5] = 1.0
    low, high = sv.CRH().fit(sv.Claims.from_matrix(matrix)).intervals()
    assert (high[5] - low[5]) / 2 == pytest.approx(1.96 * 2.0, rel=0.25)


def test_an_invalid_level_is_refused(dense):
    with pytest.raises(ValueError, match="level"):
        sv.CRH().fit(sv.Claims.from_matrix(dense)).intervals(95)


def test_frame_has_a_row_per_object(sparse):
    frame = sv.CRH().fit(sv.Claims.from_matrix(sparse)).to_frame()
    assert frame.columns == ["object", "truth", "low", "high", "claims", "effective_users"]
    assert len(frame) == sparse.shape[1]
    assert frame.to_pandas()["claims"].tolist() == (~np.isnan(sparse)).sum(axis=0).tolist()
