"""Answer a few tasks, not all: the best number and its gain, for bits, Laplace and Gaussian noise."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.planning.answering import Answering, best_answering, candidates
from sottovoce.planning.noise import noise_for


@pytest.mark.parametrize(("epsilon", "best", "gain"), [(1, 1, 5.06), (2, 1, 4.17), (4, 2, 2.95), (8, 4, 2.10)])
def test_bits(epsilon, best, gain):
    found = best_answering(lambda count: math.tanh(epsilon / count / 2) ** 2, 30)
    assert found.answer == best
    assert found.gain == pytest.approx(gain, abs=0.006)


@pytest.mark.parametrize(
    ("distance", "epsilon", "best", "gain"),
    [(1, 1, 1, 3.39), (1, 2, 2, 2.44), (1, 4, 3, 1.80), (10, 1, 1, 5.19), (10, 2, 1, 4.93), (10, 8, 1, 3.69)],
)
def test_laplace_noise_on_normal_errors(distance, epsilon, best, gain):
    def information(count):
        law = noise_for(sv.FreshVariance, epsilon, 0.0, distance, count, "participant")
        return float(law.information(np.array([1.0]))[0])

    found = best_answering(information, 30)
    assert found.answer == best
    assert found.gain == pytest.approx(gain, abs=0.01)


def test_gaussian_noise_loses_nothing_by_answering_all():
    def information(count):
        return 1 / (1 + noise_for(sv.Gaussian, 1.0, 1e-5, 1.0, count, "participant").mean_variance)

    assert best_answering(information, 30) == Answering(30, 1.0)


def test_candidates_end_with_all_tasks():
    assert candidates(1) == [1]
    assert candidates(5) == [1, 2, 3, 4, 5]
    assert candidates(10_000)[-1] == 10_000
    assert len(candidates(10_000)) < 60


@pytest.mark.slow
def test_plans_for_a_participant_say_how_many_tasks_to_answer():
    arguments = ["plan", "--unit", "participant", "--readings", "30", "--simulations", "0", "--delta", "1e-5"]
    ran = CliRunner().invoke(app, [*arguments, "--json"])
    assert ran.exit_code == 0, ran.output
    plans = {plan["noise"].split(":")[0]: plan for plan in json.loads(ran.stdout)["plans"]}
    fresh = plans["fresh"]
    assert fresh["answer"] <= 2
    assert fresh["answer_gain"] > 3
    kept = sv.parse_law(fresh["answer_noise"]).guarantee(readings=fresh["answer"], unit="participant")
    assert kept.pure_epsilon <= 1 + 1e-9
    assert plans["gaussian"]["answer"] == 30
    shown = " ".join(CliRunner().invoke(app, arguments).output.split())
    assert f"draw {fresh['answer']} of its 30 tasks at random" in shown
    one = json.loads(CliRunner().invoke(app, ["plan", "--simulations", "0", "--json"]).stdout)["plans"][0]
    assert one["answer"] is None
