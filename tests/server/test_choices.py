"""Campaigns that ask questions with choices: created, reported to, evaluated and exported, beside numbers."""

import io
import json

import pyarrow.parquet
import pytest

import sottovoce as sv
from questions import ASKED_BIRD, ASKED_PATH, MIXED, answered, mostly
from sottovoce.claims import Claims


def test_questions_beside_numbers_from_the_draft_to_the_results(server):
    campaign = server.opened(**MIXED)
    manifest = server.client.get(f"/api/campaigns/{campaign}/manifest").json()
    assert manifest["format"] == "sottovoce-manifest/2"
    assert [task["kind"] for task in manifest["tasks"]] == ["choice", "number", "choice"]
    assert manifest["tasks"][1]["distance"] == "1"
    answered(server, campaign, 30, mostly)
    server.recompute()
    path, width, bird = server.results(campaign)["results"]
    assert (path["truth"], path["majority"], path["claims"]) == ("yes", "yes", 30)
    assert path["chances"].keys() == {"yes", "no"}
    assert path["chance"] == path["chances"]["yes"] > 0.5
    assert bird["truth"] == "robin"
    assert sum(bird["chances"].values()) == pytest.approx(1, abs=0.01)
    assert 3.9 < width["truth"] < 4.5
    assert width["low"] < width["truth"] < width["high"]


@pytest.mark.slow
def test_effective_participants_are_those_of_numbers_and_of_choices(server, tmp_path):
    campaign = server.opened(**MIXED)
    answered(server, campaign, 30, mostly)
    server.recompute()
    effective = []
    for kind, tasks in (("number", 1), ("choice", 2)):
        file = server.client.get(f"/api/campaigns/{campaign}/claims.parquet?kind={kind}", headers=server.operator)
        (tmp_path / f"{kind}.parquet").write_bytes(file.content)
        claims = sv.Claims.read(tmp_path / f"{kind}.parquet")
        weights = sv.NoiseAware(claims.noise).fit(claims).weights_
        effective += tasks * [weights.sum() ** 2 / (weights**2).sum()]
    assert abs(effective[0] - effective[1]) > 0.5
    assert server.results(campaign)["effective_users"] == pytest.approx(sum(effective) / 3, abs=0.06)


def pinned(server, campaign, method):
    return server.client.patch(f"/api/campaigns/{campaign}", json={"method": method}, headers=server.operator)


@pytest.mark.slow
def test_results_of_questions_are_found_by_the_method_that_the_operator_chooses(server):
    campaign = server.opened(tasks=[ASKED_PATH], noise="response:2", readings=1)
    answered(server, campaign, 12, lambda number: {"path": 0 if number % 3 else 1})
    for method in ("majority", "dawid-skene", "truthfinder"):
        assert pinned(server, campaign, method).status_code == 200
        server.recompute()
        results = server.results(campaign)
        assert (results["method"], results["results"][0]["truth"]) == (method, "yes")
    refused = pinned(server, campaign, "gtm")
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_request")
    assert "'gtm': it cannot evaluate these tasks" in refused.json()["detail"]
    assert refused.json()["fix"].startswith("choose one of noise-aware, crh")
    assert server.status(campaign)["method"] == "truthfinder"


@pytest.mark.parametrize(
    "terms",
    [
        {"tasks": [ASKED_PATH, ASKED_BIRD], "noise": "response:2", "readings": 2},
        {"tasks": [ASKED_BIRD], "noise": "response:2:2", "readings": 1},
    ],
    ids=["two lists", "sets"],
)
def test_a_method_that_needs_one_list_of_choices_is_offered_only_there(server, terms):
    campaign = server.opened(**terms)
    assert pinned(server, campaign, "dawid-skene").status_code == 422
    assert pinned(server, campaign, "majority").status_code == 200


@pytest.mark.slow
def test_everybody_counts_once_among_the_weights_whatever_they_answered(server):
    campaign = server.opened(**MIXED)
    answered(server, campaign, 10, lambda number: {"path": 0, "bird": 1})
    answered(server, campaign, 10, lambda number: {"width": 40 + number})
    answered(server, campaign, 10, mostly)
    server.recompute()
    weights = server.results(campaign)["weights"]
    assert sum(weights["counts"]) == 30


def test_small_numbers_are_hidden_and_figures_change_in_steps(server):
    campaign = server.opened(tasks=[ASKED_PATH, ASKED_BIRD], noise="response:2", readings=2)
    answered(server, campaign, 4, lambda number: {"path": 0})
    server.recompute()
    path, bird = server.results(campaign)["results"]
    assert (path["truth"], path["chances"], path["claims"]) == (None, None, 0)
    answered(server, campaign, 3, lambda number: {"path": 0})
    server.recompute()
    path, bird = server.results(campaign)["results"]
    assert (path["truth"], path["claims"]) == ("yes", 7)
    assert bird["truth"] is None
    before = server.results(campaign)["results"]
    answered(server, campaign, 4, lambda number: {"path": 1, "bird": 2})
    server.recompute()
    assert server.results(campaign)["results"] == before


def test_sets_of_choices_are_stored_whole_and_evaluated(server):
    campaign = server.opened(tasks=[ASKED_BIRD], noise="response:1:2", readings=1)
    answered(server, campaign, 12, lambda number: {"bird": [1, 2 + number % 2]})
    assert (server.rows("readings"), server.rows("details")) == (12, 12)
    server.recompute()
    (bird,) = server.results(campaign)["results"]
    assert (bird["truth"], bird["claims"]) == ("robin", 12)


WRONG = {
    "a choice that there is not": ({"path": 2}, "unknown_choice"),
    "a choice below zero": ({"path": -1}, "unknown_choice"),
    "grid steps where a choice is asked": ({"bird": 417}, "unknown_choice"),
    "a set where one answer is asked": ({"bird": [0, 1]}, "wrong_kind"),
    "a set where a number is asked": ({"width": [1, 2]}, "wrong_kind"),
    "an unknown task": ({"colour": 1}, "unknown_task"),
}


@pytest.mark.alike
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_an_answer_that_does_not_fit_is_refused_and_not_stored(server, name):
    values, code = WRONG[name]
    campaign = server.opened(**MIXED)
    (token,) = server.participants(campaign, 1)
    for sent in (values, {"path": 0, **values}):
        answer = server.report(campaign, token, server.body(campaign, sent))
        assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert (server.rows("reports"), server.rows("readings")) == (0, 0)
    twice = server.body(campaign, {"path": 0})
    twice["readings"] *= 2
    assert server.report(campaign, token, twice).json()["code"] == "repeated_task"
    assert server.report(campaign, token, server.body(campaign, {"path": 0})).status_code == 201
    again = server.report(campaign, token, server.body(campaign, {"path": 1}))
    assert (again.status_code, again.json()["code"]) == (409, "task_already_reported")


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "choices", [[], ["yes"], ["yes", "Yes"], ["a b", "ab"], [f"c{n}" for n in range(101)], ["yes", ""], ["yes", " no"]]
)
def test_choices_that_cannot_be_used_are_refused(server, choices):
    reply = server.client.post("/api/campaigns", json={
        "title": "Paths", "tasks": [ASKED_PATH | {"choices": choices}], "noise": "response:1",
    }, headers=server.operator)  # fmt: skip
    assert (reply.status_code, reply.json()["code"]) == (422, "bad_manifest")
    assert "choices" in reply.json()["detail"]
    assert server.rows("campaigns") == 0


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_files_of_results_and_of_claims(server):
    campaign = server.opened(**MIXED)
    answered(server, campaign, 20, mostly)
    server.recompute()
    address = f"/api/campaigns/{campaign}"
    text = server.client.get(f"{address}/results.csv").text
    assert text.splitlines()[0] == '"task","title","unit","truth","chance","claims","low","high"'
    rows = [json.loads(line) for line in server.client.get(f"{address}/results.jsonl").text.splitlines()]
    assert [row["truth"] for row in rows[::2]] == ["yes", "robin"]
    table = pyarrow.parquet.read_table(io.BytesIO(server.client.get(f"{address}/results.parquet").content))
    assert table.column("chance").to_pylist()[1] is None
    for kind, objects in (("choice", 2), ("number", 1)):
        file = server.client.get(f"{address}/claims.csv?kind={kind}", headers=server.operator)
        claims = Claims.read(io.BytesIO(file.content))
        assert (claims.kind, len(claims), claims.n_objects) == (kind, 20 * objects, objects)
    assert claims.noise == "fresh:0.5"


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_what_the_first_format_can_express_stays_in_it(server):
    campaign = server.opened()
    assert server.client.get(f"/api/campaigns/{campaign}/manifest").json()["format"] == "sottovoce-manifest/1"


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_results_that_are_not_public_are_for_their_operator(server):
    campaign = server.opened(**MIXED, public_results=False)
    answered(server, campaign, 6, mostly)
    server.recompute()
    for ending in ("results", "results.csv", "results/versions", "results/versions/1"):
        address = f"/api/campaigns/{campaign}/{ending}"
        assert server.client.get(address).status_code == 401
        assert server.client.get(address, headers=server.operator).status_code == 200
    assert server.client.get(f"/c/{campaign}").status_code == 404


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_readings_are_erased_when_the_campaign_promised(server):
    campaign = server.opened(**MIXED, retention=3)
    answered(server, campaign, 6, mostly)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    for days, left in ((0, 18), (2, 18), (2, 0)):
        server.clock.pass_time(days=days)
        server.tick()
        assert server.rows("readings") == left
    assert server.results(campaign)["results"][0]["truth"] == "yes"
