"""What no client should send: a clear problem, and nothing stored."""

import json
import threading

import pytest

from sottovoce.server.fast.wire import read_submission
from sottovoce.server.routes import reports

DEEP = b'{"report_id":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.fixture
def send(server):
    campaign = server.opened()
    token = server.participants(campaign, 1)[0]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    good = json.dumps(server.body(campaign, [1, 2, 3]))

    def send(content, **other):
        return server.client.post(f"/api/campaigns/{campaign}/reports", content=content, headers=headers | other)

    send.good, send.server, send.campaign, send.headers = good, server, campaign, headers
    return send


def test_hostile_reports_store_nothing(send):
    good = send.good
    first = '{"task": "hall-0", "value": 1}'
    assert first in good
    cases = [
        (b"", 400, "bad_json"),
        (b"{", 400, "bad_json"),
        (b"\xff\xfe", 400, "bad_json"),
        (b"[]", 422, "bad_report"),
        (b"null", 422, "bad_report"),
        (good.replace('"value": 1}', '"value": 1.5}'), 422, "float_in_report"),
        (good.replace('"value": 1}', '"value": 1.0}'), 422, "float_in_report"),
        (good.replace('"value": 1}', '"value": 1e2}'), 422, "float_in_report"),
        (good.replace('"value": 1}', '"value": NaN}'), 400, "bad_json"),
        (good.replace('"value": 1}', '"value": -Infinity}'), 400, "bad_json"),
        (good.replace('"value": 1}', f'"value": {"9" * 400}}}'), 422, "number_too_large"),
        (good.replace('"value": 1}', f'"value": {2**63}}}'), 422, "number_too_large"),
        (good.replace('"value": 1}', '"value": "1"}'), 422, "bad_report"),
        (good.replace('"value": 1}', '"value": true}'), 422, "bad_report"),
        (good.replace('"value": 1}', '"value": null}'), 422, "bad_report"),
        (good.replace('"value": 1}', '"value": 1, "value": 2}'), 400, "bad_json"),
        (good.replace('"value": 1}', '"value": 1, "name": "me"}'), 422, "bad_report"),
        (good.replace("hall-0", "attic"), 422, "unknown_task"),
        (good.replace("hall-0", "\\ud800"), 400, "bad_json"),
        (good.replace("hall-0", "hall-0\\u0000"), 422, "unknown_task"),
        (good.replace("hall-1", "hall-0"), 422, "repeated_task"),
        (good.replace('"report_id": "', '"report_id": "x'), 422, "bad_report"),
        (DEEP, 400, "too_deep"),
    ]
    for content, status, code in cases:
        answer = send(content)
        assert (answer.status_code, answer.json()["code"]) == (status, code), content[:80]
        assert answer.headers["content-type"] == "application/problem+json"
    assert send(good, **{"Content-Type": "text/plain"}).json()["code"] == "unsupported_media_type"
    server = send.server
    assert (server.rows("reports"), server.rows("readings")) == (0, 0)
    assert send(good).status_code == 201


def test_large_bodies_are_not_read(send):
    for content in (b"x" * 30_000_000, (b"x" * 100_000 for _ in range(300))):  # with a length, and without
        answer = send(content)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert "262,144" in answer.json()["detail"]  # by the limit on reading, before any parser runs
    answer = send.server.client.post(
        "/api/campaigns", content=b"x" * 30_000_000, headers=send.server.operator | {"Content-Type": "application/json"}
    )
    assert answer.json()["code"] == "too_large"


@pytest.mark.slow
def test_permissions_are_checked_before_a_body_is_read(send):
    answer = send.server.client.post(
        "/api/campaigns", content=b"[" * 1_000_000, headers={"Content-Type": "application/json"}
    )
    assert answer.json()["code"] == "unauthorised"


def test_a_large_report_of_a_stranger_is_not_even_read(send, monkeypatch):
    read = []
    monkeypatch.setattr(reports, "read_submission", lambda campaign, token, content: read.append(len(content)))
    for content in (b"[" * 20_000, (b"[" * 1_000 for _ in range(20))):  # with a length, and without
        answer = send(content, Authorization="Bearer nobodys-token-0123456789")
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorised")
    other = send.server.opened(title="Another")
    answer = send.server.client.post(
        f"/api/campaigns/{other}/reports", content=b"[" * 20_000, headers=send.headers | {"Content-Length": "20000"}
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert read == []


def test_only_small_bodies_are_read_where_everybody_waits(send, monkeypatch):
    """Reading a quarter of a megabyte takes long enough for others to notice, unless it happens in a thread."""
    places = []

    def noted(campaign, token, content):
        places.append((len(content), threading.current_thread().name.startswith("reader")))
        return read_submission(campaign, token, content)

    monkeypatch.setattr(reports, "read_submission", noted)
    good = send.good.encode()
    assert send(good).status_code == 201
    large = good + b" " * 9_000
    assert send(large).status_code == 200  # the same report, with more space around it
    assert places == [(len(good), False), (len(large), True)]


@pytest.mark.slow
def test_many_tasks_are_opened_and_reported(send):
    """The largest report that the protocol allows, by each way of sending it."""
    campaign = send.server.opened(halls=5_000)
    (token,) = send.server.participants(campaign, 1)
    body = send.server.body(campaign, list(range(5_000)))
    answer = send.server.report(campaign, token, body)
    assert (answer.status_code, answer.json()["readings"]) == (201, 5_000)


def test_hostile_campaigns_store_nothing(send):
    good = {
        "title": "t", "tasks": [{"id": "a", "low": 0, "high": 9, "grid": 1}], "noise": "fresh:0.5", "distance": 1,
    }  # fmt: skip
    text = json.dumps(good)
    cases = [
        (text.replace('"distance": 1', '"distance": NaN'), 400, "bad_json"),
        (text.replace('"distance": 1', '"distance": 1e999'), 422, "bad_manifest"),
        (text.replace('"distance": 1', f'"distance": {"9" * 400}'), 422, "number_too_large"),
        (text.replace('"distance": 1', f'"distance": 0.{"9" * 400}'), 422, "bad_number"),
        (text.replace('"distance": 1', '"distance": 1, "distance": 2'), 400, "bad_json"),
        (text.replace('"distance": 1', '"distance": [1]'), 422, "bad_request"),
        (text.replace('"title": "t"', '"title": "\\u0000"'), 422, "bad_manifest"),
        (text.replace('"title": "t"', '"title": 1.5'), 422, "bad_request"),
        (b"[" * 1_000_000, 400, "too_deep"),
    ]
    headers = send.server.operator | {"Content-Type": "application/json"}
    before = send.server.rows("campaigns")
    for content, status, code in cases:
        answer = send.server.client.post("/api/campaigns", content=content, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (status, code), content[:200]
    assert send.server.rows("campaigns") == before
