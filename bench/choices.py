"""Choices: an iteration compared with NumPy's bincount and with one over numbers; whole fits compared with peers.

Where the chances of an object do not move, nothing is added to the sums of its users. So later iterations, which decide
how long a long fit takes, are faster than the second one, in which many chances still move.

On its own: ``python -m bench.choices [--quick]``; ``--peers`` adds crowd-kit and truthdiscovery, in their environment.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.peers import peers_python
from sottovoce.claims import Claims
from sottovoce.claims.answers import Answers
from sottovoce.discovery import CRH, NoiseAware, TruthDiscovery
from sottovoce.lab.bench import CrowdSize, fastest, iteration_seconds

OPTIONS = (2, 4, 10)
# In the first crowd a thousand users answer each question, so that two iterations are enough for everybody; in the
# second twenty do, which is closer to what is usual.
PEER_CLAIMS = (CrowdSize(10**6, 1000, 1000), CrowdSize(10**6, 10**4, 5 * 10**4))


def draw(crowd: CrowdSize, options: int) -> Claims:
    """Choices where a random crowd has numbers: users are right with a chance of their own."""
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


def seconds_of_iterations(method: type[TruthDiscovery], claims: Claims) -> tuple[float, float]:
    """Of the second iteration, the fastest of three fits; and of the fastest later one."""
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
    for heading in ("method", "options", "NumPy / second", "NumPy / later", "later / numeric CRH", "ns per claim"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for options in OPTIONS:
        claims = draw(crowd, options)
        for method in (CRH, NoiseAware):
            second, later = seconds_of_iterations(method, claims)
            theirs = numpy_iteration_seconds(claims, softmax=method is NoiseAware)
            table.add_row(
                method.__name__, str(options), f"{theirs / second:.1f}", f"{theirs / later:.1f}",
                f"{later / numeric:.2f}", f"{later / len(claims) * 1e9:.1f}",
            )  # fmt: skip
    console.print()
    console.print(table)
    if peers:
        compare_peers(console)


def compare_peers(console: Console) -> None:
    """Whole fits of other people's code on 10⁶ choices, data in memory, over that of NoiseAware."""
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
        console.print(f"\nChoices, {crowd.name}, to the end: NoiseAware takes {method.n_iter_} iterations")
        for name, seconds in json.loads(ran.stdout.splitlines()[-1]).items():
            console.print(f"{name} / our NoiseAware: {seconds / ours:,.1f}")


if __name__ == "__main__":
    run(Console(), "--quick" in sys.argv, "--peers" in sys.argv)
