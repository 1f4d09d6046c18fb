"""Connections: how many are accepted, and what happens to those that send too slowly."""

import os
import resource
import socket
import subprocess
import sys
import time
from contextlib import ExitStack

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from sottovoce.server import connections
from sottovoce.server.connections import LimitedSocket, watched
from sottovoce.server.settings import Settings

whatever_the_database = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
PATIENCE = 60  # seconds; what a loaded machine may need
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def door():
    """A door for this many, from one address or from all, with these settings."""
    with ExitStack() as open_ones:

        def make(most, **settings):
            made = open_ones.enter_context(LimitedSocket(socket.AF_INET, most, Settings(**settings)))
            made.bind(("127.0.0.1", 0))
            made.listen(100)
            made.setblocking(False)
            return made

        def knock(made, address, times=1):
            """How many of those who come from an address get in."""
            come = [
                open_ones.enter_context(socket.create_connection(made.getsockname(), 20, source_address=(address, 0)))
                for _ in range(times)
            ]
            inside = []
            for _ in range(2):  # after some it stops for a moment
                try:
                    while True:
                        inside.append(open_ones.enter_context(made.accept()[0]))
                except BlockingIOError:
                    pass
            assert len(come) == times
            return inside

        make.knock = knock
        yield make


def test_one_address_never_shuts_the_others_out(door):
    made = door(20, address_connections=0)
    first = door.knock(made, "127.0.0.1", 30)
    assert len(first) == 10
    assert len(door.knock(made, "127.0.0.2", 4)) == 4
    for connection in first[:3]:
        connection.close()
        connection.close()  # once is enough to leave
    assert len(door.knock(made, "127.0.0.1", 9)) == 3
    assert len(door.knock(made, "127.0.0.3", 30)) == 6  # twenty in all


def test_an_address_has_its_own_limit(door):
    made = door(20, address_connections=3)
    assert len(door.knock(made, "127.0.0.1", 5)) == 3
    assert len(door.knock(made, "127.0.0.2", 5)) == 3


def test_behind_a_trusted_proxy_are_many_people(door):
    settings = {"address_connections": 3, "trusted_proxies": "127.0.0.2,127.0.9.0/24"}
    made = door(20, behind_proxy=True, **settings)
    assert len(door.knock(made, "127.0.0.1", 5)) == 3
    assert len(door.knock(made, "127.0.0.2", 5)) == 5
    assert len(door.knock(made, "127.0.9.7", 5)) == 5
    assert len(door.knock(door(20, **settings), "127.0.0.2", 5)) == 3  # nobody said that it is a proxy


def test_a_forgotten_connection_has_left(door):
    made = door(20, address_connections=1)
    with socket.create_connection(made.getsockname(), 20):
        guest, _ = made.accept()
        os.close(guest.detach())
        del guest
        assert len(door.knock(made, "127.0.0.1", 2)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("soft", "hard", "most"), [(300, 5_000, 1_000), (300, 700, 500), (5_000, 5_000, 1_000)])
def test_files_are_kept_free_for_other_things_than_connections(soft, hard, most):
    """The limit of files is raised as needed; where the system does not allow it, fewer connections are accepted."""
    code = "from sottovoce.server.connections import most_connections as most; import resource as r; "
    code += "print(most(1000), r.getrlimit(r.RLIMIT_NOFILE)[0])"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [str(most), str(min(hard, max(soft, 1_200)))]


class Loop:
    """A clock and timers that the test controls."""

    def __init__(self):
        self.now, self._timers = 0.0, []

    def time(self):
        return self.now

    def call_soon(self, call):
        call()

    def call_later(self, seconds, call):
        timer = Timer(self.now + seconds, call)
        self._timers.append(timer)
        return timer

    def pass_time(self, seconds):
        end = self.now + seconds
        while due := [timer for timer in self._timers if timer.call and timer.at <= end]:
            timer = min(due, key=lambda timer: timer.at)
            self._timers.remove(timer)
            self.now = timer.at
            timer.call()
        self.now = end


class Timer:
    def __init__(self, at, call):
        self.at, self.call = at, call

    def cancel(self):
        self.call = None


class Wire:
    """A transport whose other end reads only as much as it is asked to."""

    def __init__(self):
        self.unsent, self.open = 0, True

    def write(self, data):
        self.unsent += len(data)

    def get_write_buffer_size(self):
        return self.unsent

    def abort(self):
        self.open = False

    close = abort

    def is_closing(self):
        return not self.open

    def set_write_buffer_limits(self, high):
        self.high = high

    def get_extra_info(self, name, default=None):
        return ("::ffff:203.0.113.7", 1) if name == "peername" else default


async def nothing(scope, receive, send):
    """An application."""


def connect(kind, loop):
    protocol = kind(uvicorn.Config(nothing), ServerState(), {}, loop)
    wire = Wire()
    protocol.connection_made(wire)
    return protocol, wire


@pytest.fixture
def patient():
    return watched(Settings(idle_seconds=8, answer_seconds=20))


def test_an_idle_connection_is_closed(patient):
    loop = Loop()
    protocol, wire = connect(patient, loop)
    assert protocol.client == ("203.0.113.7", 1)  # as its network knows it
    loop.pass_time(7.9)
    assert wire.open
    loop.pass_time(2.1)  # it is looked after four times in that time
    assert not wire.open


def test_slow_readers_are_served_and_clients_that_do_not_read_are_cut_off(patient):
    loop = Loop()
    protocol, wire = connect(patient, loop)
    protocol.transport.write(bytes(1_000_000))
    protocol.pause_writing()
    for _ in range(8):  # 2,000 bytes per second
        loop.pass_time(10)
        wire.unsent -= 20_000
    assert wire.open
    wire.unsent -= 5_000
    loop.pass_time(24)
    assert not wire.open


def test_an_answer_that_waits_in_a_closed_connection_is_forgotten(patient):
    """Closing a connection waits until everything written to it has been sent, possibly for ever."""
    loop = Loop()
    protocol, wire = connect(patient, loop)
    wire.close = lambda: None
    protocol.transport.write(b"too little to be noticed")
    protocol.transport.close()
    loop.pass_time(24)
    assert not wire.open


def test_unfetched_answers_have_a_limited_amount_of_memory(patient, monkeypatch):
    monkeypatch.setattr(connections, "_MOST_UNSENT", 3_000_000)
    loop = Loop()
    several = [connect(patient, loop) for _ in range(5)]
    for protocol, _ in several:
        protocol.transport.write(bytes(1_000_000))
        protocol.pause_writing()
    assert [wire.open for _, wire in several] == [False, False, True, True, True]  # those that waited longest are gone
    several[2][0].resume_writing()
    protocol, wire = connect(patient, loop)
    protocol.transport.write(bytes(1_000_000))
    protocol.pause_writing()
    assert all(wire.open for _, wire in several[2:])
    assert wire.open


def refused(connection):
    """Whether the other end has closed; nothing of what it sent before is read."""
    try:
        connection.send(b"x")
    except OSError:
        return True
    return False


@pytest.mark.slow
@whatever_the_database
def test_answers_that_nobody_reads_are_given_up(running_server):
    server = running_server(SOTTOVOCE_ANSWER_SECONDS="1", SOTTOVOCE_IDLE_SECONDS="1")
    asked = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 100
    with ExitStack() as open_ones:
        silent = []
        for _ in range(10):
            connection = open_ones.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(asked)
            silent.append(connection)
        end = time.monotonic() + PATIENCE
        while silent := [connection for connection in silent if not refused(connection)]:
            assert time.monotonic() < end, "somebody who reads nothing still has a connection"
            time.sleep(0.1)
    assert server.client.get("/healthz").status_code == 200


@pytest.mark.slow
@whatever_the_database
def test_a_crowd_from_one_address_leaves_room_for_others(running_server):
    """Two people on one machine: one of them holds all the connections that the server allows a single address."""
    server = running_server(SOTTOVOCE_CONNECTIONS="40", SOTTOVOCE_IDLE_SECONDS="600", SOTTOVOCE_ADDRESS_CONNECTIONS="0")
    with ExitStack() as open_ones:
        crowd = [
            open_ones.enter_context(
                socket.create_connection(("127.0.0.1", server.port), PATIENCE, source_address=("127.0.0.2", 0))
            )
            for _ in range(60)
        ]
        other = httpx.HTTPTransport(local_address="127.0.0.3")
        with httpx.Client(base_url=server.url, transport=other, timeout=PATIENCE) as newcomer:
            assert newcomer.get("/readyz").status_code == 200
        served = 0
        for connection in crowd:
            try:
                connection.sendall(HEALTH)
                served += connection.recv(12) == b"HTTP/1.1 200"
            except OSError:
                pass
        assert served == 20
    assert server.client.get("/healthz").status_code == 200
    assert server.stop()[0] == 0
    assert server.log.count("connections refused") == 1


@whatever_the_database
def test_permissions_are_checked_before_a_large_body_arrives(running_server):
    server = running_server()
    campaign = server.opened()
    head = (
        f"POST /api/campaigns/{campaign}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Authorization: Bearer nobodys-token-0123456789\r\nContent-Length: 200000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=15) as stranger:  # bodies have 20 s
        stranger.sendall(head.encode())
        assert stranger.recv(12) == b"HTTP/1.1 401"


@whatever_the_database
def test_a_header_has_a_limited_size_however_fast_it_comes(running_server):
    server = running_server()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 7_000 + b"\r\n")  # 28 kB
        assert client.recv(12) == b"HTTP/1.1 400"
    assert server.stop()[0] == 0
    assert "HTTP" not in server.log  # or a stranger could fill the disk with lines
