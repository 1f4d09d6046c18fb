"""The campaign server beside its limits: an empty endpoint of the same framework, and inserts without any server."""

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.load import Load, post, send_all
from sottovoce.protocol import Manifest
from sottovoce.protocol.canonical import canonical_bytes
from sottovoce.protocol.tokens import token_hash
from sottovoce.server.results import guarantee_of
from sottovoce.server.storage.bulk import insert_rows
from sottovoce.server.storage.campaigns import campaign_of, create_campaign, open_campaign
from sottovoce.server.storage.engine import open_engine
from sottovoce.server.storage.migrations import migrate
from sottovoce.server.storage.operators import add_operator
from sottovoce.server.storage.tables import participants, readings, reports

CLIENTS = 200
READINGS = 30
_CROWDS = 64  # different readings; a server that sees the same ones again and again has it too easy
_SETTLING = 2_000  # reports before memory is first measured: pools and caches fill


def manifest() -> Manifest:
    tasks = [{"id": f"segment-{n:02}", "unit": "m", "low": 0, "high": 100, "grid": "0.1"} for n in range(READINGS)]
    return Manifest.of(
        {
            "campaign": "bench", "title": "How long are the hallways?", "asked_by": "bench", "tasks": tasks,
            "noise": "fresh:0.5", "distance": 1, "readings": READINGS,
        }
    )  # fmt: skip


def token_of(number: int) -> str:
    return f"participant-token-of-the-load-test-{number:08}"


def make_database(url: str, people: int) -> None:
    """An open campaign with so many participants, as if they had enrolled."""
    engine = open_engine(url)
    migrate(engine)
    asked = manifest()
    with engine.execution_options(write=True).begin() as connection:
        add_operator(connection, "bench", "operator-token-of-the-load-test-00000000", administrator=True, now=0)
        create_campaign(connection, 1, asked, {}, None, None, 0)
        open_campaign(connection, campaign_of(connection, 1, asked.campaign), asked, json.dumps(guarantee_of(asked)), 0)
        rows = [(n + 1, 1, token_hash(token_of(n)), f"{n:016x}") for n in range(people)]
        insert_rows(connection, participants, ("key", "campaign_key", "token_hash", "label"), rows)
    engine.dispose()


def report_requests(people: range) -> Iterator[bytes]:
    """One report of each participant: canonical bytes, as devices send them."""
    asked, rng = manifest(), np.random.default_rng(0)
    bodies = []
    for _ in range(_CROWDS):
        values = rng.laplace(500, 10, READINGS).round().astype(int).tolist()
        told = [{"task": task.id, "value": value} for task, value in zip(asked.tasks, values, strict=True)]
        body = {"report_id": "REPORT_ID", "manifest_sha256": asked.sha256, "readings": told}
        bodies.append(canonical_bytes(body))
    for number in people:
        report_id = b"%08x-0000-4000-8000-000000000000" % number
        content = bodies[number % _CROWDS].replace(b"REPORT_ID", report_id)
        yield post(f"/api/campaigns/{asked.campaign}/reports", content, token_of(number))


@contextmanager
def process(*command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A server in a process of its own, ended in the end."""
    with subprocess.Popen(
        [sys.executable, *command], env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            yield started
        finally:
            started.terminate()
            started.wait()


@contextmanager
def campaign_server(database: str) -> Iterator[tuple[int, int]]:
    """``sottovoce serve`` as it is, but for the limits that would stop one address: its port and process id."""
    options = {"SOTTOVOCE_ADDRESS_RATE": "0", "SOTTOVOCE_TOKEN_RATE": "0", "SOTTOVOCE_LOG_LEVEL": "error"}
    with process("-m", "sottovoce", "serve", "--database", database, "--port", "0", "--json", **options) as started:
        assert started.stdout is not None
        url = json.loads(started.stdout.readline())["url"]
        yield int(url.rpartition(":")[2]), started.pid


@contextmanager
def empty_server() -> Iterator[int]:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    with process("-m", "uvicorn", "bench.empty:app", "--port", str(port), "--no-access-log", "--log-level", "error"):
        while True:
            try:
                urlopen(f"http://127.0.0.1:{port}/openapi.json").close()
                break
            except OSError:
                time.sleep(0.05)
        yield port


def memory_of(pid: int) -> float:
    """Megabytes that a process has in memory."""
    told = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", told)
    assert found is not None
    return int(found[1]) / 1024


def mean_batch(port: int) -> float:
    """Reports that one commit stored, on average; by the server's own count."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        told = answer.read().decode()
    total, commits = (
        float(re.findall(rf"^sottovoce_batch_reports_{name} (\S+)", told, re.MULTILINE)[0]) for name in ("sum", "count")
    )
    return total / commits


def insert_rate(folder: Path, people: int, batch: int) -> float:
    """Reports a second into the same tables with the same pragmas, in commits of the same size: nothing but inserts."""
    path = folder / "raw.db"
    make_database(f"sqlite:///{path}", people)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        started = time.perf_counter()
        for first in range(0, people, batch):
            connection.execute("BEGIN IMMEDIATE")
            members = range(first, min(first + batch, people))
            connection.executemany(
                f"INSERT INTO {reports.name} (campaign_key, report_id, participant_key, content_hash, received_at, "
                "readings) VALUES (1, ?, ?, ?, 0, ?)",
                [(f"{n:08x}-0000-4000-8000-000000000000", n + 1, f"{n:064x}", READINGS) for n in members],
            )
            connection.executemany(
                f"INSERT INTO {readings.name} (campaign_key, participant_key, place, value) VALUES (1, ?, ?, ?)",
                [(n + 1, place, 500 + place) for n in members for place in range(READINGS)],
            )
            connection.execute("COMMIT")
        return people / (time.perf_counter() - started)


def stored(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        (counted,) = connection.execute(f"SELECT count(*) FROM {reports.name}").fetchone()
    return int(counted)


def empty_rate(requests: int) -> Load:
    with empty_server() as port:
        send_all(port, _empty_requests(requests // 10), CLIENTS)
        return send_all(port, _empty_requests(requests), CLIENTS)


def _empty_requests(count: int) -> Iterator[bytes]:
    request = b"POST /empty HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
    return (request for _ in range(count))


def run(console: Console, quick: bool) -> None:
    people = 5_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = folder / "campaigns.db"
        make_database(f"sqlite:///{database}", people + _SETTLING)
        empty = empty_rate(min(people, 20_000))
        with campaign_server(f"sqlite:///{database}") as (port, pid):
            send_all(port, report_requests(range(people, people + _SETTLING)), CLIENTS)
            before = memory_of(pid)
            load = send_all(port, report_requests(range(people)), CLIENTS)
            after, batch = memory_of(pid), mean_batch(port)
        assert stored(database) == load.statuses[201] + _SETTLING  # what was acknowledged is there
        raw = insert_rate(folder, min(people, 20_000), round(batch))
    table = Table(title=f"\n{people:,} reports of {READINGS} readings from {CLIENTS} clients, SQLite, one process", box=None)
    ...
