"""Whole simulated campaigns, held to the errors that the theory states. Longer runs are in bench/comparisons.py."""

import math

import numpy as np
import pytest

from sottovoce.comparisons.information import shift_by_liars
from sottovoce.comparisons.policy import Steps
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.worlds.sequential import SequentialCrowd


def played(epsilon, participants, objects=24, **options):
    return SequentialCrowd(parse_answer_law(f"response:{epsilon}"), participants, objects, **options).play()


@pytest.mark.parametrize(("epsilon", "levels", "limit"), [(1, 2, 0.16), (2, 2, 0.085), (4, 4, 0.072)])
def test_the_error_over_the_whole_range(epsilon, levels, limit):
    """D/σ = 100, 500 people, the spread guessed twice too large; two standard errors are allowed for 24 runs."""
    outcome = played(epsilon, 500, levels=levels, seed=11)
    assert outcome.rmse < limit + 2 * outcome.rmse_error
    assert outcome.coverage >= 0.83  # 95 %, less three standard errors


def test_late_and_batched_answers_cost_little():
    """Against the same people answering at once: the limit of 25 %, and two standard errors of the ratio."""
    at_once = played(2, 300, seed=12)
    for options in ({"late": 0.2}, {"batch": 50}, {"steps": Steps(5)}):
        other = played(2, 300, seed=12, **options)
        noise = 2 * math.hypot(at_once.rmse_error / at_once.rmse, other.rmse_error / other.rmse)
        assert other.rmse / at_once.rmse < 1.25 * (1 + noise)


@pytest.mark.parametrize("epsilon", [1, 4])
def test_liars_move_the_estimate_as_the_formula_says(epsilon):
    outcome = played(epsilon, 400, 40, liars=0.1, seed=13)
    error = outcome.errors.std(ddof=1) / math.sqrt(len(outcome.errors))
    expected = shift_by_liars(epsilon, 0.1)
    assert outcome.errors.mean() == pytest.approx(expected, abs=0.1 * expected + 3 * error)


def test_the_same_seed_gives_the_same_campaign():
    one, same, other = (played(1, 40, 3, seed=seed) for seed in (5, 5, 6))
    assert one.estimates.tolist() == same.estimates.tolist() != other.estimates.tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"participants": 0}, {"objects": 0}, {"participants": 10**6, "objects": 10**6}, {"low": 3.0, "high": 3.0},
        {"high": math.inf}, {"late": 1.0}, {"late": -0.1}, {"liars": 2.0}, {"batch": 0}, {"levels": 3},
        {"spread": 0.0}, {"error_rate": -1.0}, {"spread_guess": math.nan},
    ],
    ids=repr,
)  # fmt: skip
def test_impossible_crowds_are_refused(options):
    with pytest.raises(BadParameter):
        SequentialCrowd(parse_answer_law("response:1"), **options)


def test_everybody_answers_everything_once(tmp_path):
    outcome = played(1, 30, 4, late=0.3, batch=7, seed=9)
    table = outcome.comparisons()
    assert len(table) == 120
    assert np.bincount(table.objects).tolist() == [30] * 4
    outcome.write(tmp_path)
    assert (tmp_path / "truth.csv").exists()
