"""The planner behind the privacy page: from a promise to noise, and to the error that it will cost.

Every offer keeps the promise on the campaign's own grids. Figures are cached, because an operator who moves a slider
needs the same ones again; the lines of the chart have the same shape at any distance of many grid steps.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from sottovoce.errors import BadParameter
from sottovoce.planning.comparisons import ComparisonPlan, plan_comparisons
from sottovoce.planning.information import by_error, predicted_error
from sottovoce.planning.noise import noise_for
from sottovoce.privacy.guarantee import quiet_guarantee, weakest
from sottovoce.privacy.laws import (
    FreshVariance,
    NoiseLaw,
    Response,
    Unit,
    noise_laws,
    parse_answer_law,
    parse_noise_law,
)
from sottovoce.privacy.least_noise import law_for
from sottovoce.privacy.sentence import figures, privacy_sentence
from sottovoce.protocol.canonical import canonical_decimal
from sottovoce.protocol.drafting import drafted, replaced
from sottovoce.protocol.manifest import MOST_TASKS
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.promise import common_unit, promise_of

EPSILONS = (0.1, 0.18, 0.32, 0.56, 1.0, 1.8, 3.2, 5.6, 10.0)
_CURVES_KEPT = 4096
PARTICIPANTS, MOST_PARTICIPANTS = 100, 10**9  # usual and most, for each task
_DELTA = 1e-5
_TOLERANCE = 1e-9  # relative, at a round limit; the same as on devices
_STYLES = 5  # of lines in the chart
_FINE = 100  # steps: on a finer grid the error looks the same
# The names of the form's fields in messages.
_FIELD_NAMES = {
    "epsilon": "strength (ε)",
    "distance": "protected distance",
    "delta": "probability of failure (δ)",
    "error": "error of a reading",
    "readings": "maximum readings per participant",
    "answer": "tasks that each participant answers",
    "participants": "participants",
}
# The least and the largest number that a field accepts.
_USUAL_BOUNDS = ("1e-9", "1e12")
_BOUNDS = {"epsilon": ("1e-9", "1e7"), "delta": ("1e-9", "0.1")}
_SAME_ERROR = 6  # digits of a law in the cache's key, so that the same law is found at another distance


@dataclass(frozen=True)
class PlanRequest:
    """A promise, and the crowd to which it is made."""

    epsilon: float
    delta: float
    distance: float
    unit: Unit
    readings: int  # of one participant
    participants: int  # for each task
    error: float | None  # of a reading before noise, as a standard deviation
    law: str
    grids: tuple[str, ...]
    values: Literal["any", "distance"]  # which the promise covers: any (comparisons), or up to a distance apart (noise)
    width: float  # of the widest range
    measured_in: str = ""  # the tasks' unit of measurement, if they share one

    @classmethod
    def of(cls, query: Mapping[str, str], manifest: Mapping[str, Any]) -> "PlanRequest":
        """The values of the form; for empty fields, what the draft promises now."""
        compares = "levels" in manifest
        law = FreshVariance(1.0) if compares else parse_noise_law(manifest["noise"])
        distance = typed_distance(query, _distance_now(manifest))
        unit = query.get("unit", manifest["unit"])
        if unit not in ("reading", "participant"):
            raise Problem("bad_request", f"unit {unit[:20]!r}: a promise is for a reading or for a participant")
        delta = _number(query, "delta", _DELTA)
        grids = tuple(sorted({task["grid"] for task in manifest["tasks"]}))
        readings = typed_count(query, "readings", min(manifest["readings"], len(manifest["tasks"])), MOST_TASKS)
        now = _compared_epsilon_now(manifest) if compares else _epsilon_now(law, distance, unit, readings, grids)
        return cls(
            epsilon=typed_epsilon(query, now),
            delta=delta,
            distance=distance,
            unit=unit,
            readings=readings,
            participants=typed_count(query, "participants", PARTICIPANTS, MOST_PARTICIPANTS),
            error=_number(query, "error", 0.0) or None,
            law=query.get("law", law.name) if query.get("law", law.name) in noise_laws() else FreshVariance.name,
            grids=grids,
            values="any" if query.get("values", "any" if compares else "") == "any" else "distance",
            width=max(float(task["high"]) - float(task["low"]) for task in manifest["tasks"]),
            measured_in=common_unit(task["unit"] for task in manifest["tasks"]),
        )

    @property
    def laws(self) -> list[str]:
        """The laws to choose from. Readings that are perturbed or accounted for together must be on one grid."""
        return [name for name, kind in noise_laws().items() if kind.takes_grids(self.unit, len(self.grids))]

    @staticmethod
    def title(name: str) -> str:
        """The name of a law for people."""
        return noise_laws()[name].title

    @staticmethod
    def style(name: str) -> str:
        """The class of a law's line and words: laws differ in colour and dashes, in the order of the registry."""
        return f"line-{list(noise_laws()).index(name) % _STYLES}"

    @staticmethod
    def without_delta() -> str:
        """The kinds of noise that need no δ."""
        return ", ".join(kind.title for kind in noise_laws().values() if kind.is_pure)

    def noise(self, name: str) -> NoiseLaw:
        """The law of this name that keeps the promise on all grids, with parameters short enough to read."""
        kind = noise_laws()[name]
        return noise_for(
            kind, self.epsilon, kind.granted(self.delta), self.distance, self.readings, self.unit, self._steps
        )

    @property
    def _steps(self) -> tuple[float, ...]:
        return tuple(map(float, self.grids))

    @property
    def error_rate(self) -> float:
        """Rate λ1 of the error variances of readings before noise; if the error is not given, from the distance."""
        return 1 / self.error**2 if self.error else 2 / self.distance**2

    def expected_error(self, law: NoiseLaw) -> float:
        """The expected error of a truth with this many participants."""
        rate = self.error_rate * self.distance**2
        return self.distance * _unit_error(law.scaled(1 / self.distance), rate, self.participants, self.readings)

    def compared(self) -> ComparisonPlan:
        """Comparisons that keep the promise for any two values, and their expected error."""
        return plan_comparisons(
            self.epsilon, 0.0, self.width, self.readings, self.participants,
            unit=self.unit, error_rate=self.error_rate, simulations=0,
        )  # fmt: skip

    def wide_error(self) -> float | None:
        """The expected error of noise as wide as the range, with the promise of comparisons; None if there is none."""
        wide = replace(self, distance=self.width, error=self.error_rate**-0.5, law=FreshVariance.name)
        try:
            return wide.expected_error(wide.noise(FreshVariance.name))
        except BadParameter:
            return None

    def line(self, name: str) -> list[float | None]:
        """The expected error of one law at every strength of the promise; None where the law cannot keep it."""
        kind, distance = noise_laws()[name], Fraction(str(self.distance))
        moves = [(math.ceil(distance / grid), grid) for grid in map(Fraction, self.grids)]
        steps, grid = max(moves, key=lambda move: move[0] * move[1])
        fewer = min(steps, _FINE)
        length = float(steps * grid / fewer)

        def error_at(epsilon: float) -> float | None:
            try:
                law = law_for(
                    kind, epsilon, kind.granted(self.delta), distance=fewer, readings=self.readings,
                    unit=self.unit, grid=1.0,
                )  # fmt: skip
            except BadParameter:
                return None
            return self.expected_error(law.scaled(length))

        return [error_at(epsilon) for epsilon in EPSILONS]

    def offers(self) -> list[dict[str, Any]]:
        """The laws that can keep the promise, the most accurate first."""
        offers = []
        for name in self.laws:
            try:
                law = self.noise(name)
            except BadParameter:  # no noise of this kind keeps the promise
                continue
            offers.append(
                {
                    "name": name,
                    "title": law.title,
                    "words": law.words,
                    "style": self.style(name),
                    "noise": str(law),
                    "deviation": math.sqrt(law.mean_variance),
                    "error": self.expected_error(law),
                }
            )
        laws = noise_laws()
        return by_error(offers, lambda offer: offer["error"], lambda offer: laws[offer["name"]].granted(self.delta))

    def sentence(self) -> str:
        """The promise of the chosen law in words and figures, exactly as it holds on the grid."""
        law = self.noise(self.law)
        delta = law.granted(self.delta)
        return _sentence(law, self.distance, self.readings, self.unit, self._steps, delta, self.measured_in)

    def change(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """The change to the campaign, after the same check that devices will make."""
        if self.law not in self.laws:
            raise Problem(
                "bad_manifest",
                f"noise {self.law!r} for a {self.unit}: tasks with different steps need noise that is drawn per "
                "reading; choose "
                + " or ".join(kind.title.lower() for kind in noise_laws().values() if kind.takes_grids("reading", 2))
                + ", and protect each reading",
            )
        law = self.noise(self.law)
        change = {
            "noise": str(law),
            "distance": f"{Decimal(str(self.distance)):f}",
            "unit": self.unit,
            "readings": self.readings,
        }
        if "levels" in manifest:  # numbers were compared before
            change |= {"levels": None, "answer": None}
        return checked_change(manifest, change, self.epsilon, law.granted(self.delta), "choose another kind of noise")


def checked_change(
    manifest: Mapping[str, Any], change: dict[str, Any], epsilon: float, delta: float, fix: str
) -> dict[str, Any]:
    """A change to a draft's noise, after the same check that devices will make."""
    promise = promise_of(drafted(replaced(dict(manifest), change)), delta)
    if promise.epsilon > epsilon * (1 + _TOLERANCE):
        raise Problem(
            "bad_manifest",
            f"noise {change['noise']}: devices would compute ε = {promise.epsilon:.4g} instead of {epsilon:.4g}; {fix}",
        )
    return change


def first_noise(tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """The initial promise of a draft: ε = 1 for each reading and each answer.

    Numbers get fresh noise, with a tenth of the narrowest range as the protected distance. Any answer is protected.
    """
    numbers = [task for task in tasks if not task.get("choices")]
    if len(numbers) < len(tasks):
        answers = str(Response(1.0))
        return {"noise": answers} if not numbers else {**_first(numbers), "noise": {
            "number": _first(numbers)["noise"], "choice": answers,
        }}  # fmt: skip
    return _first(tasks)


def _first(tasks: list[dict[str, Any]]) -> dict[str, Any]:
    try:
        ranges = [tuple(Fraction(canonical_decimal(task[end])) for end in ("low", "high", "grid")) for task in tasks]
        grids = {grid for _, _, grid in ranges}
        distance = max(_one_digit(min(high - low for low, high, _ in ranges) / 10), *grids)
        law = noise_for(FreshVariance, 1.0, 0.0, float(distance), 1, "reading", tuple(map(float, grids)))
    except (KeyError, ValueError):  # not a range: the manifest gives the better message
        distance, law = Fraction(1), FreshVariance(0.5)
    return {"noise": str(law), "distance": _plain(distance)}


def _one_digit(number: Fraction) -> Fraction:
    power = Fraction(10) ** math.floor(math.log10(number))
    return math.floor(number / power) * power


def _plain(number: Fraction) -> str:
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"


def _distance_now(manifest: Mapping[str, Any]) -> float:
    """The campaign's distance; if tasks have distances of their own, the largest, which the promise depends on.

    A draft with comparisons has none, so it gets the initial one.
    """
    if "levels" in manifest:
        return float(_first(manifest["tasks"])["distance"])
    return max(float(task.get("distance") or manifest["distance"]) for task in manifest["tasks"])


def _compared_epsilon_now(manifest: Mapping[str, Any]) -> float:
    each = float(parse_answer_law(manifest["noise"]).exact("epsilon"))
    return float(f"{each * (manifest['answer'] if manifest['unit'] == 'participant' else 1):.6g}")


def _epsilon_now(law: NoiseLaw, distance: float, unit: Unit, readings: int, grids: tuple[str, ...]) -> float:
    """The ε that a draft promises now, if a simple formula gives it; otherwise 1."""
    if not law.is_pure:
        return 1.0
    moved = readings if unit == "participant" else 1
    promised = [
        law.on_grid(grid).pure_epsilon(math.ceil(Fraction(str(distance)) / grid), moved)
        for grid in map(Fraction, grids)
    ]
    return float(f"{max(epsilon or 0.0 for epsilon in promised):.4g}")


@lru_cache(_CURVES_KEPT)
def _unit_error_of_one(law: NoiseLaw, rate: float, readings: int) -> float:
    return predicted_error(law, rate, 1, readings)


def _unit_error(law: NoiseLaw, rate: float, participants: int, readings: int) -> float:
    few = min(readings, 2)  # more make no difference
    return _unit_error_of_one(law.shortened(_SAME_ERROR), float(f"{rate:.6g}"), few) / math.sqrt(participants)


@lru_cache(_CURVES_KEPT)
def _sentence(
    law: NoiseLaw,
    distance: float,
    readings: int,
    unit: Unit,
    grids: tuple[float, ...],
    delta: float,
    measured_in: str,
) -> str:
    promise = weakest([quiet_guarantee(law, distance, readings, unit, grid) for grid in grids], delta)
    epsilon = promise.epsilon(delta)
    words = privacy_sentence(epsilon, delta, f"{distance:g} {measured_in}".strip(), unit, readings)
    return f"{words} ({figures(epsilon, delta)})"


def _typed(query: Mapping[str, str], name: str) -> float | None:
    """The number in a field; NaN for what is not a number, None for an empty field."""
    text = query.get(name, "").strip().replace(",", ".")
    try:
        return float(text) if text else None
    except ValueError:
        return math.nan


def _number(query: Mapping[str, str], name: str, otherwise: float) -> float:
    number = _typed(query, name)
    if number is None:
        return otherwise
    least, most = _BOUNDS.get(name, _USUAL_BOUNDS)
    if not float(least) <= number <= float(most):
        text = query[name].strip()
        raise Problem("bad_request", f"{_FIELD_NAMES[name]} {text[:20]!r}: it must be a number from {least} to {most}")
    return number


def typed_epsilon(query: Mapping[str, str], otherwise: float) -> float:
    """The strength of a promise from a form; ``otherwise`` if the field is empty."""
    return _number(query, "epsilon", otherwise)


def typed_distance(query: Mapping[str, str], otherwise: float) -> float:
    """The protected distance from a form; ``otherwise`` if the field is empty."""
    return _number(query, "distance", otherwise)


def typed_count(query: Mapping[str, str], name: str, otherwise: int, most: int) -> int:
    """A whole number from a form; ``otherwise`` if the field is empty."""
    text = query.get(name, "").strip()
    if not text:
        return otherwise
    digits = text.lstrip("0")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= len(str(most)) and int(digits) <= most):
        rule = f"it must be a whole number from 1 to {most:,}, in digits only" if most > 1 else "it must be 1"
        raise Problem("bad_request", f"{_FIELD_NAMES[name]} {text[:20]!r}: {rule}")
    return int(digits)
