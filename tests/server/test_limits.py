"""How often, how much: limits and the headers that come with every answer."""

import pytest
from starlette.testclient import TestClient

from sottovoce.server.limits import Buckets

whatever_the_database = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)


@pytest.mark.slow
@whatever_the_database
def test_three_hundred_people_behind_one_address_enrol_within_a_minute(start_local):
    server = start_local()
    campaign = server.opened()
    invitations = server.invite(campaign, 300)
    for invitation in invitations:  # what a device does before its first report
        assert server.client.post("/api/invitations/look-up", json={"invitation": invitation["token"]}).is_success
        assert server.client.get(f"/api/campaigns/{campaign}/manifest").is_success
        assert server.enrol(invitation["token"]).status_code == 201
    assert server.rows("participants") == 300


@whatever_the_database
def test_an_address_that_asks_too_often_has_to_wait(start_local):
    server = start_local(address_rate=10)
    answers = [server.client.get("/api/campaigns/none/results") for _ in range(12)]
    assert [answer.status_code for answer in answers] == [404] * 10 + [429] * 2
    assert answers[-1].json()["code"] == "rate_limited"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 7
    assert server.client.get("/healthz").status_code == 200  # monitoring is not counted


@whatever_the_database
def test_a_token_that_asks_too_often_has_to_wait(start_local):
    server = start_local(token_rate=5)
    codes = [server.client.get("/api/operators/me", headers=server.operator).status_code for _ in range(6)]
    assert codes == [200] * 5 + [429]
    assert server.client.get("/api/operators/me", headers={"Authorization": "Bearer other"}).status_code == 401


def test_buckets_fill_again():
    now = 0.0
    buckets = Buckets(60, lambda: now)
    assert [buckets.wait("a") for _ in range(60)] == [0.0] * 60
    assert buckets.wait("a") == 1.0
    assert buckets.wait("b") == 0.0
    now = 0.25
    assert buckets.wait("a") == 0.75
    now = 2.5
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    assert Buckets(0).wait("a") == 0.0


@whatever_the_database
def test_an_ipv6_subscriber_is_one_address_and_each_mapped_ipv4_address_is_its_own(start_local):
    """With ``--host ::`` every IPv4 address arrives as ::ffff:a.b.c.d, all of them in one /64."""
    app = start_local(address_rate=2).client.app

    def statuses(*addresses):
        return [TestClient(app, client=(address, 1)).get("/nowhere").status_code for address in addresses]

    assert statuses("::ffff:203.0.113.1", "203.0.113.1", "::ffff:203.0.113.1", "203.0.113.1") == [404, 404, 429, 429]
    assert statuses("::ffff:203.0.113.2", "::ffff:203.0.113.3", "203.0.113.4") == [404, 404, 404]
    assert statuses("2001:db8::1", "2001:db8::ffff:1", "2001:db8::2", "2001:db8:0:1::1") == [404, 404, 429, 404]


@whatever_the_database
def test_a_tokens_limit_does_not_depend_on_how_its_header_is_spelled(start_local):
    server = start_local(token_rate=3)
    token = server.operator["Authorization"].removeprefix("Bearer ")
    spellings = [f"Bearer {token}", f"bearer  {token}", f"BEARER {token} ", f"Bearer   {token}  ", f"bEARER {token}"]
    codes = [
        server.client.get("/api/operators/me", headers={"Authorization": spelled}).status_code for spelled in spellings
    ]
    assert codes == [200, 200, 200, 429, 429]


@whatever_the_database
def test_little_is_read_from_strangers(server):
    """Secrets have a few hundred characters, so there is no need to read more before somebody is known."""
    for path, kind in (
        ("/api/enrolments", "application/json"),
        ("/api/invitations/look-up", "application/json"),
        ("/sign-in", "application/x-www-form-urlencoded"),
    ):
        for content in (b"a" * 9_000, (b"a" * 1_000 for _ in range(9))):  # with a length, and without
            answer = server.client.post(path, content=content, headers={"Content-Type": kind})
            assert answer.status_code == 413
            assert "at most 8,192 bytes are accepted" in answer.text


@whatever_the_database
def test_every_answer_has_its_headers(server):
    campaign = server.opened()
    for path in ("/healthz", f"/api/campaigns/{campaign}/results", "/nowhere", "/api/campaigns"):
        answer = server.client.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "cache-control" in answer.headers
        assert len(answer.headers["x-request-id"]) >= 9
    assert "strict-transport-security" not in answer.headers


@whatever_the_database
def test_unknown_addresses_and_methods_are_problems(server):
    answer = server.client.get("/nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    answer = server.client.put("/api/campaigns", headers=server.operator)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert "POST" in answer.headers["allow"]
    answer = server.client.get("/api/campaigns/no spaces/results")
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_request")
