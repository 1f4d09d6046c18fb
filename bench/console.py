"""The console on a large campaign: what the server needs for each page."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import dumps, loads
from pathlib import Path
from statistics import median

import httpx
import numpy as np
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, update

from sottovoce.protocol import Manifest
from sottovoce.server.fast.bulk import insert_rows
from sottovoce.server.results import Computation, encode, guarantee_of
from sottovoce.server.storage.campaigns import campaign_of, create_campaign, open_campaign
from sottovoce.server.storage.engine import open_engine
from sottovoce.server.storage.migrations import migrate
from sottovoce.server.storage.operators import add_operator
from sottovoce.server.storage.results import add_results
from sottovoce.server.storage.tables import campaigns, invitations, participants, readings, reports

LIMIT = 200  # milliseconds
_OPERATOR = "operator-token-of-the-console-bench-00000000"
_READINGS = 10  # in each report
_TIMES = 15


def _manifest(name: str, tasks: int) -> Manifest:
    listed = [
        {"id": f"segment-{n:05}", "title": f"Segment {n}", "unit": "m", "low": 0, "high": 100, "grid": "0.1"}
        for n in range(tasks)
    ]
    parts = {"campaign": name, "title": "How long are the hallways?", "asked_by": "the bench", "tasks": listed}
    return Manifest.of({**parts, "noise": "fresh:0.5", "distance": 1, "readings": _READINGS})


def _fill(connection: Connection, tasks: int, people: int) -> None:
    """A draft, and an open campaign with one report per participant, each about a few tasks."""
    add_operator(connection, "bench", _OPERATOR, administrator=True, now=0)
    create_campaign(connection, 1, _manifest("draft", tasks), {}, {}, None, 0)
    manifest = _manifest("open", tasks)
    create_campaign(connection, 1, manifest, {}, {}, None, 0)
    row = campaign_of(connection, 1, "open")
    guarantee = guarantee_of(manifest)
    open_campaign(connection, row, manifest, dumps(guarantee), 0)
    empty = Computation.empty(manifest, guarantee, None, None, 5)
    add_results(connection, row.key, 1, empty.method_name, 0, 0, encode(empty.results({}, 1, 0)))
    rng = np.random.default_rng(0)
    first = rng.integers(0, tasks, people)
    places = (first[:, None] + np.arange(_READINGS) * (tasks // _READINGS)) % tasks
    values = (places % 900 + rng.laplace(0, 10, places.shape)).round().astype(int)
    everybody = range(1, people + 1)
    insert_rows(
        connection, participants, ("key", "campaign_key", "token_hash", "label"),
        [(n, row.key, f"p{n}", f"{n:016x}") for n in everybody],
    )  # fmt: skip
    insert_rows(
        connection, invitations, ("campaign_key", "token_hash", "created_at", "spent_by"),
        [(row.key, f"i{n}", 0, f"s{n}") for n in everybody],
    )  # fmt: skip
    insert_rows(
        connection, reports,
        ("campaign_key", "report_id", "participant_key", "content_hash", "received_at", "readings"),
        [(row.key, f"{n:036}", n, f"{n:064}", 0, _READINGS) for n in everybody],
    )  # fmt: skip
    insert_rows(
        connection, readings, ("campaign_key", "participant_key", "place", "value"),
        [
            (row.key, n, place, value)
            for n, chosen, entries in zip(everybody, places.tolist(), values.tolist(), strict=True)
            for place, value in sorted(zip(chosen, entries, strict=True))
        ],
    )  # fmt: skip
    connection.execute(
        update(campaigns).where(campaigns.c.key == row.key).values(reports=people, changes=people, changed_at=0)
    )


@contextmanager
def _server(database: str) -> Iterator[str]:
    settings = {"ADDRESS_RATE": "0", "LOG_LEVEL": "error", "OPERATOR_TOKEN": _OPERATOR}
    environment = {**os.environ, **{f"SOTTOVOCE_{name}": text for name, text in settings.items()}}
    command = [sys.executable, "-m", "sottovoce", "serve", "--database", database, "--port", "0", "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            yield loads(started.stdout.readline())["url"]
        finally:
            started.terminate()


def _milliseconds(ask: Callable[[], httpx.Response]) -> tuple[float, float]:
    """Median and longest time until the whole answer has arrived."""
    times = []
    for _ in range(_TIMES):
        started = time.perf_counter()
        answer = ask()
        times.append((time.perf_counter() - started) * 1000)
        if answer.status_code not in (200, 204):
            raise AssertionError(f"{answer.request.url}: {answer.status_code}")
    return median(times), max(times)


def _pages(client: httpx.Client, token: str, tasks: int) -> dict[str, Callable[[], httpx.Response]]:
    last = -(-tasks // 50)
    addresses = {
        "campaigns": "/",
        "results, first page": "/campaigns/open",
        "results, by interval, last page": f"/campaigns/open?sort=width&order=down&page={last}",
        "results, searched": "/campaigns/open?search=777",
        "has anything changed? (no)": "/campaigns/open/findings?version=2",
        "progress": "/campaigns/open/progress",
        "invitations": "/campaigns/open/invitations",
        "history": "/campaigns/open/history",
        "an earlier version": "/campaigns/open/history/1",
        "the public page": "/c/open",
        "a draft, to check": "/campaigns/draft",
        "a draft's tasks": "/campaigns/draft/tasks",
        "a draft's privacy": "/campaigns/draft/privacy",
        "server": "/server",
    }

    def page(address: str) -> Callable[[], httpx.Response]:
        return lambda: client.get(address)

    def form(address: str, **fields: str) -> Callable[[], httpx.Response]:
        return lambda: client.post(address, data={"form_token": token, **fields})

    shown = {name: page(address) for name, address in addresses.items()}
    return {**shown, "a sheet of 20 invitations": form("/campaigns/open/invitations", count="20")}


def run(console: Console, quick: bool) -> None:
    """Times at the client, over the loopback interface, so slightly more than what the server needs."""
    tasks, people = (1_000, 5_000) if quick else (10_000, 100_000)
    with tempfile.TemporaryDirectory() as name:
        database = f"sqlite:///{Path(name) / 'campaigns.db'}"
        engine = open_engine(database)
        migrate(engine)
        with engine.execution_options(write=True).begin() as connection:
            _fill(connection, tasks, people)
        engine.dispose()
        with _server(database) as address, httpx.Client(base_url=address, timeout=60) as client:
            client.post("/sign-in", data={"token": _OPERATOR}, follow_redirects=True).raise_for_status()
            form_token = re.search(r'name="form_token" value="(\w+)"', client.get("/").text)
            assert form_token is not None
            while client.get("/api/campaigns/open/results").json()["reports"] < people:
                time.sleep(0.5)
            figures = {name: _milliseconds(ask) for name, ask in _pages(client, form_token[1], tasks).items()}
    table = Table(
        title=f"\nthe console with {tasks:,} tasks and {people:,} reports, ms per page: median and longest "
        f"(median below {LIMIT})",
        box=None,
        show_header=False,
    )
    for label, (usual, most) in figures.items():
        table.add_row(label, f"{usual:,.0f}", f"{most:,.0f}", "" if usual < LIMIT else "[red]too slow")
    console.print(table)
