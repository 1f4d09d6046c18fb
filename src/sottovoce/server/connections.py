"""Connections: those that do not come to the point are closed, and an answer leaves in one piece.

Uvicorn waits for ever for a client that connects and sends nothing, or half a header. Each of them holds a socket, and
with a few thousand of them nobody else gets one.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_MOST_GATHERED = 64 << 10  # bytes


class _Gathering:
    """A transport that passes on what is written within one turn of the event loop in one call.

    Uvicorn writes head and body of an answer one by one. Each call to the system lets go of the interpreter's lock, and
    while the writer is at work, getting it back may take longer than all the rest.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self._pass_on)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _MOST_GATHERED:  # so that the flow of a long answer is still controlled
            self._pass_on()

    def close(self) -> None:
        self._pass_on()
        self._transport.close()

    def _pass_on(self) -> None:
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()
            self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def impatient(idle_seconds: float) -> type[asyncio.Protocol]:
    """Uvicorn's protocol, but between requests a client has only so long to send the next header whole."""

    class ImpatientProtocol(H11Protocol):
        _due: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(_Gathering(transport, self.loop))  # type: ignore[arg-type]
            self._expect_header()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._expect_header()
            else:
                self._forget()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _expect_header(self) -> None:
            if self._due is None and not self.transport.is_closing():
                self._due = self.loop.call_later(idle_seconds, self.transport.close)

        def _forget(self) -> None:
            if self._due is not None:
                self._due.cancel()
                self._due = None

    return ImpatientProtocol
