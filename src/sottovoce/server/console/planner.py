"""The planner behind the privacy page: from a promise to noise, and to the error that it will cost.

Everything is computed for readings one apart and scaled to the campaign's distance, so that what was computed once
serves again when an operator moves a slider.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sottovoce.errors import UnwiseChoice
from sottovoce.planning.information import predicted_error
from sottovoce.privacy.laws import (
    LAWS,
    FlooredVariance,
    FreshVariance,
    Gaussian,
    NoiseLaw,
    SharedVariance,
    Unit,
    parse_law,
)
from sottovoce.privacy.promise import law_for
from sottovoce.protocol.canonical import canonical_decimal
from sottovoce.protocol.manifest import MOST_TASKS
from sottovoce.protocol.problems import Problem

EPSILONS = (0.1, 0.18, 0.32, 0.56, 1.0, 1.8, 3.2, 5.6, 10.0)
_WORDS = {
    "fresh": ("Fresh noise", "drawn anew for every reading; its promise has no exception"),
    "gaussian": ("Bell curve", "the same normal noise for everybody"),
    "floored": ("Floored", "everybody draws how much noise, but never less than a floor"),
    "shared": ("As in the paper", "everybody draws once how much noise all his readings get"),
}
_CURVES_KEPT = 4096
_PARTICIPANTS = 100
_DELTA = 1e-5


@dataclass(frozen=True)
class Wanted:
    """A promise, and the crowd that it is made to."""

    epsilon: float
    delta: float
    distance: float
    unit: Unit
    readings: int  # by one participant
    participants: int  # for each task
    error: float | None  # of a reading before noise, as a standard deviation
    law: str
    grids: tuple[str, ...]

    @classmethod
    def of(cls, query: Mapping[str, str], manifest: Mapping[str, Any]) -> "Wanted":
        """What the form says; where it says nothing, what the draft promises now."""
        law = parse_law(manifest["noise"])
        distance = _number(query, "distance", float(manifest["distance"]))
        unit = query.get("unit", manifest["unit"])
        if unit not in ("reading", "participant"):
            raise Problem("bad_request", f"unit {unit[:20]!r}: a promise is for a reading or for a participant")
        delta = _number(query, "delta", _DELTA)
        if not delta < 0.1:
            raise Problem("bad_request", f"exception {delta:g}: it must be rare; 0.00001 is usual")
        grids = tuple(sorted({task["grid"] for task in manifest["tasks"]}))
        readings = _count(query, "readings", min(manifest["readings"], len(manifest["tasks"])), MOST_TASKS)
        return cls(
            epsilon=_number(query, "epsilon", 0.0) or _epsilon_now(law, distance, unit, readings, grids),
            delta=delta,
            distance=distance,
            unit=unit,
            readings=readings,
            participants=_count(query, "participants", _PARTICIPANTS, 10**9),
            error=_number(query, "error", 0.0) or None,
            law=query.get("law", law.name) if query.get("law", law.name) in LAWS else "fresh",
            grids=grids,
        )

    @property
    def laws(self) -> list[str]:
        """The laws to choose from. Where readings are noised or judged together, they must be on one grid."""
        together = len(self.grids) > 1
        if together and self.unit == "participant":
            return []
        return [name for name in _WORDS if not together or name in ("fresh", "gaussian")]

    @property
    def reach(self) -> float:
        """The distance in whole steps of the grid: what lies between counts as the next."""
        distance = Fraction(str(self.distance))
        return float(max(math.ceil(distance / Fraction(grid)) * Fraction(grid) for grid in self.grids))

    @staticmethod
    def title(name: str) -> str:
        """What people call a law."""
        return _WORDS[name][0]

    def noise(self, name: str) -> NoiseLaw:
        """The law of this name that keeps the promise, with parameters short enough to read."""
        granted = 0.0 if name == FreshVariance.name else self.delta
        return _rounded(_scaled(_unit_law(name, self.epsilon, granted, self.readings, self.unit), self.reach))

    def expected_error(self, law: NoiseLaw) -> float:
        """Of a truth, with so many participants."""
        rate = 1 / self.error**2 if self.error else 2 / self.distance**2
        return self.distance * _unit_error(_scaled(law, 1 / self.distance), rate * self.distance**2, self.participants)

    def line(self, name: str) -> list[float]:
        """The error to expect of one law over all promises."""
        return [self.expected_error(replace(self, epsilon=epsilon).noise(name)) for epsilon in EPSILONS]

    def offers(self) -> list[dict[str, Any]]:
        """The laws that can keep the promise, the most accurate first."""
        offers = []
        for name in self.laws:
            law = self.noise(name)
            title, words = _WORDS[name]
            offers.append(
                {
                    "name": name,
                    "title": title,
                    "words": words,
                    "noise": str(law),
                    "deviation": math.sqrt(law.mean_variance),
                    "error": self.expected_error(law),
                }
            )
        return sorted(offers, key=lambda offer: offer["error"])

    def sentence(self) -> str:
        """The promise of the chosen law in words, exactly as it holds on the grid."""
        granted = 0.0 if self.law == FreshVariance.name else self.delta
        coarsest = max(self.grids, key=Fraction)
        return _sentence(self.noise(self.law), self.distance, self.readings, self.unit, float(coarsest), granted)

    def change(self) -> dict[str, Any]:
        """What the campaign gets."""
        if self.law not in self.laws:
            raise Problem(
                "bad_manifest",
                f"noise {self.law!r} for a {self.unit}: tasks on different grids are noised one by one; "
                "choose fresh noise or the bell curve, for a reading",
            )
        return {
            "noise": str(self.noise(self.law)),
            "distance": f"{Decimal(str(self.distance)):f}",
            "unit": self.unit,
            "readings": self.readings,
        }


def first_noise(tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """A promise to begin with: a tenth of the narrowest range is hidden, at ε = 1, by fresh noise."""
    try:
        ranges = [tuple(Fraction(canonical_decimal(task[end])) for end in ("low", "high", "grid")) for task in tasks]
        width = min(high - low for low, high, _ in ranges)
        distance = max(_one_digit(width / 10), *(grid for _, _, grid in ranges))
    except (KeyError, ValueError):  # a range that is none: the manifest says so, and better
        distance = Fraction(1)
    return {"noise": str(law_for(FreshVariance, 1.0, 0.0, distance=float(distance))), "distance": _plain(distance)}


def _one_digit(number: Fraction) -> Fraction:
    power = Fraction(10) ** math.floor(math.log10(number))
    return math.floor(number / power) * power


def _plain(number: Fraction) -> str:
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"


def _epsilon_now(law: NoiseLaw, distance: float, unit: Unit, readings: int, grids: tuple[str, ...]) -> float:
    """What a draft promises now, where that is one division; else the usual."""
    if not isinstance(law, FreshVariance):
        return 1.0
    moved = readings if unit == "participant" else 1
    steps = max(math.ceil(Fraction(str(distance)) / Fraction(grid)) * Fraction(grid) for grid in grids)
    return float(f"{moved * float(steps) / law.scale:.4g}")


@lru_cache(_CURVES_KEPT)
def _unit_law(name: str, epsilon: float, delta: float, readings: int, unit: Unit) -> NoiseLaw:
    return law_for(LAWS[name], epsilon, delta, distance=1.0, readings=readings, unit=unit)


@lru_cache(_CURVES_KEPT)
def _unit_error_of_one(law: NoiseLaw, rate: float) -> float:
    return predicted_error(law, rate, 1)


def _unit_error(law: NoiseLaw, rate: float, participants: int) -> float:
    # Six digits: the same law at another distance is found again.
    return _unit_error_of_one(_rounded(law), float(f"{rate:.6g}")) / math.sqrt(participants)


@lru_cache(_CURVES_KEPT)
def _sentence(law: NoiseLaw, distance: float, readings: int, unit: Unit, grid: float, delta: float) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnwiseChoice)  # a coarse grid costs privacy, and the sentence shows the cost
        return law.guarantee(distance, readings, unit, grid).sentence(delta=delta)


def _scaled(law: NoiseLaw, length: float) -> NoiseLaw:
    """The same law for readings that lie so many times as far apart."""
    if isinstance(law, Gaussian):
        return Gaussian(law.sigma * length)
    if isinstance(law, FlooredVariance):
        return FlooredVariance(law.floor * length**2, law.rate / length**2)
    assert isinstance(law, SharedVariance | FreshVariance)
    return type(law)(law.rate / length**2)


def _rounded(law: NoiseLaw) -> NoiseLaw:
    """Six digits of each parameter, on the side of more noise."""
    if isinstance(law, Gaussian):
        return Gaussian(_digits(law.sigma, ROUND_CEILING))
    if isinstance(law, FlooredVariance):
        return FlooredVariance(_digits(law.floor, ROUND_CEILING), _digits(law.rate, ROUND_FLOOR))
    assert isinstance(law, SharedVariance | FreshVariance)
    return type(law)(_digits(law.rate, ROUND_FLOOR))


def _digits(number: float, side: str) -> float:
    # What is a round number up to the last bits is meant to be that number.
    near = float(f"{number:.6g}")
    if math.isclose(near, number, rel_tol=1e-13):
        return near
    return float(Context(prec=6, rounding=side).create_decimal(Decimal(number)))


def _number(query: Mapping[str, str], name: str, otherwise: float) -> float:
    text = query.get(name, "").strip().replace(",", ".")
    if not text:
        return otherwise
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 1e-9 <= number <= 1e12:
        raise Problem("bad_request", f"{name} {text[:20]!r}: it must be a positive number")
    return number


def _count(query: Mapping[str, str], name: str, otherwise: int, most: int) -> int:
    number = _number(query, name, float(otherwise))
    if number != int(number) or not 1 <= number <= most:
        raise Problem("bad_request", f"{name} {query[name][:20]!r}: it must be a whole number from 1 to {most:,}")
    return int(number)
