"""A simulated crowd with real devices: against a real server, and against one that makes trouble."""

import json

import numpy as np
import pytest

import sottovoce as sv
from campaign_server import campaign_server
from hallways import manifest
from sottovoce.lab.crowd import send_all


@pytest.mark.slow
def test_crowd_takes_part_and_results_are_near_the_truth(campaigns, tmp_path):
    options = ("--world", "synthetic", "--participants", 40, "--objects", 6, "--error-rate", 20, "--noise", "fresh:0.5")
    options += ("--over", 0)
    ran = campaigns.run("simulate", tmp_path / "crowd", "--url", campaigns.url, *options, "--json")
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert (summary["participants"], summary["reports"], summary["readings"], summary["refused"]) == (40, 40, 240, {})
    assert summary["guarantee"]["epsilon"] == pytest.approx(1, abs=1e-3)
    claims = sv.Claims.read(tmp_path / "crowd/claims.csv")
    # On a slow machine a step may be taken before all have sent; up to four who come after it are then left out.
    assert 36 <= claims.n_users <= 40
    assert (len(claims), claims.n_objects, claims.noise) == (6 * claims.n_users, 6, "fresh:0.5")
    # The mean of 40 claims has a deviation of √(2.05/40) = 0.23; the mean of six such errors is below that, and has
    # itself a deviation below 0.23·0.61/√6 = 0.06.
    errors = {row["method"]: row["after"] for row in summary["errors"]}
    assert set(errors) == {"NoiseAware", "CRH", "Mean", "Median"}
    assert errors["Mean"] < 0.23 + 5 * 0.06
    assert errors["NoiseAware"] < 0.23 + 5 * 0.06
    # and noise was really added: Laplace of scale 1 moves a claim by 1 on average, 240 of them by 1 ± 0.065.
    truth = dict(zip(*np.loadtxt(tmp_path / "crowd/truth.csv", delimiter=",", skiprows=1).T, strict=True))
    moved = np.abs(claims.values - np.array([truth[float(label)] for label in claims.object_labels])[claims.objects])
    assert 1 - 5 * 0.065 < moved.mean() < 1.1 + 5 * 0.065


@pytest.mark.slow
def test_reports_that_trickle_in_give_the_same_truths_as_discover(campaigns, tmp_path):
    """Twelve people over 9 s: the server computes whenever two seconds pass without a report."""
    options = ("--world", "synthetic", "--participants", 12, "--objects", 3, "--seed", 3, "--over", 9)
    ran = campaigns.run("simulate", tmp_path / "crowd", "--url", campaigns.url, *options, "--json")
    assert ran.returncode == 0, ran.stderr
    simulated = json.loads(ran.stdout)
    assert simulated["as_from_scratch"]
    assert simulated["seconds"] > 5
    found = campaigns.run("discover", tmp_path / "crowd/claims.csv", "--json")
    truths = json.loads(found.stdout)["truths"]
    shown = campaigns("results", simulated["campaign"])
    assert shown["converged"]
    for entry in shown["results"]:
        expected = truths[entry["task"]]
        rounding = 0.03 * (expected["high"] - expected["low"])  # of what is published: 0.025 of the width at most
        assert [entry[name] for name in ("truth", "low", "high")] == pytest.approx(
            [expected[name] for name in ("truth", "low", "high")], abs=rounding
        )


def test_people_come_in_an_order_that_follows_from_the_seed(monkeypatch):
    orders = []

    def come(link, readings, path, connect):
        orders[-1].append(readings["hall-1"])
        return None, 0

    monkeypatch.setattr("sottovoce.lab.crowd._take_part", come)
    with campaign_server(manifest()) as server:
        links = [str(server.invite()) for _ in range(20)]
    for seed in (1, 1, 2):
        orders.append([])
        send_all([{"hall-1": str(n)} for n in range(20)], links, at_once=1, over=0.05, seed=seed)
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(map(str, range(20))) != orders[0]


def test_people_see_what_was_sent_promised_and_found(campaigns):
    options = ("--world", "synthetic", "--participants", 6, "--objects", 2, "--fill", 0.9, "--seed", 1, "--over", 0)
    ran = campaigns.run("simulate", "--url", campaigns.url, *options)
    assert ran.returncode == 0, ran.stderr
    printed = " ".join(ran.stdout.split())
    assert "6 of 6 participants delivered" in printed
    assert "What was promised: Whoever sees everything that your device sends" in printed
    assert "NoiseAware, from the server" in printed


def test_devices_refuse_a_promise_below_their_limits(campaigns):
    options = (
        "--world",
        "synthetic",
        "--participants",
        5,
        "--objects",
        2,
        "--noise",
        "fresh:50",
        "--over",
        0,
    )  # ε = 10
    ran = campaigns.run("simulate", "--url", campaigns.url, *options)
    assert ran.returncode == 2
    assert "epsilon 10" in ran.stderr
    assert "your limit is 3" in ran.stderr


def test_folder_or_server_must_be_given(campaigns):
    ran = campaigns.run("simulate")
    assert ran.returncode == 2
    assert "name one to write to, for example sottovoce simulate crowd" in ran.stderr
    ran = campaigns.run("simulate", "--world", "moon", "--url", campaigns.url)
    assert (ran.returncode, "choose synthetic, floorplan or careful" in ran.stderr) == (2, True)


@pytest.mark.slow
def test_retries_and_refusals_are_counted():
    with campaign_server(manifest()) as server:
        links = [str(server.invite()) for _ in range(4)]
        links[3] = links[3].replace("#sha256=", "#sha256=" + "0" * 8)[: len(links[3])]  # promises another manifest
        server.trouble("/reports", 503, times=2)
        server.trouble("/enrolments", "lost")
        done = []
        sent = send_all([{"hall-1": "5"}] * 4, links, at_once=2, progress=lambda *count: done.append(count))
        assert (sent.participants, sent.reports, sent.readings, sent.retries) == (4, 3, 3, 3)
        assert sent.refused == {"manifest_mismatch": 1}
        assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
        assert len(server.reports) == 3
