"""Results: truths from the readings of a campaign, with the method and the promise stated beside them."""

import json
import math
import warnings
from dataclasses import dataclass
from typing import Any

from sottovoce.claims import Claims
from sottovoce.discovery import METHODS, NoiseAware, TruthDiscovery
from sottovoce.errors import ConvergenceWarning
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.promise import promise_of, pure_epsilon, sentence
from sottovoce.server.clock import moment
from sottovoce.server.storage.claims import Readings

LEVEL = 0.95  # of the intervals
_NOT_WORTH_TELLING = 1e-3  # a move of a truth by this share of its interval


def guarantee_of(manifest: Manifest) -> dict[str, Any]:
    """What participants were promised, in words and in figures."""
    promise = promise_of(manifest)
    return {
        "sentence": sentence(manifest),
        "noise": manifest.noise,
        "distance": manifest.distance,
        "unit": manifest.unit,
        "readings": manifest.most_readings,
        "epsilon": _finite(promise.epsilon),
        "delta": promise.delta,
        "pure_epsilon": pure_epsilon(manifest),
    }


@dataclass(frozen=True)
class Computation:
    """Everything that results follow from."""

    manifest: Manifest
    guarantee: dict[str, Any]
    method: str | None  # None: noise-aware, under the law of the campaign
    readings: Readings
    reports: int
    least_claims: int

    @property
    def method_name(self) -> str:
        return self.method or NoiseAware.name

    def fit(self, earlier: TruthDiscovery | None = None) -> TruthDiscovery | None:
        """Truths and weights; None where there is no reading. An earlier fit by the same method makes it quicker."""
        if not len(self.readings):
            return None
        options: dict[str, Any] = {"noise": self.manifest.law} if self.method_name == NoiseAware.name else {}
        method = METHODS[self.method_name](**options)
        with warnings.catch_warnings():
            # Said in the results instead.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = method.fit(self.claims(), start=earlier if type(earlier) is type(method) else None)
        fit._earlier = None  # or each would hold on to all those before it
        return fit

    def results(self, fit: TruthDiscovery | None, version: int, as_of: int) -> dict[str, Any]:
        """The results as they are sent out. Tasks with too few claims are listed, with their truth withheld."""
        rows = {} if fit is None else _rows(fit)
        tasks = []
        for place, task in enumerate(self.manifest.tasks):
            truth, low, high, claims = rows.get(place, (None, None, None, 0))
            shown = claims >= self.least_claims
            tasks.append(
                {
                    "task": task.id,
                    "title": task.title,
                    "unit": task.unit,
                    "truth": truth if shown else None,
                    "low": low if shown else None,
                    "high": high if shown else None,
                    "claims": claims,
                }
            )
        return {
            "campaign": self.manifest.campaign,
            "title": self.manifest.title,
            "version": version,
            "as_of": moment(as_of),
            "method": self.method_name,
            "converged": None if fit is None else bool(fit.converged_),
            "level": LEVEL,
            "reports": self.reports,
            "participants": 0 if fit is None else len(fit.users_),
            "least_claims": self.least_claims,
            "guarantee": self.guarantee,
            "results": tasks,
        }

    def claims(self) -> Claims:
        """The readings as claims of participants (by number) about tasks (by place)."""
        readings = self.readings
        return Claims.from_arrays(readings.participants, readings.places, readings.values(self.manifest))


def warm_up() -> None:
    """Load the compiled kernels before the first results need them."""
    claims = Claims.from_matrix([[1.0, 2.0], [1.5, 2.5], [0.5, 3.0]])
    for law in ("fresh:1", "shared:1"):
        NoiseAware(noise=law, max_iter=2, tol=0).fit(claims)


def encode(results: dict[str, Any]) -> bytes:
    return json.dumps(results, ensure_ascii=False, allow_nan=False).encode()


def same_findings(one: bytes, other: bytes) -> bool:
    """Whether two results say the same, whatever their version and time.

    The same claims give the same truths up to the tolerance of the iteration, which depends on where it began.
    """
    first, second = json.loads(one), json.loads(other)
    tasks = zip(first.pop("results"), second.pop("results"), strict=True)
    return all(first[name] == second[name] for name in first if name not in ("version", "as_of")) and all(
        _same_task(before, after) for before, after in tasks
    )


def _same_task(one: dict[str, Any], other: dict[str, Any]) -> bool:
    figures = ("truth", "low", "high")
    if any(one[name] != other[name] for name in one if name not in figures):
        return False
    width = abs(one["high"] - one["low"]) if None not in (one["low"], one["high"]) else 0.0
    return all(
        one[name] == other[name]
        if None in (one[name], other[name])
        else math.isclose(one[name], other[name], rel_tol=1e-12, abs_tol=_NOT_WORTH_TELLING * width)
        for name in figures
    )


def _rows(fit: TruthDiscovery) -> dict[int, tuple[float | None, float | None, float | None, int]]:
    low, high = fit.intervals(LEVEL)
    columns = (fit.objects_, fit.truths_, low, high, fit.claims_)
    return {
        int(place): (_finite(truth), _finite(least), _finite(most), int(claims))
        for place, truth, least, most, claims in zip(*(column.tolist() for column in columns), strict=True)
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
