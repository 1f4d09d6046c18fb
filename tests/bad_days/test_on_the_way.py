"""Attackers between device and server, and servers that break the protocol."""

import json
import re
import sqlite3
import threading
from contextlib import closing
from socketserver import StreamRequestHandler, ThreadingTCPServer

import httpx
import pytest

from command import run
from participant import Participant
from patience import PATIENCE
from sottovoce.protocol import InvitationLink, Manifest, Problem

whatever_the_database = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)


class Proxy(ThreadingTCPServer):
    """Passes requests on, one per connection; ``meddle`` may change an answer, or return None to lose it."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, upstream, meddle):
        super().__init__(("127.0.0.1", 0), _Relay)
        self.upstream, self.meddle = upstream, meddle
        self.seen = []  # request line, body, and status of the answer, whether it arrived or not
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Relay(StreamRequestHandler):
    def handle(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (line := self.rfile.readline()):
                return
            head += line
        lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        method, path, _ = lines[0].split()
        body = self.rfile.read(int(headers.get("Content-Length", 0)))
        kept = {name: text for name, text in headers.items() if name.lower() not in ("host", "connection")}
        answer = httpx.request(method, self.server.upstream + path, content=body, headers=kept, timeout=PATIENCE)
        self.server.seen.append((f"{method} {path}", body, answer.status_code))
        content = self.server.meddle(method, path, answer.content)
        if content is None:
            return
        self.wfile.write(
            f"HTTP/1.1 {answer.status_code} .\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"Content-Length: {len(content)}\r\n\r\n".encode()
            + content
        )


@pytest.fixture
def proxy():
    """Put a proxy before a server."""
    started = []

    def start(upstream, meddle):
        made = Proxy(upstream, meddle)
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        started.append(made)
        return made

    yield start
    for made in started:
        made.shutdown()
        made.server_close()


def by_way_of(proxy, invitation):
    """An invitation's link, as it would look if the proxy were the server."""
    link = InvitationLink.parse(invitation["url"])
    return InvitationLink(proxy.url, link.token, link.manifest_sha256)


@pytest.mark.slow
def test_a_retry_makes_up_for_an_answer_lost_after_the_commit(running_server, proxy, tmp_path):
    lost = {"/api/enrolments": 2, "/reports": 3}

    def lose(method, path, content):
        for ending in lost:
            if method == "POST" and path.endswith(ending) and lost[ending]:
                lost[ending] -= 1
                return None
        return content

    server = running_server()
    campaign = server.opened()
    between = proxy(server.url, lose)
    link = by_way_of(between, server.invite(campaign)[0])
    participant = Participant(tmp_path / "p.db")
    with closing(participant.file):
        participant.retries.run(lambda: participant.join(link), participant.retries.deadline())
        assert participant.submit({"hall-0": "12", "hall-1": "34"}, campaign=campaign) == ["delivered"]
        (release,) = participant.file.releases()
    reports = [(body, status) for request, body, status in between.seen if request.endswith("/reports")]
    assert [status for _, status in reports] == [201, 200, 200, 200]
    assert {body for body, _ in reports} == {release.body}
    assert [status for request, _, status in between.seen if request.endswith("/enrolments")] == [201] * 3
    (claims,) = server.stored(campaign).values()
    assert len(claims) == 2


@pytest.mark.slow
@whatever_the_database
def test_a_participant_who_is_offered_different_parameters_does_not_join(running_server, proxy, tmp_path):
    """Every second participant is offered less noise, in a manifest that is valid except for its hash."""
    asked = []

    def single_out(method, path, content):
        if not path.endswith("/manifest"):
            return content
        asked.append(path)
        weaker = json.loads(content) | {"noise": "fresh:0.6"}
        return content if len(asked) % 2 else Manifest.of(weaker).bytes()

    server = running_server()
    campaign = server.opened()
    between = proxy(server.url, single_out)
    invited = server.invite(campaign, 4)
    outcomes = []
    for number, invitation in enumerate(invited):
        ran = run("join", by_way_of(between, invitation), "--yes", "--json", "--file", tmp_path / f"{number}.db")
        outcomes.append(ran.returncode)
        if ran.returncode:
            message = " ".join(ran.stderr.split())
            assert re.search(r"manifest \w{12}…: it must be \w{12}…, as in the link", message), message
    assert outcomes == [0, 2, 0, 2]
    with closing(sqlite3.connect(tmp_path / "campaigns.db")) as connection:
        assert connection.execute("SELECT count(*) FROM participants").fetchone() == (2,)


@pytest.mark.slow
@whatever_the_database
def test_readings_do_not_count_under_a_manifest_that_was_changed_later(running_server, tmp_path):
    """An operator with access to the database changes the manifest: readings released under other terms are refused."""
    server = running_server()
    campaign = server.opened()
    link = InvitationLink.parse(server.invite(campaign)[0]["url"])
    participant = Participant(tmp_path / "p.db")
    with closing(participant.file):
        participant.join(link)
        participant.release({"hall-0": "12"}, campaign=campaign)
        server.stop()
        consented = participant.file.membership(campaign).manifest
        other = Manifest.of(json.loads(consented.bytes()) | {"noise": "fresh:0.6"})
        with closing(sqlite3.connect(tmp_path / "campaigns.db")) as connection:
            connection.execute(
                "UPDATE campaigns SET manifest = ?, manifest_sha256 = ?", (other.bytes(), other.sha256)
            )  # fmt: skip
            connection.commit()
        server = running_server("--port", str(server.port))
        (sent,) = participant.flush()
        assert (sent.state, sent.problem.code) == ("refused", "stale_manifest")
        # Nor can the new manifest be joined in place of the one for which readings were released.
        invitation = server.invite(campaign)[0]["url"]
        with pytest.raises(Problem, match="you consented to manifest"):
            participant.join(InvitationLink.parse(invitation))
    assert server.stored(campaign) == {}
