"""Ratios to a reference measured in the same run: seconds depend on the machine, ratios hardly do."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.discovery import METHODS, TruthDiscovery, methods_for
from sottovoce.engines import MemoryEngine


def iterative(method: type[TruthDiscovery]) -> bool:
    """Whether an iteration can be compared with NumPy's `bincount`: weights from losses, truths from weights."""
    return method.begin is TruthDiscovery.begin


@dataclass(frozen=True)
class CrowdSize:
    """The size of a random crowd; it is dense if every user makes a claim about every object."""

    claims: int
    users: int
    objects: int

    @property
    def name(self) -> str:
        kind = "dense" if self.users * self.objects == self.claims else "sparse"
        return f"{self.claims:.0e} {kind}, {self.users:.0e} users".replace("e+0", "e")

    def draw(self) -> Claims:
        """Random claims with numbers as labels; the few repeated claims are dropped."""
        rng = np.random.default_rng(0)
        if self.users * self.objects == self.claims:
            cells = np.arange(self.claims)
        else:
            cells = np.unique(rng.integers(0, self.users * self.objects, self.claims))
        users, objects = (cells % self.users).astype(np.int32), cells // self.users
        offsets = np.zeros(self.objects + 1, np.int64)
        np.cumsum(np.bincount(objects, minlength=self.objects), out=offsets[1:])
        if (np.diff(offsets) == 0).any():
            raise ValueError(f"{self}: an object has no claims; draw more")
        values = rng.standard_normal(len(cells)) * (0.2 + rng.random(self.users))[users]
        return Claims(offsets, users, values, np.arange(self.users), np.arange(self.objects))


FULL = (
    CrowdSize(10**6, 1000, 1000),
    CrowdSize(10**7, 10**5, 10**5),
    CrowdSize(3 * 10**7, 10**5, 10**6),
    CrowdSize(3 * 10**7, 10**6, 10**6),
)
QUICK = (CrowdSize(10**5, 1000, 100), CrowdSize(10**6, 1000, 1000))


def fastest(work: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs: what the work takes when nothing else disturbs it."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def iteration_seconds(method: type[TruthDiscovery], claims: Claims, iterations: int = 40) -> float:
    """Seconds of one iteration: the fastest of several, without what a fit does once."""
    if not iterative(method):
        return fastest(lambda: MemoryEngine(claims).means())
    ends: list[float] = []
    method(max_iter=iterations, tol=0).fit(claims, progress=lambda *_: ends.append(time.perf_counter()))
    return float(np.diff(ends).min())


def numpy_iteration_seconds(claims: Claims) -> float:
    """The same iteration with NumPy's bincount, on the same arrays: weighted means, then squared losses by user."""
    users, objects, values = claims.users, claims.objects, claims.values
    weights, scale = np.full(claims.n_users, 0.5), np.full(claims.n_objects, 2.0)

    def iterate() -> NDArray[np.float64]:
        shares = weights[users]
        totals = np.bincount(objects, shares * values, minlength=claims.n_objects)
        truths = totals / np.bincount(objects, shares, minlength=claims.n_objects)
        losses = (values - truths[objects]) ** 2 / scale[objects]
        loss = np.bincount(users, losses, minlength=claims.n_users)
        return np.asarray(-np.log(loss / loss.sum()))

    return fastest(iterate, 6)


def numpy_mean_seconds(claims: Claims) -> float:
    """Plain means with NumPy's bincount."""
    objects, values = claims.objects, claims.values
    return fastest(lambda: np.bincount(objects, values) / np.bincount(objects), 3)


def read_seconds(claims: Claims) -> float:
    """One plain read of the claims, by one thread: sums of users and values."""
    return fastest(lambda: (claims.users.sum(dtype=np.int64), claims.values.sum()))


@dataclass(frozen=True)
class IterationRatios:
    """How one method's iteration compares on one crowd."""

    crowd: str
    method: str
    numpy_over_ours: float
    ours_over_read: float
    nanoseconds_per_claim: float


def iteration_ratios(crowd: CrowdSize, progress: Callable[[str], None]) -> list[IterationRatios]:
    """Every `iterative` method, and the mean, against NumPy's bincount and against one plain read."""
    progress(f"drawing {crowd.name}")
    claims = crowd.draw()
    for method in methods_for("number").values():  # compile first
        method(max_iter=2, tol=0).fit(claims)
    progress(f"NumPy on {crowd.name}")
    reference, mean_reference, read = numpy_iteration_seconds(claims), numpy_mean_seconds(claims), read_seconds(claims)
    rows = []
    for name in (*(name for name, method in methods_for("number").items() if iterative(method)), "mean"):
        progress(f"{name} on {crowd.name}")
        ours = iteration_seconds(METHODS[name], claims)
        numpy_seconds = mean_reference if name == "mean" else reference
        rows.append(IterationRatios(crowd.name, name, numpy_seconds / ours, ours / read, ours / len(claims) * 1e9))
    return rows


def growth(progress: Callable[[str], None], quick: bool = False) -> list[tuple[int, float]]:
    """Time per claim of a CRH iteration, relative to that at 10⁶ claims, from 10⁵ claims upward."""
    sizes = [10**5, 10**6] if quick else [10**5, 10**6, 10**7, 3 * 10**7]
    per_claim = {}
    for size in sizes:
        progress(f"growth: {size:,} claims")
        claims = CrowdSize(size, size // 100, size // 30).draw()
        METHODS["crh"](max_iter=2, tol=0).fit(claims)
        per_claim[size] = iteration_seconds(METHODS["crh"], claims) / len(claims)
    return [(size, seconds / per_claim[10**6]) for size, seconds in per_claim.items()]
