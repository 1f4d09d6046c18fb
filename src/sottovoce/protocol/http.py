"""An HTTP client for campaign servers, for devices and operators alike.

The server is not trusted: its responses are limited in size, checked and cleaned before use.
"""

import json
import random
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.canonical import MOST_BYTES
from sottovoce.protocol.links import is_encrypted_or_local
from sottovoce.protocol.problems import CATALOGUE, Problem

T = TypeVar("T")
_JSON = "application/json"
_LARGEST_REFUSAL = 64 << 10  # bytes; a problem is a few sentences
_TEMPORARY = {408, 425, 429}  # and all from 500 on: the same request may succeed later


class TryLater(Problem):
    """The same request may succeed later: no connection, no response, or a response that says so."""


@dataclass(frozen=True)
class RetryPolicy:
    """How long to keep trying, and with which pauses.

    Pauses double from the first to the longest, and are shortened at random so that many devices do not come back at
    the same moment. Time is measured by a monotonic clock.
    """

    seconds: float = 30.0
    first: float = 0.2
    longest: float = 10.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random

    def deadline(self) -> float:
        """The end of a period that starts now."""
        return self.clock() + self.seconds

    def run(self, attempt: Callable[[], T], deadline: float) -> T:
        """Try until it succeeds, is refused permanently, or time runs out."""
        pause = self.first
        while True:
            try:
                return attempt()
            except TryLater as later:
                wait = max(pause * (0.5 + self.random() / 2), later.retry_after or 0)
                if self.clock() + wait > deadline:
                    raise
            self.sleep(wait)
            pause = min(2 * pause, self.longest)


class HttpClient:
    """One server. Certificates are verified, redirects are not followed."""

    timeout = 15.0  # seconds without a byte
    longest_answer = 60.0  # seconds
    largest_answer = MOST_BYTES

    def __init__(self, server: str, *, ca: Path | None = None, insecure_http: bool = False) -> None:
        if not (insecure_http or is_encrypted_or_local(server)):
            raise Problem(
                "insecure_address",
                f"address {server}: the connection would not be encrypted, so others on the network could read the "
                "token",
            )
        self.server = server
        # Loading all certificate authorities takes longer than a request; without TLS there is nothing to verify.
        trusted = _trusted(ca) if server.startswith("https:") else False
        self._http = httpx.Client(timeout=self.timeout, follow_redirects=False, verify=trusted)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, mistake: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def send(
        self, method: str, path: str, body: bytes | None = None, token: str | None = None, *, kind: str = _JSON
    ) -> bytes:
        """The server's response; a refusal is raised as its problem."""
        # Compressed content could expand to any size, all at once.
        headers = {"Accept": _JSON, "Accept-Encoding": "identity"}
        if body is not None:
            headers["Content-Type"] = kind
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        end = time.monotonic() + self.longest_answer
        try:
            with self._http.stream(method, f"{self.server}{path}", content=body, headers=headers) as answer:
                if "content-encoding" in answer.headers:
                    raise Problem("bad_answer", f"{self.server}: its response is compressed, which was not requested")
                most = self.largest_answer if answer.is_success else _LARGEST_REFUSAL
                content = bytearray()
                for part in answer.iter_raw():
                    content += part
                    if len(content) > most:
                        raise Problem("bad_answer", f"{self.server}: its response is too large")
                    if time.monotonic() > end:
                        raise TryLater("unreachable", f"{self.server}: its response takes too long")
        except httpx.InvalidURL as mistake:
            raise Problem("not_found", f"{path[:60]!r}: {mistake}") from None
        except (httpx.HTTPError, httpx.StreamError) as mistake:
            raise TryLater("unreachable", f"{self.server}: {_clean(str(mistake) or type(mistake).__name__)}") from None
        if answer.is_success:
            return bytes(content)
        raise _refusal(self.server, answer, bytes(content))


def _refusal(server: str, answer: httpx.Response, content: bytes) -> Problem:
    """The problem that the server reports, from the catalogue if it is there."""
    temporary = answer.status_code in _TEMPORARY or answer.status_code >= 500
    try:
        problem: Any = json.loads(content)
        code, detail = str(problem["code"]), _clean(str(problem.get("detail", "")))
        fix = _clean(str(problem.get("fix") or ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        code, detail, fix = "", "", ""
    if code not in CATALOGUE or CATALOGUE[code].status is None:
        detail = f"{server}: it responded with status {answer.status_code} {_clean(code)} {detail}".strip()
        code, fix = ("unavailable" if temporary else "bad_answer"), ""
    if temporary:
        return TryLater(code, detail, fix=fix, retry_after=_retry_after(answer))
    return Problem(code, detail, fix=fix)


def _retry_after(answer: httpx.Response) -> int | None:
    header = answer.headers.get("Retry-After", "")
    if header.isascii() and header.isdigit():
        return int(header[:9])
    try:
        at, sent = parsedate_to_datetime(header), parsedate_to_datetime(answer.headers.get("Date", ""))
        return max(0, int((at - sent).total_seconds()))  # by the server's clock only: ours may be wrong
    except (ValueError, TypeError, OverflowError):
        return None


def _clean(text: str) -> str:
    """Untrusted text made safe for a terminal: no control characters, limited length."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:300])


def _trusted(ca: Path | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as mistake:
        raise UnreadableFile(f"{ca}: {mistake}; a certificate authority must be a PEM file") from None
