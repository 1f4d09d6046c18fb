"""The demo: a synthetic crowd, noise as in the paper, and what is left of the truth."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.discovery import CRH, GTM, Comparison, Mean, Median, NoiseAware, TruthDiscovery
from sottovoce.lab.plots import draw_demo
from sottovoce.privacy.laws import SharedVariance
from sottovoce.worlds import synthetic


@dataclass(frozen=True)
class MethodErrors:
    """Mean absolute errors of one method."""

    method: str
    before: float
    after: float
    moved: float


@dataclass(frozen=True)
class DemoOutcome:
    """What the demo shows."""

    participants: int
    objects: int
    noise: str
    mean_noise: float
    rows: list[MethodErrors]

    def summary(self) -> dict[str, Any]:
        return asdict(self)


def run_demo(out: Path, seed: int) -> DemoOutcome:
    """Simulate, perturb, discover; write claims.csv, truth.csv and demo.png."""
    law = SharedVariance(rate=0.5)
    world = synthetic(participants=150, objects=30, error_rate=1.0, seed=seed)
    noisy = world.with_simulated_noise(law, seed + 1)
    noisy.write(out)
    fits: list[tuple[TruthDiscovery, TruthDiscovery]] = [
        (NoiseAware().fit(world.claims), NoiseAware(noise=law).fit(noisy.claims))
    ]
    fits += [(method().fit(world.claims), method().fit(noisy.claims)) for method in (CRH, GTM, Mean, Median)]
    rows = [
        MethodErrors(
            method=type(after).__name__,
            before=float(np.abs(before.truths_ - world.truths).mean()),
            after=float(np.abs(after.truths_ - world.truths).mean()),
            moved=float(np.abs(after.truths_ - before.truths_).mean()),
        )
        for before, after in fits
    ]
    draw_demo(noisy, Comparison.of(NoiseAware(noise=law), noisy.claims), out / "demo.png")
    disturbance = float(np.abs(noisy.claims.values - world.claims.values).mean())
    return DemoOutcome(world.claims.n_users, world.claims.n_objects, str(law), disturbance, rows)
