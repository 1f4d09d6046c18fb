"""Where claims mostly coincide, a user's vote follows from the chance that they are right."""

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.discovery.copied_figures import votes
from sottovoce.worlds.crowds import populations


def test_a_vote_follows_from_how_often_a_user_is_right_and_how_often_wrong_claims_agree():
    """Two users and ten objects, by hand: one is always right, one half of the time, alone with each wrong figure."""
    objects, users = np.tile(np.arange(10), 2), np.repeat(np.arange(2, dtype=np.int32), 10)
    residuals = np.concatenate((np.zeros(10), np.where(np.arange(10) < 5, 0.0, np.arange(10) / 10)))
    usual = 16 / 22
    right = np.array([(10 + 4 * usual) / 14, (5 + 4 * usual) / 14])
    agree = 1 / 2  # no two wrong claims about an object
    expected = np.log(1 + right / (1 - right) / agree)
    assert votes(objects, users, residuals, 3)[:2] == pytest.approx(expected)
    assert votes(objects, users, residuals, 3)[2] == pytest.approx(np.log(1 + usual / (1 - usual) / agree))


def test_wrong_figures_that_are_copied_count_less():
    objects, users = np.zeros(6, np.intp), np.arange(6, dtype=np.int32)
    apart = votes(objects, users, np.array([0, 0, 1.0, 2.0, 3.0, 4.0]), 6)
    together = votes(objects, users, np.array([0, 0, 1.0, 1.0, 1.0, 1.0 + 1e-12]), 6)
    assert (together < apart).all()


def test_one_tenfold_slip_does_not_outweigh_three_who_agree():
    """Users who know villages well are no authority on a capital."""
    villages = [(f"expert {user}", f"village {place}", 100 + place) for user in range(2) for place in range(12)]
    capitals = [
        (f"other {user}", f"capital {place}", 1e6 + 1e5 * place + (3e4 if (user + place) % 4 == 0 else 0))
        for user in range(6)
        for place in range(8)
    ]
    disputed = [(f"other {user}", "disputed", 2e6) for user in range(3)] + [("expert 0", "disputed", 2e7)]
    rows = villages + capitals + disputed
    fit = sv.NoiseAware(target="value").fit(sv.Claims.from_arrays(*map(list, zip(*rows, strict=True))))
    assert fit.truths_[list(fit.objects_).index("disputed")] == 2e6


@pytest.mark.slow
def test_populations_that_many_copy_are_found_better_than_by_the_median():
    """Errors of such figures are far from normal: most of a mean error is one city, so crowds are taken together."""
    ratios = []
    for seed in range(4):
        world = populations(np.random.default_rng((seed, 97)))
        found = [
            np.abs(method().fit(world.claims).truths_ - world.truths).mean() for method in (sv.NoiseAware, sv.Median)
        ]
        ratios.append(found[0] / found[1])
    assert np.exp(np.mean(np.log(ratios))) < 0.6
