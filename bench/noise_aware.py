"""The noise-aware estimator compared with its limits: an oracle, CRH's iteration, one load of the same claims."""

import math
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.loading import write_csv
from sottovoce.claims import Claims
from sottovoce.discovery import CRH, NoiseAware, TruthDiscovery
from sottovoce.lab.bench import CrowdSize, fastest
from sottovoce.privacy.laws import FreshVariance, NoiseLaw, SharedVariance
from sottovoce.privacy.least_noise import law_for
from sottovoce.privacy.normal_laplace import normal_laplace

Floats = NDArray[np.float64]
USERS = 150
# law, rate λ1 of users' variances, objects, fill, largest acceptable ratio
CASES: tuple[tuple[NoiseLaw, float, int, float, float], ...] = (
    (SharedVariance(0.5), 1.0, 30, 1.0, 1.05),
    (SharedVariance(0.1), 5.0, 30, 1.0, 1.05),
    (SharedVariance(10.0), 1.0, 30, 1.0, 1.05),
    (SharedVariance(1.0), 1.0, 5, 1.0, 1.16),
    (SharedVariance(1.0), 1.0, 30, 0.2, 1.16),
    (FreshVariance(0.125), 2.0, 30, 1.0, 1.05),
    (FreshVariance(0.5), 2.0, 30, 1.0, 1.05),
    (FreshVariance(8.0), 2.0, 30, 1.0, 1.05),
)


def crowd(
    rng: np.random.Generator, law: NoiseLaw, error_rate: float, objects: int, fill: float
) -> tuple[Floats, Floats, Floats]:
    """Claims (users × objects), truths, and the variances that an oracle knows, including those of shared noise."""
    truths, variances = rng.uniform(0, 10, objects), rng.exponential(1 / error_rate, USERS)
    if isinstance(law, SharedVariance):
        variances = variances + rng.exponential(1 / law.rate, USERS)
    matrix = truths + rng.standard_normal((USERS, objects)) * np.sqrt(variances)[:, None]
    if isinstance(law, FreshVariance):
        matrix += rng.laplace(0, law.scale, matrix.shape)
    hidden = rng.random(matrix.shape) >= fill
    hidden[rng.integers(0, USERS, objects), np.arange(objects)] = False
    matrix[hidden] = np.nan
    return matrix, truths, variances


def oracle(matrix: Floats, law: NoiseLaw, variances: Floats) -> Floats:
    """The most likely truths if every variance is known."""
    present = ~np.isnan(matrix)
    claimed = np.where(present, matrix, 0)
    weights = np.where(present, 1 / variances[:, None], 0)
    truths = (weights * claimed).sum(axis=0) / weights.sum(axis=0)
    if isinstance(law, FreshVariance):
        for _ in range(25):  # reweighted with the density of error and noise together
            sizes = np.abs(claimed - truths) + 1e-9
            scores = [normal_laplace(row, own, law.scale)[0] for row, own in zip(sizes, variances, strict=True)]
            weights = np.where(present, -np.stack(scores) / sizes, 0)
            truths = (weights * claimed).sum(axis=0) / weights.sum(axis=0)
    return np.asarray(truths)


def oracle_ratio(
    law: NoiseLaw, error_rate: float, objects: int, fill: float, runs: int
) -> tuple[float, float, float, float]:
    """Our error over the oracle's on the same data, its standard error, CRH's, and the coverage of 95% intervals."""
    ours, theirs, crh, covered = [], [], [], []
    for run in range(runs):
        matrix, truths, variances = crowd(np.random.default_rng((run, 5)), law, error_rate, objects, fill)
        claims = Claims.from_matrix(matrix)
        fit = NoiseAware(noise=law).fit(claims)
        low, high = fit.intervals()
        ours.append(float(np.abs(fit.truths_ - truths).mean()))
        crh.append(float(np.abs(CRH().fit(claims).truths_ - truths).mean()))
        theirs.append(float(np.abs(oracle(matrix, law, variances) - truths).mean()))
        covered.append(float(((low <= truths) & (truths <= high)).mean()))
    whole = float(np.mean(theirs))
    ratio = float(np.mean(ours)) / whole
    error = float(np.std(np.array(ours) - ratio * np.array(theirs), ddof=1)) / math.sqrt(runs) / whole
    return ratio, error, float(np.mean(crh)) / whole, float(np.mean(covered))


def compare_with_oracle(console: Console, runs: int) -> None:
    table = Table(title=f"Error / error of an oracle that knows every variance, {USERS} users, {runs} runs", box=None)
    for heading in ("noise", "λ1", "objects", "fill", "noise-aware", "±", "at most", "CRH", "95% intervals cover"):
        table.add_column(heading, justify="right")
    for law, rate, objects, fill, most in CASES:
        ratio, error, crh, covered = oracle_ratio(law, rate, objects, fill, runs)
        figures = (f"{ratio:.3f}", f"{error:.3f}", f"{most:.2f}", f"{crh:.2f}", f"{covered:.1%}")
        table.add_row(str(law), f"{rate:g}", str(objects), f"{fill:g}", *figures)
    console.print()
    console.print(table)


def compare_at_equal_guarantee(console: Console, runs: int) -> None:
    """The paper's law with CRH, compared with fresh noise and our estimator."""
    errors: dict[str, list[float]] = {"paper": [], "ours": []}
    shared, fresh = (law_for(kind, epsilon=1.0, delta=1e-5, readings=30) for kind in (SharedVariance, FreshVariance))
    for run in range(runs):
        for name, law, method in (("paper", shared, CRH()), ("ours", fresh, NoiseAware(noise=fresh))):
            matrix, truths, _ = crowd(np.random.default_rng((run, 6)), law, 2.0, 30, 1.0)
            fit: TruthDiscovery = method.fit(Claims.from_matrix(matrix))
            errors[name].append(float(np.abs(fit.truths_ - truths).mean()))
    paper, ours = (float(np.mean(errors[name])) for name in ("paper", "ours"))
    console.print(
        f"\nEqual guarantee (ε = 1, δ = 1e-5, distance 1, per reading, 30 readings): {shared} with CRH {paper:.3g}, "
        f"{fresh} with noise-aware {ours:.3g}: {paper / ours:.0f} times less error (at least 100)"
    )


def iteration_seconds(method: TruthDiscovery, claims: Claims) -> float:
    """Seconds of one iteration after the learning phase, the fastest of several."""
    ends: list[float] = []
    method.fit(claims, progress=lambda *_: ends.append(time.perf_counter()))
    return float(np.diff(ends)[15:].min())


def compare_speed(console: Console, quick: bool) -> None:
    table = Table(title="One iteration / one of CRH on the same claims (at most 3 and 8)", box=None)
    for heading in ("claims", "no noise", "shared:0.5", "fresh:0.5"):
        table.add_column(heading, justify="right")
    crowds = (
        (CrowdSize(10**6, 1000, 1000),) if quick else (CrowdSize(10**6, 1000, 1000), CrowdSize(10**7, 10**5, 10**5))
    )
    for size in crowds:
        claims = size.draw()
        NoiseAware(noise="fresh:0.5", max_iter=2, tol=0).fit(claims)  # compile
        crh = iteration_seconds(CRH(max_iter=40, tol=0), claims)
        ours = (
            iteration_seconds(NoiseAware(noise, max_iter=30, tol=0), claims)
            for noise in (None, "shared:0.5", "fresh:0.5")
        )
        table.add_row(size.name, *(f"{seconds / crh:.2f}" for seconds in ours))
    console.print()
    console.print(table)


def compare_with_loading(console: Console, path: Path) -> None:
    """A whole fit compared with one load of the same claims."""
    load = fastest(lambda: Claims.read(path), 2)
    claims = Claims.read(path)
    for noise in ("shared:0.5", "fresh:0.5"):
        fit = NoiseAware(noise)
        seconds = fastest(lambda fit=fit: fit.fit(claims), 2)  # type: ignore[misc]
        console.print(
            f"{len(claims):,} claims, a whole fit ({noise}, {fit.n_iter_} iterations) / one CSV load of the same: "
            f"{seconds / load:.1f} (at most 10)"
        )


def run(console: Console, quick: bool) -> None:
    compare_with_oracle(console, 5 if quick else 60)
    compare_at_equal_guarantee(console, 3 if quick else 20)
    compare_speed(console, quick)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claims.csv"
        write_csv(path, 10**6 if quick else 10**7)
        compare_with_loading(console, path)
