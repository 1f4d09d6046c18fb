"""Planning for questions with choices: errors as simulated, sets of the best size, a few answers instead of all."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import sottovoce as sv
from command import run
from sottovoce.errors import BadParameter
from sottovoce.planning.choices import choice_trade_off, plan_choices, worth
from sottovoce.planning.comparisons import plan_comparisons
from sottovoce.planning.noise import rounded_down
from sottovoce.worlds import choice_crowd


@pytest.mark.parametrize(("choices", "best"), [(2, 2.5), (4, 3.8), (10, 5.1)])
def test_the_best_epsilon_of_an_answer(choices, best):
    found = minimize_scalar(
        lambda epsilon: -worth(sv.Response(epsilon), choices, 0.75) / epsilon, bounds=(0.1, 15), method="bounded"
    ).x
    assert found == pytest.approx(best, abs=0.05)


@pytest.mark.parametrize(("choices", "size"), [(2, 1), (3, 1), (5, 2), (6, 3)])
def test_the_worth_of_an_answer_by_counting_all_sets(choices, size):
    law, right = sv.Response(1.3, size), 0.6
    sets = list(itertools.combinations(range(choices), size))

    def chance(reported, held):
        likely = [math.exp(1.3) if held in one else 1.0 for one in sets]
        return (math.exp(1.3) if held in reported else 1.0) / sum(likely)

    differences = dict.fromkeys((-1, 0, 1), 0.0)
    for held in range(choices):
        holds = right if held == 0 else (1 - right) / (choices - 1)
        for reported in sets:
            differences[(0 in reported) - (1 in reported)] += holds * chance(reported, held)
    mean = sum(sign * part for sign, part in differences.items())
    variance = sum(sign**2 * part for sign, part in differences.items()) - mean**2
    assert worth(law, choices, right) == pytest.approx(mean**2 / variance, rel=1e-12)


@pytest.mark.parametrize(
    ("choices", "epsilon", "sizes"), [(2, 1.0, {1}), (4, 1.0, {1}), (10, 1.0, {3}), (20, 2.0, {4, 5}), (10, 4.0, {1})]
)
def test_sets_have_the_size_that_is_known_to_be_best(choices, epsilon, sizes):
    assert plan_choices(epsilon, choices, simulations=0).law.size in sizes


@pytest.mark.slow
def test_sets_help_with_many_choices():
    """Known from elsewhere: 48.9 % wrong without sets, 33.8 % with. Ten worlds give standard errors of 1.3 points."""
    plan = plan_choices(1.0, 10, readings=150, participants=50, simulations=10)
    assert plan.without_sets.mean == pytest.approx(0.489, abs=0.045)
    assert plan.simulated_error.mean == pytest.approx(0.338, abs=0.045)


def test_the_promise_is_kept_without_needless_noise():
    for choices, readings, unit in itertools.product((2, 4, 17), (1, 7, 30, 1000), ("reading", "participant")):
        for epsilon in (0.1, 1 / 3, 5.7):
            plan = plan_choices(epsilon, choices, readings, unit=unit, simulations=0)
            assert epsilon * (1 - 1e-5) <= plan.guarantee.epsilon(0.0) <= epsilon * (1 + 1e-12)
            if unit == "participant":
                few = sv.parse_law(plan.answer_noise).guarantee(choices, plan.answer, "participant")
                assert few.epsilon(0.0) <= epsilon * (1 + 1e-12)
            else:
                assert plan.answer is None


def test_a_few_answers_instead_of_all():
    plan = plan_choices(8.0, 2, 30, 150, unit="participant", simulations=8)
    # 2.5 per answer is best for a user of average quality. In 8 worlds of 30 questions the share that is wrong has
    # a standard error of about 2.5 points where all are answered (20 %), and 1.3 where 3 are (4 %).
    assert plan.answer == 3
    assert plan.answer_error.mean < plan.simulated_error.mean - 0.08
    assert plan.answer_gain == plan.simulated_error.mean / plan.answer_error.mean


@pytest.mark.parametrize(("readings", "epsilon", "each"), [(30, 1.0, 0.050807), (10, 2.0, 0.200396)])
def test_a_promise_that_may_fail_is_known_for_two_choices(readings, epsilon, each):
    plan = plan_choices(epsilon, 2, readings, delta=1e-5, unit="participant", simulations=0)
    assert plan.law.epsilon == pytest.approx(each, abs=2e-6)


@pytest.mark.parametrize(("choices", "readings", "epsilon"), [(2, 2, 0.3), (4, 30, 1.0), (17, 7, 5.7), (100, 500, 2.0)])
def test_a_promise_that_may_fail_is_kept_without_needless_noise(choices, readings, epsilon):
    plan = plan_choices(epsilon, choices, readings, delta=1e-4, unit="participant", simulations=0)
    assert plan.guarantee.delta(epsilon) <= 1e-4
    more = sv.Response(plan.law.epsilon * 1.0001, plan.law.size).guarantee(choices, readings, "participant")
    assert more.delta(epsilon) > 1e-4
    few = sv.parse_law(plan.answer_noise).guarantee(choices, plan.answer, "participant")
    assert few.delta(epsilon) <= 1e-4


def test_a_pilot_shows_how_often_participants_are_right():
    # Shape (16, 4): a mean of .8. With 200 users and 40 answers each the mean of the crowd has a standard error of
    # hypot(.087/√200, .4/√8000) = .008; the truths are all but certain.
    pilot = choice_crowd(200, 40, 2, right=(16.0, 4.0), seed=3).with_simulated_noise(sv.Response(3.0), 4).claims
    plain, good = (plan_choices(1.0, 2, 20, 30, pilot=claims, simulations=10) for claims in (None, pilot))
    assert (plain.quality.mean, plain.quality.source) == (0.75, "assumed")
    assert good.quality.mean == pytest.approx(0.8, abs=0.04)
    assert good.quality.source == "estimated from the pilot"
    # The same distance from guessing to certainty, where there are four choices.
    four = plan_choices(1.0, 4, simulations=0, pilot=pilot).quality.mean
    assert (four - 1 / 4) / (3 / 4) == pytest.approx((good.quality.mean - 1 / 2) / (1 / 2))
    # 30 users at ε = 1: a mean user's vote has a signal of .46·(2q - 1), .23 or .28; the errors differ by a third.
    assert good.simulated_error.mean < plain.simulated_error.mean


def test_a_pilot_of_the_other_kind_is_refused():
    numbers, answers = sv.Claims.from_matrix([[1.0, 2.0], [1.5, 2.5]]), choice_crowd(5, 4, 2).claims
    with pytest.raises(BadParameter, match="claims are numbers"):
        plan_choices(1.0, 2, pilot=numbers, simulations=0)
    with pytest.raises(BadParameter, match="claims are choices"):
        sv.plan(1.0, pilot=answers, simulations=0)
    alone = sv.Claims.from_arrays(["a", "b"], ["x", "y"], ["yes", "no"])
    with pytest.raises(BadParameter, match="no object has two claims"):
        plan_choices(1.0, 2, pilot=alone, simulations=0)


@pytest.mark.parametrize("column", ["", ",fresh:0.5"])
def test_the_command_reports_that_a_pilot_with_readings_holds_numbers(tmp_path, column):
    header = "user,object,value" + (",noise_law" if column else "")
    whole = bool(column)  # readings without a fraction are seen to be numbers by the law that hid them
    values = ("1", "2", "3") if whole else ("1", "2.5", "3")
    lines = [f"{user},hall,{value}{column}" for user, value in zip("abc", values, strict=True)]
    (tmp_path / "pilot.csv").write_text("\n".join([header, *lines]) + "\n")
    refused = run("plan", "--choices", "2", "--pilot", tmp_path / "pilot.csv", "--simulations", "0")
    assert refused.returncode == 2
    assert "pilot: its claims are numbers, but this is a plan for choices" in " ".join(refused.stderr.split())


def test_choices_may_be_fractions():
    doses = sv.Claims.from_arrays(
        ["a", "b"] * 3, [*"xxyyzz"], ["0.5", "0.5", "1.5", "0.5", "0.5", "1.5"], kind="choice"
    )
    assert plan_choices(1.0, 2, pilot=doses, simulations=0).quality.source == "estimated from the pilot"


def test_the_command_accepts_a_pilot_and_a_probability_of_failure(tmp_path):
    choice_crowd(30, 20, 2, seed=1).claims.write(tmp_path / "pilot.csv")  # codes 0 and 1
    arguments = [
        "plan",
        "--choices",
        "2",
        "--unit",
        "participant",
        "--delta",
        "1e-5",
        "--pilot",
        tmp_path / "pilot.csv",
    ]
    arguments += ["--simulations", "1", "--participants", "20"]
    plan = json.loads(run(*arguments, "--json").stdout)
    assert plan["delta"] == plan["plans"][0]["delta"] == 1e-5
    assert plan["plans"][0]["noise"] == "response:0.0508072"
    assert plan["plans"][0]["right_source"] == "estimated from the pilot"
    assert "estimated from the pilot" in " ".join(run(*arguments).stdout.split())
    refused = run("plan", "--choices", "2", "--delta", "1e-5", "--simulations", "0")
    assert (refused.returncode, "--unit participant" in " ".join(refused.stderr.split())) == (2, True)


def test_comparisons_say_how_many_tasks_to_answer():
    asked = {"low": 0.0, "high": 50.0, "readings": 30, "unit": "participant", "error_rate": 1.0, "simulations": 0}
    plan = plan_comparisons(1.0, participants=6000, **asked)
    alone = plan_comparisons(1.0, participants=200, **{**asked, "readings": 1})
    assert (plan.answer, plan.answer_noise) == (1, "response:1.0")
    assert plan.predicted_error / plan.answer_gain == pytest.approx(alone.predicted_error)
    too_few = plan_comparisons(1.0, participants=300, **asked)
    assert (too_few.answer, too_few.enough) == (1, False)  # answers needed grow faster than those that more tasks give
    assert plan_comparisons(1.0, participants=6000, **{**asked, "unit": "reading"}).answer is None


def test_more_privacy_costs_more_errors():
    rows = choice_trade_off(1.0, 4, 20, 60, simulations=6)
    assert [row["epsilon"] for row in rows] == [0.25, 0.5, 1.0, 2.0, 4.0]
    errors = [row["simulated_error"]["mean"] for row in rows]
    assert errors[0] > errors[2] > errors[4]


@pytest.mark.slow
def test_the_plan_includes_the_participants_needed_for_an_error():
    plan = plan_choices(2.0, 2, 20, 50, error=0.05, simulations=6)
    enough = plan_choices(2.0, 2, 20, plan.participants_needed, simulations=6)
    assert enough.simulated_error.mean <= 0.05
    assert plan.participants_needed > 5


def test_a_crowd_answers_as_many_questions_as_it_draws():
    world = choice_crowd(400, 12, 3, answer=5, seed=4)
    assert set(world.claims.claims_per_user.tolist()) == {5}
    right = np.asarray(world.claims.values) == world.truths[world.claims.objects]
    # Mean quality 2/3. Standard deviation: of the mean quality (2/3·√.05/√400), and of 2000 answers given it.
    assert right.mean() == pytest.approx(2 / 3, abs=4 * math.hypot(0.149 / 20, 0.45 / math.sqrt(2000)))


def test_numbers_are_rounded_down_and_short():
    for number in (2 / 30, 1 / 3, 0.1, 1e-9 / 7, 1e7 / 3, 5.7):
        short = rounded_down(number)
        assert number * (1 - 1e-5) <= short <= number
        assert len(repr(short)) <= 12


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"choices": 1}, "choices 1"),
        ({"choices": 101}, "choices 101"),
        ({"choices": True}, "choices True"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"readings": 0}, "readings 0"),
        ({"readings": 10_001}, "readings 10001"),
        ({"participants": 0}, "participants 0"),
        ({"simulations": -1}, "simulations -1"),
        ({"seed": -1}, "seed=-1: a seed is 0"),
        ({"error": 1.0, "simulations": 1}, "error 1.0"),
        ({"error": 0.1}, "error 0.1"),  # without simulations
    ],
)
def test_what_cannot_be_planned_is_refused(changes, word):
    with pytest.raises(BadParameter, match=word):
        plan_choices(**{"epsilon": 1.0, "choices": 4, "simulations": 0, **changes})


@pytest.mark.slow
def test_the_command_prints_the_plan(tmp_path):
    arguments = ["plan", "--choices", "10", "--readings", "20", "--participants", "40", "--simulations", "2"]
    arguments += ["--unit", "participant", "--epsilon", "6"]
    done = run(*arguments, "--json", "--plot", tmp_path / "plan.png")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    (only,) = plan["plans"]
    assert plan["choices"] == 10
    assert only["answer"] == 1
    assert only["noise"].startswith("response:0.3:")
    assert len(plan["trade_off"]) == 5
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    shown = " ".join(run(*arguments).stdout.split())
    assert f"--noise {only['noise']}" in shown
    assert (
        f"draw 1 of its 20 questions at random and answer only that one, with --noise {only['answer_noise']}" in shown
    )


@pytest.mark.parametrize("option", [("--range", "0:3"), ("--grid", "0.1"), ("--error-rate", "1"), ("--choices", "1")])
def test_the_command_refuses_options_for_numbers(option):
    done = run("plan", "--choices", "4", *option)
    assert done.returncode == 2
    assert "choices" in done.stderr
