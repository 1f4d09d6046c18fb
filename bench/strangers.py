"""How long one stranger's request keeps everybody else waiting: the worst that the server accepts, route by route.

A separate process requests /healthz repeatedly over one connection; its longest wait is what others notice. On a
machine that does other work too, waits are longer than the server causes, so its own processor time during a wait is
shown as well.
"""

import multiprocessing
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from rich.console import Console
from rich.table import Table

from bench.server import OPERATOR, campaign_server, token
from sottovoce.operators.client import OperatorClient

_LIMIT = 100  # milliseconds
_TASKS = 10_000
_SMALL, _LARGE = 8_000, 262_000  # bytes: a little below the limits of strangers and of participants
_PING = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
_ID = "00000000-0000-4000-8000-000000000000"


def _fill(size: int, before: str, each: str, after: str) -> bytes:
    """A document of about this size: the same part repeated, with a number in it."""
    count = (size - len(before) - len(after)) // (len(each.format(n=10_000)) + 1)
    return (before + ",".join(each.format(n=n) for n in range(10_000, 10_000 + count)) + after).encode()


def _documents(size: int) -> Iterator[tuple[str, bytes]]:
    """JSON that is expensive to read, named by what a stranger would try."""
    report = '{"manifest_sha256":"' + "0" * 64 + '","readings":['
    end = f'],"report_id":"{_ID}"}}'
    again = '{{"task":"{n}","value":1}}'
    last = again.format(n=10_000)
    yield "many keys, one of them twice", _fill(size, "{", '"{n}":1', ',"10000":1}')
    yield "numbers", _fill(size, "[", "{n}", "]")
    yield "empty objects", _fill(size, report, "{{}}", end)
    yield "lists in lists", _fill(size, "[", "[[[[[]]]]]", "]")
    yield "escapes", _fill(size, '["', r"\u00e9", '"]')
    yield "depth", b"[" * size
    yield "a report in canonical JSON", _fill(size, report, again, end)
    yield "a report with a task twice", _fill(size, report, again, f",{last}{end}")
    yield "a report with no number", _fill(size, report, '{{"task":"{n}","value":"1"}}', end)


def _request(method: str, path: str, content: bytes = b"", head: str = "", kind: str = "application/json") -> bytes:
    lines = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}"
    if method == "POST":
        lines += f"Content-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
    return lines.encode() + b"\r\n" + content


def _in_chunks(path: str, size: int, head: str = "") -> bytes:
    lines = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}Content-Type: application/json\r\n"
    return lines.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * size + b"0\r\n\r\n"


def attacks(small: str, large: str, bearer: str) -> Iterator[tuple[str, bytes]]:
    """Requests that the server accepts: to the routes that anybody can reach, and with a participant's token."""
    reports = f"/api/campaigns/{small}/reports"
    for path in ("/api/enrolments", "/api/invitations/look-up"):
        for name, content in _documents(_SMALL):
            yield f"{path}: {name}", _request("POST", path, content)
        yield f"{path}: more than is read", _request("POST", path, next(_documents(_LARGE))[1])
    form = "application/x-www-form-urlencoded"
    yield "/sign-in: many fields", _request("POST", "/sign-in", b"&".join([b"a=%41"] * 1_300), kind=form)
    yield "/sign-in: more than is read", _request("POST", "/sign-in", b"a=1&" * 200_000, kind=form)
    yield "reports: without a token", _request("POST", reports, next(_documents(_LARGE))[1])
    for name, content in _documents(_LARGE):
        yield f"reports, a stranger's: {name}", _request("POST", reports, content, "Authorization: Bearer nobody\r\n")
    for name, content in _documents(_LARGE):
        yield f"reports, a participant's: {name}", _request("POST", reports, content, bearer)
    yield "reports, a participant's: a chunk per byte", _in_chunks(reports, 200_000, bearer)
    yield "enrolments: a chunk per byte", _in_chunks("/api/enrolments", 200_000)
    yield "a header of many lines", _request("GET", "/healthz", head="a:\r\n" * 3_500)
    yield "many cookies", _request("GET", "/", head=f"Cookie: {'a=b;' * 3_500}\r\n")
    yield "many tags", _request("GET", f"/api/campaigns/{small}/manifest", head=f"If-None-Match: {'a,' * 7_000}\r\n")
    yield "a long address", _request("GET", f"/api/campaigns/{'%61/' * 3_500}")
    yield "a long query", _request("GET", f"/c/{small}?{'a=b&' * 3_500}")
    yield "an unknown method", _request("BREW", f"/api/campaigns/{small}/{'a' * 10_000}")
    for path in ("results", "results.csv", "results.parquet", "results.jsonl", "manifest", "results/versions"):
        yield f"{path} of {_TASKS:,} tasks", _request("GET", f"/api/campaigns/{large}/{path}")
    yield f"public page of {_TASKS:,} tasks", _request("GET", f"/c/{large}?search=a&sort=task&order=down&page=3")
    for path in ("/api/openapi.json", "/metrics", "/readyz", "/j/", "/console/htmx.min.js", "/sign-in?next=/"):
        yield path, _request("GET", path)


def _send(port: int, request: bytes) -> int:
    """The status of the answer, which is read to the end; 0 if the server closed the connection first."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        connection.settimeout(120)
        try:
            connection.sendall(request)
            while part := connection.recv(1 << 16):
                answer = answer or part
        except OSError:
            pass
    return int(answer[9:12] or 0)


def _processor_time(pid: int) -> float:
    """Processor seconds of another process, by the clock that Linux keeps for it."""
    return time.clock_gettime(~pid << 3 | 2)


def _ping(port: int, pid: int, talk: Connection) -> None:
    """Send requests until asked to stop, then report the longest wait and the most processor time during one."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        while talk.recv():  # once for each attack
            longest = most = 0.0
            while not talk.poll():
                started, before = time.perf_counter(), _processor_time(pid)
                connection.sendall(_PING)
                assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
                longest = max(longest, time.perf_counter() - started)
                most = max(most, _processor_time(pid) - before)
            talk.recv()
            talk.send((1000 * longest, 1000 * most))


@contextmanager
def watching(port: int, pid: int) -> Iterator[Connection]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_ping, args=(port, pid, theirs), daemon=True)
    process.start()
    try:
        yield ours
        ours.send(False)
        process.join(10)
    finally:
        process.kill()


def longest_wait(watch: Connection, port: int, request: bytes | None, times: int) -> tuple[float, float, int]:
    """Milliseconds that others wait while this is sent, the server's processor time meanwhile, and the answer."""
    statuses: list[int] = []
    watch.send(True)
    time.sleep(0.1)
    if request is None:
        time.sleep(1)
    else:
        statuses = [_send(port, request) for _ in range(times)]
    watch.send(False)
    longest, most = watch.recv()
    return most, longest, max(statuses, default=0)


def run(console: Console, quick: bool) -> None:
    """Each request several times, compared with the wait of others while nothing is sent."""
    times = 4 if quick else 20
    with tempfile.TemporaryDirectory() as name, campaign_server(f"sqlite:///{name}/campaigns.db", 1) as server:
        address = f"http://127.0.0.1:{server.port}"
        with OperatorClient(address, OPERATOR) as operator:
            tasks = [{"id": f"task-{n:05}", "low": 0, "high": 100, "grid": "0.1"} for n in range(_TASKS)]
            draft = {"title": "Many", "tasks": tasks, "noise": "fresh:0.5", "distance": 1}
            large = operator.create(draft)["id"]
            operator.open(large)
        bearer = f"Authorization: Bearer {token(0)}\r\n"
        with watching(server.port, server.pid) as watch:
            nothing = sorted(longest_wait(watch, server.port, None, 0)[1] for _ in range(5))
            waits = [
                (*longest_wait(watch, server.port, request, times), label, len(request))
                for label, request in attacks(server.manifest.campaign, large, bearer)
            ]
    waits.sort(reverse=True)
    table = Table(title=f"\nLongest wait of others while a stranger sends one request {times} times", box=None)
    for head in ("ms computed", "ms waited", "answer", "bytes", "request"):
        table.add_column(head, justify="left" if head == "request" else "right")
    for most, wait, status, label, size in waits[:10]:
        table.add_row(f"{most:,.0f}", f"{wait:,.0f}", str(status), f"{size:,}", label)
    console.print(table)
    console.print(
        f"of {len(waits)} requests the most computed during a wait, in ms (at most {_LIMIT}): {waits[0][0]:,.0f}"
    )
    console.print(
        f"and the longest wait, in ms (at most {_LIMIT} on an idle machine): {max(row[1] for row in waits):,.0f}"
    )
    console.print(f"while nothing is sent, in ms: median of five {nothing[2]:,.1f}, longest {nothing[-1]:,.1f}")
    if wrong := [(label, status) for _, _, status, label, _ in waits if status >= 500]:
        raise AssertionError(f"answered with a server error: {wrong}")
