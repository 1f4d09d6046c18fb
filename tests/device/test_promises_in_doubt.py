"""A device has a second opinion on every promise, and sends nothing where the two disagree."""

import math
import os
import sqlite3

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from campaign_server import campaign_server
from command import run
from hallways import manifest
from promise_cases import Case, admitted, extreme, usual
from promise_reference import exact_delta
from sottovoce.device import Limits
from sottovoce.device.sanity import check_promise
from sottovoce.privacy.laws import Gaussian, parse_law
from sottovoce.privacy.sampler import ByteStream
from sottovoce.protocol import Problem, Promise, promise_of
from sottovoce.protocol.parts import NoisyNumbers

# Noise a tenth of a grid step wide: every reading is sent as it is. Its ε once came out as 0.
BARE = {
    "tasks": [{"id": f"hall-{n}", "low": "0", "high": "5000", "grid": "0.000001"} for n in (1, 2)],
    "noise": "gaussian:1e-07",
    "distance": "5000",
    "unit": "participant",
    "readings": 2,
}


def refusal(call, *arguments, **options):
    with pytest.raises(Problem) as caught:
        call(*arguments, **options)
    return caught.value


def no_random_bits(count):
    raise AssertionError(f"{count} random bytes were drawn")


@pytest.mark.slow
def test_a_hostile_server_gets_nobody_to_join_without_noise(tmp_path):
    environment = {**os.environ, "SOTTOVOCE_PARTICIPANT_FILE": str(tmp_path / "p.db"), "COLUMNS": "250"}
    with campaign_server(manifest(**BARE)) as server:
        joined = run("join", server.invite(), "--yes", "--wait", "1", env=environment)
        assert joined.returncode == 2
        assert "the campaign promises nothing" in " ".join((joined.stdout + joined.stderr).split())
        sent = run("submit", "--reading", "hall-1=72.345678", "--wait", "1", env=environment)
        assert sent.returncode == 2
        assert not [request for request in server.requests if "enrolments" in request or "reports" in request]


def test_a_promise_stored_by_a_version_that_was_wrong_is_refused_before_noise_is_drawn(
    server, participant, monkeypatch
):
    hostile = manifest(**BARE)
    server.manifests["hallways"] = hostile
    monkeypatch.setattr(Limits, "judge", lambda limits, manifest: Promise(0.0, 1e-5))
    participant.join(server.invite())
    monkeypatch.undo()
    problem = refusal(participant.release, {"hall-1": "72.345678"}, stream=ByteStream(no_random_bits))
    assert problem.code == "promise_in_doubt"
    assert "cannot have an epsilon below" in str(problem)
    assert not server.bodies
    # Joining again by another link does not help.
    assert refusal(participant.join, server.invite()).code == "promise_in_doubt"


def test_a_stored_promise_that_makes_no_sense_is_refused(server, participant):
    participant.join(server.invite())
    with sqlite3.connect(participant.file.path) as connection:
        connection.execute("UPDATE memberships SET epsilon = -1.0")
    connection.close()
    problem = refusal(participant.release, {"hall-1": "3"}, stream=ByteStream(no_random_bits))
    assert problem.code == "promise_in_doubt"


def test_either_check_alone_finds_a_wrong_promise(monkeypatch):
    asked = manifest(noise="gaussian:0.01")  # a tenth of a step
    assert "cannot have an epsilon below 4999" in str(refusal(check_promise, asked, Promise(1.0, 1e-5)))
    monkeypatch.setattr(Gaussian, "least_epsilon", lambda *_: 0.0)
    problem = refusal(check_promise, asked, Promise(1.0, 1e-5))
    assert problem.code == "promise_in_doubt"
    assert "sent unchanged with a probability of 0.8" in str(problem)
    check_promise(manifest(noise="gaussian:3.74"), Promise(1.0, 1e-5))


@pytest.mark.parametrize(
    "promise",
    [Promise(math.nan, 0.0), Promise(1.0, math.nan), Promise(-1.0, 0.0), Promise(math.inf, 0.0), Promise(1, 1)],
)
def test_what_is_not_a_promise_is_refused(promise):
    assert refusal(check_promise, manifest(), promise).code == "promise_in_doubt"


@pytest.mark.parametrize("promise", [Promise(math.nan, 0.0), Promise(1.0, math.nan)])
def test_limits_refuse_what_is_not_a_number(promise):
    assert refusal(Limits().check, promise).code == "weaker_than_limits"
    assert refusal(Limits().check_total, Promise(0.0, 0.0), promise).code == "budget_spent"
    assert refusal(Limits().check_total, promise, Promise(0.0, 0.0)).code == "budget_spent"


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.one_of(extreme(), usual()))
@example(Case("fresh:0.5", "1", "0.1", 30, 1e-5))
def test_an_honest_promise_is_never_in_doubt(case):
    asked = admitted(case)
    assume(asked is not None)
    for promise in (promise_of(asked, case.delta), promise_of(asked, case.delta, enough=0)):
        if promise.epsilon < math.inf:
            check_promise(asked, promise)


@settings(max_examples=20, deadline=None)
@given(usual(kinds=("gaussian", "fresh")), st.floats(0, 40))
def test_the_lower_bound_is_below_the_exact_epsilon(case, epsilon):
    """Whatever ε is below the bound has an exact δ above the one that was asked for."""
    least = parse_law(case.noise).least_epsilon(float(case.distance), case.moved, float(case.grid), case.delta)
    tested = min(epsilon, least * (1 - 1e-9) - 1e-9)
    assume(tested >= 0)
    exact = case.exact(tested)
    assert exact is None or exact > case.delta


@pytest.mark.parametrize("noise", ["gaussian:0.3", "gaussian:2", "gaussian:40", "fresh:3", "fresh:0.01"])
def test_the_chance_of_no_noise_is_bounded_on_both_sides(noise):
    law = parse_law(noise)
    if noise.startswith("gaussian"):
        exact = 1 / sum(math.exp(-k * k / (2 * law.sigma**2)) for k in range(-2000, 2001))
    else:
        exact = math.tanh(1 / (2 * law.scale))
    assert 0.5 * exact < law.chance_of_no_noise(1.0) <= exact * (1 + 1e-12)
    for epsilon in (0.5, 2.0, 8.0):
        delta = float(exact_delta(noise, "3", 1, "1", epsilon))
        assert exact <= NoisyNumbers("fresh:1.0", "3", "1").most_unchanged(epsilon, delta) * (1 + 1e-9)
