"""Webhooks: events are signed, come in order, at least once, and never to a private network unless that is allowed."""

import base64
import hashlib
import hmac
import json
import signal
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from console_client import Console
from patience import until
from server_under_test import NOON, OPERATOR_TOKEN, RunningServer, bearer
from sottovoce.server.webhooks import Webhooks


class Receiver:
    """A real HTTP server that records what it receives and responds as the test asks."""

    def __init__(self):
        self.events, self.status, self.headers = [], 200, {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.events.append((dict(self.headers.items()), body))
                self.send_response(receiver.status)
                for name, entry in receiver.headers.items():
                    self.send_header(name, entry)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?for=me"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def ids(self):
        return [headers["webhook-id"] for headers, _ in self.events]


@contextmanager
def receiving():
    receiver = Receiver()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()


@pytest.fixture
def receiver():
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def server(start_local):
    return start_local(webhook_private=True)


def path(campaign):
    return f"/api/campaigns/{campaign}/webhook"


def set_webhook(server, campaign, url):
    return server.client.put(path(campaign), json={"url": url}, headers=server.operator)


def state_of(server, campaign):
    return server.client.get(path(campaign), headers=server.operator).json()


def one_more_step(server, campaign):
    server.crowd(campaign, 5)
    server.recompute()


def test_each_version_is_announced_once_in_order_and_signed(server, receiver):
    campaign = server.opened()
    made = set_webhook(server, campaign, receiver.url).json()
    server.state.webhooks.deliver()
    assert receiver.events == []  # nothing new since it was set
    for _ in range(3):
        one_more_step(server, campaign)
    newest = server.results(campaign)["version"]
    server.state.webhooks.deliver()
    server.state.webhooks.deliver()
    assert receiver.ids() == [f"{campaign}-{version}" for version in range(2, newest + 1)]
    headers, body = receiver.events[-1]
    assert headers["webhook-timestamp"] == str(NOON // 1000)  # seconds: receivers refuse what is minutes off
    # The Standard Webhooks signature, computed here from its definition.
    key = base64.b64decode(made["secret"].removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    event = json.loads(body)
    assert event["data"]["version"] == newest
    assert server.client.get(event["data"]["results"]).json()["version"] == newest
    assert "secret" not in state_of(server, campaign)
    assert state_of(server, campaign)["state"] == "working"


def test_a_failure_is_retried_with_growing_pauses_and_the_same_id(server, receiver, clock):
    campaign = server.opened()
    set_webhook(server, campaign, receiver.url)
    one_more_step(server, campaign)
    receiver.status = 500
    server.state.webhooks.deliver()
    server.state.webhooks.deliver()  # not due
    assert len(receiver.events) == 1
    assert state_of(server, campaign)["state"] == "failing"
    assert "status 500" in state_of(server, campaign)["failure"]
    pauses = []
    for _ in range(4):
        waited = 0
        before = len(receiver.events)
        while len(receiver.events) == before:
            clock.pass_time(seconds=1)
            waited += 1
            server.state.webhooks.deliver()
        pauses.append(waited)
    assert all(6 <= second <= 300 for second in pauses[1:])
    assert pauses[-1] > 2 * pauses[0]
    receiver.status = 204
    clock.pass_time(seconds=3600)
    server.state.webhooks.deliver()
    assert len(set(receiver.ids())) == 1
    assert state_of(server, campaign)["state"] == "working"
    assert state_of(server, campaign)["failure"] is None


def test_it_stops_after_days_or_when_the_receiver_wants_no_more(server, receiver, clock):
    campaign = server.opened()
    set_webhook(server, campaign, receiver.url)
    one_more_step(server, campaign)
    receiver.status = 503
    server.state.webhooks.deliver()
    clock.pass_time(days=3)
    server.state.webhooks.deliver()
    assert state_of(server, campaign)["state"] == "stopped"
    seen = len(receiver.events)
    clock.pass_time(days=3)
    server.state.webhooks.deliver()
    assert len(receiver.events) == seen
    set_webhook(server, campaign, receiver.url)  # set again, it begins with what comes next
    receiver.status = 410
    one_more_step(server, campaign)
    server.state.webhooks.deliver()
    assert state_of(server, campaign)["state"] == "stopped"


def test_a_redirect_is_not_followed(server, receiver):
    with receiving() as other:
        campaign = server.opened()
        receiver.status, receiver.headers = 307, {"Location": other.url}
        set_webhook(server, campaign, receiver.url)
        one_more_step(server, campaign)
        server.state.webhooks.deliver()
        assert len(receiver.events) == 1
        assert other.events == []
        assert state_of(server, campaign)["state"] == "failing"


@pytest.mark.alike
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x", "https://127.0.0.1/x", "https://[::1]/", "https://10.1.2.3/", "https://169.254.169.254/",
        "https://[::ffff:127.0.0.1]/", "https://0.0.0.0/", "https://192.168.0.1:8080/", "ftp://example.org/", "x",
        "https://user:secret@example.org/", "https://example.org/#x", "https://example.org:99999/", "https:///x",
        "https://exämple.org/", "https://example.org/\nx", "https://example.org/" + "x" * 2000, "file:///etc/passwd",
    ],
)  # fmt: skip
def test_addresses_that_are_never_used(start_local, url):
    server = start_local()
    campaign = server.opened()
    assert set_webhook(server, campaign, url).status_code == 422
    assert Console(server).post(f"/campaigns/{campaign}/sharing/webhook", url=url).status_code == 422
    assert server.rows("webhooks") == 0


@pytest.mark.alike
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("found", [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], ["fd00::1"], ["::ffff:10.0.0.1"], []])
def test_a_public_name_that_leads_into_a_private_network_gets_nothing(start_local, receiver, found):
    """Whatever the name resolves to: all of its addresses must be public."""
    server = start_local()
    campaign = server.opened()
    assert set_webhook(server, campaign, f"https://rebind.example:{receiver.server.server_port}/").status_code == 200
    one_more_step(server, campaign)
    state = server.state
    Webhooks(state.engine, state.writer, state.clock, state.settings, resolve=lambda *_: found).deliver()
    assert receiver.events == []
    assert ("private address" if found else "no address") in state_of(server, campaign)["failure"]


def test_only_the_campaigns_own_operator_sets_it(server, receiver):
    campaign = server.opened()
    made = server.client.post("/api/operators", json={"name": "Second"}, headers=server.operator).json()
    other = bearer(made["token"])
    for method in ("GET", "PUT", "DELETE"):
        body = {"json": {"url": receiver.url}} if method == "PUT" else {}
        assert server.client.request(method, path(campaign), headers=other, **body).status_code == 404
    assert server.client.get(path(campaign), headers=server.operator).status_code == 404
    set_webhook(server, campaign, receiver.url)
    assert server.client.delete(path(campaign), headers=server.operator).status_code == 204
    assert server.client.delete(path(campaign), headers=server.operator).status_code == 404
    one_more_step(server, campaign)
    server.state.webhooks.deliver()
    assert receiver.events == []


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_the_console_sets_shows_and_removes_it(server, receiver):
    campaign = server.opened(deadline="2035-06-30T18:00:00Z")
    console = Console(server)
    shown = console.post(f"/campaigns/{campaign}/sharing/webhook", url=receiver.url).text
    assert "whsec_" in shown
    page = console.get(f"/campaigns/{campaign}/sharing").text
    assert "whsec_" not in page
    assert f"/api/campaigns/{campaign}/results.csv" in page
    assert console.post(f"/campaigns/{campaign}/sharing/webhook/remove").status_code == 303
    assert server.rows("webhooks") == 0


@pytest.mark.slow
def test_a_server_that_is_killed_sends_what_was_not_confirmed(tmp_path, receiver):
    """SIGKILL while the receiver refuses: after a restart the same event arrives, with the same id."""
    database = f"sqlite:///{tmp_path}/campaigns.db"
    environment = {"SOTTOVOCE_OPERATOR_TOKEN": OPERATOR_TOKEN, "SOTTOVOCE_WEBHOOK_PRIVATE": "true"}
    receiver.status = 500
    first = RunningServer(database, environment, [])
    campaign = first.opened()
    assert set_webhook(first, campaign, receiver.url).status_code == 200
    first.crowd(campaign, 5)
    until(lambda: receiver.events, "the first attempt")
    first.stop(signal.SIGKILL)
    receiver.status = 200
    seen = len(receiver.events)
    second = RunningServer(database, environment, [])
    until(lambda: len(receiver.events) > seen, "the same event again")
    assert len(set(receiver.ids())) == 1
    until(lambda: state_of(second, campaign)["delivered"] == 2, "the record of it")
    second.stop()


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_the_deadline_as_a_calendar_file(server):
    title = "How long, how wide; and why? " + "Größe " * 20
    campaign = server.opened(title=title.strip(), deadline="2035-06-30T18:00:00Z")
    answer = server.client.get(f"/api/campaigns/{campaign}/deadline.ics")
    assert answer.headers["content-type"].startswith("text/calendar")
    lines = answer.content.split(b"\r\n")
    assert all(len(line) <= 75 for line in lines)
    whole = answer.content.decode().replace("\r\n ", "").split("\r\n")
    assert "DTSTART:20350630T180000Z" in whole
    assert f"SUMMARY:{title.strip()}".replace(",", "\\,").replace(";", "\\;") in whole
    assert "TRIGGER:-P1D" in whole
    assert server.client.get(f"/api/campaigns/{server.opened()}/deadline.ics").status_code == 404
    draft = server.create(deadline="2035-06-30T18:00:00Z")
    assert server.client.get(f"/api/campaigns/{draft}/deadline.ics").status_code == 404
