"""Connections: how many there are, how long one may stay idle, and how much is read from it at once.

Uvicorn waits for ever for a client that connects and sends nothing, or half a header, or never reads its response. Each
such client holds a socket and memory, and when a process has no file descriptors left, nobody else can connect.
"""

import asyncio
import logging
import resource
import socket
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Collection
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from sottovoce.server.addresses import UNKNOWN, household, plain
from sottovoce.server.fast.gathering import Gathering
from sottovoce.server.settings import Settings

log = logging.getLogger("sottovoce.server.connections")
_FILES_KEPT_FREE = 200  # for the database, logs and whatever else a server opens
_ACCEPTED_AT_ONCE = 64  # then open connections are served first
_WARN_SECONDS = 60.0
# The parser works through everything it gets before other connections are served, and a chunk may be one byte.
_READ_AT_ONCE = 4 << 10
_LEAST_FETCHED = 16 << 10  # bytes of a response within `answer_seconds`
_UNSENT_ABOVE = 64 << 10  # bytes: smaller waiting responses are not counted
_MOST_UNSENT = 256 << 20  # bytes of all responses that are waiting to be read


class LimitedSocket(socket.socket):
    """A listening socket that accepts a limited number of connections: in total, and from one address.

    Connections from trusted proxies count only towards the total: many people are behind them. A connection is refused
    before a byte is read, even of TLS.
    """

    def __init__(self, family: socket.AddressFamily, most: int, settings: Settings) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._most = most
        most_asked = settings.address_connections or most
        self._most_of_one = min(most_asked, max(1, most // 2))  # a single address never shuts the others out
        self._proxies = _networks(settings.trusted_proxies) if settings.behind_proxy else ()
        self._open = 0
        self._open_of: Counter[str] = Counter()
        self._attempts = 0
        self._refused, self._warned = 0, -_WARN_SECONDS

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            self._attempts += 1
            if self._attempts % _ACCEPTED_AT_ONCE == 0:
                raise BlockingIOError  # the event loop will call again
            connection, address = super().accept()
            home = household(address[0])
            if self._admits(home, address[0]):
                self._open += 1
                self._open_of[home] += 1
                return _CountedConnection(connection, self._leave, home), address
            connection.close()
            self._refuse()

    def _admits(self, home: str, address: str) -> bool:
        if self._open >= self._most:
            return False
        return self._open_of[home] < self._most_of_one or _is_among(address, self._proxies)

    def _leave(self, home: str) -> None:
        self._open -= 1
        self._open_of[home] -= 1
        if not self._open_of[home]:
            del self._open_of[home]

    def _refuse(self) -> None:
        self._refused += 1
        now = time.monotonic()
        if now - self._warned >= _WARN_SECONDS:
            log.warning("connections refused", extra={"refused": self._refused, "open": self._open})
            self._refused, self._warned = 0, now


class _CountedConnection(socket.socket):
    """A connection that reports its end, whether it is closed or garbage-collected."""

    def __init__(self, connection: socket.socket, leave: Any, home: str) -> None:
        super().__init__(connection.family, connection.type, connection.proto, fileno=connection.detach())
        self._left = weakref.finalize(self, leave, home)

    def close(self) -> None:
        self._left()
        super().close()


def most_connections(asked: int) -> int:
    """As many as requested, or as the system lets this process open; the limit is raised as needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = asked + _FILES_KEPT_FREE
    if soft < needed and soft != resource.RLIM_INFINITY:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(ValueError, OSError):  # some systems have a limit of their own
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return asked
    most = max(1, soft - _FILES_KEPT_FREE)
    log.warning(
        "the system allows fewer connections than the settings ask for",
        extra={"most": most, "wanted": asked, "fix": f"allow {needed} open files"},
    )
    return most


def _networks(listed: str) -> tuple[IPv4Network | IPv6Network, ...]:
    if listed.strip() == "*":
        return ip_network("0.0.0.0/0"), ip_network("::/0")
    networks = []
    for entry in listed.split(","):
        with suppress(ValueError):  # uvicorn also accepts names, such as those of sockets, which have no address
            networks.append(ip_network(entry.strip(), strict=False))
    return tuple(networks)


def _is_among(address: str, networks: Collection[IPv4Network | IPv6Network]) -> bool:
    known = plain(address)
    return bool(networks) and known != UNKNOWN and any(ip_address(known) in network for network in networks)


class _Unsent:
    """Responses that wait to be read, the longest waiting first. The memory that they use together is limited."""

    def __init__(self) -> None:
        self._bytes: OrderedDict[WatchedProtocol, int] = OrderedDict()
        self._total = 0

    def add(self, protocol: "WatchedProtocol", size: int) -> None:
        self.drop(protocol)
        self._bytes[protocol] = size
        self._total += size
        while self._total > _MOST_UNSENT:
            longest_waiting = next(iter(self._bytes))
            self.drop(longest_waiting)
            longest_waiting.transport.abort()

    def drop(self, protocol: "WatchedProtocol") -> None:
        self._total -= self._bytes.pop(protocol, 0)


class WatchedProtocol(H11Protocol, asyncio.BufferedProtocol):
    """Uvicorn's protocol, but it reads little at a time, and slow clients are disconnected.

    Between requests a client has a limited time to send the whole next header; while a response is being sent, it must
    keep reading.
    """

    idle_seconds: float
    answer_seconds: float
    _unsent: _Unsent
    _buffer = bytearray(_READ_AT_ONCE)  # shared by all connections: its content is copied before more arrives
    transport: Any

    def connection_made(self, transport: Any) -> None:
        transport.set_write_buffer_limits(high=_UNSENT_ABOVE)
        super().connection_made(Gathering(transport, self.loop))  # type: ignore[arg-type]
        if self.client is not None:
            self.client = (plain(self.client[0]), self.client[1])
        self._waiting_since = self._fetched_at = self.loop.time()
        self._fetched = 0
        self._schedule_check()

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(memoryview(self._buffer)[:nbytes]))

    def on_response_complete(self) -> None:
        self._waiting_since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent.add(self, self.transport.unsent)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unsent.drop(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._next_check.cancel()
        self._unsent.drop(self)
        super().connection_lost(exc)

    def _schedule_check(self) -> None:
        self._next_check = self.loop.call_later(min(self.idle_seconds, self.answer_seconds) / 4, self._check_clients)

    def _check_clients(self) -> None:
        now, unsent, fetched = self.loop.time(), self.transport.unsent, self.transport.fetched
        if not unsent or fetched - self._fetched >= _LEAST_FETCHED:
            self._fetched, self._fetched_at = fetched, now
        stuck = now - self._fetched_at >= self.answer_seconds
        between_requests = not unsent and (self.cycle is None or self.cycle.response_complete)
        if stuck or (between_requests and now - self._waiting_since >= self.idle_seconds):
            self.transport.abort()  # closing would wait for unsent data
        else:
            self._schedule_check()


def watched(settings: Settings) -> type[WatchedProtocol]:
    """The protocol class with the limits from the settings."""
    return type(
        "WatchedProtocol",
        (WatchedProtocol,),
        {
            "idle_seconds": settings.idle_seconds,
            "answer_seconds": settings.answer_seconds,
            "_unsent": _Unsent(),
        },
    )
