"""Colluders send what they agreed on; everybody else is unchanged."""

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.worlds import synthetic, with_colluders

WORLD = synthetic(200, 30, error_rate=2.0, seed=4)
LAW = sv.FreshVariance(rate=0.5)  # deviation √2


def lies_of(attacked, offset):
    """Which users send exactly the lie, without noise."""
    lie = WORLD.truths[WORLD.claims.objects] + offset * np.sqrt(2)
    exact = np.isclose(attacked.claims.values, lie, rtol=0, atol=1e-12)
    return np.bincount(WORLD.claims.users, exact) == WORLD.claims.claims_per_user


@pytest.mark.parametrize("fraction", [0, 0.1, 0.4, 1])
def test_this_share_of_users_sends_the_bare_lie(fraction):
    attacked = with_colluders(WORLD, fraction, 3.0, LAW, own_noise=False, seed=1)
    assert lies_of(attacked, 3.0).sum() == fraction * 200


def test_more_colluders_are_the_same_ones_and_others():
    few, many = (lies_of(with_colluders(WORLD, f, 2.0, LAW, own_noise=False, seed=3), 2.0) for f in (0.1, 0.3))
    assert (many[few]).all()
    assert few.sum() == 20


def test_honest_users_send_readings_with_the_noise_of_the_law():
    attacked = with_colluders(WORLD, 0.3, 2.0, LAW, own_noise=False, seed=1)
    honest = ~lies_of(attacked, 2.0)[WORLD.claims.users]
    noise = (attacked.claims.values - WORLD.claims.values)[honest]
    assert stats.kstest(noise, stats.laplace(scale=1.0).cdf).pvalue > 1e-3


def test_noise_on_top_of_the_lie_follows_the_law():
    everyone = with_colluders(WORLD, 1.0, -2.0, LAW, own_noise=True, seed=1)
    lie = WORLD.truths[WORLD.claims.objects] - 2 * np.sqrt(2)
    assert stats.kstest(everyone.claims.values - lie, stats.laplace(scale=1.0).cdf).pvalue > 1e-3
    assert everyone.error_variances == pytest.approx(np.full(200, 8.0))


def test_nothing_but_the_claims_of_colluders_depends_on_the_fraction():
    none, some = (with_colluders(WORLD, f, 2.0, LAW, own_noise=False, seed=5) for f in (0, 0.25))
    honest = ~lies_of(some, 2.0)
    same = none.claims.values == some.claims.values
    assert same[honest[WORLD.claims.users]].all()
    assert (none.error_variances == some.error_variances)[honest].all()
    assert (some.truths == WORLD.truths).all()


def test_a_plain_mean_is_moved_by_the_share_of_the_lie():
    # 40 % of a lie of 3 deviations: 0.4 · 3√2 = 1.70; the mean's own error is √((0.5·0.6 + 2)/200) ≈ 0.11 per object.
    attacked = with_colluders(WORLD, 0.4, 3.0, LAW, seed=6)
    moved = (sv.Mean().fit(attacked.claims).truths_ - WORLD.truths).mean()
    assert moved == pytest.approx(1.2 * np.sqrt(2), abs=5 * 0.11 / np.sqrt(30))


@pytest.mark.parametrize("options", [{"fraction": 1.2}, {"fraction": -0.1}, {"offset": float("nan")}])
def test_impossible_attacks_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        with_colluders(WORLD, **{"fraction": 0.1, "offset": 1.0, "law": LAW, **options})


def test_noise_is_not_added_twice():
    with pytest.raises(ValueError, match=r"noise fresh:0\.5"):
        with_colluders(WORLD.with_simulated_noise(LAW), 0.1, 1.0, LAW)
