"""Writing each response to its socket in one call.

Gain: 10 %, the median of eight runs between -15 % and 32 %; 3 % to 22 % of the processor time.
"""

import asyncio
from typing import Any

_MOST_GATHERED = 64 << 10  # bytes


class Gathering:
    """A transport that passes on in one call what is written within one iteration of the event loop.

    Uvicorn writes the head and the body of a response separately. Each system call releases the interpreter's lock, and
    while the writer is working, getting it back may take longer than everything else.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0
        self._passed = 0

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self._pass_on)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _MOST_GATHERED:  # so that flow control still works for a long response
            self._pass_on()

    def close(self) -> None:
        self._pass_on()
        self._transport.close()

    @property
    def unsent(self) -> int:
        """Bytes that the system has not accepted yet, because the client has not read what came before."""
        return self._size + self._transport.get_write_buffer_size()

    @property
    def fetched(self) -> int:
        """Bytes that the system has accepted since the beginning."""
        return self._passed - self._transport.get_write_buffer_size()

    def _pass_on(self) -> None:
        if self._parts:
            self._passed += self._size
            self._transport.write(b"".join(self._parts))
            self._parts.clear()
            self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
