"""Planning a promise for the whole range: comparisons, and noise as wide as the range."""

import json

import pytest

from command import run
from sottovoce.errors import BadParameter
from sottovoce.planning.comparisons import plan_comparisons


def planned(**changes):
    asked = {"epsilon": 1.0, "low": 0.0, "high": 100.0, "readings": 1, "participants": 500, "error_rate": 1.0}
    return plan_comparisons(**{**asked, "simulations": 0, **changes})


def test_the_promise_is_kept_at_both_levels():
    for readings in (1, 3, 7, 30, 1000):
        for unit in ("reading", "participant"):
            for epsilon in (0.1, 1.0, 1 / 3, 5.7):
                plan = planned(epsilon=epsilon, readings=readings, unit=unit)
                assert plan.guarantee.epsilon(0.0) <= epsilon * (1 + 1e-12)
                assert plan.guarantee.epsilon(0.0) >= epsilon * (1 - 1e-5)


def test_too_few_participants_are_warned_of():
    assert planned(participants=500).warning(500) is None
    assert "88 find the truth" in planned(participants=170).warning(170)


@pytest.mark.slow
def test_simulated_errors_are_near_predicted_ones():
    plan = planned(simulations=1, seed=3)
    # 40 objects: the mean of absolute errors has a standard error of 12 %, and the prediction is good to 15 %.
    assert plan.simulated_error.mean == pytest.approx(plan.predicted_error, rel=0.5)


def test_the_plan_includes_the_participants_needed_for_an_error():
    plan = planned(error=0.05)
    assert planned(participants=plan.participants_needed).predicted_error <= 0.05
    assert planned(participants=plan.participants_needed - 1).predicted_error > 0.05


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)])
def test_bad_ranges_are_refused(low, high):
    with pytest.raises(BadParameter, match="range"):
        planned(low=low, high=high)


def test_the_command_ranks_comparisons_first():
    done = run("plan", "--range", "0:30", "--epsilon", "1", "--participants", "500", "--simulations", "0")
    assert done.returncode == 0, done.stderr
    first = done.stdout.split("predicted error")[1].split("\n")[1]
    assert first.startswith("comparisons")
    assert "--noise response:1.0" in done.stdout


def test_the_command_prints_json():
    done = run("plan", "--range", "0:30", "--participants", "100", "--simulations", "0", "--json")
    plan = json.loads(done.stdout)
    assert plan["comparisons"]["enough"] is False
    assert plan["comparisons"]["predicted_error"] < min(other["predicted_error"] for other in plan["plans"])
    assert run("plan", "--range", "30:0").returncode == 2
    assert run("plan", "--range", "30").returncode == 2


@pytest.mark.parametrize(("epsilon", "best", "gain"), [(1, 1, 5.06), (2, 1, 4.17), (4, 2, 2.95), (8, 4, 2.10)])
def test_participants_answer_a_few_of_thirty_tasks(epsilon, best, gain):
    """With so many people that the search costs practically nothing: the figures known for answers with two levels."""
    plan = planned(epsilon=float(epsilon), readings=30, participants=10**12, unit="participant")
    assert plan.answer == best
    assert plan.answer_gain == pytest.approx(gain, abs=0.01)
    assert float(plan.answer_noise.partition(":")[2]) * best <= epsilon


def test_with_too_few_people_for_any_number_of_answers_the_closest_number_is_chosen():
    plan = planned(epsilon=0.3, readings=30, participants=3000, unit="participant")
    assert plan.answer == 1  # a device that answered all would spend a thirtieth on each, and find nothing
    assert not plan.enough
