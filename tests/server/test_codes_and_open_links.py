"""Invitations of the other kinds: short codes that people type, and open links for several people."""

import re

import pytest
from sqlalchemy import select

from console_client import Console
from server_under_test import TestClient
from sottovoce.protocol.links import why_out_of_reach
from sottovoce.server.codes import ALPHABET, LENGTH, code_token, new_code, plain_code
from sottovoce.server.storage.tables import invitations, participants

DAY = 24 * 3600


def ask(server, campaign, **body):
    return server.client.post(f"/api/campaigns/{campaign}/invitations", json=body, headers=server.operator)


def exchange(server, code):
    return server.client.post("/api/codes", json={"code": code})


def look_up(server, token):
    return server.client.post("/api/invitations/look-up", json={"invitation": token})


def test_a_code_is_typed_and_admits_one_person(server):
    campaign = server.opened()
    first, second = ask(server, campaign, kind="code", count=2).json()["invitations"]
    assert re.fullmatch(r"[2-9A-HJ-NP-Z]{3}(-[2-9A-HJ-NP-Z]{3}){2}", first["code"])
    assert first["code"] != second["code"]
    for typed in (first["code"], first["code"].lower(), first["code"].replace("-", ""), f" {first['code']} "):
        answer = exchange(server, typed)
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"invitation": first["token"]}
    assert look_up(server, first["token"]).json()["campaign_id"] == campaign
    assert server.enrol(first["token"], "k" * 22).status_code == 201
    again = server.enrol(first["token"], "k" * 22)
    assert again.status_code == 201
    assert server.enrol(first["token"], "j" * 22).json()["code"] == "invitation_spent"
    assert server.rows("participants") == 1


def test_nothing_stored_leads_from_the_database_to_a_code(server):
    """Two databases derive different tokens from one code, and the stored hash is that of the token."""
    campaign = server.opened()
    (made,) = ask(server, campaign, kind="code").json()["invitations"]
    with server.state.engine.connect() as connection:
        stored = " ".join(str(entry) for row in connection.execute(select(invitations)) for entry in row)
    assert made["code"] not in stored
    assert made["token"] not in stored
    assert code_token(made["code"], b"one") != code_token(made["code"], b"another")
    assert len(ALPHABET) ** LENGTH >= 2**45


def test_a_code_expires(server, clock):
    campaign = server.opened()
    usual, short = (ask(server, campaign, kind="code", **more).json()["invitations"][0] for more in ({}, {"days": 1}))
    clock.pass_time(days=1)
    assert look_up(server, short["token"]).json()["code"] == "invitation_expired"
    refused = server.enrol(short["token"], "k" * 22)
    assert (refused.status_code, refused.json()["code"]) == (410, "invitation_expired")
    assert server.enrol(usual["token"], "k" * 22).status_code == 201
    clock.pass_time(days=13)
    assert server.enrol(usual["token"], "k" * 22).status_code == 201  # a lost response is repeated at any time
    assert look_up(server, short["token"]).status_code == 410


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_invalid_codes_are_refused(server):
    assert exchange(server, new_code()).json()["code"] == "code_unknown"  # before there was any
    campaign = server.opened()
    (link,) = server.invite(campaign)
    ask(server, campaign, kind="code")
    for typed in ("", "x", "0" * 9, "A" * 9, "A" * 41, link["token"][:9], "ABC-DEF-GH?", "ＡＢＣＤＥＦＧＨＪ"):
        answer = exchange(server, typed)
        assert answer.status_code in (404, 422), typed
        assert answer.json()["code"] in ("code_unknown", "bad_request"), typed
    with pytest.raises(ValueError, match="9 letters"):
        plain_code("ABC")


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_guessing_is_slowed_down(start_local):
    server = start_local(code_rate=3)
    answers = [exchange(server, "ABC-DEF-GHJ") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [404, 404, 404, 429, 429]
    assert int(answers[-1].headers["retry-after"]) > 0
    assert server.client.get("/healthz").status_code == 200


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_guessing_from_many_addresses_is_slowed_down_as_well(start_local):
    """Ten addresses may use up their rate at the same time; whoever has more of them gains nothing."""
    app = start_local(code_rate=1).client.app
    statuses = [
        TestClient(app, client=(f"203.0.113.{place}", 1)).post("/api/codes", json={"code": "ABC-DEF-GHJ"}).status_code
        for place in range(12)
    ]
    assert statuses == [404] * 10 + [429] * 2


def test_an_open_link_admits_as_many_as_it_says(server):
    campaign = server.opened()
    (link,) = ask(server, campaign, kind="open", people=7).json()["invitations"]
    tokens = set()
    for person in range(7):
        answer = server.enrol(link["token"], f"key-{person:0>20}")
        assert answer.status_code == 201
        tokens.add(answer.json()["participant_token"])
        assert server.enrol(link["token"], f"key-{person:0>20}").json() == answer.json()  # repeated, and counted once
    assert len(tokens) == 7
    refused = server.enrol(link["token"], "another-key-000000000000")
    assert (refused.status_code, refused.json()["code"]) == (409, "invitation_full")
    assert server.enrol(link["token"]).json()["code"] == "invitation_full"
    assert server.rows("participants") == 7
    server.tick()
    assert look_up(server, link["token"]).json()["code"] == "invitation_full"
    assert server.status(campaign)["counts"]["participants"] == 7


def test_who_joined_by_an_open_link_is_shown_in_steps(server):
    campaign = server.opened()
    (link,) = ask(server, campaign, kind="open", people=100).json()["invitations"]
    (single,) = server.invite(campaign)

    def listed():
        path = f"/api/campaigns/{campaign}/invitations"
        return [one["joined"] for one in server.client.get(path, headers=server.operator).json()["invitations"]]

    for person in range(4):
        server.enrol(link["token"], f"key-{person:0>20}")
        server.tick()
    assert listed() == [0, 0]
    assert server.status(campaign)["counts"]["participants"] == 0
    server.enrol(single["token"], "k" * 22)  # the fifth, by another link
    server.tick()
    assert listed() == [4, 1]
    assert server.status(campaign)["counts"]["participants"] == 5


def test_a_revoked_open_link_admits_nobody_else(server):
    campaign = server.opened()
    (link,) = ask(server, campaign, kind="open", people=9).json()["invitations"]
    first = server.enrol(link["token"], "k" * 22).json()
    path = f"/api/campaigns/{campaign}/invitations/{link['id']}"
    assert server.client.delete(path, headers=server.operator).status_code == 204
    assert server.enrol(link["token"], "j" * 22).json()["code"] == "invitation_revoked"
    assert server.enrol(link["token"], "k" * 22).json() == first
    assert server.client.post(f"{path}/rotate", headers=server.operator).status_code == 422


@pytest.mark.alike
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "body",
    [
        {"kind": "open"}, {"kind": "open", "people": 0}, {"kind": "open", "people": 10**6},
        {"kind": "open", "people": 5, "count": 2}, {"kind": "link", "people": 5}, {"kind": "link", "days": 3},
        {"kind": "code", "count": 101}, {"kind": "code", "days": 0}, {"kind": "code", "days": 366}, {"kind": "other"},
    ],
)  # fmt: skip
def test_what_does_not_belong_to_a_kind_is_refused(server, body):
    campaign = server.opened()
    assert ask(server, campaign, **body).status_code == 422
    assert server.rows("invitations") == 0


def test_no_column_links_a_participant_to_an_open_link(server):
    campaign = server.opened()
    (link,) = ask(server, campaign, kind="open", people=3).json()["invitations"]
    token = server.enrol(link["token"], "k" * 22).json()["participant_token"]
    with server.state.engine.connect() as connection:
        marks = [*connection.exec_driver_sql("SELECT mark FROM joinings").scalars()]
        people = {str(entry) for row in connection.execute(select(participants)) for entry in row}
    assert len(marks) == 1
    assert not people & set(marks)
    assert token not in people


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_the_console_makes_all_kinds(server):
    console = Console(server)
    campaign = server.opened()
    path = f"/campaigns/{campaign}/invitations"
    page = console.get(path).text
    assert 'target="_blank"' in page
    assert "http://testserver" in page  # out of reach: not encrypted
    assert "not encrypted" in page
    sheet = console.post(path, kind="code", count="3").text
    codes = re.findall(r'class="short-code">([^<]+)<', sheet)
    assert len(codes) == 3
    assert all(f",{code},http://testserver/j/" in sheet for code in codes)
    assert all(exchange(server, code).status_code == 200 for code in codes)
    poster = console.post(path, kind="open", people="40", kiosk="yes").text
    assert "for 40 people" in poster
    assert "for one person" in console.post(path, kind="open", people="1", kiosk="yes").text
    assert poster.count("&amp;kiosk") == 3  # in the table, the address and its text
    assert "number,link" in console.post(path, count="2").text
    listed = console.get(path).text
    assert "0 of 40 joined" in listed
    for wrong in ({"kind": "x"}, {"kind": "open", "people": ""}, {"kind": "code", "count": "101"}, {"count": "²"},
                  {"kind": "code", "count": "1", "days": "0"}):  # fmt: skip
        assert console.post(path, **wrong).status_code == 422


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:8470", "this computer"), ("https://localhost", "this computer"), ("https://[::1]:8", "this"),
        ("http://0.0.0.0:80", "this computer"), ("http://sense.example", "not encrypted"),
        ("https://192.168.1.7", "private address"), ("https://10.0.0.1", "private"), ("https://[fd00::1]", "private"),
        ("https://169.254.1.1", "private"), ("https://campus", "private network"), ("https://tablet.local", "private"),
        ("https://sense.example", None), ("https://8.8.8.8", None),
    ],
)  # fmt: skip
def test_addresses_that_phones_cannot_reach(server_database, address, words):
    found = why_out_of_reach(address)
    assert (found is None) if words is None else (words in found)
