"""Thousands of random requests that no client would send: the server refuses them and never fails."""

import random
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator

from rich.console import Console

from bench.server import OPERATOR, campaign_server, token

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW", "get", "\x7f")
_ROUTES = (
    "GET /", "GET /api/campaigns", "POST /api/campaigns", "GET /api/campaigns/{c}", "PATCH /api/campaigns/{c}",
    "POST /api/campaigns/{c}/versions", "GET /api/campaigns/{c}/manifest", *["POST /api/campaigns/{c}/reports"] * 6,
    "POST /api/campaigns/{c}/reports/batch", "GET /api/campaigns/{c}/results", "GET /api/campaigns/{c}/results.csv",
    "GET /api/campaigns/{c}/results/versions/1", "GET /api/campaigns/{c}/claims.jsonl",
    "POST /api/campaigns/{c}/invitations", "POST /api/enrolments", "POST /api/invitations/look-up",
    "POST /api/operators", "GET /api/operators/me", "GET /c/{c}",
    "GET /c/{c}?search=a&sort=task&page=9", "GET /j/", "GET /j/a.js", "GET /sign-in?next=/a", "POST /sign-in",
    "POST /sign-out", "POST /analyst", "GET /console/htmx.min.js", "GET /healthz", "GET /readyz", "GET /metrics",
    "GET /api/openapi.json", "DELETE /api/campaigns/{c}/participation",
)  # fmt: skip
_JUNK = (
    "", "%", "%00", "%ff", "/..", "//", "{}", "'", '"', "\\", "\t", ";", "%0d%0aX: y", "9" * 400, "-1", "1e999", "NaN",
    "\xe9", "a" * 5_000, "?", "#", "é", "null", "[]", "\x00", "::", "%c3%28",
)  # fmt: skip
_KINDS = (
    *["application/json"] * 8,
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "",
)


def _mutated(rng: random.Random, text: str, chance: float = 1.0) -> str:
    """Cut, doubled, reordered, or with something inserted that does not belong there."""
    if rng.random() >= chance:
        return text
    for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
        at = rng.randrange(len(text) + 1)
        text = rng.choice(
            (
                text[:at] + rng.choice(_JUNK) + text[at:],
                text[:at],
                text[:at] + text[at + rng.randrange(1, 20) :],
                text[:at] + text[:at][-rng.randrange(1, 40) :] + text[at:],
                text[:at] + chr(rng.randrange(1, 256)) + text[at + 1 :],
            )
        )
    return text


def _bodies(campaign: str, manifest: str) -> tuple[str, ...]:
    reading = '{"task":"segment-00","value":1}'
    report = (
        f'{{"manifest_sha256":"{manifest}","readings":[{reading}],"report_id":"00000000-0000-4000-8000-000000000000"}}'
    )
    task = '{"id":"a","low":0,"high":1,"grid":0.1}'
    return (
        "", "{}", "[]", "null", "1", '"a"', "[" * 3_000, report, report, report,
        f'{{"reports":[{report[:-1]},"participant_token":"{token(0)}"}}]}}',
        '{"invitation":"0123456789abcdef0123456789"}',
        '{"invitation":"0123456789abcdef","enrolment_key":"0123456789abcdef0123456789"}',
        f'{{"title":"t","tasks":[{task}],"noise":"fresh:0.5","distance":1}}', '{"count":1,"qr":true}',
        '{"name":"n","administrator":true}', f"token={OPERATOR}&next=/", "form_token=a&x=1",
        '--x\r\nContent-Disposition: form-data; name="claims"; filename="a.csv"\r\n\r\nuser,object,value\r\n--x--\r\n',
        f"{{\"campaign\":\"{campaign}\"}}",
    )  # fmt: skip


def requests(rng: random.Random, count: int, campaign: str, manifest: str) -> Iterator[bytes]:
    bodies = _bodies(campaign, manifest)
    tokens = (OPERATOR, token(0), token(1), "nobody", "")
    for _ in range(count):
        content = _mutated(rng, rng.choice(bodies)).encode("utf-8" if rng.random() < 0.9 else "utf-16")
        method, _, path = rng.choice(_ROUTES).replace("{c}", campaign).partition(" ")
        method = method if rng.random() < 0.9 else rng.choice(_METHODS)
        path = _mutated(rng, path, 0.3)
        if rng.random() < 0.7:  # otherwise the HTTP parser would reject most of them
            path = "".join(
                letter if letter.isascii() and letter.isprintable() and letter != " " else "%20" for letter in path
            )
        lines = [f"{method} {path} HTTP/1.{rng.choice('1110')}", "Host: x"]
        if rng.random() < 0.7:
            lines.append(_mutated(rng, f"Authorization: Bearer {rng.choice(tokens)}", 0.2))
        lines.append(f"Content-Type: {rng.choice(_KINDS)}")
        if rng.random() < 0.3:
            lines.append(
                _mutated(
                    rng, rng.choice(("Cookie: session=a", "If-None-Match: *", "Accept: a/b", "Expect: 100-continue"))
                )
            )
        length = len(content) if rng.random() < 0.9 else rng.choice((-1, 0, 1, 10**6, 10**30))
        chunked = rng.random() < 0.1
        lines.append("Transfer-Encoding: chunked" if chunked else f"Content-Length: {length}")
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content) if chunked and content else content
        yield "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body


def _status(port: int, request: bytes) -> int:
    """The status of the answer; 0 if there is none, which is right where the server waits for the rest of a body."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        connection.settimeout(5)
        try:
            return int(connection.recv(12)[9:] or 0)
        except (TimeoutError, ConnectionError):
            return 0


def run(console: Console, quick: bool) -> None:
    """All kinds of requests, from strangers to administrators."""
    count = 500 if quick else 20_000
    with tempfile.TemporaryDirectory() as name, campaign_server(f"sqlite:///{name}/campaigns.db", 2) as server:
        statuses: Counter[int] = Counter()
        for request in requests(random.Random(7), count, server.manifest.campaign, server.manifest.sha256):
            status = _status(server.port, request)
            statuses[status] += 1
            if status >= 500:
                raise AssertionError(f"{status} for {request!r}")
        assert _status(server.port, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") == 200
    shown = ", ".join(f"{status or 'none'} {times:,}" for status, times in sorted(statuses.items()))
    console.print(f"\n{count:,} random requests, by the status of the answer (none above 499): {shown}")
