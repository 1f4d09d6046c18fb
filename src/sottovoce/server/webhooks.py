"""Webhooks: another system is informed of each new version of the results.

Events follow the Standard Webhooks convention, so that receivers can check them with existing libraries: the headers
``webhook-id``, ``webhook-timestamp`` and ``webhook-signature``, an HMAC-SHA256 over the id, the timestamp and the body.
Each version is sent at least once, in order, with the same id in every attempt. An event is recorded as delivered only
after the receiver has confirmed it, so a server that is killed in between sends it again.

Operators choose the addresses, and must not reach the server's own network through them. So host names are resolved
here, every address that they resolve to must be public, and the connection goes to the very address that was checked.
"""

import hashlib
import hmac
import json
import logging
import random
import socket
from base64 import b64encode
from collections.abc import Callable
from functools import cached_property, partial
from ipaddress import ip_address
from ssl import SSLContext
from threading import Event, Thread
from urllib.parse import urlsplit

import httpx
from sqlalchemy import Engine

from sottovoce import __version__
from sottovoce.protocol.problems import Problem
from sottovoce.server.clock import Clock, moment
from sottovoce.server.settings import Settings
from sottovoce.server.storage.engine import WEBHOOKS_LOCK
from sottovoce.server.storage.locks import JobsLock
from sottovoce.server.storage.rows import DueEvent
from sottovoce.server.storage.webhooks import due_events, mark_delivered, mark_failed
from sottovoce.server.storage.writer import Writer

log = logging.getLogger("sottovoce.server.webhooks")
MOST_CHARACTERS = 2000  # of an address
_EVERY_SECONDS = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 5_000, 3_600_000  # milliseconds
_GIVES_UP = 3 * 86_400_000  # after the first failure
_TIMEOUT = 10.0
_GONE = 410  # the receiver wants no more


def check_webhook(url: str, settings: Settings) -> None:
    """Refuse an address that events must not be sent to."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - a number out of range is refused here
    except ValueError:
        raise _refused(url, "it must be a web address, such as https://example.org/hooks/results") from None
    private = settings.webhook_private
    if parts.scheme not in (("https", "http") if private else ("https",)):
        raise _refused(url, f"it must begin with https://{' or http://' if private else ''}")
    if not parts.hostname or parts.username or parts.password or parts.fragment or len(url) > MOST_CHARACTERS:
        raise _refused(
            url,
            f"it must name a host, without a user name, a password or #, in at most {MOST_CHARACTERS:,} characters",
        )
    if not url.isascii() or not url.isprintable() or " " in url:
        raise _refused(url, "it must be written in ASCII characters, without spaces")
    try:
        literal = ip_address(parts.hostname)
    except ValueError:
        return
    if not private and not literal.is_global:
        raise _refused(url, "it is in a private network, and this server sends only to public addresses")


def _refused(url: str, rule: str) -> Problem:
    return Problem("bad_request", f"address {url[:60]!r}: {rule}", fix="give another address")


def signing_key(secret: bytes) -> str:
    """The secret as the receiver gets it."""
    return f"whsec_{b64encode(secret).decode()}"


def signature(secret: bytes, event_id: str, timestamp: int, body: bytes) -> str:
    """The signature of one attempt."""
    signed = hmac.digest(secret, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{b64encode(signed).decode()}"


class Unreachable(Exception):
    """Why an event could not be delivered."""


class ReceiverGone(Unreachable):
    """The receiver wants no more events."""


class Webhooks:
    """The thread that delivers events. All state is in the database."""

    def __init__(
        self,
        engine: Engine,
        writer: Writer,
        clock: Clock,
        settings: Settings,
        resolve: Callable[[str, int], list[str]] | None = None,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock
        self._settings = settings
        self._resolve = resolve or _addresses
        self._lock = JobsLock(engine, WEBHOOKS_LOCK)
        self._stop = Event()
        self._thread = Thread(target=self._work, name="webhooks", daemon=True)

    @cached_property
    def _verify(self) -> SSLContext:
        """Verifies certificates. Making it takes a while, and most servers never need it."""
        return httpx.create_ssl_context()

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=2)  # an attempt that hangs is repeated after the next start

    def _work(self) -> None:
        while not self._stop.wait(_EVERY_SECONDS):
            try:
                self._lock.run(self.deliver)
            except Exception:
                log.exception("delivering webhooks failed")
        self._lock.release()

    def deliver(self) -> None:
        """Send everything that is due, one event for each webhook at a time."""
        while not self._stop.is_set():
            with self._engine.connect() as connection:
                due = due_events(connection, self._clock())
            if not due:
                return
            for event in due:
                self._deliver(event)

    def _deliver(self, event: DueEvent) -> None:
        try:
            self._send(event)
        except Unreachable as problem:
            now, failure = self._clock(), str(problem)
            is_over = now - (event.failing_since or now) >= _GIVES_UP or isinstance(problem, ReceiverGone)
            pause = min(_FIRST_PAUSE * 2 ** min(event.attempts, 20), _LONGEST_PAUSE)
            next_at = None if is_over else now + round(pause * random.uniform(0.8, 1.2))
            log.warning("webhook event not delivered", extra={"campaign": event.id, "why": failure, "stopped": is_over})
            self._writer.run_and_wait(lambda connection: mark_failed(connection, event, failure, now, next_at))
        else:
            self._writer.run_and_wait(partial(mark_delivered, event=event))

    def _send(self, event: DueEvent) -> None:
        event_id = f"{event.id}-{event.version}"
        body = json.dumps(
            {
                "type": "results.published",
                "timestamp": moment(event.as_of),
                "data": {
                    "event_id": event_id,
                    "campaign": event.id,
                    "version": event.version,
                    "reports": event.reports,
                    "results": f"{(self._settings.public_url or '').rstrip('/')}/api/campaigns/{event.id}"
                    f"/results/versions/{event.version}",
                },
            }
        ).encode()
        timestamp = self._clock() // 1000
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"Sottovoce/{__version__}",
            "webhook-id": event_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(event.secret, event_id, timestamp, body),
        }
        status = self._post(event.url, body, headers)
        if status == _GONE:
            raise ReceiverGone(f"the receiver responded with status {_GONE}: it wants no more events")
        if not 200 <= status < 300:
            raise Unreachable(f"the receiver responded with status {status}")

    def _post(self, url: str, body: bytes, headers: dict[str, str]) -> int:
        """Send to the address that was checked, whatever the name resolves to by then; do not follow redirects."""
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        try:
            found = self._resolve(host, port)
        except OSError:
            raise Unreachable(f"the host name {host} cannot be resolved") from None
        if not found:
            raise Unreachable(f"the host name {host} has no address")
        if not self._settings.webhook_private and not all(ip_address(one).is_global for one in found):
            raise Unreachable(
                f"the host name {host} resolves to a private address; this server sends webhooks only to public ones"
            )
        address = f"[{found[0]}]" if ":" in found[0] else found[0]
        named = f"[{host}]" if ":" in host else host
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            with httpx.Client(timeout=_TIMEOUT, follow_redirects=False, trust_env=False, verify=self._verify) as client:
                request = client.build_request(
                    "POST",
                    f"{parts.scheme}://{address}:{port}{path}",
                    content=body,
                    headers={**headers, "Host": f"{named}:{parts.port}" if parts.port else named},
                    extensions={"sni_hostname": host},
                )
                answer = client.send(request, stream=True)  # its body is not read, however long it is
                answer.close()
                return answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as mistake:
            raise Unreachable(f"the receiver cannot be reached ({type(mistake).__name__})") from None


def _addresses(host: str, port: int) -> list[str]:
    return list(dict.fromkeys(str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
