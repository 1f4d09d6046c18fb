"""A lean HTTP client: several connections, each sending its next request as soon as the last one is answered.

A real client library would spend more time per request than the server does, so the benchmark would measure the client.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


def post(path: str, content: bytes, token: str) -> bytes:
    """A request as a device sends it."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


@dataclass(frozen=True)
class Load:
    """The outcome of all requests."""

    seconds: float
    statuses: Counter[int]  # 0 for a connection that broke
    latencies: NDArray[np.float64]  # seconds
    busy: float  # share of the time in which this client itself was busy

    @classmethod
    def of_all(cls, loads: Sequence["Load"]) -> "Load":
        """Several loads, one after another, as one."""
        seconds = sum(load.seconds for load in loads)
        return cls(
            seconds,
            sum((load.statuses for load in loads), Counter()),
            np.concatenate([load.latencies for load in loads]),
            sum(load.busy * load.seconds for load in loads) / seconds,
        )

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def milliseconds(self, percent: float) -> float:
        return 1000 * float(np.percentile(self.latencies, percent))


class _Connection(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], statuses: Counter[int], latencies: list[float]) -> None:
        self._requests, self._statuses, self._latencies = requests, statuses, latencies
        self._received = b""
        self._sent = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self.done.set_result(None)
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head = self._received.find(b"\r\n\r\n")
        if head < 0:
            return
        length = _LENGTH.search(self._received, 0, head + 2)
        if len(self._received) < head + 4 + (int(length[1]) if length else 0):
            return
        self._latencies.append(time.perf_counter() - self._sent)
        self._statuses[int(self._received[9:12])] += 1
        self._received = b""
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self._statuses[0] += 1
            self.done.set_result(None)


def send_all(port: int | Sequence[int], requests: Iterator[bytes], clients: int) -> Load:
    """Send all requests over this many connections to this machine, spread over the ports if there are several."""
    ports = [port] if isinstance(port, int) else port

    async def send() -> Load:
        statuses: Counter[int] = Counter()
        latencies: list[float] = []
        loop = asyncio.get_running_loop()
        started, worked = time.perf_counter(), time.process_time()
        connections = await asyncio.gather(
            *(
                loop.create_connection(
                    lambda: _Connection(requests, statuses, latencies), "127.0.0.1", ports[number % len(ports)]
                )
                for number in range(clients)
            )
        )
        await asyncio.gather(*(connection.done for _, connection in connections))
        seconds = time.perf_counter() - started
        return Load(seconds, statuses, np.array(latencies), (time.process_time() - worked) / seconds)

    return asyncio.run(send())
