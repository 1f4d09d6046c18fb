"""Choices: an iteration compared with NumPy's bincount and with one over numbers; whole fits compared with peers.

Two iterations are shown. In the second iteration of NoiseAware all votes are counted, because its estimates of the
users have just changed. In later ones most objects rest: their votes are so one-sided that no weight has changed enough
to matter, and they are not counted again. CRH begins with a vote, so most objects rest in its second iteration already.
The number of iterations and the duration of a whole fit are shown beside them; this crowd is an easy one.

The NumPy beside NoiseAware computes less: it fetches one number per claim instead of two, and does not estimate how
often users are right. A bare pass, in as many threads, only reads each claim and fetches these numbers of its user:
anything that counts all votes takes longer.

On its own: ``python -m bench.choices [--quick]``; ``--peers`` adds crowd-kit and truthdiscovery, in their environment.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import deque
from itertools import pairwise
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.peers import peers_python
from sottovoce.claims import Claims
from sottovoce.claims.answers import Answers
from sottovoce.discovery import CRH, NoiseAware, TruthDiscovery
from sottovoce.engines import MemoryEngine
from sottovoce.engines.threads import in_threads
from sottovoce.lab.bench import CrowdSize, fastest, iteration_seconds

OPTIONS = (2, 4, 10)
# In the first crowd a thousand users answer each question, so that two iterations are enough for every method. In the
# second, twenty do, which is more realistic.
PEER_CLAIMS = (CrowdSize(10**6, 1000, 1000), CrowdSize(10**6, 10**4, 5 * 10**4))


def draw(crowd: CrowdSize, options: int) -> Claims:
    """A random crowd with choices in place of numbers; each user is right with a chance of their own."""
    numbers = crowd.draw()
    rng = np.random.default_rng(options)
    right = 1 / options + (1 - 1 / options) * rng.beta(2, 2, numbers.n_users)
    hit = rng.random(len(numbers)) < right[numbers.users]
    truths = rng.integers(0, options, numbers.n_objects)[numbers.objects]
    codes = np.where(hit, truths, (truths + rng.integers(1, options, len(numbers))) % options).astype(np.uint8)
    cells = np.arange(numbers.n_objects + 1, dtype=np.int64) * options
    answers = Answers(np.arange(options).astype(object), cells, None, np.full(numbers.n_objects, options), True)
    labels = numbers.user_labels, numbers.object_labels
    return Claims(numbers.offsets, numbers.users, codes, *labels, answers=answers)


def numpy_iteration_seconds(claims: Claims, softmax: bool) -> float:
    """The same iteration with NumPy's bincount: votes by option, chances, and their sums by user."""
    assert claims.answers is not None
    users, options = claims.users, len(claims.answers.labels)
    cells = claims.objects.astype(np.int64) * options + claims.values
    weights = np.linspace(0.5, 1.5, claims.n_users)

    def iterate() -> None:
        votes = np.bincount(cells, weights[users], minlength=claims.n_objects * options).reshape(-1, options)
        top = votes.max(axis=1, keepdims=True)
        chances = np.exp(votes - top) if softmax else (votes >= top).astype(np.float64)
        chances /= chances.sum(axis=1, keepdims=True)
        np.bincount(users, chances.reshape(-1)[cells], minlength=claims.n_users)

    return fastest(iterate, 5)


@njit(nogil=True)
def fetch(users: NDArray[np.int32], codes: NDArray[np.uint8], numbers: NDArray[np.float64]) -> float:
    """Read claims and fetch the numbers of their users, in four sums, so that no addition waits for the one before."""
    a = b = c = d = 0.0
    last = np.uint64(numbers.shape[1] - 1)
    for place in range(0, len(users) - 1, 2):
        i, j = np.uint64(place), np.uint64(place + 1)
        a += numbers[np.uint64(users[i]), np.uint64(0)]
        b += numbers[np.uint64(users[j]), np.uint64(0)]
        if last > 0:
            c += numbers[np.uint64(users[i]), last]
            d += numbers[np.uint64(users[j]), last]
        a += codes[i]
        b += codes[j]
    return a + b + c + d


def bare_seconds(claims: Claims, numbers: int) -> float:
    """Seconds of a pass that only reads each claim and fetches this many numbers of its user."""
    threads, table = MemoryEngine(claims).threads, np.ones((claims.n_users, numbers))
    edges = np.linspace(0, len(claims), 8 * threads + 1, dtype=np.int64).tolist()
    parts = [slice(first, last) for first, last in pairwise(edges)]

    def over(part: slice) -> float:
        return fetch(claims.users[part], claims.values[part], table)

    return fastest(lambda: deque(in_threads(over, parts, threads), 0), 6)


def seconds_of_iterations(method: type[TruthDiscovery], claims: Claims) -> tuple[float, float]:
    """Seconds of the second iteration, the fastest of three fits; and of the fastest later one."""
    second, later = [], []
    for _ in range(3):
        ends: list[float] = []
        method(max_iter=12, tol=0).fit(claims, progress=lambda *_, ends=ends: ends.append(time.perf_counter()))
        first, *others = np.diff(ends).tolist()
        second.append(first)
        later += others
    return min(second), min(later)


def run(console: Console, quick: bool, peers: bool = True) -> None:
    crowd = CrowdSize(10**6, 10**4, 10**4) if quick else CrowdSize(10**7, 10**5, 10**5)
    numeric = iteration_seconds(CRH, crowd.draw())
    table = Table(title=f"Choices, {crowd.name}: one iteration", box=None, header_style="bold")
    for heading in (
        "method", "options", "NumPy / second", "NumPy / later", "second / bare", "second, ns per claim",
        "later, ns per claim", "later / numeric CRH", "iterations of a fit", "fit, ms",
    ):  # fmt: skip
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for options in OPTIONS:
        claims = draw(crowd, options)
        for method in (CRH, NoiseAware):
            second, later = seconds_of_iterations(method, claims)
            theirs = numpy_iteration_seconds(claims, softmax=method is NoiseAware)
            bare = bare_seconds(claims, numbers=2 if method is NoiseAware else 1)
            whole = fastest(lambda method=method, claims=claims: method().fit(claims), 3)  # type: ignore[misc]
            table.add_row(
                method.__name__, str(options), f"{theirs / second:.1f}", f"{theirs / later:.1f}",
                f"{second / bare:.1f}", f"{second / len(claims) * 1e9:.2f}", f"{later / len(claims) * 1e9:.2f}",
                f"{later / numeric:.2f}", str(method().fit(claims).n_iter_), f"{whole * 1e3:.0f}",
            )  # fmt: skip
    console.print()
    console.print(table)
    if peers:
        compare_peers(console)


def compare_peers(console: Console) -> None:
    """Whole fits with other packages on 10⁶ choices, data in memory, relative to NoiseAware."""
    for crowd in PEER_CLAIMS:
        claims, method = draw(crowd, 4), NoiseAware()
        method.fit(claims)
        ours = fastest(lambda claims=claims: NoiseAware().fit(claims), 3)  # type: ignore[misc]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "claims.parquet"
            claims.write(path)
            ran = subprocess.run(
                [peers_python(console), Path(__file__).with_name("choices_peer.py"), path],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
        console.print(f"\nChoices, {crowd.name}, whole fits: NoiseAware takes {method.n_iter_} iterations")
        for name, seconds in json.loads(ran.stdout.splitlines()[-1]).items():
            console.print(f"{name} / our NoiseAware: {seconds / ours:,.1f}")


if __name__ == "__main__":
    run(Console(), "--quick" in sys.argv, "--peers" in sys.argv)
