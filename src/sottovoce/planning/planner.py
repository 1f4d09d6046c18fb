"""From a promise to a noise law: which law keeps it at the least cost in accuracy."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.discovery import NoiseAware
from sottovoce.errors import BadParameter, SottovoceError
from sottovoce.planning.information import participants_for, predicted_error
from sottovoce.privacy.guarantee import Guarantee
from sottovoce.privacy.laws import LAWS, FreshVariance, NoiseLaw, Unit, parse_law
from sottovoce.privacy.promise import law_for
from sottovoce.worlds import synthetic

_ANY_NUMBER = 10**9  # more readings than anybody gives
_WORLDS = 40
_CLAIMS_PER_WORLD = 200_000


@dataclass(frozen=True)
class Simulated:
    """Mean absolute error in simulated worlds, with a 95 % interval."""

    method: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Plan:
    """One law that keeps the promise, and what it costs."""

    law: NoiseLaw
    guarantee: Guarantee
    epsilon: float
    delta: float
    mean_variance: float
    mean_variance_any_n: float  # that the same promise needs without a limit on readings per participant
    predicted_error: float
    simulated_error: Simulated | None
    participants_needed: int | None

    def summary(self) -> dict[str, Any]:
        plain = {
            name: entry for name, entry in vars(self).items() if name not in ("law", "guarantee", "simulated_error")
        }
        simulated = asdict(self.simulated_error) if self.simulated_error else None
        return {"noise": str(self.law), **plain, "simulated_error": simulated, "sentence": self.sentence()}

    def sentence(self) -> str:
        """The promise in words."""
        return self.guarantee.sentence(delta=self.delta)


@dataclass(frozen=True)
class Plans(Sequence[Plan]):
    """Laws that keep a promise, the one with the smallest predicted error first."""

    plans: tuple[Plan, ...]
    error_rate: float
    error_rate_source: str

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
    error: float | None = None,
    error_rate: float | None = None,
    pilot: Claims | None = None,
    simulations: int = _WORLDS,
    seed: int = 0,
) -> Plans:
    """Noise laws that promise (ε, δ), ranked by the error to expect.

    Parameters
    ----------
    epsilon, delta, distance, unit
        The promise: for one reading, or for all readings of a participant, that move by at most ``distance``.
        Fresh noise is planned to keep it without exception (δ = 0).
    readings, participants
        Readings per participant, and how many participants read each object.
    error
        An error to reach: the plans then say how many participants it takes.
    error_rate, pilot
        Quality of the raw readings, as the rate λ1 of their error variances; or claims to estimate it from.
        Without either, readings are taken to err with a mean variance of half the squared distance.
    simulations
        Simulated worlds per law; 0 for none.

    >>> plans = plan(epsilon=1, delta=1e-5, distance=1.0, readings=30, participants=150, simulations=0)
    >>> str(plans[0].law), plans[0].delta, plans[0].mean_variance
    ('fresh:0.5', 0.0, 2.0)
    """
    if isinstance(participants, bool) or not isinstance(participants, int) or participants < 1:
        raise BadParameter(
            f"participants {participants!r}: it must be a whole number of at least 1; count those per object"
        )
    if error is not None and not (0 < error < math.inf):
        raise BadParameter(f"error {error!r}: it must be a positive number, in the unit of the readings; leave it out")
    if not (0 < distance < math.inf):
        raise BadParameter(f"distance {distance!r}: it must be a positive number; use the width of the public range")
    if simulations < 0:
        raise BadParameter(f"simulations {simulations}: it must be 0 or a positive whole number; 40 is usual")
    rate, source = _quality(error_rate, pilot, distance)
    found = []
    for kind in LAWS.values():
        # Where the promise has no exception only fresh noise can keep it.
        if delta == 0 and kind is not FreshVariance:
            continue
        granted = 0.0 if kind is FreshVariance else delta
        law = law_for(kind, epsilon, granted, distance=distance, readings=readings, unit=unit)
        unlimited = law if unit == "participant" else law_for(
            kind, epsilon, granted, distance=distance, readings=_ANY_NUMBER, unit=unit
        )  # fmt: skip
        found.append(
            Plan(
                law=law,
                guarantee=law.guarantee(distance, readings, unit),
                epsilon=epsilon,
                delta=granted,
                mean_variance=law.mean_variance,
                mean_variance_any_n=unlimited.mean_variance,
                predicted_error=predicted_error(law, rate, participants),
                simulated_error=_simulate(law, rate, participants, readings, simulations, seed)
                if simulations
                else None,
                participants_needed=participants_for(law, rate, error) if error else None,
            )
        )
    return Plans(tuple(sorted(found, key=lambda option: option.predicted_error)), rate, source)


def trade_off(
    epsilons: Sequence[float],
    delta: float,
    distance: float,
    readings: int,
    participants: int,
    unit: Unit,
    error_rate: float,
) -> dict[str, list[float]]:
    """Predicted error of each law at each ε, for a picture."""
    lines: dict[str, list[float]] = {}
    for kind in LAWS.values():
        granted = 0.0 if kind is FreshVariance else delta
        if delta == 0 and kind is not FreshVariance:
            continue
        laws = [
            law_for(kind, epsilon, granted, distance=distance, readings=readings, unit=unit) for epsilon in epsilons
        ]
        lines[kind.name] = [predicted_error(law, error_rate, participants) for law in laws]
    return lines


def estimate_error_rate(pilot: Claims) -> float:
    """Rate λ1 of the error variances, from claims that several users make about the same objects.

    One over the variance of claims around their object's mean, less that of the noise where the claims carry some.
    """
    counts = pilot.claims_per_object
    totals = np.add.reduceat(pilot.values, pilot.offsets[:-1])
    squares = (pilot.values - np.repeat(totals / counts, counts)) ** 2
    freedom = int((counts - 1).sum())
    if freedom == 0:
        raise SottovoceError("pilot: no object has two claims: quality shows where users disagree; add claims")
    variance = float(squares.sum()) / freedom
    if pilot.noise:
        variance -= parse_law(pilot.noise).mean_variance
    if variance <= 0:
        raise SottovoceError(
            f"pilot: its claims do not disagree by more than their noise ({pilot.noise or 'none'}): "
            "no quality can be read from it; give error_rate (--error-rate) instead"
        )
    return 1 / variance


def _quality(error_rate: float | None, pilot: Claims | None, distance: float) -> tuple[float, str]:
    if error_rate is not None and pilot is not None:
        raise BadParameter("error_rate and pilot: quality comes from one of them; leave the other out")
    if error_rate is not None:
        if not (0 < error_rate < math.inf):
            raise BadParameter(
                f"error_rate {error_rate!r}: a rate (λ1) must be positive; it is 1 over the errors' variance"
            )
        return float(error_rate), "given"
    if pilot is not None:
        return estimate_error_rate(pilot), "estimated from the pilot"
    return 2 / distance**2, "assumed: errors with a mean variance of half the squared distance"


def _simulate(
    law: NoiseLaw, error_rate: float, participants: int, readings: int, simulations: int, seed: int
) -> Simulated:
    objects = max(1, min(readings, _CLAIMS_PER_WORLD // participants))
    errors = []
    for number in range(simulations):
        rng = np.random.default_rng((seed, number))
        world = synthetic(participants, objects, error_rate=error_rate, seed=rng).with_simulated_noise(law, rng)
        truths = NoiseAware(noise=law).fit(world.claims).truths_
        errors.append(float(np.abs(truths - world.truths).mean()))
    mean, margin = (
        float(np.mean(errors)),
        1.96 * float(np.std(errors, ddof=1)) / math.sqrt(simulations) if simulations > 1 else 0.0,
    )
    return Simulated(NoiseAware.name, mean, mean - margin, mean + margin)
