"""Does a sampler keep its law's promise? Draw many releases for two neighbouring inputs and try to tell them apart.

The neighbours are n readings of zero, and the same with the first reading at the distance (rounded up to the grid).
On half of the draws the audit looks for the event that distinguishes them best; on the other half, which had no part in
that choice, it bounds the two probabilities of this event (Clopper and Pearson), and so ε from below. A bound above the
promise is a leak. The checks of `sottovoce.privacy.conformity`, which are more sensitive, are run as well.

An audit can find a leak; it can never prove that there is none. Leaks that need more draws, other inputs or events
that nobody thought of go undetected, and so does anything outside the numbers, such as the time a draw takes.
"""

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sottovoce.errors import BadParameter, BadRow, MissingColumn, UnreadableFile
from sottovoce.privacy import sampler as devices
from sottovoce.privacy.conformity import SMALLEST_P_VALUE, Check, Numbers, conformity
from sottovoce.privacy.laws import Law, NoiseLaw
from sottovoce.privacy.sampler import ByteStream, exact_number
from sottovoce.progress import Progress

if TYPE_CHECKING:
    from sottovoce.privacy.answer_audit import AnswerSetting
    from sottovoce.privacy.answers import AnswerGuarantee
    from sottovoce.privacy.guarantee import Guarantee

# The bound on ε holds with this confidence: a correct sampler fails at most once in ten thousand audits.
CONFIDENCE = 0.9999
FEWEST_DRAWS = 1000
_COLUMNS = ("side", "release", "reading", "value")
_THRESHOLDS = 200  # per feature
_POINTS = 40  # single values tried per feature

Sampler = Callable[[Sequence[float]], Sequence[float]]


@dataclass(frozen=True)
class Setting:
    """The two inputs: ``readings`` readings, the first of which differs by ``distance``; outputs are ``grid`` steps."""

    distance: float = 1.0
    grid: float | None = None  # a tenth of the distance
    readings: int = 1

    def __post_init__(self) -> None:
        for name, number in (("distance", self.distance), ("grid", 1.0 if self.grid is None else self.grid)):
            if not 0 < number < math.inf:
                raise BadParameter(f"{name} {number!r}: it must be a positive number; write {name} 0.5, for example")

    @property
    def step(self) -> float:
        """The grid."""
        return float(exact_number(self.distance) / 10) if self.grid is None else self.grid

    @property
    def shift(self) -> int:
        """How many steps apart the inputs are: a distance between grid steps is rounded up."""
        return math.ceil(exact_number(self.distance) / exact_number(self.step))

    def inputs(self) -> tuple[list[float], list[float]]:
        """The readings of both sides."""
        others = [0.0] * (self.readings - 1)
        return [0.0, *others], [float(self.shift * exact_number(self.step)), *others]

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return {"distance": self.distance, "grid": self.step, "readings": self.readings}

    def __str__(self) -> str:
        readings = f"{self.readings} reading{'s' * (self.readings != 1)}"
        return f"Two inputs of {readings}, whose first differs by {self.distance:g}, on a grid of {self.step:g}"


@dataclass(frozen=True)
class Draws:
    """Outputs in grid steps, releases × readings, for each of the two inputs."""

    sides: tuple[Numbers, Numbers]

    def __post_init__(self) -> None:
        for number, side in enumerate(self.sides):
            if len(side) < FEWEST_DRAWS:
                raise BadParameter(
                    f"{len(side):,} releases on side {number}: at least {FEWEST_DRAWS:,} are needed; draw more"
                )
            if not np.isfinite(side).all():
                odd = side[~np.isfinite(side)][0]
                raise BadParameter(
                    f"output {odd} on side {number}: outputs must be finite numbers; correct the sampler"
                )

    @classmethod
    def of(
        cls, sampler: Sampler, setting: Setting, samples: int, progress: Progress[int, int] | None = None
    ) -> "Draws":
        """Draw ``samples`` releases for each input, in turn."""
        inputs = setting.inputs()
        sides: tuple[list[Sequence[float]], list[Sequence[float]]] = ([], [])
        for done in range(samples):
            for readings, side in zip(inputs, sides, strict=True):
                outputs = sampler(list(readings))
                if len(outputs) != len(readings):
                    raise BadParameter(
                        f"{len(outputs)} outputs for {len(readings)} readings: one output per reading is needed; "
                        "correct the sampler"
                    )
                side.append(outputs)
            if progress and done % 256 == 0:
                progress(done, samples)
        shape = (samples, setting.readings)
        return cls((np.array(sides[0], float).reshape(shape), np.array(sides[1], float).reshape(shape)))

    @classmethod
    def read(cls, path: str | Path) -> "Draws":
        """Read draws made elsewhere: CSV with columns side (0 or 1), release, reading and value (in grid steps)."""
        releases: tuple[dict[str, dict[int, float]], dict[str, dict[int, float]]] = ({}, {})
        try:
            with Path(path).open(newline="", encoding="utf-8") as file:
                table = csv.DictReader(file)
                for column in _COLUMNS:
                    if column not in (table.fieldnames or ()):
                        raise MissingColumn(
                            f"{path}: there is no column {column!r}: the columns must be {', '.join(_COLUMNS)}; add it"
                        )
                for number, row in enumerate(table, 1):
                    side, release, reading, output = _draw(row, number)
                    if reading in releases[side].setdefault(release, {}):
                        raise BadRow(
                            f"row {number}: side {side}, release {release}, reading {reading} occurs twice: "
                            "each release has each reading once; remove one of them"
                        )
                    releases[side][release][reading] = output
        except (OSError, UnicodeDecodeError, csv.Error) as mistake:
            raise UnreadableFile(f"{path}: it cannot be read as CSV ({mistake}); check the path") from None
        readings = sorted({reading for side in releases for outputs in side.values() for reading in outputs})
        for number, side_releases in enumerate(releases):
            for release, outputs in side_releases.items():
                if len(outputs) != len(readings):
                    raise BadRow(
                        f"side {number}, release {release}: it has {len(outputs)} of {len(readings)} readings: "
                        "every release must have all; add the missing ones"
                    )
        shape = (-1, max(1, len(readings)))
        ordered = [[[outputs[r] for r in readings] for outputs in side.values()] for side in releases]
        return cls((np.array(ordered[0], float).reshape(shape), np.array(ordered[1], float).reshape(shape)))

    @property
    def readings(self) -> int:
        return int(self.sides[0].shape[1])

    def half(self, number: int) -> "tuple[Numbers, Numbers]":
        """Every second release: 0 to choose the event, 1 to measure it."""
        return self.sides[0][number::2], self.sides[1][number::2]


def _draw(row: dict[str, str], number: int) -> tuple[int, str, int, float]:
    try:
        draw = int(row["side"]), row["release"], int(row["reading"]), float(row["value"])
    except (TypeError, ValueError):
        shown = ", ".join(str(row[column]) for column in _COLUMNS)
        raise BadRow(
            f"row {number} ({shown}): side and reading must be whole numbers, value a number; correct it"
        ) from None
    if draw[0] not in (0, 1):
        raise BadRow(f"row {number}: side {draw[0]}: it must be 0 or 1, for the first or the second input; correct it")
    return draw


@dataclass(frozen=True)
class Audit:
    """The result of an audit. ``found_epsilon`` is a lower bound on ε at ``delta``; the law promises at most
    ``promised_epsilon`` there."""

    law: Law
    setting: "Setting | AnswerSetting"
    samples: int
    delta: float
    promised_epsilon: float
    found_epsilon: float
    event: str
    checks: list[Check]

    @property
    def leaks(self) -> bool:
        return self.found_epsilon > self.promised_epsilon

    @property
    def faults(self) -> list[str]:
        """What is wrong, in words; empty if nothing was found."""
        leak = (
            f"the inputs can be distinguished with ε of {self.found_epsilon:.3g} or more at δ = {self.delta:.3g}, "
            f"where at most {self.promised_epsilon:.3g} is promised ({self.event})"
        )
        failed = [
            f"check failed: {check.name} (p-value {check.p_value:.1g})" for check in self.checks if not check.passed
        ]
        return [leak] * self.leaks + failed

    @property
    def passed(self) -> bool:
        return not self.faults

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "noise": str(self.law),
            **self.setting.summary(),
            "samples": self.samples,
            "delta": self.delta,
            "promised_epsilon": self.promised_epsilon,
            "found_epsilon": self.found_epsilon,
            "confidence": CONFIDENCE,
            "event": self.event,
            "checks": [
                {"check": c.name, "p_value": c.p_value, "threshold": SMALLEST_P_VALUE, "passed": c.passed}
                for c in self.checks
            ],
            "faults": self.faults,
            "passed": self.passed,
        }


def device(law: NoiseLaw, setting: Setting, stream: ByteStream | None = None) -> Sampler:
    """What devices run, as a sampler: a task's range spans the two inputs, and readings come from far outside it.

    A reading lies as far beyond its end of the range as the range is wide, so that a device that does not clip is
    noticed.
    """
    grid = exact_number(setting.step)
    width = setting.shift * grid
    stream = stream or ByteStream()

    def send(readings: Sequence[float]) -> list[int]:
        ranged = [(3 * exact_number(reading) - width, Fraction(0), width) for reading in readings]
        return devices.noisy_steps(law, grid, ranged, stream)

    return send


def audit(
    sampler: Sampler,
    law: NoiseLaw,
    setting: Setting | None = None,
    *,
    samples: int = 20_000,
    epsilon: float | None = None,
    delta: float | None = None,
    progress: Progress[int, int] | None = None,
) -> Audit:
    """Audit any sampler: a callable from a list of readings to a list of outputs in whole grid steps.

    ``delta`` says where on the profile to compare, or ``epsilon`` does; by default it is 0 where the law promises a
    pure ε, and else half of δ(0), where few draws show much. ``progress`` gets the number of draws done and the total.
    """
    setting = setting or Setting()
    promise = _promise(law, setting, epsilon, delta)  # a mistake is reported before the long work
    if samples < FEWEST_DRAWS:
        raise BadParameter(f"samples {samples!r}: at least {FEWEST_DRAWS:,} are needed; write 20000, for example")
    return _audit(Draws.of(sampler, setting, samples, progress), law, setting, promise)


def audit_draws(
    draws: Draws,
    law: NoiseLaw,
    setting: Setting,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Audit:
    """Audit draws made elsewhere, for the inputs of ``setting``."""
    if draws.readings != setting.readings:
        raise BadParameter(
            f"{draws.readings} readings in the draws: the setting says {setting.readings}, and they must be the same; "
            "correct one of them"
        )
    return _audit(draws, law, setting, _promise(law, setting, epsilon, delta))


def _promise(law: NoiseLaw, setting: Setting, epsilon: float | None, delta: float | None) -> tuple[float, float]:
    guarantee = law.guarantee(distance=setting.distance, readings=setting.readings, grid=setting.step)
    return check_promise(guarantee, epsilon, delta)


def check_promise(
    guarantee: "Guarantee | AnswerGuarantee", epsilon: float | None, delta: float | None
) -> tuple[float, float]:
    """ε and δ that are promised together, where an audit compares; given by one of them, or by neither."""
    if epsilon is not None and delta is not None:
        raise BadParameter(f"epsilon {epsilon!r} and delta {delta!r}: one follows from the other; give one of them")
    if epsilon is not None:
        return epsilon, guarantee.delta(epsilon)
    if delta is None:
        delta = 0.0 if guarantee.pure_epsilon is not None else float(f"{guarantee.delta(0.0) / 2:.2g}")
    return guarantee.epsilon(delta), delta


def _audit(draws: Draws, law: NoiseLaw, setting: Setting, promise: tuple[float, float]) -> Audit:
    epsilon, delta = promise
    # The event is chosen on one half and measured on the other: no correction for having tried many is needed.
    event = _most_telling(draws.half(0), setting.shift, delta)
    counts = [int(event.holds(side, setting.shift).sum()) for side in draws.half(1)]
    sizes = [len(side) for side in draws.half(1)]
    bound = epsilon_bound(*_ordered(counts, event.favours), *_ordered(sizes, event.favours), delta)
    second = draws.sides[1].copy()
    second[:, 0] -= setting.shift
    return Audit(
        law=law,
        setting=setting,
        samples=min(map(len, draws.sides)),
        delta=delta,
        promised_epsilon=epsilon,
        found_epsilon=max(0.0, float(bound)),
        event=str(event),
        checks=conformity(law.on_grid(exact_number(setting.step)), (draws.sides[0], second)),
    )


def _ordered(pair: list[int], favours: int) -> tuple[int, int]:
    return (pair[0], pair[1]) if favours == 0 else (pair[1], pair[0])


def epsilon_bound(often: Any, seldom: Any, often_draws: int, seldom_draws: int, delta: float) -> NDArray[np.float64]:
    """A lower bound on ε: ln((P - δ)/P'), with P as small and P' as large as counts allow, each at half the risk."""
    often, seldom = np.asarray(often, float), np.asarray(seldom, float)
    risk = (1 - CONFIDENCE) / 2
    low = np.where(often > 0, betaincinv(np.maximum(often, 1), often_draws - often + 1, risk), 0)
    high = np.where(seldom < seldom_draws, betaincinv(seldom + 1, np.maximum(seldom_draws - seldom, 1), 1 - risk), 1)
    excess = low - delta
    return np.where(excess > 0, np.log(np.maximum(excess, 1e-300) / high), -np.inf)


@dataclass(frozen=True)
class _Event:
    """A set of outputs, given by a feature of them; ``favours`` is the input under which it is more likely."""

    feature: str
    relation: str  # ≤, > or =
    bound: float
    favours: int

    def holds(self, outputs: Numbers, shift: int) -> NDArray[np.bool_]:
        compare = {"=": np.equal, "≤": np.less_equal, ">": np.greater}[self.relation]
        return np.asarray(compare(_FEATURES[self.feature](outputs, shift), self.bound))

    def __str__(self) -> str:
        return f"{self.feature} {self.relation} {self.bound:g}"


def _others(outputs: Numbers) -> Numbers:
    """Root mean square of the readings that did not change; the quarter keeps it from being zero."""
    return np.asarray(np.sqrt((outputs[:, 1:] ** 2).mean(axis=1) + 0.25))


# The changed reading by itself, then beside the readings that did not change: these reveal a variance that all share,
# or noise that is used twice.
_SINGLE: dict[str, Callable[[Numbers, int], Numbers]] = {
    "changed reading": lambda outputs, shift: outputs[:, 0],
    "distance from the first input": lambda outputs, shift: np.abs(outputs[:, 0]),
    "distance from the second input": lambda outputs, shift: np.abs(outputs[:, 0] - shift),
    "changed reading modulo 2": lambda outputs, shift: outputs[:, 0] % 2,
    "fraction of a grid step": lambda outputs, shift: outputs[:, 0] % 1,
}
_BESIDE: dict[str, Callable[[Numbers, int], Numbers]] = {
    "log-likelihood ratio, by the spread of the others": lambda outputs, shift: (
        (outputs[:, 0] - shift / 2) * shift / _others(outputs) ** 2
    ),
    "distance from the first input over the spread of the others": lambda outputs, shift: (
        np.abs(outputs[:, 0]) / _others(outputs)
    ),
    "distance from the second input over the spread of the others": lambda outputs, shift: (
        np.abs(outputs[:, 0] - shift) / _others(outputs)
    ),
    "changed reading minus the mean of the others": lambda outputs, shift: outputs[:, 0] - outputs[:, 1:].mean(axis=1),
    "changed reading minus the next": lambda outputs, shift: outputs[:, 0] - outputs[:, 1],
    "changed reading minus the last": lambda outputs, shift: outputs[:, 0] - outputs[:, -1],
}
_FEATURES = _SINGLE | _BESIDE


def _most_telling(sides: tuple[Numbers, Numbers], shift: int, delta: float) -> _Event:
    """The event with the best bound on these draws."""
    best, best_bound = _Event("changed reading", ">", shift / 2, 1), -math.inf
    for feature, compute in (_FEATURES if sides[0].shape[1] > 1 else _SINGLE).items():
        values = (compute(sides[0], shift), compute(sides[1], shift))
        for relation, bounds, counts in _candidates(values):
            for favours in (0, 1):
                bound_on_epsilon = epsilon_bound(
                    counts[favours], counts[1 - favours], len(values[favours]), len(values[1 - favours]), delta
                )
                place = int(np.argmax(bound_on_epsilon))
                if bound_on_epsilon[place] > best_bound:
                    best, best_bound = (
                        _Event(feature, relation, float(bounds[place]), favours),
                        float(bound_on_epsilon[place]),
                    )
    return best


def _candidates(values: tuple[Numbers, Numbers]) -> Iterator[tuple[str, Numbers, list[NDArray[np.intp]]]]:
    """Events of one feature: below a threshold, above it, and at a single value (the ends among them)."""
    pooled = np.concatenate(values)
    thresholds = np.unique(np.quantile(pooled, np.linspace(0, 1, _THRESHOLDS), method="inverted_cdf"))
    below = [np.searchsorted(np.sort(side), thresholds, side="right") for side in values]
    yield "≤", thresholds, below
    yield ">", thresholds, [len(side) - count for side, count in zip(values, below, strict=True)]
    points, often = np.unique(pooled, return_counts=True)
    chosen = np.union1d(points[np.argsort(-often, kind="stable")[:_POINTS]], points[[0, -1]])
    yield "=", chosen, [(side[:, None] == chosen).sum(axis=0) for side in values]
