"""What the truth of a number is: a measurement, or the crowd's average opinion. The operator says which."""

import statistics

import pytest

import sottovoce as sv
from console_client import Console
from sottovoce.discovery import NoiseAware

SQLITE = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
# Most people like it, and some hate it: an average opinion of 70, and a "measured value" near 90.
OPINIONS = [900, 905, 895, 910, 890, 900, 902, 898, 100, 105, 95, 901]


def rated(server, **changes):
    campaign = server.opened(halls=3, noise="gaussian:1", **changes)
    tokens = server.participants(campaign, len(OPINIONS))
    turned = [[OPINIONS[(n + shift) % len(OPINIONS)] for shift in (0, 3, 7)] for n in range(len(OPINIONS))]
    server.report_all(campaign, tokens, turned)
    server.recompute()
    return campaign


def truths(server, campaign):
    return [row["truth"] for row in server.results(campaign)["results"]]


def test_results_are_those_of_the_target(server, tmp_path):
    measured, opinion = rated(server), rated(server, target="mean")
    assert server.results(measured)["target"] == "value"
    assert server.results(opinion)["target"] == "mean"
    mean = statistics.mean(OPINIONS) / 10
    assert truths(server, opinion) == pytest.approx([mean] * 3, abs=5)
    assert all(abs(truth - mean) > 10 for truth in truths(server, measured))
    exported = server.client.get(f"/api/campaigns/{opinion}/claims.parquet", headers=server.operator)
    (tmp_path / "claims.parquet").write_bytes(exported.content)
    expected = NoiseAware(noise="gaussian:1", target="mean").fit(sv.Claims.read(tmp_path / "claims.parquet"))
    assert truths(server, opinion) == pytest.approx(expected.truths_.tolist(), abs=0.5)  # two digits are shown


@SQLITE
def test_the_target_can_be_changed_at_any_time_and_is_no_part_of_the_manifest(server):
    campaign = rated(server)
    address = f"/api/campaigns/{campaign}"
    before, manifest = truths(server, campaign), server.client.get(f"{address}/manifest").content
    changed = server.client.patch(address, json={"target": "mean"}, headers=server.operator).json()
    assert changed["target"] == "mean"
    server.recompute()
    assert (server.results(campaign)["target"], server.results(campaign)["version"]) == ("mean", 3)
    assert truths(server, campaign) != before
    assert server.client.get(f"{address}/manifest").content == manifest
    assert b"target" not in manifest
    version = server.client.post(f"{address}/versions", headers=server.operator).json()
    assert version["target"] == "mean"
    # What the method takes by itself is this, so there is nothing new to say.
    for again in ("value", None):
        server.client.patch(address, json={"target": again}, headers=server.operator)
        server.recompute()
        assert (truths(server, campaign), server.results(campaign)["version"]) == (before, 4)


@SQLITE
def test_methods_without_a_target_have_none(server):
    campaign = rated(server, target="mean", method="median")
    assert server.results(campaign)["target"] is None


@SQLITE
def test_an_unknown_target_is_refused(server):
    answer = server.client.patch(f"/api/campaigns/{server.create()}", json={"target": "mode"}, headers=server.operator)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_request")
    assert "'value' or 'mean'" in answer.json()["detail"]


@SQLITE
def test_the_wizard_asks_in_plain_words(server):
    console = Console(server)
    asked = console.get("/campaigns/new").text
    assert "If two people give different numbers, why?" in asked
    campaign = console.create(target="mean")
    assert server.status(campaign)["target"] == "mean"
    assert 'value="mean" checked' in console.get(f"/campaigns/{campaign}/tasks").text
    row = {"title-0": "Hallway", "unit-0": "m", "low-0": "0", "high-0": "100", "grid-0": "0.1"}
    console.post(f"/campaigns/{campaign}/tasks", title="How long?", asked_by="Facility", **row, target="value")
    assert server.status(campaign)["target"] == "value"
    mistaken = console.post("/campaigns/new", title="", target="mean")
    assert (mistaken.status_code, 'value="mean" checked' in mistaken.text) == (422, True)


@SQLITE
def test_the_console_changes_the_target_of_an_open_campaign(server):
    campaign, console = rated(server), Console(server)
    assert "a measured value" in console.get(f"/campaigns/{campaign}").text
    console.post(f"/campaigns/{campaign}/method", method="noise-aware", target="mean")
    server.recompute()
    assert server.results(campaign)["target"] == "mean"
    assert "the average opinion of the crowd" in server.client.get(f"/c/{campaign}").text
