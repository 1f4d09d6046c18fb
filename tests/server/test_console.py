"""The console without a browser: who can sign in, who sees what, what a form can do, and that text stays text."""

import html
import json
import re

import pytest
from sqlalchemy import select

from console_client import Console
from server_under_test import OPERATOR_TOKEN, bearer
from sottovoce.errors import BadParameter
from sottovoce.planning import plan
from sottovoce.planning.planner import trade_off
from sottovoce.privacy.guarantee import Guarantee
from sottovoce.privacy.laws import parse_law
from sottovoce.protocol import Manifest
from sottovoce.protocol.promise import promise_of
from sottovoce.protocol.tokens import token_hash
from sottovoce.server.console import ROUTERS, planner
from sottovoce.server.console.listing import page_of
from sottovoce.server.storage.tables import metadata, sessions

SQLITE = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
OPEN_TO_ALL = ("/console/", "/docs", "/sign-in", "/c/", "/analyst")


@pytest.fixture
def second(server):
    """Another operator's console, and their token."""
    made = server.client.post("/api/operators", json={"name": "Second"}, headers=server.operator).json()
    return Console(server, made["token"])


def everything(server):
    """Everything that the database holds, except who is signed in."""
    with server.state.engine.connect() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(table.select())))
            for table in metadata.sorted_tables
            if table.name != "sessions"
        }


def addresses(method, campaign, invitation=1):
    """The console's own addresses that take a method, filled in."""
    found = [
        route.path.format(
            campaign=campaign,
            invitation=invitation,
            version=1,
            format="csv",
            law="fresh",
            step="close",
            name="x",
            operator=2,
        )
        for router in ROUTERS
        for route in router.routes
        if method in route.methods and not route.path.startswith(OPEN_TO_ALL)
    ]
    assert len(found) >= 8
    return found


def test_the_first_run_leads_to_the_first_token(server):
    first = server.client.get("/sign-in").text
    assert "To sign in for the first time" in first
    assert "SOTTOVOCE_OPERATOR_TOKEN" in first
    Console(server)
    assert "To sign in for the first time" not in server.client.get("/sign-in").text


def test_a_wrong_token_opens_nothing(server):
    for wrong in ("", "nonsense", OPERATOR_TOKEN[:-1], "x" * 5000):
        answer = server.client.post("/sign-in", data={"token": wrong}, follow_redirects=False)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        assert "not an operator’s token" in answer.text
    assert server.rows("sessions") == 0


def test_the_cookie_is_out_of_reach(server):
    for scheme, name in (("http", "session"), ("https", "__Host-session")):
        answer = server.client.post(
            f"{scheme}://testserver/sign-in", data={"token": OPERATOR_TOKEN}, follow_redirects=False
        )
        cookie = answer.headers["set-cookie"]
        parts = [part.strip().lower() for part in cookie.split(";")]
        assert cookie.startswith(f"{name}=")
        assert {"httponly", "samesite=strict", "path=/"} <= set(parts)
        assert ("secure" in parts) == (scheme == "https")
        assert not any(part.startswith("domain") for part in parts)
        secret = cookie.split("=", 1)[1].split(";")[0]
        with server.state.engine.connect() as connection:
            stored = [str(entry) for row in connection.execute(select(sessions)) for entry in row]
        assert token_hash(secret) in stored
        assert not any(secret in entry for entry in stored)
        server.client.cookies.clear()


def test_a_cookie_of_plain_http_is_not_valid_over_tls(server, console):
    """Whoever can write cookies for the unencrypted address must not get into the encrypted one."""
    assert console.get("http://testserver/").status_code == 200
    assert console.get("https://testserver/").status_code == 303


def test_nothing_is_shown_or_done_without_a_session(server):
    campaign = server.opened()
    server.invite(campaign)
    before = everything(server)
    for path in addresses("GET", campaign):
        answer = server.client.get(path, follow_redirects=False)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/sign-in"), path
    for path in addresses("POST", campaign):
        answer = server.client.post(path, data={"form_token": "x"}, follow_redirects=False)
        assert answer.headers["location"] == "/sign-in", path
    live = server.client.get(f"/campaigns/{campaign}/progress", headers={"HX-Request": "true"})
    assert live.headers["hx-redirect"] == "/sign-in"
    assert everything(server) == before


def test_signing_in_returns_to_the_requested_page_and_never_elsewhere(server):
    wanted = server.client.get("/campaigns/abc", follow_redirects=False).headers["location"]
    assert wanted == "/sign-in?next=%2Fcampaigns%2Fabc"
    for asked, led in (
        ("/campaigns/abc", "/campaigns/abc"), ("//evil.example", "/"), ("https://evil.example", "/"),
        ("/\\evil.example", "/"), ("javascript:alert(1)", "/"), ("/a\r\nSet-Cookie: x=y", "/"), ("/ä", "/"),
    ):  # fmt: skip
        answer = server.client.post("/sign-in", data={"token": OPERATOR_TOKEN, "next": asked}, follow_redirects=False)
        assert answer.headers["location"] == led, asked
        server.client.cookies.clear()


@pytest.mark.slow
def test_no_state_changes_without_the_right_form_token(server, console, second):
    campaign, draft = server.opened(), server.create()
    server.invite(campaign)
    foreign = second.form_token()  # right, but of another session
    before = everything(server)
    fields = {"title": "t", "count": "1", "method": "crh", "epsilon": "1", "law": "fresh"}
    for path in [*addresses("POST", campaign), *addresses("POST", draft)]:
        for token in ({}, {"form_token": ""}, {"form_token": "0" * 64}, {"form_token": foreign}):
            answer = console.request("POST", path, data=fields | token)
            assert answer.status_code == 403, (path, token)
        right = {"form_token": console.form_token()}
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            assert console.request("POST", path, data=fields | right, headers=headers).status_code == 403
        answer = console.request("POST", path, json=fields | right)
        assert answer.status_code == 415
        assert console.get(path.rpartition("?")[0] or path, params=right).status_code in (200, 404, 405, 409)
    assert everything(server) == before
    assert console.get("/").status_code == 200  # nobody was signed out either
    signing_in = server.client.post(
        "/sign-in", data={"token": OPERATOR_TOKEN}, headers={"Sec-Fetch-Site": "cross-site"}, follow_redirects=False
    )
    assert signing_in.status_code == 403


def test_signing_out_ends_the_session(server, console, second):
    answer = console.post("/sign-out")
    assert answer.headers["location"] == "/sign-in"
    assert 'session=""' in answer.headers["set-cookie"]
    assert console.get("/").status_code == 303  # the old cookie is no longer valid
    assert server.rows("sessions") == 1
    assert second.get("/").status_code == 200


def test_a_session_ends_by_itself(server, console):
    server.clock.pass_time(seconds=12 * 3600 - 1)
    assert console.get("/").status_code == 200
    server.clock.pass_time(seconds=1)
    assert console.get("/").status_code == 303
    Console(server)
    assert server.rows("sessions") == 1  # those that are over are gone


@pytest.mark.parametrize("way", ["rotate", "revoke"])
def test_a_new_token_ends_the_sessions_of_the_old_one(server, second, way):
    number = server.client.get("/api/operators", headers=server.operator).json()["operators"][1]["id"]
    if way == "rotate":
        server.client.post(f"/api/operators/{number}/rotate", headers=server.operator)
    else:
        server.client.delete(f"/api/operators/{number}", headers=server.operator)
    assert second.get("/").status_code == 303


def test_two_operators_neither_see_nor_touch_the_others_campaigns(server, console, second):
    opened, draft = server.opened(title="Only mine"), server.create(title="My own draft")
    server.crowd(opened, 5)
    server.recompute()
    invitation = server.invite(opened)[0]["id"]
    before = everything(server)
    for campaign in (opened, draft):
        for path in addresses("GET", campaign, invitation):
            if campaign in path:
                assert second.get(path).status_code == 404, path
                for words in ("Only mine", "My own draft"):
                    assert words not in second.get(path).text
        for path in addresses("POST", campaign, invitation):
            if campaign in path:
                answer = second.post(path, count="1", method="crh", title="x", table="id,low,high,grid\na,0,1,0.1")
                assert answer.status_code == 404, path
    assert everything(server) == before
    assert "Only mine" not in second.get("/").text
    assert "Only mine" in console.get("/").text
    for path in (f"/api/campaigns/{opened}", f"/api/campaigns/{opened}/claims.csv"):
        # A session of the console gives no access to the API, whoever owns the campaign.
        assert second.get(path).status_code == 401
        assert console.get(path).status_code == 401


def test_no_page_can_be_framed_or_run_code_from_elsewhere(server, console):
    campaign = server.opened()
    pages = [*addresses("GET", campaign), "/sign-in", "/campaigns/nothing"]
    for path in pages:
        answer = console.get(path)
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cache-control"] == "no-store"
        assert not re.search(r"<script(?! src=\"/console/)|<style| style=| on[a-z]+=\"", answer.text), path


@pytest.mark.slow
def test_html_in_a_title_is_text_everywhere(server, second):
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'"
    named = server.client.post("/api/operators", json={"name": evil[:190]}, headers=server.operator).json()
    console = Console(server, named["token"])
    mine = bearer(named["token"])
    task = {"id": evil[:90], "title": evil, "unit": "<b>m</b>", "low": 0, "high": 9, "grid": 1}
    body = {"title": evil, "asked_by": evil, "purpose": evil, "tasks": [task], "noise": "fresh:0.5", "distance": 1}
    ids = [server.client.post("/api/campaigns", json=body, headers=mine).json()["id"] for _ in range(2)]
    opened = ids[1]
    assert server.client.post(f"/api/campaigns/{opened}/open", headers=mine).status_code == 200
    server.operator = mine
    for token in server.participants(opened, 6):
        assert server.report(opened, token, server.body(opened, {task["id"]: 4})).status_code == 201
    server.recompute()
    pages = {path for campaign in ids for path in addresses("GET", campaign)}
    texts = [console.get(path).text for path in pages if not path.endswith(("/manifest", ".csv"))]
    texts += [console.get(f"/campaigns/{opened}?search={evil}").text, console.get(f"/c/{opened}").text]
    texts.append(console.post(f"/campaigns/{opened}/invitations", count="1").text)
    texts.append(console.post("/campaigns/new", title=evil, purpose=evil, table=evil).text)
    assert sum("&lt;script&gt;" in text for text in texts) >= 12
    for text in texts:
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "<b>m</b>" not in text


@SQLITE
def test_the_wizard_makes_a_campaign_in_three_steps(server, console):
    campaign = console.create(
        **{"title-1": "Hallway", "low-1": "-5,5", "high-1": "50", "grid-1": "0.1", "quota-1": "40"},
        deadline="2035-06-30T18:00",
        purpose="For signs.\nAnd for fun.",
    )
    made = server.status(campaign)
    assert [(task["id"], task["low"], task["quota"]) for task in made["tasks"]] == [
        ("hallway", "0", None), ("hallway-2", "-5.5", 40),
    ]  # fmt: skip
    assert (made["deadline"], made["purpose"]) == ("2035-06-30T18:00:00Z", "For signs.\nAnd for fun.")
    # The promise to begin with: a tenth of the narrower range, one digit, at ε = 1.
    assert made["distance"] == "5"
    assert promise_of(Manifest.parse(stored_manifest(server, campaign))).epsilon == pytest.approx(1)
    answer = console.post(f"/campaigns/{campaign}/privacy", epsilon="0.5", distance="2", unit="reading", law="fresh")
    assert answer.headers["location"] == f"/campaigns/{campaign}"
    made = server.status(campaign)
    assert (made["noise"], made["distance"], made["unit"]) == ("fresh:0.03125", "2", "reading")
    assert "ε = 0.5, δ = 0" in console.get(f"/campaigns/{campaign}").text
    assert console.post(f"/campaigns/{campaign}/open").status_code == 303
    assert server.status(campaign)["state"] == "open"
    assert console.post(f"/campaigns/{campaign}/tasks", title="x").status_code == 409  # frozen
    assert console.post(f"/campaigns/{campaign}/close").status_code == 303
    assert server.status(campaign)["state"] == "closed"
    version = console.post(f"/campaigns/{campaign}/versions").headers["location"].split("/")[2]
    assert server.status(version)["version"] == 2
    assert console.post(f"/campaigns/{version}/delete").headers["location"] == "/"
    assert server.client.get(f"/api/campaigns/{version}", headers=server.operator).status_code == 404


def stored_manifest(server, campaign):
    with server.state.engine.connect() as connection:
        return connection.exec_driver_sql(f"SELECT manifest FROM campaigns WHERE id = '{campaign}'").scalar()


@SQLITE
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_tasks_come_from_a_table(server, console, sign):
    table = "id,title,unit,low,high,grid,quota\na,First,m,0,10,0.5,\nb,Second,m,0,10,0.5,7".replace(",", sign)
    campaign = console.create(table=table)
    tasks = server.status(campaign)["tasks"]
    assert [(task["id"], task["title"], task["grid"], task["quota"]) for task in tasks] == [
        ("a", "First", "0.5", None), ("b", "Second", "0.5", 7),
    ]  # fmt: skip
    page = console.get(f"/campaigns/{campaign}/tasks").text
    assert 'value="First"' in page
    answer = console.save_tasks(f"/campaigns/{campaign}/tasks", title="New", table="id,low,high,grid\nonly,0,1,0.1")
    assert answer.status_code == 303
    changed = server.status(campaign)
    assert ([task["id"] for task in changed["tasks"]], changed["readings"]) == (["only"], 1)


@SQLITE
def test_many_tasks_are_changed_as_a_table(server, console):
    rows = [f"t{n},Task {n},m,0,10,0.5" for n in range(300)]
    campaign = console.create(table="\n".join(["id,title,unit,low,high,grid", *rows]))
    page = console.get(f"/campaigns/{campaign}/tasks").text
    assert "t299,Task 299,m,0,10,0.5" in page
    assert len(server.status(campaign)["tasks"]) == 300
    assert "290 more" in console.get(f"/campaigns/{campaign}").text


@pytest.mark.alike
@SQLITE
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"high-0": "-1"}, "'-1': it must be above the lowest value, 0"),
        ({"high-0": ""}, "highest value: it is missing"),
        ({"high-0": "many"}, "many"),
        ({"grid-0": "0"}, "step: '0': it must be positive"),
        ({"grid-0": "1e9999999"}, "1e9999999"),
        ({"quota-0": "few"}, "quota"),
        ({"quota-0": "9" * 5000}, "whole number from 1 to 1,000,000,000,000"),
        ({"title": ""}, "Title: it must be text of 1 to 200 characters"),
        ({"deadline": "tomorrow"}, "Closes automatically at: "),
        ({"deadline": "0001-01-01T00:00"}, "years 1000 to 9999"),
        ({"deadline": "0001-01-01T00:00:00+01:00"}, "years 1000 to 9999"),
        ({"table": "id,low,high,grid,quota\na,1,2,0.1," + "9" * 5000}, "whole number from 1 to 1,000,000,000,000"),
        ({"table": "id,low,high,grid\n" + "a" * 200_000 + ",1,2,0.1"}, "field larger"),
        ({"table": "id,low\na,1"}, "no column"),
        ({"table": "id,low,high,grid\na,1,2"}, "grid"),
        ({"table": "id,low,high,grid\na,0,1,0.1\na,0,1,0.1"}, "must be unique"),
    ],
)
def test_a_mistake_is_reported_and_nothing_typed_is_lost(server, console, fields, message):
    row = {"title-0": "Hallway", "unit-0": "furlong", "low-0": "0", "high-0": "100", "grid-0": "0.1"}
    before = everything(server)
    answer = console.post("/campaigns/new", **{"title": "How long?", "asked_by": "Facility", **row, **fields})
    assert answer.status_code == 422
    alert = html.unescape(re.search(r'role="alert".*?</div>', answer.text, re.DOTALL)[0])
    assert message in alert
    assert 'value="furlong"' in answer.text
    assert everything(server) == before


@SQLITE
def test_more_rows_without_a_script(server, console):
    answer = console.post("/campaigns/new", **{"title": "T", "title-0": "One", "more": "yes"})
    assert answer.status_code == 200
    assert 'value="One"' in answer.text
    assert 'id="title-3"' in answer.text


LAWS = ("fresh", "gaussian", "floored", "shared")


@pytest.mark.slow
@SQLITE
@pytest.mark.parametrize(("unit", "readings"), [("reading", 4), ("participant", 4), ("reading", 1)])
def test_the_planner_agrees_with_the_library(server, console, unit, readings):
    """Laws and errors against `sottovoce.plan` on the grid of the campaign."""
    campaign = server.create(halls=4)
    asked = {"epsilon": "0.8", "distance": "2.5", "unit": unit, "participants": "60", "error": "1.2"}
    asked["readings"] = str(readings)
    page = console.get(f"/campaigns/{campaign}/privacy/plan", params=asked | {"law": "fresh"}).text
    expected = plan(0.8, 1e-5, 2.5, readings, 60, unit=unit, grid=0.1, error_rate=1 / 1.2**2, simulations=0)
    shown = re.findall(r'name="law" id="law-(\w+)".*?<b>± ([\d.,]+) m</b>', page, re.DOTALL)
    assert [law for law, _ in shown] == [option.law.name for option in expected]
    assert [float(error.replace(",", "")) for _, error in shown] == pytest.approx(
        [option.predicted_error for option in expected], rel=0.06  # two digits are shown
    )  # fmt: skip
    wanted = planner.PlanRequest.of(asked, json.loads(stored_manifest(server, campaign)))
    for option in expected:
        assert wanted.noise(option.law.name) == option.law
        assert wanted.expected_error(wanted.noise(option.law.name)) == pytest.approx(option.predicted_error, rel=3e-5)


@pytest.mark.slow
@SQLITE
def test_the_lines_of_the_chart_are_the_trade_off(server, console):
    campaign = server.create()
    query = {"distance": "2", "unit": "reading", "readings": "3", "error": "1"}
    lines = {
        law: console.get(f"/campaigns/{campaign}/privacy/line/{law}", params=query).json()
        for law in ("fresh", "gaussian", "floored")  # those that are computed in a moment
    }
    expected = trade_off([0.1, 1.0, 10.0], 1e-5, 2.0, 3, 1, "reading", 1.0, grid=0.1)
    for law, line in lines.items():
        found = [line["errors"][line["epsilons"].index(epsilon)] for epsilon in (0.1, 1.0, 10.0)]
        assert found == pytest.approx(expected[law], rel=1e-4)
    assert console.get(f"/campaigns/{campaign}/privacy/line/nonsense", params=query).status_code == 404


@SQLITE
@pytest.mark.parametrize("law", LAWS)
def test_the_promise_is_kept_on_the_grid(server, console, law):
    """A distance between two steps of the grid counts as the next; what is rounded is rounded to the safe side."""
    campaign = server.create(halls=3)
    answer = console.post(
        f"/campaigns/{campaign}/privacy", epsilon="0.9", distance="1.234", unit="reading", law=law, readings="3"
    )
    assert answer.status_code == 303, answer.text
    manifest = Manifest.parse(stored_manifest(server, campaign))
    assert parse_law(manifest.noise).name == law
    assert manifest.distance == "1.234"
    assert promise_of(manifest).epsilon <= 0.9
    assert re.fullmatch(rf"{law}(:[0-9.e-]{{1,12}})+", manifest.noise)


@pytest.mark.slow
@SQLITE
def test_what_is_offered_keeps_the_promise_on_a_coarse_grid(server, console):
    """The promise is the one that the check page and devices compute on the grid, not that of continuous noise."""
    campaign = console.create(table="id,low,high,grid\na,0,100,0.5\nb,0,100,0.5\nc,0,100,0.5")
    asked = {"epsilon": "3", "distance": "10", "unit": "reading", "readings": "3", "law": "shared"}
    offered = console.get(f"/campaigns/{campaign}/privacy/plan", params=asked).text
    assert "(ε = 3, δ = 1e-05)" in offered
    assert console.post(f"/campaigns/{campaign}/privacy", **asked).status_code == 303
    assert promise_of(Manifest.parse(stored_manifest(server, campaign))).epsilon <= 3
    assert "ε = 3," in console.get(f"/campaigns/{campaign}").text


@SQLITE
def test_the_first_promise_counts_the_steps_of_the_grid(server, console):
    campaign = console.create(table="id,low,high,grid\na,0,10,0.7\nb,0,10,0.3")
    assert promise_of(Manifest.parse(stored_manifest(server, campaign))).epsilon <= 1


@SQLITE
def test_a_law_that_cannot_keep_the_promise_is_not_offered(server, console, monkeypatch):
    """Devices refuse noise for which the guarantee gives no figure."""

    def refuse(self, epsilon):
        if self.law.name in ("gaussian", "floored"):
            raise BadParameter("no figure; none")
        return found(self, epsilon)

    found = Guarantee.delta
    for name in ("delta", "delta_any_n"):
        monkeypatch.setattr(Guarantee, name, refuse)
    campaign = server.create(halls=3)
    asked = {"epsilon": "1.23", "distance": "7", "unit": "reading", "law": "gaussian"}
    page = console.get(f"/campaigns/{campaign}/privacy/plan", params=asked).text
    assert re.findall(r'name="law" id="law-(\w+)"', page) == ["fresh", "shared"]
    assert "cannot keep the promise" in page
    assert console.get(f"/campaigns/{campaign}/privacy/line/gaussian", params=asked).json()["errors"] == [None] * 9
    assert console.post(f"/campaigns/{campaign}/privacy", **asked).status_code == 422


@SQLITE
def test_the_public_page_is_linked_only_where_there_is_one(server, console):
    private, shared, draft = server.opened(public_results=False), server.opened(), server.create()
    linked = [f'"/c/{one}"' in console.get(f"/campaigns/{one}/sharing").text for one in (private, shared, draft)]
    assert linked == [False, True, False]


@SQLITE
def test_tasks_on_different_grids_are_offered_only_what_can_protect_them(server, console):
    table = "id,low,high,grid\na,0,10,0.5\nb,0,10,0.25"
    campaign = console.create(table=table)
    page = console.get(f"/campaigns/{campaign}/privacy/plan", params={"unit": "reading"}).text
    assert re.findall(r'name="law" id="law-(\w+)"', page) == ["fresh", "gaussian"]
    together = console.get(f"/campaigns/{campaign}/privacy/plan", params={"unit": "participant"}).text
    assert "different steps" in together
    answer = console.post(f"/campaigns/{campaign}/privacy", epsilon="1", unit="participant", law="fresh")
    assert answer.status_code == 422


@pytest.mark.alike
@SQLITE
@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": "-1"}, {"epsilon": "a"}, {"epsilon": "1e400"}, {"distance": "0"}, {"distance": "nan"},
     {"readings": "0"}, {"readings": "1.5"}, {"readings": "99999999"}, {"participants": "none"}, {"unit": "x"},
     {"delta": "0.5"}, {"epsilon": "1e8"}, {"epsilon": "1e-9", "distance": "1e12"}],
)  # fmt: skip
def test_the_planner_refuses_nonsense_in_words(server, console, wrong):
    campaign = server.create()
    before = everything(server)
    page = console.get(f"/campaigns/{campaign}/privacy/plan", params=wrong)
    assert page.status_code == 200
    assert 'class="banner wrong"' in page.text or wrong == {"epsilon": "1e-9", "distance": "1e12"}
    answer = console.post(f"/campaigns/{campaign}/privacy", law="fresh", **wrong)
    assert answer.status_code == 422
    assert everything(server) == before


@SQLITE
@pytest.mark.parametrize("count", ["0", "0,5", "1,000", "many", "inf"])
def test_the_planner_states_the_rule_for_counts(server, console, count):
    campaign = server.create()
    page = console.get(f"/campaigns/{campaign}/privacy/plan", params={"participants": count})
    assert (
        f"participants '{count}': it must be a whole number from 1 to 1,000,000,000, in digits only."
        in html.unescape(page.text)
    )


@SQLITE
def test_counts_may_begin_with_zeros(server, console):
    campaign = server.create()
    for count in ("02", "0" * 5000 + "2"):
        page = console.get(f"/campaigns/{campaign}/privacy/plan", params={"participants": count, "readings": "01"})
        assert page.status_code == 200
        assert 'class="banner wrong"' not in page.text
        assert console.get(f"/campaigns/{campaign}", params={"participants": count}).status_code == 200


@SQLITE
def test_the_planner_works_without_a_script(server, console):
    campaign = server.create()
    assert "Computing" in console.get(f"/campaigns/{campaign}/privacy").text
    asked = console.get(f"/campaigns/{campaign}/privacy", params={"epsilon": "1", "law": "gaussian"}).text
    assert "except with a chance of at most 1 in 100,000" in asked
    assert re.search(r'value="gaussian" checked', asked)


def test_invitations_are_made_revoked_and_replaced(server, console):
    campaign = server.opened()
    sheet = console.post(f"/campaigns/{campaign}/invitations", count="7").text
    links = re.findall(r'<a href="(http://testserver/j/[\w-]+#sha256=\w{64})">', sheet)
    assert len(set(links)) == 7
    assert sheet.count("<svg") == sheet.count('viewBox="0 0 ') == 7  # whole at any size
    tokens = [re.search(r"/j/([\w-]+)", link)[1] for link in links]
    for token in tokens[:5]:
        assert server.enrol(token).status_code == 201
    server.tick()
    page = console.get(f"/campaigns/{campaign}/invitations").text
    assert (page.count(">used<"), page.count(">not used yet<")) == (5, 2)
    assert not any(token in page for token in tokens)
    numbers = re.findall(r"invitations/(\d+)/revoke", page)
    assert len(numbers) == 2  # what is used can be neither taken back nor replaced
    assert console.post(f"/campaigns/{campaign}/invitations/{numbers[1]}/revoke").status_code == 303
    assert server.enrol(tokens[5]).status_code == 410
    fresh = console.post(f"/campaigns/{campaign}/invitations/{numbers[0]}/rotate").text
    assert server.enrol(tokens[6]).status_code == 410
    assert server.enrol(re.search(r"/j/([\w-]+)#", fresh)[1]).status_code == 201
    for wrong in ("0", "201", "-1", "ten", ""):
        assert console.post(f"/campaigns/{campaign}/invitations", count=wrong).status_code == 422


def test_results_progress_history_and_files(server, console):
    campaign = server.opened()
    empty = console.get(f"/campaigns/{campaign}").text
    assert "Waiting for reports" in empty
    assert console.get(f"/campaigns/{campaign}/findings", params={"version": 1}).status_code == 204
    server.crowd(campaign, 6)
    server.recompute()
    assert ">6<" in console.get(f"/campaigns/{campaign}/progress").text
    newer = console.get(f"/campaigns/{campaign}/findings", params={"version": 1})
    assert newer.status_code == 200
    assert "version=2" in newer.text  # it asks for the next one from here on
    for part in ("<svg", "plain mean", "plain median", "Distribution of weights", "Hallway 2"):
        assert part in newer.text
    history = console.get(f"/campaigns/{campaign}/history").text
    assert re.findall(r"history/(\d)", history) == ["2", "1"]
    assert "Hallway 2" in console.get(f"/campaigns/{campaign}/history/2").text
    assert console.get(f"/campaigns/{campaign}/history/3").status_code == 404
    for kind in ("results", "claims"):
        for ending in ("csv", "parquet", "jsonl"):
            ours = console.get(f"/campaigns/{campaign}/files/{kind}.{ending}")
            api = server.client.get(f"/api/campaigns/{campaign}/{kind}.{ending}", headers=server.operator)
            assert ours.content == api.content
            assert "attachment" in ours.headers["content-disposition"]
    assert console.post(f"/campaigns/{campaign}/method", method="median").status_code == 303
    server.recompute()
    assert server.results(campaign)["method"] == "median"
    refused = console.post(f"/campaigns/{campaign}/method", method="nonsense")
    assert refused.status_code == 422
    assert "go back and correct it" in refused.text  # an operator at a form has no use for advice about the API


@pytest.mark.slow
@SQLITE
def test_the_results_are_sorted_and_searched_over_all_pages(server, console):
    campaign = server.opened(halls=120)
    tokens = server.participants(campaign, 5)
    for token in tokens:
        values = {f"hall-{n}": 10 * n for n in range(120)}
        assert server.report(campaign, token, server.body(campaign, values)).status_code == 201
    server.recompute()

    def names(**query):
        return re.findall(r'<th role="rowheader" scope="row">(Hallway \d+)', console.get(address, params=query).text)

    address = f"/campaigns/{campaign}"
    assert names() == [f"Hallway {n}" for n in range(50)]
    assert names(sort="truth", order="down") == [f"Hallway {n}" for n in range(119, 69, -1)]
    assert names(sort="truth", order="down", page="3") == [f"Hallway {n}" for n in range(19, -1, -1)]
    assert names(search="hallway 11") == [f"Hallway {n}" for n in (11, *range(110, 120))]
    assert names(search="nothing like it") == []
    for odd in ({"page": "99999999999"}, {"page": "-1"}, {"sort": "nonsense"}, {"order": "x"}, {"page": "²"}):
        assert len(names(**odd)) in (20, 50)
    findings = console.get(f"{address}/findings", params={"sort": "truth", "order": "down", "version": "1"}).text
    assert "sort=truth&amp;order=down&amp;version=2" in findings


def test_what_is_not_known_comes_last():
    rows = [{"n": 3}, {"n": None}, {"n": 1}]
    for order, expected in (("", [1, 3, None]), ("down", [3, 1, None])):
        listing = page_of(rows, {"sort": "n", "order": order}, "/x", keys={"n": lambda row: row["n"]})
        assert [row["n"] for row in listing.rows] == expected


@SQLITE
def test_many_campaigns_and_invitations_come_in_pages(server, console):
    for n in range(23):
        server.create(title=f"Campaign {n}")
    first, rest = console.get("/").text, console.get("/?page=2").text
    assert "Campaign 22" in first
    assert "Campaign 2<" not in first
    assert "Campaign 2<" in rest
    campaign = server.opened()
    server.invite(campaign, 60)
    page = console.get(f"/campaigns/{campaign}/invitations?page=2").text
    assert page.count(">not used yet<") == 10


def test_the_servers_health_is_shown_in_words(server, console):
    campaign = server.opened()
    server.crowd(campaign, 1)  # as a gateway sends them
    (token,) = server.participants(campaign, 1)
    server.report(campaign, token, server.body(campaign, [100]))
    page = console.get("/server").text
    assert "All is well" in page
    assert re.search(r"Reports stored</dt><dd>2<", page)
    assert re.search(r"Mean time to respond to a report</dt><dd>[\d.]+ m?s<", page)
    assert "All is well" in console.get("/server/figures").text


@SQLITE
def test_a_campaign_that_closed_with_too_few_reports_says_so_once_it_is_certain(server, console, clock):
    campaign = server.opened()
    server.crowd(campaign, 2)
    clock.pass_time(seconds=60)
    console.post(f"/campaigns/{campaign}/close")
    page = console.get(f"/campaigns/{campaign}").text
    assert "Computing the last results" in page
    address = html.unescape(re.search(r'hx-get="([^"]+/findings[^"]*)"', page)[1])
    clock.pass_time(seconds=60)
    server.recompute()
    newer = console.get(address)
    assert newer.status_code == 200
    assert "Fewer than 5 participants reported before the campaign closed" in newer.text


@SQLITE
def test_only_what_is_possible_is_asked_to_be_confirmed(server, console):
    draft, opened = server.create(), server.opened()
    for campaign, possible in ((draft, {"open", "delete"}), (opened, {"close"})):
        asked = {step: console.get(f"/campaigns/{campaign}/{step}/confirm") for step in ("open", "close", "delete")}
        assert {step for step, answer in asked.items() if answer.status_code == 200} == possible
        others = {answer.headers["location"] for answer in asked.values() if answer.status_code == 303}
        assert others == {f"/campaigns/{campaign}"}


@SQLITE
def test_problems_are_reported_on_a_page(server, console):
    for path, status in (
        ("/campaigns/nothing", 404),
        ("/campaigns/a b", 404),
        ("/campaigns/nothing/step/confirm", 404),
    ):
        answer = console.get(path)
        assert answer.status_code == status
        assert answer.headers["content-type"].startswith("text/html")
        assert "What to do" in answer.text
    assert server.client.get("/console/nothing.js").status_code == 404
    assert server.client.get("/console/vendored.json").status_code == 404
    tag = server.client.get("/console/htmx.min.js").headers["etag"]
    assert server.client.get("/console/htmx.min.js", headers={"If-None-Match": tag}).status_code == 304
