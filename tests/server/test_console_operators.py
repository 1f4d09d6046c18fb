"""Operators managed in the console: who may do what, that a token is shown once, and that nobody is locked out."""

import re

import pytest

from console_client import Console
from server_under_test import OPERATOR_TOKEN, bearer
from sottovoce.protocol.tokens import token_hash
from sottovoce.server.storage.tables import metadata


def shown_token(page):
    found = re.findall(r"data-copy>([^<]+)</code>", page.text)
    assert len(found) == 1, page.text
    return found[0]


def listed(server, token=OPERATOR_TOKEN):
    return server.client.get("/api/operators", headers=bearer(token)).json()["operators"]


def works(server, token):
    return server.client.get("/api/campaigns", headers=bearer(token)).status_code == 200


def test_a_new_operator_gets_a_token_that_is_shown_once_and_stored_as_its_hash(server, console):
    answer = console.post("/operators", name="Ada <Lovelace>")
    token = shown_token(answer)
    assert "Ada &lt;Lovelace&gt;" in answer.text
    assert "Ada <Lovelace>" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert token not in console.get("/operators").text
    with server.state.engine.connect() as connection:
        stored = [
            str(entry)
            for table in metadata.sorted_tables
            for row in connection.execute(table.select())
            for entry in row
        ]
    assert token_hash(token) in stored
    assert not any(token in entry for entry in stored)
    assert works(server, token)
    assert [(entry["name"], entry["administrator"]) for entry in listed(server)] == [
        ("operator", True), ("Ada <Lovelace>", False),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\x00b", "a\nb"])
def test_a_bad_name_adds_nobody(server, console, name):
    for path in ("/operators", "/operators/1/name"):
        answer = console.post(path, name=name)
        assert answer.status_code == 422
        assert "name" in answer.text
        assert 'role="alert"' in answer.text
    assert [entry["name"] for entry in listed(server)] == ["operator"]


def test_an_operator_who_replaces_their_own_token_stays_signed_in_only_here(server, console):
    elsewhere = Console(server)
    answer = console.post("/operators/1/renew")
    token = shown_token(answer)
    assert not works(server, OPERATOR_TOKEN)
    assert works(server, token)
    assert elsewhere.get("/").status_code == 303
    assert console.get("/").status_code == 303  # the old cookie
    console.cookies["session"] = re.search(r"session=([^;]+)", answer.headers["set-cookie"])[1]
    server.client.cookies.clear()
    page = console.get("/operators")
    assert page.status_code == 200
    # The forms of the response itself belong to the new session.
    assert re.search(r'name="form_token" value="(\w+)"', answer.text)[1] == console.form_token()


def test_a_revoked_operator_is_out_until_they_get_a_new_token(server, console):
    first = shown_token(console.post("/operators", name="Ada"))
    ada = Console(server, first)
    assert console.post("/operators/2/revoke").headers["location"] == "/operators"
    assert ada.get("/").status_code == 303
    assert not works(server, first)
    assert "Give access again" in console.get("/operators").text
    second = shown_token(console.post("/operators/2/renew"))
    assert works(server, second)
    assert not works(server, first)


def test_the_last_administrator_cannot_be_revoked_but_one_of_two_can(server, console):
    console.post("/operators", name="Ada")  # no administrator
    assert 'action="/operators/1/revoke"' not in console.get("/operators").text
    answer = console.post("/operators/1/revoke")
    assert answer.status_code == 409
    assert "the last administrator cannot be revoked" in answer.text
    assert works(server, OPERATOR_TOKEN)
    token = shown_token(console.post("/operators", name="Grace", administrator="yes"))
    answer = console.post("/operators/1/revoke")  # oneself
    assert answer.headers["location"] == "/sign-in"
    assert console.get("/").status_code == 303
    assert works(server, token)


def test_others_see_and_change_only_themselves(server, console):
    token = shown_token(console.post("/operators", name="Ada"))
    console.post("/operators", name="Grace")
    ada = Console(server, token)
    page = ada.get("/operators").text
    assert "Ada" in page
    assert "Grace" not in page
    assert "Add an operator" not in page
    for path in ("/operators", "/operators/1/name", "/operators/3/renew", "/operators/2/revoke", "/operators/1/revoke"):
        assert ada.post(path, name="Mine", administrator="yes").status_code == 403, path
    assert ada.post("/operators/2/name", name="Ada Lovelace").status_code == 303
    assert [entry["name"] for entry in listed(server)] == ["operator", "Ada Lovelace", "Grace"]
    assert works(server, shown_token(ada.post("/operators/2/renew")))


def test_operators_are_renamed_over_the_api(server, console):
    token = shown_token(console.post("/operators", name="Ada"))

    def rename(number, token, body=None):
        return server.client.patch(f"/api/operators/{number}", json=body or {"name": "New"}, headers=bearer(token))

    assert rename(2, token).json()["name"] == "New"
    assert rename(1, token).status_code == 403
    assert rename(2, OPERATOR_TOKEN, {"name": "Newer"}).json()["name"] == "Newer"
    assert rename(9, OPERATOR_TOKEN).status_code == 404
    assert rename(2, OPERATOR_TOKEN, {"name": "x", "administrator": True}).status_code == 422


def test_an_operator_that_does_not_exist_has_no_page(console):
    for path in ("/operators/99/revoke", "/operators/99/renew", "/operators/99/name", "/operators/0/revoke"):
        assert console.post(path, name="x").status_code == 404, path
