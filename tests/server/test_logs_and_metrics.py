"""What the server reports about itself, and what it never reports."""

import functools
import importlib
import inspect
import json
import logging
import pkgutil
import re

import pytest

import sottovoce.server
from sottovoce.server.logs import JsonLines, shortened

whatever_the_database = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)


def test_figures_are_counted_by_route_and_not_by_address(server):
    campaign = server.opened()
    for token in server.participants(campaign, 3):
        server.report(campaign, token, server.body(campaign, [100]))
    server.crowd(campaign, 2)  # as a gateway sends them
    server.client.get(f"/api/campaigns/{campaign}/results")
    server.client.get("/j/some-secret-invitation-token")
    figures = server.client.get("/metrics").text
    counted = 'sottovoce_requests_total{method="POST",route="/api/campaigns/{campaign}/reports",status="201"} 3.0'
    assert counted in figures
    assert 'sottovoce_reports_total{verdict="stored"} 5.0' in figures
    assert "sottovoce_queue_depth 0.0" in figures
    assert campaign not in figures
    assert "some-secret" not in figures


@pytest.mark.slow
@whatever_the_database
def test_names_that_strangers_invent_are_not_kept(server, caplog):
    """Neither figures nor logs nor caches grow with unknown names and methods."""
    known = len(list(server.state.metrics.registry.collect()))
    with caplog.at_level(logging.DEBUG, logger="sottovoce"):
        for n in range(40):
            server.client.request(f"INVENTED{n}", "/api/campaigns")
            server.client.get(f"/console/invented-{n}.js")
    assert len(list(server.state.metrics.registry.collect())) == known
    figures = server.client.get("/metrics").text
    assert 'method="other",route="/api/campaigns",status="405"} 40.0' in figures
    assert "nvented" not in figures.lower()
    assert not any("INVENTED" in JsonLines().format(record) for record in caplog.records)


def test_no_cache_grows_with_what_it_is_asked():
    """A cache without a limit is for functions that nobody can ask many different things."""
    few = {"sottovoce.server.fast.bulk._unnest", "sottovoce.server.fast.bulk._values"}  # by table and columns
    unlimited = set()
    for part in pkgutil.walk_packages(sottovoce.server.__path__, "sottovoce.server."):
        for entry in vars(importlib.import_module(part.name)).values():
            endless = isinstance(entry, functools._lru_cache_wrapper) and entry.cache_parameters()["maxsize"] is None
            if endless and inspect.signature(entry).parameters:
                unlimited.add(f"{entry.__module__}.{entry.__name__}")
    assert unlimited <= few


@whatever_the_database
def test_metrics_can_be_turned_off(start_local):
    assert start_local(metrics=False).client.get("/metrics").status_code == 404


def test_ready_means_reachable_and_up_to_date(server):
    assert server.client.get("/readyz").status_code == 200
    with server.state.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    answer = server.client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert server.client.get("/healthz").status_code == 200


@whatever_the_database
def test_a_failure_nobody_expected_is_a_problem_without_details(server, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("the secret is 42424242")

    monkeypatch.setattr("sottovoce.server.routes.operators.list_operators", fail)
    with caplog.at_level(logging.INFO):
        answer = server.client.get("/api/operators", headers=server.operator)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "42424242" not in answer.text
    record = next(record for record in caplog.records if record.message == "request failed")
    line = json.loads(JsonLines().format(record))
    assert line["exception"] == "RuntimeError"
    assert any("fail" in place for place in line["place"])
    assert "42424242" not in json.dumps(line)
    assert line["request"] == answer.headers["x-request-id"]


def test_addresses_are_shortened():
    assert shortened("203.0.113.77") == "203.0.113.0/24"
    assert shortened("::ffff:203.0.113.77") == "203.0.113.0/24"
    assert shortened("2001:db8:1:2::3") == "2001:db8:1::/48"
    assert shortened("testclient") == "unknown"


@pytest.mark.slow
def test_nothing_secret_is_logged(running_server):
    """A whole campaign at the most verbose level, with mistakes of all kinds; then a search through all the logs."""
    server = running_server("--log-level", "debug")
    campaign = server.opened()
    invitations = server.invite(campaign, 3, qr=True)
    keys = [f"enrolment-key-{n}-0123456789abcdef" for n in range(3)]
    tokens = [
        server.enrol(entry["token"], key).json()["participant_token"]
        for entry, key in zip(invitations, keys, strict=True)
    ]
    values = [918_273_001, 918_273_002, 918_273_003]
    bodies = [server.body(campaign, values) for _ in tokens]
    for token, body in zip(tokens, bodies, strict=True):
        assert server.report(campaign, token, body).status_code == 201
    server.report(campaign, tokens[0], bodies[0] | {"readings": [{"task": "hall-0", "value": 918_273_004}]})
    server.report(campaign, tokens[0], server.body(campaign, {"hall-0": 918_273_005}))
    server.report(campaign, tokens[1], bodies[1] | {"readings": [{"task": "hall-0", "value": 918_273_006.5}]})
    server.report(campaign, "wrong-token-0123456789", bodies[1])
    server.client.get(f"/j/{invitations[0]['token']}")
    server.client.get(f"/api/campaigns/{campaign}/claims.csv", headers=server.operator)
    server.client.delete(f"/api/campaigns/{campaign}/participation", headers={"Authorization": f"Bearer {tokens[2]}"})
    assert server.stop()[0] == 0
    lines = [json.loads(line) for line in server.log.splitlines()]
    requests = [line for line in lines if line["message"] == "request"]
    assert len(requests) > 15
    assert {line["from"] for line in requests} == {"127.0.0.0/24"}
    secrets = [*keys, *tokens, *(entry["token"] for entry in invitations), server.operator["Authorization"][7:]]
    secrets += ["918273", "91827300", "wrong-token-0123456789", "127.0.0.1"]
    assert not [secret for secret in secrets if secret in server.log]
    assert not re.search(r"[A-Za-z0-9_-]{40,}", server.log)
