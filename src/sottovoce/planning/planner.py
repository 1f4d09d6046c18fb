"""From a promise to a noise law: which law keeps it at the least cost in accuracy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from sottovoce.claims import Claims
from sottovoce.discovery import NoiseAware
from sottovoce.errors import BadParameter, SottovoceError
from sottovoce.planning.answering import best_answering
from sottovoce.planning.information import by_error, information, participants_for, predicted_error
from sottovoce.planning.noise import noise_for
from sottovoce.planning.plans import PromisePlan, Simulated, check_pilot, check_simulations
from sottovoce.privacy.guarantee import Guarantee, weakest
from sottovoce.privacy.laws import NoiseLaw, Unit, noise_laws, parse_noise_law
from sottovoce.privacy.least_noise import check_asked
from sottovoce.worlds import synthetic

_ANY_NUMBER = 10**9  # more readings than anybody makes
_LARGEST = 1e50  # its fourth power and the inverse of that are finite
_MOST_PARTICIPANTS, _MOST_SIMULATED = 10**9, 10**6
_LEAST_WORLDS, _WORLDS = 8, 40  # where their number is not given
_WIDE = 0.1  # there are enough worlds when the interval reaches no further from the mean than this share of it
_CLAIMS_PER_WORLD = 200_000


@dataclass(frozen=True, kw_only=True)
class NoisePlan(PromisePlan):
    """One kind of noise that keeps the promise, and what it costs."""

    law: NoiseLaw
    guarantee: Guarantee
    predicted_error: float
    mean_variance: float
    mean_variance_any_n: float  # that the same promise needs if participants may make any number of readings

    def summary(self) -> dict[str, Any]:
        return {**super().summary(), "grid": self.guarantee.grid}

    def sentence(self) -> str:
        return self.guarantee.sentence(delta=self.delta)


@dataclass(frozen=True)
class Plans(Sequence[NoisePlan]):
    """Laws that keep a promise, the one with the smallest predicted error first; if almost equal, the smallest δ."""

    plans: tuple[NoisePlan, ...]
    error_rate: float
    error_rate_source: str
    left_out: dict[str, str]  # kinds of noise that cannot keep the promise, with the reasons

    def __len__(self) -> int:
        return len(self.plans)

    def __getitem__(self, place: Any) -> Any:
        return self.plans[place]


def plan(
    epsilon: float = 1.0,
    delta: float = 1e-5,
    distance: float = 1.0,
    readings: int = 30,
    participants: int = 150,
    *,
    unit: Unit = "reading",
    grid: float | Sequence[float] | None = None,
    error: float | None = None,
    error_rate: float | None = None,
    pilot: Claims | None = None,
    simulations: int | None = None,
    seed: int = 0,
) -> Plans:
    """Noise laws that promise (ε, δ), ranked by the expected error.

    Parameters
    ----------
    epsilon, delta, distance, unit
        The promise: for one reading, or for all readings of a participant, that move by at most ``distance``.
        Fresh noise is planned to keep it without exception (δ = 0).
    grid
        Grid of the tasks, or their different grids: the promise then holds for what devices draw, on each of them.
        Without one the figures are those of continuous noise, which do not hold on a coarse grid.
    readings, participants
        Readings per participant, and how many participants measure each object.
    error
        A target error: the plans then include how many participants are needed for it.
    error_rate, pilot
        Quality of the raw readings, as the rate λ1 of their error variances; or claims to estimate it from.
        Without either, errors of readings are assumed to have a mean variance of half the squared distance.
    simulations
        Simulated worlds per law; 0 for none. By default 8 to 40, until the error is known to within a tenth.

    >>> plans = plan(epsilon=1, delta=1e-5, distance=1.0, readings=30, participants=150, simulations=0)
    >>> str(plans[0].law), plans[0].delta, plans[0].mean_variance
    ('fresh:0.5', 0.0, 2.0)
    """
    if (
        isinstance(participants, bool)
        or not isinstance(participants, int)
        or not (1 <= participants <= _MOST_PARTICIPANTS)
    ):
        raise BadParameter(
            f"participants {participants!r}: it must be a whole number of at least 1, and at most "
            f"{_MOST_PARTICIPANTS:,}; count those per object"
        )
    check_asked(epsilon, delta)
    if not (1 / _LARGEST <= distance <= _LARGEST):
        raise BadParameter(
            f"distance {distance!r}: it must be a positive number, from {1 / _LARGEST:g} to {_LARGEST:g}; "
            "use the width of the public range, or less, in a unit that suits the readings"
        )
    if error is not None and not (distance / _LARGEST <= error <= distance * _LARGEST):
        raise BadParameter(
            f"error {error!r}: it must be a positive number, in the unit of the readings and not far larger or smaller "
            "than the distance; correct it, or leave it out"
        )
    check_simulations(simulations, seed)
    if simulations != 0 and participants > _MOST_SIMULATED:
        raise BadParameter(
            f"participants {participants:,}: at most {_MOST_SIMULATED:,} can be simulated; "
            "plan without simulations (--simulations 0)"
        )
    grids = _grids(grid)
    rate, source = _quality(error_rate, pilot, distance)
    plans, left_out = [], {}

    def few_of(kind: type[NoiseLaw], allowed: float) -> dict[str, Any]:
        return _answering(kind, epsilon, allowed, distance, readings, grids, rate)

    for kind in noise_laws().values():
        allowed = kind.granted(delta)
        try:
            law = noise_for(kind, epsilon, allowed, distance, readings, unit, grids)
            # On a grid the figures hold for any number of readings.
            unlimited = law if grids or unit == "participant" else noise_for(
                kind, epsilon, allowed, distance, _ANY_NUMBER, unit
            )  # fmt: skip
        except BadParameter as mistake:
            left_out[kind.name] = str(mistake)
            continue
        guarantee = weakest([law.guarantee(distance, readings, unit, step) for step in grids or (None,)], allowed)
        plans.append(
            NoisePlan(
                law=law,
                guarantee=guarantee,
                epsilon=epsilon,
                delta=allowed,
                mean_variance=law.mean_variance,
                mean_variance_any_n=unlimited.mean_variance,
                predicted_error=predicted_error(law, rate, participants, readings),
                simulated_error=_simulate(law, rate, participants, readings, simulations, seed)
                if simulations != 0
                else None,
                participants_needed=participants_for(law, rate, error, readings) if error else None,
                **(few_of(kind, allowed) if unit == "participant" else {}),
            )
        )
    if not plans:
        raise BadParameter(next(iter(left_out.values())))
    # With a single reading per participant, two laws differ in little but δ.
    ranked = by_error(plans, lambda option: option.predicted_error, lambda option: option.delta)
    return Plans(tuple(ranked), rate, source, left_out)


def _answering(
    kind: type[NoiseLaw],
    epsilon: float,
    delta: float,
    distance: float,
    readings: int,
    grids: tuple[float, ...],
    rate: float,
) -> dict[str, Any]:
    """How many of its tasks a device should answer, with what noise, and what that gains."""

    def noise(count: int) -> NoiseLaw:
        return noise_for(kind, epsilon, delta, distance, count, "participant", grids)

    # Without a pure ε each number needs its own search; whatever such noise gains, it gains with a single answer.
    tried = None if kind.is_pure else {1}
    best = best_answering(lambda count: information(noise(count), rate, count), readings, tried)
    return {"answer": best.answer, "answer_noise": str(noise(best.answer)), "answer_gain": best.gain}


def trade_off(
    epsilons: Sequence[float],
    delta: float,
    distance: float,
    readings: int,
    participants: int,
    unit: Unit,
    error_rate: float,
    grid: float | Sequence[float] | None = None,
) -> dict[str, list[float]]:
    """Predicted error of each law at each ε, for a figure; NaN where no noise of that kind keeps the promise."""

    def error_at(kind: type[NoiseLaw], epsilon: float) -> float:
        try:
            law = noise_for(kind, epsilon, kind.granted(delta), distance, readings, unit, _grids(grid))
        except BadParameter:
            return math.nan
        return predicted_error(law, error_rate, participants, readings)

    lines = {kind.name: [error_at(kind, epsilon) for epsilon in epsilons] for kind in noise_laws().values()}
    return {name: line for name, line in lines.items() if not all(map(math.isnan, line))}


def _grids(grid: float | Sequence[float] | None) -> tuple[float, ...]:
    if grid is None:
        return ()
    return tuple(dict.fromkeys(map(float, grid if isinstance(grid, Sequence) else (grid,))))


def estimate_error_rate(pilot: Claims) -> float:
    """Rate λ1 of the error variances, from claims that several users make about the same objects.

    It is 1 over the variance of claims around their object's mean, minus that of their noise if they have any.
    """
    if pilot.kind != "number":
        raise BadParameter(
            "pilot: its claims are choices, but this is a plan for numbers; give choices= (--choices), or another pilot"
        )
    check_pilot(pilot)
    counts = pilot.claims_per_object
    totals = np.add.reduceat(pilot.values, pilot.offsets[:-1])
    squares = (pilot.values - np.repeat(totals / counts, counts)) ** 2
    freedom = int((counts - 1).sum())
    variance = float(squares.sum()) / freedom
    if pilot.noise:
        variance -= parse_noise_law(pilot.noise).mean_variance
    if variance <= 0:
        raise SottovoceError(
            f"pilot: its claims do not differ{f' by more than their noise ({pilot.noise})' if pilot.noise else ''}, "
            "so they show nothing about quality; give error_rate (--error-rate) instead"
        )
    return 1 / variance


def _quality(error_rate: float | None, pilot: Claims | None, distance: float) -> tuple[float, str]:
    if error_rate is not None and pilot is not None:
        raise BadParameter("error_rate and pilot: quality comes from one of them; leave the other out")
    if error_rate is not None:
        if not (1 / _LARGEST <= error_rate * distance**2 <= _LARGEST):
            raise BadParameter(
                f"error_rate {error_rate!r}: a rate (λ1) must be positive, and its errors not far larger or smaller "
                "than the distance; it is 1 over their mean variance"
            )
        return float(error_rate), "given"
    if pilot is not None:
        return estimate_error_rate(pilot), "estimated from the pilot"
    return 2 / distance**2, "assumed: errors with a mean variance of half the squared distance"


def _simulate(
    law: NoiseLaw, error_rate: float, participants: int, readings: int, simulations: int | None, seed: int
) -> Simulated:
    objects = max(1, min(readings, _CLAIMS_PER_WORLD // participants))
    errors: list[float] = []
    for number in range(_WORLDS if simulations is None else simulations):
        rng = np.random.default_rng((seed, number))
        world = synthetic(participants, objects, error_rate=error_rate, seed=rng).with_simulated_noise(law, rng)
        truths = NoiseAware(noise=law).fit(world.claims).truths_
        errors.append(float(np.abs(truths - world.truths).mean()))
        mean, margin = _mean_and_margin(errors)
        if simulations is None and len(errors) >= _LEAST_WORLDS and margin <= _WIDE * mean:
            break
    return Simulated(NoiseAware.name, mean, mean - margin, mean + margin)


def _mean_and_margin(errors: Sequence[float]) -> tuple[float, float]:
    """The mean, and how far its 95% interval reaches to either side."""
    if len(errors) == 1:
        return errors[0], 0.0
    quantile = float(stdtrit(len(errors) - 1, 0.975))
    return float(np.mean(errors)), quantile * float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
