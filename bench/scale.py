"""The disk engine compared with the memory engine and with a plain read of the same blocks; its memory and scaling."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from sottovoce.claims.blocks import CLAIMS_PER_BLOCK, Pack, PackWriter, new_pack_id
from sottovoce.claims.pack_manifest import PackManifest
from sottovoce.discovery import CRH
from sottovoce.engines import DiskEngine, Engine, MemoryEngine
from sottovoce.lab.bench import fastest

CLAIMS_PER_OBJECT = 100
LARGEST = (10**8, 10**6)  # claims, users; as many objects as users


def make_pack(folder: Path, claims: int, users: int) -> Pack:
    """A pack of random claims, written block by block; every object is claimed by users from all over the crowd."""
    rng = np.random.default_rng(claims)
    objects, stratum = claims // CLAIMS_PER_OBJECT, users // CLAIMS_PER_OBJECT
    quality = np.sqrt(rng.exponential(1.0, users)) + 0.05
    folder.mkdir()
    writer = PackWriter(folder, new_pack_id(), 1)
    per_user = np.zeros(users, np.int64)
    at_once = CLAIMS_PER_BLOCK // CLAIMS_PER_OBJECT
    for first in range(0, objects, at_once):
        some = np.arange(first, min(first + at_once, objects), dtype=np.int32)
        drawn = rng.integers(0, stratum, (len(some), CLAIMS_PER_OBJECT), dtype=np.int32)
        drawn[some < stratum] = some[some < stratum, None]  # everybody claims something
        who = (drawn + stratum * np.arange(CLAIMS_PER_OBJECT, dtype=np.int32)).ravel()
        truths = np.repeat(rng.uniform(0, 10, len(some)), CLAIMS_PER_OBJECT)
        writer.add(np.repeat(some, CLAIMS_PER_OBJECT), who, truths + quality[who] * rng.standard_normal(len(who)))
        per_user += np.bincount(who, minlength=users)
    writer.flush()
    per_object = np.full(objects, CLAIMS_PER_OBJECT)
    labels = pa.array(np.arange(users)), pa.array(np.arange(objects))
    PackManifest(
        writer.pack, 1, claims, users, objects, None, 0,
        writer.table("users", {"label": labels[0], "claims": per_user}),
        writer.table("objects", {"label": labels[1], "claims": per_object, "round": np.ones(objects, np.int64)}),
        tuple(writer.blocks),
    ).write(folder)  # fmt: skip
    return Pack(folder)


def read_plainly(pack: Pack) -> None:
    """Every byte of every block, once, into one buffer."""
    buffer = bytearray(max(entry.bytes for entry in pack.manifest.blocks))
    for entry in pack.manifest.blocks:
        with (pack.folder / entry.file).open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def forget(pack: Pack) -> None:
    """Make the system drop the blocks from its cache, so that the next read comes from the disk."""
    for entry in pack.manifest.blocks:
        descriptor = os.open(pack.folder / entry.file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def iteration_seconds(engine: Engine, iterations: int = 6) -> float:
    """Seconds of one iteration of CRH, the fastest of several."""
    ends: list[float] = []
    CRH(max_iter=iterations, tol=0).fit(engine, progress=lambda *_: ends.append(time.perf_counter()))
    return float(np.diff(ends).min())


def from_the_disk(pack: Pack) -> tuple[float, float]:
    """Seconds of an iteration and of a plain read, each with nothing of the pack in the system's cache."""
    engine, starts, ends = DiskEngine(pack), [], []

    def after(*_: object) -> None:
        ends.append(time.perf_counter())
        forget(pack)
        starts.append(time.perf_counter())

    CRH(max_iter=4, tol=0).fit(engine, progress=after)
    iteration = min(end - start for start, end in zip(starts, ends[1:], strict=False))
    reads = []
    for _ in range(3):
        forget(pack)
        begin = time.perf_counter()
        read_plainly(pack)
        reads.append(time.perf_counter() - begin)
    return iteration, min(reads)


def compare_engines(console: Console, folder: Path, claims: int) -> tuple[Pack, float, float]:
    """Return the pack, and the seconds of the memory engine and of a plain read, for further comparisons."""
    pack = make_pack(folder / "pack", claims, claims // CLAIMS_PER_OBJECT)
    iteration_seconds(DiskEngine(pack), 2)  # compile
    memory = iteration_seconds(MemoryEngine(pack.claims()))
    disk = iteration_seconds(DiskEngine(pack))
    read = fastest(lambda: read_plainly(pack), 3)
    cold, cold_read = from_the_disk(pack)
    console.print(
        f"\nAn iteration of CRH on {claims:,} claims, {pack.manifest.users:,} users: disk engine / memory engine "
        f"{disk / memory:.2f}; disk engine / plain read {disk / read:.2f} from the system's cache, "
        f"{cold / cold_read:.2f} from the disk itself"
    )
    return pack, memory, read


def measure(path: str) -> None:
    """In a process of its own: iterations on a pack, plain reads of it, and the peak memory."""
    pack = Pack(path)
    iteration = iteration_seconds(DiskEngine(pack), 5)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) * 1024
    read = fastest(lambda: read_plainly(pack), 3)
    cold, cold_read = from_the_disk(pack)
    print(json.dumps({"iteration": iteration, "read": read, "cold": cold, "cold_read": cold_read, "peak": peak}))


def show_growth(console: Console, folder: Path, sizes: tuple[tuple[int, int], ...]) -> None:
    title = (
        "The disk engine as claims grow (users and objects: claims / 100): seconds of an iteration from the system's "
        "cache and from the disk, each also relative to a plain read (at most 3); peak memory (at most 1.5 GB)"
    )
    table = Table(title=title, box=None)
    for heading in ("claims", "seconds", "ns per claim", "/ read", "from disk", "/ read", "GB"):
        table.add_column(heading, justify="right")
    for claims, users in sizes:
        path = folder / f"pack-{claims}"
        make_pack(path, claims, users)
        ran = subprocess.run(
            [sys.executable, "-m", "bench.scale", str(path)], check=True, capture_output=True, text=True
        )
        measured = json.loads(ran.stdout.splitlines()[-1])
        table.add_row(
            f"{claims:,}", f"{measured['iteration']:.3f}", f"{1e9 * measured['iteration'] / claims:.1f}",
            f"{measured['iteration'] / measured['read']:.2f}", f"{measured['cold']:.3f}",
            f"{measured['cold'] / measured['cold_read']:.2f}", f"{measured['peak'] / 1e9:.2f}",
        )  # fmt: skip
    console.print()
    console.print(table)


def run(console: Console, quick: bool) -> None:
    from bench import spark  # it imports from this module

    with tempfile.TemporaryDirectory() as folder:
        spark.compare(console, *compare_engines(console, Path(folder), 2 * 10**6 if quick else 2 * 10**7))
    sizes = ((10**6, 10**4), (4 * 10**6, 4 * 10**4)) if quick else ((10**6, 10**4), (10**7, 10**5), LARGEST)
    with tempfile.TemporaryDirectory() as folder:
        show_growth(console, Path(folder), sizes)
    spark.show_limits(console, (10**4, 10**5) if quick else (10**5, 10**6, 10**7))


if __name__ == "__main__":
    measure(sys.argv[1])
