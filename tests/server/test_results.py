"""Results: computed in the background, kept as versions, shown with what was promised."""

import io
import json
from collections import Counter

import numpy as np
import pyarrow.parquet
import pytest

import sottovoce as sv
from patience import until
from sottovoce.discovery import CRH, NoiseAware
from sottovoce.lab.crowd import departure_from_scratch
from sottovoce.protocol import Manifest


@pytest.fixture
def campaign(server):
    return server.opened()


def test_there_are_results_from_the_opening_on(server, campaign):
    results = server.results(campaign)
    assert (results["version"], results["reports"], results["as_of"]) == (1, 0, "2030-03-17T17:46:40.000Z")
    assert [entry["truth"] for entry in results["results"]] == [None] * 3


def test_truths_are_those_of_the_library_under_the_campaigns_law(server, campaign, tmp_path):
    server.crowd(campaign, 9)
    server.recompute()
    exported = server.client.get(f"/api/campaigns/{campaign}/claims.csv", headers=server.operator)
    (tmp_path / "claims.csv").write_bytes(exported.content)
    claims = sv.Claims.read(tmp_path / "claims.csv")
    assert claims.noise == "fresh:0.5"
    expected = NoiseAware(noise="fresh:0.5").fit(claims)
    found = {entry["task"]: entry["truth"] for entry in server.results(campaign)["results"]}
    assert found == pytest.approx(dict(zip(expected.objects_, expected.truths_, strict=True)))


def test_a_task_is_shown_only_from_enough_claims_on(server, campaign):
    four, one = server.participants(campaign, 4), server.participants(campaign, 1)[0]
    for token in four:
        server.report(campaign, token, server.body(campaign, {"hall-0": 100, "hall-1": 200}))
    server.report(campaign, one, server.body(campaign, {"hall-0": 100}))
    server.recompute()
    shown, *hidden = server.results(campaign)["results"]
    assert (shown["truth"], shown["claims"]) == (10, 5)
    for task in hidden:  # one has four claims, one none; even that is not to be seen
        assert (task["truth"], task["low"], task["high"], task["claims"]) == (None, None, None, 0)
    text = server.client.get(f"/api/campaigns/{campaign}/results").text
    assert "20.0" not in text


def test_results_come_within_five_seconds_of_the_last_report(server, campaign):
    server.crowd(campaign, 5)
    server.tick()
    assert server.results(campaign)["version"] == 1
    server.clock.pass_time(seconds=2)
    server.tick()
    assert (server.results(campaign)["version"], server.results(campaign)["reports"]) == (2, 5)
    server.tick()
    assert server.results(campaign)["version"] == 2


@pytest.mark.slow
def test_results_do_not_wait_for_silence_when_enough_is_new(server, monkeypatch):
    monkeypatch.setattr("sottovoce.server.jobs._ENOUGH_CHANGES", 20)
    campaign = server.opened(halls=1)
    tokens = server.participants(campaign, 20)
    for token in tokens[:19]:
        server.report(campaign, token, server.body(campaign, [100]))
    server.tick()
    assert server.results(campaign)["version"] == 1
    server.report(campaign, tokens[19], server.body(campaign, [100]))
    server.tick()
    assert server.results(campaign)["reports"] == 20


def test_a_clock_set_back_does_not_stop_results(server, campaign):
    server.crowd(campaign, 5)
    server.clock.pass_time(days=-30)
    server.tick()
    assert server.results(campaign)["reports"] == 5


def test_versions_are_kept_and_only_made_when_something_changed(server, campaign):
    server.crowd(campaign, 5)
    server.recompute()
    address = f"/api/campaigns/{campaign}"
    # The same method by its name instead of by default: nothing new to say.
    server.client.patch(address, json={"method": "noise-aware"}, headers=server.operator)
    server.recompute()
    assert server.results(campaign)["version"] == 2
    server.client.patch(address, json={"method": "median"}, headers=server.operator)
    server.recompute()
    assert (server.results(campaign)["version"], server.results(campaign)["method"]) == (3, "median")
    versions = server.client.get(f"{address}/results/versions").json()["versions"]
    assert [(entry["version"], entry["method"], entry["reports"]) for entry in versions] == [
        (3, "median", 5), (2, "noise-aware", 5), (1, "noise-aware", 0),
    ]  # fmt: skip
    assert server.client.get(f"{address}/results/versions/2").json()["method"] == "noise-aware"
    assert server.client.get(f"{address}/results/versions/9").status_code == 404


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_results_of_reports_that_trickle_in_are_those_from_scratch(server, campaign, tmp_path):
    """Results are computed after each participant: what the first few led to must not linger."""
    steps = np.random.default_rng(1).laplace([750, 400, 120], 10, (12, 3)).round().astype(int)
    for token, reading in zip(server.participants(campaign, 12), steps.tolist(), strict=True):
        server.report(
            campaign, token, server.body(campaign, dict(zip(("hall-0", "hall-1", "hall-2"), reading, strict=True)))
        )
        server.recompute()
    results = server.results(campaign)
    assert (results["reports"], results["converged"]) == (10, True)  # in steps of five
    exported = server.client.get(f"/api/campaigns/{campaign}/claims.csv", headers=server.operator)
    (tmp_path / "claims.csv").write_bytes(exported.content)
    assert departure_from_scratch(sv.Claims.read(tmp_path / "claims.csv"), results) < 0.03  # rounding is 0.025 at most


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_one_absurd_participant_neither_stops_results_nor_decides(server, campaign):
    absurd, *honest = server.participants(campaign, 10)  # two steps
    server.report(campaign, absurd, server.body(campaign, {"hall-0": 2**63 - 1, "hall-1": 1 - 2**63}))
    for number, token in enumerate(honest):
        server.recompute()
        server.report(campaign, token, server.body(campaign, {"hall-0": 100 + number, "hall-1": 200 - number}))
    server.recompute()
    results = server.results(campaign)
    assert (results["reports"], results["converged"]) == (10, True)
    for entry, honest_mean in zip(results["results"], (10.4, 19.6), strict=False):
        assert abs(entry["truth"] - honest_mean) < 1  # nine honest readings; the noise of each has a scale of 1 m
        assert entry["high"] - entry["low"] < 10


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_jobs_go_on_when_warming_up_fails(server, campaign, monkeypatch):
    def fail():
        raise OverflowError

    monkeypatch.setattr("sottovoce.server.jobs.warm_up", fail)
    server.crowd(campaign, 5)
    server.clock.pass_time(seconds=2)
    server.state.jobs.start()
    try:
        until(lambda: server.results(campaign)["reports"] == 5, "results of all")
    finally:
        server.state.jobs.close()


def test_the_operator_can_pin_the_method(server, campaign, tmp_path):
    server.client.patch(f"/api/campaigns/{campaign}", json={"method": "crh"}, headers=server.operator)
    server.crowd(campaign, 6, steps=(100, 220, 350))
    server.recompute()
    exported = server.client.get(f"/api/campaigns/{campaign}/claims.parquet", headers=server.operator)
    (tmp_path / "claims.parquet").write_bytes(exported.content)
    expected = CRH().fit(sv.Claims.read(tmp_path / "claims.parquet"))
    assert [entry["truth"] for entry in server.results(campaign)["results"]] == pytest.approx(expected.truths_.tolist())


def test_results_can_be_downloaded_as_files(server, campaign):
    server.crowd(campaign, 5)
    server.recompute()
    address = f"/api/campaigns/{campaign}/results"
    columns = ("task", "title", "unit", "truth", "low", "high", "claims")
    rows = [{name: row[name] for name in columns} for row in server.results(campaign)["results"]]
    parquet = server.client.get(f"{address}.parquet")
    assert pyarrow.parquet.read_table(io.BytesIO(parquet.content)).to_pylist() == rows
    lines = server.client.get(f"{address}.jsonl").text.splitlines()
    assert [json.loads(line) for line in lines] == rows
    table = server.client.get(f"{address}.csv")
    assert table.text.splitlines()[0] == '"task","title","unit","truth","low","high","claims"'
    assert "attachment" in table.headers["content-disposition"]
    assert server.client.get(f"{address}.xlsx").status_code == 422


def test_unchanged_results_are_not_sent_again(server, campaign):
    address = f"/api/campaigns/{campaign}/results"
    first = server.client.get(address)
    same = server.client.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    server.crowd(campaign, 5)
    server.recompute()
    assert server.client.get(address, headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_claims_are_exact_and_under_random_names(server):
    campaign = server.opened(halls=1)
    for token in server.participants(campaign, 5):
        server.report(campaign, token, server.body(campaign, [3]))
    server.recompute()
    content = server.client.get(f"/api/campaigns/{campaign}/claims.jsonl", headers=server.operator).text
    lines = [json.loads(line) for line in content.splitlines()]
    assert {(line["object"], line["value"], line["noise_law"]) for line in lines} == {("hall-0", 0.3, "fresh:0.5")}
    assert len({line["user"] for line in lines}) == 5
    assert {len(line["user"]) for line in lines} == {16}


def test_a_deadline_closes_the_campaign(server):
    campaign = server.opened(deadline="2030-03-18T00:00:00Z")
    tokens = server.crowd(campaign, 5)
    late = server.participants(campaign, 1)[0]
    server.clock.pass_time(days=1)
    answer = server.report(campaign, late, server.body(campaign, [1]))
    assert (answer.status_code, answer.json()["code"]) == (409, "deadline_passed")
    assert len(tokens) == 5
    server.tick()
    status = server.status(campaign)
    assert (status["state"], status["closed_at"]) == ("closed", "2030-03-18T00:00:00.000Z")
    assert server.results(campaign)["reports"] == 5


def test_readings_of_closed_campaigns_are_erased_in_time(start_local):
    server = start_local(retention_days=30)
    kept, campaign = server.opened(), server.opened()
    body = server.body(campaign, [1, 2, 3])
    token = server.participants(campaign, 1)[0]
    server.report(campaign, token, body)
    server.crowd(campaign, 5)
    server.crowd(kept, 1)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    server.clock.pass_time(days=29)
    server.tick()
    before = server.results(campaign)
    assert (before["reports"], server.rows("readings")) == (6, 21)
    server.clock.pass_time(days=1)
    server.tick()
    assert server.rows("readings") == 3
    assert server.status(campaign)["erased_at"] is not None
    assert server.results(campaign) == before
    answer = server.client.get(f"/api/campaigns/{campaign}/claims.csv", headers=server.operator)
    assert (answer.status_code, answer.json()["code"]) == (410, "erased")
    # The id still shows that the report came in, once; its content can no longer be compared.
    assert server.report(campaign, token, body).json()["code"] == "erased"
    assert server.rows("reports") == 7
    answer = server.client.patch(f"/api/campaigns/{campaign}", json={"method": "mean"}, headers=server.operator)
    assert answer.json()["code"] == "erased"


@pytest.mark.slow
def test_the_work_grows_with_the_tasks_and_not_with_their_square(server, monkeypatch):
    """With ten thousand tasks, asking every task about every other one takes minutes."""
    asked = Counter()
    honest = Manifest.is_compared

    def counted(manifest, task):
        asked["tasks"] += 1
        return honest(manifest, task)

    tasks = 60
    campaign = server.opened(halls=tasks, readings=3)
    server.crowd(campaign, 6)
    server.recompute()
    monkeypatch.setattr(Manifest, "is_compared", counted)
    server.crowd(campaign, 6)
    server.recompute()
    assert 0 < asked["tasks"] <= 20 * tasks
