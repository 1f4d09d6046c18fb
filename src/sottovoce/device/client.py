"""Talking to a campaign server, which is not trusted: its answers are bounded, checked and cleaned before use."""

import json
import re
import ssl
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from sottovoce.errors import UnreadableFile
from sottovoce.protocol import CATALOGUE, Problem
from sottovoce.protocol.canonical import MOST_BYTES, canonical_bytes, parse_json
from sottovoce.protocol.links import is_encrypted_or_local

_TIMEOUT = httpx.Timeout(15.0)
_LONGEST_ANSWER = 60.0  # seconds
_LARGEST_REFUSAL = 64 << 10  # bytes; a problem is a few sentences
_PASSING = {408, 425, 429}  # and all from 500 on: the same may succeed later
_TOKEN = re.compile(r"[\x21-\x7e]{16,256}")


class TryLater(Problem):
    """The same request may succeed later: no connection, no answer, or an answer that says so."""


class Client:
    """One server. Certificates are verified, redirects are not followed."""

    def __init__(self, server: str, *, ca: Path | None = None, insecure_http: bool = False) -> None:
        if not (insecure_http or is_encrypted_or_local(server)):
            raise Problem(
                "insecure_address",
                f"address {server}: whoever is on the way could read the token and join in your place",
            )
        self.server = server
        # Reading all the world's authorities takes longer than a request; without TLS there is nothing to verify.
        trusted = _trusted(ca) if server.startswith("https:") else False
        self._http = httpx.Client(timeout=_TIMEOUT, follow_redirects=False, verify=trusted)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, mistake: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def look_up(self, invitation: str) -> str:
        """The campaign that an invitation is for; this does not spend it."""
        answer = self._ask("POST", "/api/invitations/look-up", {"invitation": invitation})
        return _text(answer, "campaign_id", re.compile(r"[A-Za-z0-9_-]{1,64}"))

    def manifest(self, campaign: str) -> bytes:
        """The manifest's bytes as the server tells them."""
        return self._send("GET", f"/api/campaigns/{campaign}/manifest")

    def enrol(self, invitation: str, enrolment_key: str) -> tuple[str, str]:
        """Spend an invitation; the same key again gives the same campaign and participant token."""
        answer = self._ask("POST", "/api/enrolments", {"invitation": invitation, "enrolment_key": enrolment_key})
        return _text(answer, "campaign_id"), _text(answer, "participant_token", _TOKEN)

    def report(self, campaign: str, token: str, body: bytes) -> None:
        """Hand in a report; returns once the server has stored it."""
        self._send("POST", f"/api/campaigns/{campaign}/reports", body, token)

    def withdraw(self, campaign: str, token: str) -> None:
        """Ask the server to erase what it has of the participant."""
        self._send("DELETE", f"/api/campaigns/{campaign}/participation", token=token)

    def _ask(self, method: str, path: str, content: Mapping[str, str]) -> Any:
        try:
            return parse_json(self._send(method, path, canonical_bytes(content)))
        except TryLater:
            raise
        except Problem as mistake:
            if mistake.code in ("bad_json", "too_deep", "float_in_report", "number_too_large"):
                raise Problem("bad_answer", f"{self.server}: its answer is not what the protocol says") from None
            raise

    def _send(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> bytes:
        # What is packed could unpack to any size, all at once.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        end = time.monotonic() + _LONGEST_ANSWER
        try:
            with self._http.stream(method, f"{self.server}{path}", content=body, headers=headers) as answer:
                if "content-encoding" in answer.headers:
                    raise Problem("bad_answer", f"{self.server}: its answer is packed, which was not asked for")
                most = MOST_BYTES if answer.is_success else _LARGEST_REFUSAL
                content = bytearray()
                for part in answer.iter_raw():
                    content += part
                    if len(content) > most or time.monotonic() > end:
                        raise Problem("bad_answer", f"{self.server}: its answer is endless")
        except (httpx.HTTPError, httpx.StreamError) as mistake:
            raise TryLater("unreachable", f"{self.server}: {_clean(str(mistake) or type(mistake).__name__)}") from None
        if answer.is_success:
            return bytes(content)
        raise _refusal(self.server, answer, bytes(content))


def _refusal(server: str, answer: httpx.Response, content: bytes) -> Problem:
    """What the server says is wrong, in the words of the catalogue where it has them."""
    passing = answer.status_code in _PASSING or answer.status_code >= 500
    try:
        told = json.loads(content)
        code, detail = str(told["code"]), _clean(str(told.get("detail", "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        code, detail = "", ""
    if code not in CATALOGUE or CATALOGUE[code].status is None:
        detail = f"{server}: it answers with status {answer.status_code} {_clean(code)} {detail}".strip()
        code = "unavailable" if passing else "bad_answer"
    if passing:
        return TryLater(code, detail, retry_after=_retry_after(answer))
    return Problem(code, detail)


def _retry_after(answer: httpx.Response) -> int | None:
    told = answer.headers.get("Retry-After", "")
    if told.isascii() and told.isdigit():
        return int(told[:9])
    try:
        at, sent = parsedate_to_datetime(told), parsedate_to_datetime(answer.headers.get("Date", ""))
        return max(0, int((at - sent).total_seconds()))  # by the server's clock alone: ours may be wrong
    except (ValueError, TypeError, OverflowError):
        return None


def _text(answer: Any, field: str, pattern: re.Pattern[str] | None = None) -> str:
    text = answer.get(field) if isinstance(answer, dict) else None
    if not isinstance(text, str) or (pattern and not pattern.fullmatch(text)):
        raise Problem("bad_answer", f"field {field!r}: the server's answer must have it")
    return text


def _clean(text: str) -> str:
    """Text from outside for a terminal: nothing that moves its cursor, and not too much."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:300])


def _trusted(ca: Path | None) -> ssl.SSLContext | bool:
    if ca is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as mistake:
        raise UnreadableFile(f"{ca}: {mistake}; a certificate authority comes as a PEM file") from None
