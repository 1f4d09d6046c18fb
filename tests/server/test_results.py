"""Results: computed beside, kept as versions, stated with what was promised."""

import io
import json
import time

import pyarrow.parquet
import pytest

import sottovoce as sv
from sottovoce.discovery import CRH, NoiseAware


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
    shown, hidden, empty = server.results(campaign)["results"]
    assert (shown["truth"], shown["claims"]) == (10, 5)
    assert (hidden["truth"], hidden["low"], hidden["high"], hidden["claims"]) == (None, None, None, 4)
    assert (empty["truth"], empty["claims"]) == (None, 0)
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


def test_results_do_not_wait_for_silence_when_enough_is_new(server):
    campaign = server.opened(halls=1)
    tokens = server.participants(campaign, 100)
    for token in tokens[:99]:
        server.report(campaign, token, server.body(campaign, [100]))
    server.tick()
    assert server.results(campaign)["version"] == 1
    server.report(campaign, tokens[99], server.body(campaign, [100]))
    server.tick()
    assert server.results(campaign)["reports"] == 100


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


def test_a_warm_start_gives_the_same_answer_sooner(server, campaign):
    """Up to the tolerance of the iteration: a few millionths of the spread of a task's claims."""
    server.crowd(campaign, 30)
    server.recompute()
    server.crowd(campaign, 1)
    jobs, fits = server.state.jobs, {}
    (key,) = jobs._fits
    fits["warm"] = jobs._load(key)[0].find(jobs._fits[key]).fit
    fits["cold"] = jobs._load(key)[0].find().fit
    warm, cold = (fits[name].truths_ for name in ("warm", "cold"))
    assert warm == pytest.approx(cold, abs=1e-4 * float(fits["cold"]._spreads.max()))
    assert fits["warm"].n_iter_ < fits["cold"].n_iter_
    server.recompute()
    assert [entry["truth"] for entry in server.results(campaign)["results"]] == pytest.approx(warm.tolist())
    assert jobs._fits[key]._earlier is None  # nor are all earlier fits kept


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_jobs_go_on_when_warming_up_fails(server, campaign, monkeypatch):
    def fail():
        raise OverflowError

    monkeypatch.setattr("sottovoce.server.jobs.warm_up", fail)
    server.crowd(campaign, 5)
    server.clock.pass_time(seconds=2)
    server.state.jobs.start()
    end = time.monotonic() + 20
    while server.results(campaign)["reports"] < 5 and time.monotonic() < end:
        time.sleep(0.05)
    server.state.jobs.close()
    assert server.results(campaign)["reports"] == 5


def test_the_operator_can_pin_the_method(server, campaign, tmp_path):
    server.client.patch(f"/api/campaigns/{campaign}", json={"method": "crh"}, headers=server.operator)
    server.crowd(campaign, 6, steps=(100, 220, 350))
    server.recompute()
    exported = server.client.get(f"/api/campaigns/{campaign}/claims.parquet", headers=server.operator)
    (tmp_path / "claims.parquet").write_bytes(exported.content)
    expected = CRH().fit(sv.Claims.read(tmp_path / "claims.parquet"))
    assert [entry["truth"] for entry in server.results(campaign)["results"]] == pytest.approx(expected.truths_.tolist())


def test_results_as_files(server, campaign):
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
    token = server.participants(campaign, 1)[0]
    server.report(campaign, token, server.body(campaign, [3]))
    line = server.client.get(f"/api/campaigns/{campaign}/claims.jsonl", headers=server.operator).json()
    assert (line["object"], line["value"], line["noise_law"]) == ("hall-0", 0.3, "fresh:0.5")
    assert len(line["user"]) == 16


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
    server.clock.pass_time(days=2)
    server.tick()
    assert server.rows("readings") == 3
    assert server.status(campaign)["erased_at"] is not None
    assert server.results(campaign) == before
    answer = server.client.get(f"/api/campaigns/{campaign}/claims.csv", headers=server.operator)
    assert (answer.status_code, answer.json()["code"]) == (410, "erased")
    # The id still tells that the report came in, once; what it said can no longer be compared.
    assert server.report(campaign, token, body).json()["code"] == "erased"
    assert server.rows("reports") == 7
    answer = server.client.patch(f"/api/campaigns/{campaign}", json={"method": "mean"}, headers=server.operator)
    assert answer.json()["code"] == "erased"
