"""The gain of each part of the server's fast path: the same load with the part and without it, in turns."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, select

from bench.load import send_all
from bench.server import CLIENTS, READINGS, CampaignServer, campaign_server
from bench.without import PARTS
from sottovoce.server.fast.arrays import gathered
from sottovoce.server.storage.engine import open_engine
from sottovoce.server.storage.tables import readings

_TURNS = 7


def _processor_seconds(server: CampaignServer) -> float:
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rows(connection: Connection, campaign_key: int, cohort: int) -> np.ndarray:
    """Loading readings without `gathered`."""
    columns = (readings.c.participant_key, readings.c.place, readings.c.value, readings.c.cohort)
    query = select(*columns).where(readings.c.campaign_key == campaign_key, readings.c.cohort <= cohort)
    ordered = query.order_by(readings.c.participant_key, readings.c.place)
    return np.array([tuple(row) for row in connection.execute(ordered)], np.int64).T


def _median_ratio(above: list[float], below: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(above, below, strict=True))


def _seconds(load: Callable[[Connection, int, int], object], connection: Connection) -> float:
    started = time.perf_counter()
    load(connection, 1, 1 << 40)
    return time.perf_counter() - started


def run(console: Console, quick: bool) -> None:
    """A server with all parts, and one without each part, on separate databases; all get the same reports."""
    each = 300 if quick else 2_000
    people = each * (_TURNS + 1)
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        servers = {
            part: running.enter_context(
                campaign_server(f"sqlite:///{name}/{part}.db", people, program=("-m", "bench.without", part))
            )
            for part in PARTS
        }
        rates: dict[str, list[float]] = {part: [] for part in PARTS}
        costs: dict[str, list[float]] = {part: [] for part in PARTS}
        for turn in range(_TURNS + 1):
            order = [*PARTS][turn % len(PARTS) :] + [*PARTS][: turn % len(PARTS)]
            for part in order:
                server, some = servers[part], range(turn * each, (turn + 1) * each)
                before = _processor_seconds(server)
                load = send_all(server.port, server.reports(some), CLIENTS)
                if load.statuses != {201: each}:
                    raise AssertionError(f"without {part}: {load.statuses}")
                if turn:  # the first fills pools and caches
                    rates[part].append(load.rate)
                    costs[part].append(_processor_seconds(server) - before)
        title = f"\nThe fast path: {each:,} reports of {READINGS} readings, median of {_TURNS} turns"
        headings = ("part", "reports per second without it", "gain in speed", "gain in processor time")
        table = Table(*headings, box=None, title=title)
        for part in PARTS:
            speed, cost = _median_ratio(rates["nothing"], rates[part]), _median_ratio(costs[part], costs["nothing"])
            table.add_row(part, f"{statistics.median(rates[part]):,.0f}", f"{speed - 1:+.0%}", f"{cost - 1:+.0%}")
        console.print(table)
        engine = open_engine(f"sqlite:///{name}/nothing.db")
        with engine.connect() as connection:
            turns = [(_seconds(_rows, connection), _seconds(gathered, connection)) for _ in range(3)]
        console.print(
            f"loading {people * READINGS:,} readings: {min(rows for rows, _ in turns):.2f} s row by row, "
            f"{min(arrays for _, arrays in turns):.2f} s as arrays"
        )
        engine.dispose()
