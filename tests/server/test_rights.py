"""Who may do what."""

import pytest

from server_under_test import TestClient
from sottovoce.protocol.tokens import token_hash
from sottovoce.server.app import create_app
from sottovoce.server.settings import Settings
from sottovoce.server.storage.tables import metadata


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def second(server):
    """Another operator, who is no administrator."""
    made = server.client.post("/api/operators", json={"name": "Second"}, headers=server.operator)
    assert made.status_code == 201
    return made.json()


def test_an_operator_does_not_see_the_campaigns_of_others(server, second):
    campaign = server.opened()
    other = bearer(second["token"])
    assert server.client.get("/api/campaigns", headers=other).json() == {"campaigns": []}
    address = f"/api/campaigns/{campaign}"
    invitation = server.invite(campaign)[0]["id"]
    for method, path in (
        ("GET", address), ("PATCH", address), ("DELETE", address), ("POST", f"{address}/open"),
        ("POST", f"{address}/close"), ("POST", f"{address}/versions"), ("POST", f"{address}/duplicate"),
        ("POST", f"{address}/invitations"),
        ("GET", f"{address}/invitations"), ("DELETE", f"{address}/invitations/{invitation}"),
        ("POST", f"{address}/invitations/{invitation}/rotate"), ("GET", f"{address}/claims.csv"),
        ("POST", f"{address}/reports/batch"),
    ):  # fmt: skip
        body = {"json": {}} if method in ("POST", "PATCH") else {}
        answer = server.client.request(method, path, headers=other, **body)
        assert answer.status_code == 404, (method, path, answer.text)


def test_routes_of_operators_need_an_operator(server):
    campaign = server.opened()
    participant = server.participants(campaign, 1)[0]
    paths = server.client.get("/api/openapi.json").json()["paths"]
    guarded = [
        (method, path)
        for path, methods in paths.items()
        for method, described in methods.items()
        if {"operator": []} in described.get("security", [])
    ]
    assert len(guarded) >= 18
    for method, path in guarded:
        path = path.format(campaign=campaign, invitation=1, operator=1, format="csv", version=1)
        for headers in ({}, bearer("nonsense"), bearer(participant), {"Authorization": "Basic b2s="}):
            answer = server.client.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorised"), (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"


def test_only_administrators_manage_operators(server, second):
    other = bearer(second["token"])
    assert server.client.get("/api/operators", headers=other).json()["code"] == "forbidden"
    assert server.client.post("/api/operators", json={"name": "x"}, headers=other).json()["code"] == "forbidden"
    assert server.client.delete("/api/operators/1", headers=other).json()["code"] == "forbidden"
    assert server.client.post("/api/operators/1/rotate", headers=other).json()["code"] == "forbidden"
    names = server.client.get("/api/operators", headers=server.operator).json()["operators"]
    assert [entry["name"] for entry in names] == ["operator", "Second"]
    assert "token" not in names[0]


def test_operators_are_revoked_and_rotated(server, second):
    address = f"/api/operators/{second['id']}"
    assert server.client.get("/api/operators/me", headers=bearer(second["token"])).json()["name"] == "Second"
    own = server.client.post(f"{address}/rotate", headers=bearer(second["token"])).json()["token"]
    assert server.client.get("/api/operators/me", headers=bearer(second["token"])).status_code == 401
    assert server.client.delete(address, headers=server.operator).status_code == 204
    assert server.client.get("/api/operators/me", headers=bearer(own)).status_code == 401
    new = server.client.post(f"{address}/rotate", headers=server.operator).json()["token"]
    assert server.client.get("/api/operators/me", headers=bearer(new)).status_code == 200


class Restarting:
    """A server that is started again and again on one database, with a token in its environment or none."""

    def __init__(self, database):
        self._database = database
        self.drawn = []

    def ask(self, token, method="GET", path="/api/operators/me", *, started_with):
        settings = Settings(database=self._database, operator_token=started_with)
        app = create_app(settings, background=False, show_token=self.drawn.append)
        with TestClient(app) as client:
            return client.request(method, path, headers=bearer(token))


@pytest.fixture
def restarting(server_database):
    return Restarting(server_database)


FIRST, ANOTHER = "first-token-0123456789abcdef", "another-token-0123456789abcdef"


def test_a_token_that_was_replaced_stays_void_after_a_restart(restarting, caplog):
    new = restarting.ask(FIRST, "POST", "/api/operators/1/rotate", started_with=FIRST).json()["token"]
    assert "stays invalid" not in caplog.text
    assert restarting.ask(FIRST, started_with=FIRST).status_code == 401
    assert "SOTTOVOCE_OPERATOR_TOKEN was replaced or revoked and stays invalid" in caplog.text
    assert FIRST not in caplog.text
    assert restarting.ask(new, started_with=FIRST).status_code == 200
    # Replaced twice, the first one is still remembered.
    newest = restarting.ask(new, "POST", "/api/operators/1/rotate", started_with=FIRST).json()["token"]
    assert restarting.ask(FIRST, started_with=FIRST).status_code == 401
    assert restarting.ask(new, started_with=new).status_code == 401
    assert restarting.ask(newest, started_with=FIRST).status_code == 200
    assert restarting.drawn == []


def test_a_token_that_was_revoked_stays_void_even_if_its_operator_gets_a_new_one(restarting):
    assert restarting.ask(ANOTHER, started_with=FIRST).status_code == 401
    assert restarting.ask(ANOTHER, "DELETE", "/api/operators/1", started_with=ANOTHER).status_code == 204
    assert restarting.ask(FIRST, started_with=FIRST).status_code == 401
    assert restarting.ask(ANOTHER, "POST", "/api/operators/1/rotate", started_with=None).status_code == 200
    assert restarting.ask(FIRST, started_with=FIRST).status_code == 401


def test_an_operator_who_lost_all_tokens_gets_in_with_one_from_the_environment(restarting):
    restarting.ask(FIRST, "POST", "/api/operators/1/rotate", started_with=FIRST)
    me = restarting.ask(ANOTHER, started_with=ANOTHER).json()
    assert (me["id"], me["administrator"]) == (2, True)
    assert restarting.ask(ANOTHER, started_with=ANOTHER).json()["id"] == 2  # and is added once


def test_the_last_administrator_stays(server):
    assert server.client.delete("/api/operators/1", headers=server.operator).json()["code"] == "wrong_state"
    assert server.client.delete("/api/operators/77", headers=server.operator).status_code == 404


def test_a_participants_token_is_for_one_campaign(server):
    first, second = server.opened(), server.opened()
    token = server.participants(first, 1)[0]
    answer = server.report(second, token, server.body(second, [1]))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    answer = server.client.delete(f"/api/campaigns/{second}/participation", headers=bearer(token))
    assert answer.status_code == 403
    for headers in ({}, bearer("nonsense"), server.operator):
        body = server.body(first, [1])
        answer = server.client.post(f"/api/campaigns/{first}/reports", json=body, headers=headers)
        assert answer.status_code == 401
        assert server.client.delete(f"/api/campaigns/{first}/participation", headers=headers).status_code == 401
    assert server.rows("reports") == 0


def test_only_hashes_of_tokens_are_stored(server):
    campaign = server.opened()
    invitation = server.invite(campaign)[0]["token"]
    key = "enrolment-key-0123456789abcdef"
    participant = server.enrol(invitation, key).json()["participant_token"]
    secrets = [invitation, key, participant, server.operator["Authorization"].split()[1]]
    stored = []
    with server.state.engine.connect() as connection:
        for table in metadata.sorted_tables:
            stored += [str(entry) for row in connection.execute(table.select()) for entry in row]
    assert not [secret for secret in secrets if any(secret in entry for entry in stored)]
    assert token_hash(participant) in stored
    # Nothing that an invitation keeps is also kept about the participant it became.
    with server.state.engine.connect() as connection:
        spent = connection.exec_driver_sql("SELECT token_hash, spent_by FROM invitations").one()
        became = connection.exec_driver_sql("SELECT token_hash, label FROM participants").one()
    assert not set(spent) & set(became)
