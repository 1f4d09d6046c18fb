"""The Spark engine on this machine compared with the memory engine, and the cost of a pass as users grow."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.scale import iteration_seconds, make_pack
from sottovoce.claims.blocks import Pack
from sottovoce.engines import SparkEngine, Step
from sottovoce.lab.bench import fastest

MASTER = "local[2]"
MOST = 4  # times the memory engine's iteration
CLAIMS = 2 * 10**7  # for the table: ten blocks, so that workers add up parts of eight


def compare(console: Console, pack: Pack, memory: float, read: float) -> None:
    """An iteration of CRH compared with those seconds, after a warm-up: workers start, compile, and check blocks."""
    with SparkEngine(pack, MASTER) as engine:
        iteration_seconds(engine, 6)
        spark = iteration_seconds(engine, 20)
    console.print(
        f"The same by Spark, {MASTER}: Spark / memory engine {spark / memory:.2f} (at most {MOST}); "
        f"Spark / plain read {spark / read:.2f}"
    )


def show_limits(console: Console, sizes: tuple[int, ...]) -> None:
    table = Table(title=f"A pass of the Spark engine as users grow ({CLAIMS:,} claims, {MASTER})", box=None)
    for heading in ("users", "seconds", "peak memory of a worker, GB", "of Java, GB", "broadcast, MB", "sums, MB"):
        table.add_column(heading, justify="right")
    for users in sizes:
        ran = subprocess.run(
            [sys.executable, "-m", "bench.spark", str(users)], check=True, capture_output=True, text=True
        )
        measured = json.loads(ran.stdout.splitlines()[-1])
        table.add_row(
            f"{users:,}", f"{measured['seconds']:.2f}", f"{measured['worker'] / 1e9:.2f}",
            f"{measured['java'] / 1e9:.2f}", f"{8 * users / 1e6:,.1f}", f"{8 * users * measured['blocks'] / 1e6:,.1f}",
        )  # fmt: skip
    console.print()
    console.print(table)


def measure(users: int) -> None:
    """In a process of its own: passes like CRH's, and the peak memory of workers and Java."""
    from pyspark import SparkContext

    with (
        tempfile.TemporaryDirectory() as folder,
        SparkEngine(make_pack(Path(folder) / "pack", CLAIMS, users), MASTER) as engine,
    ):
        ones, weights = np.ones(engine.n_objects), np.ones(engine.n_users)
        step, truths = Step(engine.medians(), ones, ones), engine.medians()
        seconds = fastest(lambda: engine.sweep(step, weights, truths), 6)
        assert SparkContext._gateway is not None
        java = SparkContext._gateway.proc.pid
        measured = {
            "seconds": seconds,
            "java": peak(java),
            "worker": max(peak(worker) for daemon in children(java) for worker in children(daemon)),
            "blocks": len(engine.runs),
        }
    print(json.dumps(measured))


def children(pid: int) -> list[int]:
    return [
        int(child) for listing in Path(f"/proc/{pid}/task").glob("*/children") for child in listing.read_text().split()
    ]


def peak(pid: int) -> int:
    """Peak memory of a process, in bytes."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    measure(int(sys.argv[1]))
