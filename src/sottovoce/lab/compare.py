"""One table, with standard errors, for methods × worlds × noise laws, on simulated crowds and on real data sets."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.claims.kinds import Kind
from sottovoce.claims.public_formats import FORMATS, ReadOptions, format_of_folder
from sottovoce.discovery import METHODS, discovered, make_method, methods_for
from sottovoce.discovery.registry import method_named
from sottovoce.errors import BadParameter, ConvergenceWarning, UnreadableFile
from sottovoce.privacy.laws import NoiseLaw, parse_noise_law
from sottovoce.progress import Progress
from sottovoce.worlds import World, careful_floorplan, floorplan, synthetic

NONE = "none"  # no noise
_FILES = [f"{' and '.join(form.files)} ({form.words})" for form in FORMATS.values() if form.files]


@dataclass(frozen=True)
class Crowd:
    """Claims whose truths are known, of any kind; those of simulated crowds differ from run to run."""

    name: str
    draw: Callable[[np.random.Generator], tuple[Claims, dict[str, Any]]]
    real: bool

    def once(self, law: NoiseLaw | None) -> bool:
        """Whether every run would be the same."""
        return self.real and law is None


def simulated(name: str, participants: int, objects: int, error_rate: float) -> Crowd:
    """A world by its name."""
    worlds: dict[str, Callable[[np.random.Generator], World]] = {
        "synthetic": lambda rng: synthetic(participants, objects, error_rate=error_rate, seed=rng),
        "floorplan": floorplan,
        "careful-floorplan": careful_floorplan,
    }
    if name not in worlds:
        raise BadParameter(f"world {name!r}: it must be one of {', '.join(worlds)}; choose among them")

    def draw(rng: np.random.Generator) -> tuple[Claims, dict[str, Any]]:
        world = worlds[name](rng)
        return world.claims, dict(
            zip(map(str, world.claims.object_labels.tolist()), world.truths.tolist(), strict=True)
        )

    return Crowd(name, draw, real=False)


def sets_in(folder: str | Path, kind: Kind | None = None) -> list[Crowd]:
    """The real data sets in a folder: itself, or its subfolders, in any public format with fixed file names."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UnreadableFile(f"{folder}: there is no such folder; name one that contains data sets")
    found = [crowd for place in (folder, *sorted(folder.iterdir())) if place.is_dir() for crowd in _set_in(place, kind)]
    if not found:
        raise UnreadableFile(
            f"{folder}: it contains no data set; name a folder with {', or '.join(_FILES)}; or a folder of such folders"
        )
    return found


def _set_in(place: Path, kind: Kind | None) -> Iterator[Crowd]:
    form = format_of_folder(place)
    if form and form.files:
        claims = Claims.read_format(place / form.files[0], form.name, kind=kind, duplicates="last", skip_bad=True)
        known = form.truths(place / form.files[1], ReadOptions(claims.kind)).by_label(str(place / form.files[1]))
        yield Crowd(place.name, partial(_unchanged, claims, known), real=True)


def _unchanged(claims: Claims, known: dict[str, Any], rng: np.random.Generator) -> tuple[Claims, dict[str, Any]]:
    return claims, known


def compare(
    crowds: Sequence[Crowd],
    methods: Sequence[str] | None = None,
    laws: Sequence[str] = (NONE,),
    runs: int = 10,
    seed: int = 0,
    level: float = 0.95,
    progress: Progress[str, int, int] | None = None,
) -> list[dict[str, Any]]:
    """One row per crowd, law and method: mean error and coverage of intervals, each with its standard error.

    All methods see the same claims. Noise is added to numbers only; sets of choices have no rows with noise.
    """
    if runs < 1:
        raise BadParameter(f"runs={runs}: at least one is needed, and two for standard errors; 10 is usual")
    for name in methods or ():
        method_named(name)
    parsed = {text: None if text == NONE else parse_noise_law(text) for text in laws}
    rows: list[dict[str, Any]] = []
    total = len(crowds) * len(parsed)
    for crowd in crowds:
        for text, law in parsed.items():
            if progress is not None:
                progress(f"{crowd.name}, {text}", len(rows), total)
            rows += _rows(crowd, text, law, methods, 1 if crowd.once(law) else runs, seed, level)
    return rows


def nothing_to_compare(crowds: Sequence[Crowd], methods: Sequence[str], laws: Sequence[str]) -> BadParameter:
    """Why there are no rows, and which methods and laws there are for these crowds."""
    drawn = [crowd.draw(np.random.default_rng(0))[0] for crowd in crowds]
    fitting = {name: None for claims in drawn for name in _fitting(claims)}
    others = bool(methods) and fitting.keys().isdisjoint(methods)
    wrong, rules, fixes = [], [], []
    if others:
        wrong.append(f"methods {', '.join(methods)}")
        rules.append("these claims need other methods")
        fixes.append(f"choose among {', '.join(fitting)}")
    if NONE not in laws and not (others and any(claims.kind == "number" for claims in drawn)):
        wrong.append(f"noise {', '.join(laws)}")
        rules.append("noise is added to numbers only")
        fixes.append("give --noise none")
    return BadParameter(
        f"{' with '.join(wrong)}: there is nothing to compare, because {' and '.join(rules)}; {', and '.join(fixes)}"
    )


def _fitting(claims: Claims) -> dict[str, Any]:
    return methods_for(claims.kind, claims.answers is None or claims.answers.one_list)


def _rows(
    crowd: Crowd, text: str, law: NoiseLaw | None, methods: Sequence[str] | None, runs: int, seed: int, level: float
) -> list[dict[str, Any]]:
    measured: dict[str, list[dict[str, float]]] = {}
    for number in range(runs):
        rng = np.random.default_rng((seed, number))
        claims, known = crowd.draw(rng)
        if law is not None:
            if claims.kind != "number":
                return []
            claims = claims.with_values(law.simulate(claims.values, claims.users, rng), noise=str(law))
        fitting = _fitting(claims)
        for name in methods or METHODS:
            if name in fitting:
                measured.setdefault(name, []).append(_measures(name, claims, known, str(law) if law else None, level))
    return [
        {"world": crowd.name, "noise": text, "method": name, "runs": len(results), **_summary(results)}
        for name, results in measured.items()
    ]


def _measures(name: str, claims: Claims, known: dict[str, Any], law: str | None, level: float) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = discovered(make_method(name, noise=law), claims, level)
    return {measure: value for measure, value in result.scores_against(known).items() if isinstance(value, float)}


def _summary(results: list[dict[str, float]]) -> dict[str, float | None]:
    """Means over the runs, each with its standard error, which is None after a single run."""
    summary: dict[str, float | None] = {}
    for measure in results[0]:
        values = np.array([one[measure] for one in results])
        summary[measure] = float(values.mean())
        summary[f"{measure}_se"] = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return summary
