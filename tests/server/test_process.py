"""``sottovoce serve`` as an operator runs it."""

import socket
import ssl
import subprocess
import threading
import time
import uuid

import httpx
import pytest

from patience import PATIENCE, until

whatever_the_database = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)


@pytest.mark.slow
def test_the_first_start_draws_a_token_and_shows_it_once(running_server):
    first = running_server(SOTTOVOCE_OPERATOR_TOKEN=None)
    token = first.said["operator_token"]
    assert len(token) == 43
    me = first.client.get("/api/operators/me", headers=first.operator)
    assert (me.status_code, me.json()["administrator"]) == (200, True)
    assert first.client.get("/healthz").json()["status"] == "ok"
    assert first.client.get("/readyz").status_code == 200
    code, _ = first.stop()
    assert code == 0
    assert token not in first.log

    second = running_server(SOTTOVOCE_OPERATOR_TOKEN=None)
    assert "operator_token" not in second.said
    again = second.client.get("/api/operators/me", headers={"Authorization": f"Bearer {token}"})
    assert again.status_code == 200
    second.stop()

    # A token from the environment is added to the existing one, so that a lost one can be replaced.
    third = running_server()
    assert third.client.get("/api/operators/me", headers=third.operator).json()["administrator"]


@pytest.mark.slow
def test_results_appear_by_themselves(running_server):
    server = running_server()
    campaign = server.opened()
    server.crowd(campaign, 6)
    # Five seconds are promised of an idle machine; a loaded one, and compiling for the first time, take longer.
    until(lambda: server.results(campaign)["reports"] == 6, "results of all")
    assert server.results(campaign)["results"][0]["truth"] is not None


class Senders:
    """Participants who send their reports one after the other, in threads, until the server is gone."""

    def __init__(self, server, campaign, count):
        self.tokens = server.participants(campaign, count)
        pattern = server.body(campaign, [0, 0, 0])
        self.bodies = [
            pattern
            | {
                "report_id": str(uuid.uuid4()),
                "readings": [{"task": f"hall-{place}", "value": n} for place in range(3)],
            }
            for n in range(count)
        ]
        self.acknowledged = {}
        self._server, self._campaign = server, campaign
        self._todo = list(range(count))
        self.threads = [threading.Thread(target=self._send) for _ in range(8)]

    def _send(self):
        with httpx.Client(base_url=self._server.url, timeout=PATIENCE) as client:
            while self._todo:
                n = self._todo.pop()
                headers = {"Authorization": f"Bearer {self.tokens[n]}"}
                try:
                    answer = client.post(
                        f"/api/campaigns/{self._campaign}/reports", json=self.bodies[n], headers=headers
                    )
                except httpx.TransportError:
                    return
                if answer.status_code in (200, 201):
                    self.acknowledged[n] = answer.status_code

    def start(self, until):
        for thread in self.threads:
            thread.start()
        while len(self.acknowledged) < until:
            assert any(thread.is_alive() for thread in self.threads)
            time.sleep(0.005)

    def join(self):
        for thread in self.threads:
            thread.join(PATIENCE)


def check_all_present_once(server, campaign, senders):
    """Every acknowledged report is there; sending all again stores the rest, and nothing twice."""
    for n in senders.acknowledged:
        assert server.report(campaign, senders.tokens[n], senders.bodies[n]).status_code == 200
    for token, body in zip(senders.tokens, senders.bodies, strict=True):
        assert server.report(campaign, token, body).status_code in (200, 201)
    assert [len(claims) for claims in server.stored(campaign).values()] == [3] * len(senders.tokens)


@pytest.mark.slow
def test_reports_on_the_way_are_stored_before_the_server_stops(running_server):
    """Asked to stop in mid-stream; what happens when it is killed is among the bad days."""
    server = running_server()
    campaign = server.opened()
    senders = Senders(server, campaign, 80)
    senders.start(until=20)
    code, _ = server.stop()
    assert code == 0
    senders.join()
    assert len(senders.acknowledged) >= 20
    check_all_present_once(running_server(), campaign, senders)


@pytest.mark.slow
@whatever_the_database
def test_clients_that_do_not_finish_a_request_are_cut_off(running_server):
    server = running_server(SOTTOVOCE_IDLE_SECONDS="0.5", SOTTOVOCE_BODY_SECONDS="0.5")
    address = ("127.0.0.1", server.port)
    for said in (b"", b"GET /healthz HTTP/1.1\r\nHost:"):
        with socket.create_connection(address, timeout=PATIENCE) as connection:
            connection.sendall(said)
            assert connection.recv(1000) == b""
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        connection.sendall(
            b"POST /api/enrolments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
        )
        answer = connection.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"request_timeout" in answer or b"request_timeout" in connection.recv(10_000)


@pytest.mark.slow
@whatever_the_database
def test_https_is_set_up_by_options(running_server, tmp_path):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    server = running_server("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    assert server.url.startswith("https://")
    trusting = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    with httpx.Client(base_url=server.url, verify=trusting, timeout=PATIENCE) as client:
        answer = client.get("/healthz")
    assert answer.status_code == 200
    assert "max-age" in answer.headers["strict-transport-security"]


@pytest.mark.slow
@whatever_the_database
def test_a_proxy_is_trusted_only_if_the_operator_says_so(running_server):
    headers = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    direct = running_server("--log-level", "debug")
    direct.client.get("/nowhere", headers=headers)
    direct.stop()
    assert "203.0.113.0/24" not in direct.log
    behind = running_server("--log-level", "debug", "--behind-proxy")
    answer = behind.client.get("/nowhere", headers=headers)
    assert "strict-transport-security" in answer.headers
    behind.stop()
    assert "203.0.113.0/24" in behind.log
