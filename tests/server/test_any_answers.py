"""Whatever answers the protocol admits, under whatever law, there are results."""

import itertools

import numpy as np
import pytest

from questions import ASKED_BIRD, ASKED_PATH, answered

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)]
ENDS = ["1e-307", "1e-10", "1", "50", "1e10", "1.7e308"]
LAWS = [
    *(f"response:{epsilon}" for epsilon in ENDS),
    *(f"twolayer:beta:{a}:{b}" for a, b in itertools.product(("1e-300", "1", "1e300"), repeat=2)),
    "twolayer:uniform",
]
CROWDS = {
    "all say the same": lambda number: 0,
    "all but one say the same": lambda number: int(number == 3),
    "half against half": lambda number: number % 2,
}


def in_order(server, campaign):
    """Results of all people, without any trouble."""
    assert server.status(campaign)["trouble"] is None
    return server.results(campaign)["results"]


def test_any_answers_under_any_law_have_results(server):
    asked = {}
    for (name, choose), law in zip(itertools.cycle(CROWDS.items()), [*LAWS, *LAWS[:2]], strict=False):
        asked[name, law] = server.opened(tasks=[ASKED_PATH, {**ASKED_PATH, "id": "gate"}], noise=law, readings=2)
        answered(server, asked[name, law], 6, lambda number, say=choose: {"path": say(number), "gate": number % 2})
    server.recompute()
    for case, campaign in asked.items():
        for row in in_order(server, campaign):
            assert (row["claims"], row["truth"] in ("yes", "no")) == (6, True), case
            assert min(row["chances"].values()) >= 0, case
            assert sum(row["chances"].values()) == pytest.approx(1, abs=0.002), case


def test_any_sets_under_any_law_have_results(server):
    asked = {}
    for epsilon, size in itertools.product(ENDS, (2, 3)):
        asked[epsilon, size] = server.opened(tasks=[ASKED_BIRD], noise=f"response:{epsilon}:{size}", readings=1)
        sets = list(itertools.combinations(range(4), size))
        answered(server, asked[epsilon, size], 8, lambda number, of=sets: {"bird": list(of[number % len(of)])})
    server.recompute()
    for case, campaign in asked.items():
        (row,) = in_order(server, campaign)
        assert (row["claims"], sum(row["chances"].values())) == (8, pytest.approx(1, abs=0.003)), case


RANGES = {
    "usual": (0, 30, "0.1"),
    "two steps": (0, 2, 1),
    "2^53 steps": (0, "900719925474099", "0.1"),
    "far away": ("999999999000000", "999999999000010", "0.5"),
    "around zero": ("-0.000000000002", "0.000000000001", "0.000000000001"),
}


def test_any_comparisons_have_results(server):
    asked, rng = {}, np.random.default_rng(4)
    ends = itertools.product(RANGES, ("1e-307", "1", "1.7e308"))
    for (name, epsilon), levels in zip(ends, itertools.cycle((2, 4)), strict=False):
        low, high, grid = RANGES[name]
        task = {"id": "hall", "title": "How long?", "unit": "m", "low": low, "high": high, "grid": grid}
        law = {"noise": f"response:{epsilon}", "levels": levels, "readings": 1}
        made = server.client.post(
            "/api/campaigns", json={"title": "t", "tasks": [task], **law}, headers=server.operator
        )
        assert made.status_code == 201, made.text
        asked[name, levels, epsilon] = made.json()["id"]
        server.open(made.json()["id"])
    for answers in (6, 12):
        for (_, levels, _), campaign in asked.items():
            offered = server.client.get(f"/api/campaigns/{campaign}/cuts").json()["tasks"]["hall"]
            for token in server.participants(campaign, 6):
                body = server.body(campaign, {"hall": int(rng.integers(levels))})
                body["readings"][0]["cuts"] = offered[rng.integers(len(offered))]
                reply = server.report(campaign, token, body)
                assert reply.status_code == 201, reply.text
        server.recompute()
        for case, campaign in asked.items():
            low, high, _ = RANGES[case[0]]
            (row,) = in_order(server, campaign)
            assert row["claims"] == answers, case
            assert float(low) <= row["low"] <= row["truth"] <= row["high"] <= float(high), (case, row)
