"""Many clients that do not come to the point: others are served meanwhile, and the server stops when told to."""

import socket
from contextlib import ExitStack

import httpx
import pytest

HALF_HEADER = b"POST /api/enrolments HTTP/1.1\r\nHost: x\r\nContent-Type: appl"
HALF_BODY = (
    b"POST /api/enrolments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
)
UNREAD = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20  # answers that nobody fetches


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_hundreds_of_half_open_connections_hold_nobody_up(running_server):
    server = running_server(SOTTOVOCE_STOP_SECONDS="2", SOTTOVOCE_BODY_SECONDS="60", SOTTOVOCE_IDLE_SECONDS="60")
    campaign = server.opened()
    with ExitStack() as open_ones:
        for said in (b"", HALF_HEADER, HALF_BODY, UNREAD):
            for _ in range(75):
                connection = open_ones.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
                connection.sendall(said)
        for token in server.participants(campaign, 5):  # by a client that would give up after 30 s
            assert server.report(campaign, token, server.body(campaign, [1, 2, 3])).status_code == 201
        with httpx.Client(base_url=server.url, timeout=20) as newcomer:
            assert newcomer.get("/readyz").status_code == 200
        assert server.status(campaign)["reports"] == 5
        code, seconds = server.stop(within=30)
    assert code == 0
    assert seconds < 20  # two seconds of patience, and what a loaded machine needs to end a process
