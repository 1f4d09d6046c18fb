"""Numbers from many users: an iteration of CRH compared with NumPy's bincount, and with a lower bound, the floor.

The floor only adds each claim to a sum of its object, then fetches a number of that object and adds it to a sum of its
user, over the same blocks and in as many threads. Both are accesses to random places in memory, so no iteration can be
faster.

On its own: ``python -m bench.many_users [--quick]``.
"""

import sys
from collections import deque

import numpy as np
from numba import njit
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from sottovoce.claims import Claims
from sottovoce.discovery import CRH
from sottovoce.engines import MemoryEngine
from sottovoce.engines.threads import in_threads
from sottovoce.lab.bench import CrowdSize, fastest, iteration_seconds, numpy_iteration_seconds

BLOCK = 1 << 20  # claims
QUICK = (CrowdSize(10**6, 10**5, 10**4),)
FULL = (CrowdSize(10**7, 10**5, 10**5), CrowdSize(10**7, 10**6, 10**5), CrowdSize(3 * 10**7, 10**6, 10**6))

Listed = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]


@njit(nogil=True)
def add_and_fetch(
    users: NDArray[np.int32], objects: NDArray[np.int32], values: NDArray[np.float64], by_user: NDArray[np.float64]
) -> None:
    by_object = np.zeros(np.max(objects) + 1)
    for i in range(len(values)):
        by_object[np.uint64(objects[i])] += values[i]
    for i in range(len(values)):
        by_user[np.uint64(users[i])] += by_object[np.uint64(objects[i])]


def blocks_of(claims: Claims) -> list[Listed]:
    """Blocks of claims about some objects each, sorted by user, with objects numbered from 0."""
    found = []
    for first in range(0, len(claims), BLOCK):
        some = slice(first, first + BLOCK)
        order = np.argsort(claims.users[some], kind="stable")
        objects = claims.objects[some].astype(np.int32)
        found.append((claims.users[some][order], (objects - objects[0])[order], claims.values[some][order]))
    return found


def floor_seconds(claims: Claims) -> float:
    blocks, threads = blocks_of(claims), MemoryEngine(claims).threads
    parts = [blocks[place::threads] for place in range(threads)]

    def add(part: list[Listed]) -> None:
        by_user = np.zeros(claims.n_users)
        for block in part:
            add_and_fetch(*block, by_user)

    return fastest(lambda: deque(in_threads(add, parts, threads), 0), 6)


def run(console: Console, quick: bool) -> None:
    table = Table(title="Numbers from many users: one iteration of CRH", box=None, header_style="bold")
    for heading in ("claims", "NumPy / ours", "ours / floor", "ns per claim"):
        table.add_column(heading, justify="left" if heading == "claims" else "right")
    for crowd in QUICK if quick else FULL:
        claims = crowd.draw()
        ours = iteration_seconds(CRH, claims, 12)
        table.add_row(
            crowd.name, f"{numpy_iteration_seconds(claims) / ours:.1f}", f"{ours / floor_seconds(claims):.1f}",
            f"{ours / len(claims) * 1e9:.1f}",
        )  # fmt: skip
    console.print()
    console.print(table)


if __name__ == "__main__":
    run(Console(), "--quick" in sys.argv)
