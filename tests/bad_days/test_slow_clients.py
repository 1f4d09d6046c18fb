"""Many slow clients: others are served meanwhile, and the server stops when asked to."""

import socket
from contextlib import ExitStack

import httpx
import pytest

from patience import PATIENCE

HALF_HEADER = b"POST /api/enrolments HTTP/1.1\r\nHost: x\r\nContent-Type: appl"
HALF_BODY = (
    b"POST /api/enrolments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
)
UNREAD = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 20  # answers that nobody reads


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_hundreds_of_half_open_connections_delay_nobody(running_server):
    # They would be cut off long after a server that waits for them has failed to stop.
    server = running_server(SOTTOVOCE_STOP_SECONDS="2", SOTTOVOCE_BODY_SECONDS="900", SOTTOVOCE_IDLE_SECONDS="900")
    campaign = server.opened()
    with ExitStack() as open_ones:
        for said, count in ((b"", 90), (HALF_HEADER, 90), (HALF_BODY, 90), (UNREAD, 30)):
            for _ in range(count):
                connection = open_ones.enter_context(
                    socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
                )
                connection.sendall(said)
        for token in server.participants(campaign, 5):  # by a client that gives up in the end
            assert server.report(campaign, token, server.body(campaign, [1, 2, 3])).status_code == 201
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as newcomer:
            assert newcomer.get("/readyz").status_code == 200
        assert len(server.stored(campaign)) == 5
        code, _ = server.stop()
    assert code == 0
