"""Whether the default method always converges: on small random sets, crowds, and resamples of real or imitated sets.

``python -m bench.convergence [FOLDER]`` fits 3,000 small sets, 4,000 crowds and imitations, and 20 resamples of each
set in the folder (see `bench.sets`). A resample draws the same number of users, with replacement, each with all their
claims.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console

from bench.sets import imitated, sets_in
from sottovoce.claims import Claims
from sottovoce.discovery import NoiseAware
from sottovoce.engines import MemoryEngine
from sottovoce.errors import ConvergenceWarning
from sottovoce.worlds.crowds import any_claims, any_crowd, resampled

LAWS = (None, None, "fresh:0.5", "shared:0.5")
LAWS_OF_CROWDS = (None, "fresh:0.5", "shared:0.5", "floored:2:0.5", "gaussian:1")
MOST = 1000  # iterations, the default


def small(seed: int) -> tuple[Claims, str | None]:
    """A small random set, and the noise law to assume."""
    return any_claims(seed), LAWS[seed // 4 % 4]


def large(seed: int) -> tuple[Claims, str | None]:
    """A crowd or a resampled imitation, and the noise law to assume."""
    return any_crowd(seed), LAWS_OF_CROWDS[seed // 10 % len(LAWS_OF_CROWDS)]


def iterations(claims: Claims, law: str | None = None) -> int | None:
    """The number of iterations of a fit; None if it does not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = NoiseAware(noise=law, max_iter=MOST).fit(MemoryEngine(claims, threads=1))
    return fit.n_iter_ if fit.converged_ else None


def report(console: Console, name: str, found: Iterator[tuple[int, int | None]]) -> None:
    needed: list[int] = []
    unsettled: list[int] = []
    for seed, many in found:
        if many is None:
            unsettled.append(seed)
        else:
            needed.append(many)
    half, most = (int(np.quantile(needed, share)) if needed else 0 for share in (0.5, 1.0))
    console.print(
        f"{name}: {len(needed):,} converge, half of them within {half} iterations, all within {most}; "
        f"{len(unsettled):,} do not{f' (seeds {unsettled[:10]})' if unsettled else ''}",
        highlight=False,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="folder with one folder per set; imitations by default")
    parser.add_argument("--small", type=int, default=3000, help="number of small random sets")
    parser.add_argument("--large", type=int, default=4000, help="number of crowds and imitations")
    parser.add_argument("--resamples", type=int, default=20, help="number of resamples of each set")
    asked = parser.parse_args()
    console = Console()
    report(console, "small random sets", ((seed, iterations(*small(seed))) for seed in range(asked.small)))
    report(console, "crowds and imitations", ((seed, iterations(*large(seed))) for seed in range(asked.large)))
    for name, claims, _ in sets_in(asked.folder) if asked.folder else imitated(0):
        draws = range(asked.resamples)
        found = ((seed, iterations(resampled(claims, np.random.default_rng((seed, 78))))) for seed in draws)
        report(console, f"resamples of {name}", found)


if __name__ == "__main__":
    main()
