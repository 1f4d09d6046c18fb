"""The campaign server compared with its limits: an empty endpoint of its framework, and inserts without a server."""

import os
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from json import loads
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.load import Load, post, send_all
from sottovoce.operators.client import OperatorClient
from sottovoce.protocol import Manifest
from sottovoce.protocol.canonical import canonical_bytes
from sottovoce.protocol.tokens import token_hash
from sottovoce.server.fast.bulk import insert_rows
from sottovoce.server.storage.engine import open_engine
from sottovoce.server.storage.tables import participants

CLIENTS = 200
READINGS = 30
OPERATOR = "operator-token-of-the-load-test-0000000000"
_CROWDS = 64  # different readings: identical ones would make the results too easy
_TURNS = 10
_EMPTY = b"POST /empty HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
_SETTLING = 2_000  # reports before memory is first measured, while pools and caches fill
_TABLES = ("campaigns", "tasks", "participants", "reports", "readings")


@dataclass(frozen=True)
class CampaignServer:
    """``sottovoce serve`` in processes of its own, with a campaign in which everybody has enrolled."""

    pid: int  # of the first process
    ports: tuple[int, ...]
    manifest: Manifest

    @property
    def port(self) -> int:
        """The port of the first process."""
        return self.ports[0]

    def reports(self, people: range) -> Iterator[bytes]:
        """One report per participant: canonical bytes, as devices send them."""
        rng = np.random.default_rng(0)
        bodies = []
        for _ in range(_CROWDS):
            steps = rng.laplace(500, 10, READINGS).round().astype(int).tolist()
            readings = [
                {"task": task.id, "value": value} for task, value in zip(self.manifest.tasks, steps, strict=True)
            ]
            body = {"report_id": "REPORT", "manifest_sha256": self.manifest.sha256, "readings": readings}
            bodies.append(canonical_bytes(body))
        path = f"/api/campaigns/{self.manifest.campaign}/reports"
        for number in people:
            yield post(path, bodies[number % _CROWDS].replace(b"REPORT", _report_id(number).encode()), token(number))

    def megabytes(self, which: str = "VmRSS") -> float:
        """Memory of the process now, or its peak (VmHWM)."""
        field = re.search(rf"{which}:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert field is not None
        return int(field[1]) / 1024

    def wait_for_results(self, reports: int) -> None:
        """Wait until the results include this many reports, except for fewer than make up a step."""
        address = f"http://127.0.0.1:{self.port}/api/campaigns/{self.manifest.campaign}/results"
        while reports - (shown := loads(urlopen(address).read()))["reports"] >= shown["least_claims"]:
            time.sleep(0.2)

    def figure(self, name: str) -> float:
        """A figure from the server's own metrics."""
        with urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            return float(re.findall(rf"^{name} (\S+)", answer.read().decode(), re.MULTILINE)[0])


def token(number: int) -> str:
    """The token of a participant."""
    return f"participant-token-of-the-load-test-{number:08}"


def _report_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


@contextmanager
def _process(*command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, *command], env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            yield started
        finally:
            started.terminate()


@contextmanager
def campaign_server(
    url: str, people: int, processes: int = 1, program: tuple[str, ...] = ("-m", "sottovoce")
) -> Iterator[CampaignServer]:
    """The server with its default settings, except for the limits per address."""
    unlimited = dict.fromkeys(("ADDRESS_RATE", "TOKEN_RATE", "ADDRESS_CONNECTIONS"), "0")
    settings = {**unlimited, "LOG_LEVEL": "error", "OPERATOR_TOKEN": OPERATOR}
    environment = {f"SOTTOVOCE_{name}": text for name, text in settings.items()}
    command = (*program, "serve", "--database", url, "--port", "0", "--json")
    with ExitStack() as running:
        started = [running.enter_context(_process(*command, **environment)) for _ in range(processes)]
        addresses = [loads(process.stdout.readline())["url"] for process in started if process.stdout is not None]
        tasks = [{"id": f"segment-{n:02}", "low": 0, "high": 100, "grid": "0.1"} for n in range(READINGS)]
        with OperatorClient(addresses[0], OPERATOR) as operator:
            draft = {"title": "How long are the hallways?", "tasks": tasks, "noise": "fresh:0.5", "distance": 1}
            campaign = operator.create(draft)["id"]
            operator.open(campaign)
        with urlopen(f"{addresses[0]}/api/campaigns/{campaign}/manifest") as answer:
            manifest = Manifest.parse(answer.read())
        _enrol(url, people)
        ports = tuple(int(address.rpartition(":")[2]) for address in addresses)
        yield CampaignServer(started[0].pid, ports, manifest)


def _enrol(url: str, people: int) -> None:
    """Write participants straight into the table: enrolling them one by one is not what is measured."""
    engine = open_engine(url)
    with engine.execution_options(write=True).begin() as connection:
        rows = [(n + 1, 1, token_hash(token(n)), f"{n:016x}") for n in range(people)]
        insert_rows(connection, participants, ("key", "campaign_key", "token_hash", "label"), rows)
    engine.dispose()


@contextmanager
def empty_endpoint() -> Iterator[int]:
    """The port of an endpoint of the same framework that does nothing, in one process."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = ("-m", "uvicorn", "bench.empty:app", "--port", str(port), "--no-access-log", "--log-level", "error")
    with _process(*command):
        while True:
            try:
                urlopen(f"http://127.0.0.1:{port}/openapi.json").close()
                break
            except OSError:
                time.sleep(0.05)
        yield port


def raw_rate(made: Path, path: Path, count: int, batch: int) -> float:
    """Reports per second with inserts only: the same tables and pragmas, this many reports per commit."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("ATTACH ? AS made", (str(made),))
        for (statement,) in connection.execute(
            f"SELECT sql FROM made.sqlite_schema WHERE sql IS NOT NULL AND tbl_name IN {_TABLES}"
        ).fetchall():
            connection.execute(statement)
        for table in _TABLES[:3]:
            connection.execute(f"INSERT INTO main.{table} SELECT * FROM made.{table}")
        connection.execute("DETACH made")
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        started = time.perf_counter()
        for first in range(0, count, batch):
            people = range(first, min(first + batch, count))
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO reports (campaign_key, report_id, participant_key, content_hash, received_at, readings) "
                "VALUES (1, ?, ?, ?, 0, ?)",
                [(_report_id(n), n + 1, f"{n:064x}", READINGS) for n in people],
            )
            connection.executemany(
                "INSERT INTO readings (campaign_key, participant_key, place, value) VALUES (1, ?, ?, ?)",
                [(n + 1, place, 500 + place) for n in people for place in range(READINGS)],
            )
            connection.execute("COMMIT")
        return count / (time.perf_counter() - started)


def stored(database: Path) -> tuple[int, int]:
    """Reports and readings that are in the database."""
    with closing(sqlite3.connect(database)) as connection:
        counts = (connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _TABLES[3:])
        return next(counts), next(counts)


def run(console: Console, quick: bool) -> None:
    """One server, one run: reports while results are computed, and the limits of the same machine."""
    people = 5_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as name, empty_endpoint() as port:
        database = Path(name) / "campaigns.db"
        with campaign_server(f"sqlite:///{database}", people + _SETTLING) as server:
            send_all(port, iter([_EMPTY] * _SETTLING), CLIENTS)
            send_all(server.port, server.reports(range(people, people + _SETTLING)), CLIENTS)
            server.wait_for_results(_SETTLING)
            # In turns, so that other work on the machine affects both. Those of the empty endpoint are short: after a
            # longer pause the server would take the reports to be over, and compute results in every turn.
            slices = [range(first, first + people // _TURNS) for first in range(0, people, people // _TURNS)]
            turns, before = [], server.megabytes()
            for some in slices:
                empty = send_all(port, iter([_EMPTY] * _SETTLING), CLIENTS)
                turns.append((empty, send_all(server.port, server.reports(some), CLIENTS)))
            computed = server.figure("sottovoce_result_seconds_count") - 1
            batch = server.figure("sottovoce_batch_reports_sum") / server.figure("sottovoce_batch_reports_count")
            server.wait_for_results(people + _SETTLING)
            after, most = server.megabytes(), server.megabytes("VmHWM")
        ratios = sorted(reports.rate / requests.rate for requests, reports in turns)
        empty, load = (Load.of_all(loads) for loads in zip(*turns, strict=True))
        kept = load.statuses[201] + _SETTLING
        if stored(database) != (kept, kept * READINGS):
            raise AssertionError(f"{kept:,} reports were acknowledged, and {stored(database)} are stored")
        raw = raw_rate(database, Path(name) / "raw.db", min(people, 20_000), max(1, round(batch)))
    errors = sum(count for status, count in load.statuses.items() if status != 201)
    table = Table(
        title=f"\n{people:,} durable reports of {READINGS} readings, {CLIENTS} clients at once, one process, SQLite",
        box=None,
        show_header=False,
    )
    for label, figure in (
        (
            f"reports / requests of an empty endpoint, per second: median of {_TURNS} turns (at least 0.5)",
            f"{ratios[_TURNS // 2]:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        ),
        (f"reports / raw inserts in commits of the same {batch:.0f} reports", f"{load.rate / raw:.2f}"),
        ("per second: reports, empty requests, raw inserts", f"{load.rate:,.0f}  {empty.rate:,.0f}  {raw:,.0f}"),
        ("until the answer, p50 and p99 in ms", f"{load.milliseconds(50):,.0f}  {load.milliseconds(99):,.0f}"),
        ("errors (0)", f"{errors:,}"),
        ("memory of the server in MB: before, after, and most while results are computed",
         f"{before:,.0f}  {after:,.0f}  {most:,.0f}"),
        ("results computed meanwhile", f"{computed:,.0f}"),
        ("share of the time that the client itself was busy", f"{load.busy:.0%}"),
    ):  # fmt: skip
        table.add_row(label, figure)
    console.print(table)
