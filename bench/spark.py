"""The Spark engine on this machine beside the memory engine, and what a pass takes as users grow."""

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
    """An iteration of CRH beside those seconds, after warming up: workers start, compile and check their blocks."""
    with SparkEngine(pack, MASTER) as engine:
        iteration_seconds(engine, 6)
        spark = iteration_seconds(engine, 20)
    console.print(
        f"The same by Spark, {MASTER}: Spark / memory engine {spark / memory:.2f} (at most {MOST}); "
        f"Spark / plain read {spark / read:.2f}"
    )


def show_limits(console: Console, sizes: tuple[int, ...]) -> None:
    table = Table(title=f"A pass of the Spark engine as users grow ({CLAIMS:,} claims, {MASTER})", box=None)
    for heading in ("users", "seconds", "most memory of a worker, GB", "of Java, GB", "broadcast, MB", "sums, MB"):
        table.add_column(heading, justify="right")
    for users in sizes:
        ran = subprocess.run(
            [sys.executable, "-m", "bench.spark", str(users)], check=True, capture_output=True, text=True
        )
        found = json.loads(ran.stdout.splitlines()[-1])
        table.add_row(
            f"{users:,}", f"{found['seconds']:.2f}", f"{found['worker'] / 1e9:.2f}", f"{found['java'] / 1e9:.2f}",
            f"{8 * users / 1e6:,.1f}", f"{8 * users * found['blocks'] / 1e6:,.1f}",
        )  # fmt: skip
    console.print()
    console.print(table)


def measure(users: int) -> None:
    """In a process of its own: passes of CRH's kind, and the most memory that workers and Java have taken."""
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
        found = {
            "seconds": seconds,
            "java": peak(java),
            "worker": max(peak(worker) for daemon in children(java) for worker in children(daemon)),
            "blocks": len(engine.runs),
        }
    print(json.dumps(found))


def children(pid: int) -> list[int]:
    return [
        int(child) for listing in Path(f"/proc/{pid}/task").glob("*/children") for child in listing.read_text().split()
    ]


def peak(pid: int) -> int:
    """Most bytes of memory that a process has had."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    measure(int(sys.argv[1]))
