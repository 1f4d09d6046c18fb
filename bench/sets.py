"""Every method on sets of claims with known truths: error, coverage, width of intervals, iterations.

``python -m bench.sets FOLDER`` takes a folder with one folder per set (claims.csv: user, object, value; truth.csv:
object, value); without one, it uses imitations of published sets. Coverage and width are over objects with five or more
claims; the width is the median, relative to that of the mean's t-intervals. ``--gold 10`` also shows how much known
truths help the default method: a third of those of each set, drawn ten times.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sottovoce.claims import Claims
from sottovoce.claims.labels import texts
from sottovoce.claims.reading import read_file
from sottovoce.discovery import METHODS, NoiseAware, TruthDiscovery, make_method
from sottovoce.discovery.common_bias import LEAST_KNOWN
from sottovoce.errors import ConvergenceWarning
from sottovoce.worlds.crowds import IMITATIONS

SEVERAL = 5  # claims about an object whose interval counts
Truths = dict[str, float]


def sets_in(folder: Path) -> Iterator[tuple[str, Claims, Truths]]:
    """The sets of a folder: name, claims, truths by label."""
    for path in sorted(folder.glob("*/claims.csv")):
        if not (path.parent / "truth.csv").exists():
            continue
        table = read_file(path.parent / "truth.csv", ("object",), "value", skip_bad=False)
        names = texts(table.labels[0])
        truths = {
            names[place]: value for place, value in zip(table.ids[0].tolist(), table.values.tolist(), strict=True)
        }
        yield path.parent.name, Claims.read(path), truths


def imitated(seed: int) -> Iterator[tuple[str, Claims, Truths]]:
    for name, draw in IMITATIONS.items():
        world = draw(np.random.default_rng((seed, 21)))
        yield name, world.claims, dict(zip(texts(world.claims.object_labels), world.truths.tolist(), strict=True))


def measure(fit: TruthDiscovery, truths: Truths) -> dict[str, Any]:
    """Figures of a fit over the objects whose truth is known."""
    labels = texts(fit.objects_)
    places = np.array([place for place, label in enumerate(labels) if label in truths])
    wanted = np.array([truths[labels[place]] for place in places])
    low, high = (end[places] for end in fit.intervals())
    several = fit.claims_[places] >= SEVERAL
    inside = (low <= wanted) & (wanted <= high)
    return {
        "mae": float(np.abs(fit.truths_[places] - wanted).mean()),
        "covered": float(inside[several].mean()) if several.any() else float("nan"),
        "width": float(np.median((high - low)[several])) if several.any() else float("nan"),
        "iterations": fit.n_iter_,
        "converged": fit.converged_,
    }


def print_gold(console: Console, name: str, claims: Claims, truths: Truths, draws: int) -> None:
    """The default method if a third of the truths, drawn anew each time, is known: figures over the others."""
    labels = [label for label in texts(claims.object_labels) if label in truths]
    known = len(labels) // 3
    if known < LEAST_KNOWN:
        return
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for draw in range(draws):
        gold = set(np.random.default_rng((draw, 22)).choice(labels, known, replace=False).tolist())
        others = {label: truth for label, truth in truths.items() if label not in gold}
        named = dict(zip(texts(claims.object_labels), claims.object_labels.tolist(), strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fits = NoiseAware().fit(claims), NoiseAware().fit(claims, known={named[one]: truths[one] for one in gold})
        found.append((measure(fits[0], others), measure(fits[1], others)))
    without, with_gold = ({key: np.mean([pair[k][key] for pair in found]) for key in found[0][k]} for k in (0, 1))
    console.print(
        f"{name}: {known} of {len(labels)} truths known, {draws} draws: error on the others "
        f"{with_gold['mae'] / without['mae']:.3f} of that without them; intervals contain {with_gold['covered']:.1%} "
        f"(without them {without['covered']:.1%})\n",
        highlight=False,
    )


def print_set(console: Console, name: str, claims: Claims, truths: Truths, methods: list[str]) -> None:
    found = {}
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found[method] = measure(make_method(method).fit(claims), truths)
    best = min(found[plain]["mae"] for plain in ("mean", "median"))
    table = Table(
        title=f"{name}: {len(claims):,} claims, {claims.n_users:,} users, {claims.n_objects:,} objects", box=None
    )
    for heading in ("method", "MAE", "/ better average", "in 95% intervals", "width / mean's", "iterations"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for method, figures in found.items():
        table.add_row(
            method, f"{figures['mae']:.4g}", f"{figures['mae'] / best:.3f}", f"{figures['covered']:.1%}",
            f"{figures['width'] / found['mean']['width']:.3g}",
            f"{figures['iterations']}{'' if figures['converged'] else ' (not converged)'}",
        )  # fmt: skip
    console.print(table)
    console.print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="*", type=Path, help="folder with one folder per set")
    parser.add_argument("--methods", default=",".join(name for name in METHODS if "number" in METHODS[name].kinds))
    parser.add_argument("--seed", type=int, default=0, help="seed of the imitations")
    parser.add_argument("--gold", type=int, default=0, help="number of draws of known truths, a third of each set's")
    asked = parser.parse_args()
    sets = (
        [entry for folder in asked.folder for entry in sets_in(folder)] if asked.folder else list(imitated(asked.seed))
    )
    if not sets:
        sys.exit(f"{asked.folder[0]}: it contains no set (a folder with claims.csv and truth.csv); name another folder")
    for name, claims, truths in sets:
        print_set(Console(), name, claims, truths, asked.methods.split(","))
        if asked.gold:
            print_gold(Console(), name, claims, truths, asked.gold)


if __name__ == "__main__":
    main()
