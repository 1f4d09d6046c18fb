"""Results: truths from the readings of a campaign, with the method and the promise stated beside them."""

import json
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.discovery import METHODS, NoiseAware, TruthDiscovery
from sottovoce.engines import MemoryEngine
from sottovoce.errors import ConvergenceWarning
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.promise import promise_of, pure_epsilon, sentence
from sottovoce.server.clock import moment
from sottovoce.server.doubts import doubts
from sottovoce.server.storage.claims import Readings

LEVEL = 0.95  # of the intervals
_NOT_WORTH_TELLING = 1e-3  # a move of a truth by this share of its interval
_WEIGHT_EDGES = [round(0.2 * step, 1) for step in range(11)]  # of the mean weight; what is above goes into one more bin
Floats = NDArray[np.float64]
_NOTHING_KNOWN: dict[str, Any] = {
    "truth": None, "low": None, "high": None, "claims": 0, "mean": None, "median": None, "effective_users": None,
}  # fmt: skip
# What follows from truths and weights, and so moves a little with the point from which the iteration began.
_DERIVED = ("iterations", "effective_users", "weights", "warnings")


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

    def find(self, earlier: TruthDiscovery | None = None) -> "Findings | None":
        """Truths and weights; None where there is no reading. An earlier fit by the same method makes it quicker."""
        if not len(self.readings):
            return None
        options: dict[str, Any] = {"noise": self.manifest.law} if self.method_name == NoiseAware.name else {}
        method = METHODS[self.method_name](**options)
        engine = MemoryEngine(self.claims())
        with warnings.catch_warnings():
            # Said in the results instead.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = method.fit(engine, start=earlier if type(earlier) is type(method) else None)
        fit._earlier = None  # or each would hold on to all those before it
        return Findings(fit, engine.means(), engine.medians(), engine.spreads())

    def results(self, found: "Findings | None", version: int, as_of: int) -> dict[str, Any]:
        """The results as they are sent out. Tasks with too few claims are listed, with their truth withheld."""
        rows = {} if found is None else found.rows()
        tasks = []
        for place, task in enumerate(self.manifest.tasks):
            figures = rows.get(place, _NOTHING_KNOWN)
            if figures["claims"] < self.least_claims:
                figures = _NOTHING_KNOWN | {"claims": figures["claims"]}
            tasks.append({"task": task.id, "title": task.title, "unit": task.unit, **figures})
        participants = 0 if found is None else len(found.fit.users_)
        told = found if participants >= self.least_claims else None
        return {
            "campaign": self.manifest.campaign,
            "title": self.manifest.title,
            "version": version,
            "as_of": moment(as_of),
            "method": self.method_name,
            "converged": None if found is None else bool(found.fit.converged_),
            "iterations": None if found is None else found.fit.n_iter_,
            "level": LEVEL,
            "reports": self.reports,
            "participants": participants,
            "least_claims": self.least_claims,
            "guarantee": self.guarantee,
            "effective_users": told and told.effective_users,
            "weights": told and told.weights,
            "warnings": [] if found is None else found.warnings(len(tasks), self.least_claims),
            "results": tasks,
        }

    def claims(self) -> Claims:
        """The readings as claims of participants (by number) about tasks (by place)."""
        readings = self.readings
        return Claims.from_arrays(readings.participants, readings.places, readings.values(self.manifest))


@dataclass(frozen=True)
class Findings:
    """What the claims say: by a method, and by the plain averages, which are never left out."""

    fit: TruthDiscovery
    means: Floats
    medians: Floats
    spreads: Floats

    def rows(self) -> dict[int, dict[str, Any]]:
        """By the place of the task."""
        fit = self.fit
        low, high = fit.intervals(LEVEL)
        columns = (fit.truths_, low, high, fit.claims_, self.means, self.medians, fit.effective_users_)
        return {
            place: {
                "truth": _finite(truth),
                "low": _finite(least),
                "high": _finite(most),
                "claims": int(claims),
                "mean": _finite(mean),
                "median": _finite(median),
                "effective_users": round(users, 2),
            }
            for place, truth, least, most, claims, mean, median, users in zip(
                fit.objects_.tolist(), *(column.tolist() for column in columns), strict=True
            )
        }

    @property
    def effective_users(self) -> float:
        """(Σw)²/Σw² over all participants: as if so many had equal weights."""
        weights = self.fit.weights_ / self.fit.weights_.max()
        return round(float(weights.sum() ** 2 / (weights**2).sum()), 2)

    @property
    def weights(self) -> dict[str, list[Any]]:
        """How many participants have which weight, against the mean of all. Nobody is named, or could be."""
        relative = self.fit.weights_ / self.fit.weights_.mean()
        counts, _ = np.histogram(np.minimum(relative, _WEIGHT_EDGES[-1] + 0.1), [*_WEIGHT_EDGES, math.inf])
        return {"edges": [*_WEIGHT_EDGES, None], "counts": counts.tolist()}

    def warnings(self, tasks: int, least_claims: int) -> list[dict[str, str]]:
        fit = self.fit
        return doubts(
            tasks,
            least_claims,
            claims=fit.claims_,
            effective_users=fit.effective_users_,
            skew=(self.means - self.medians, self.spreads),
            converged=bool(fit.converged_),
        )


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
    skipped = ("version", "as_of", *_DERIVED)
    return all(first[name] == second[name] for name in first if name not in skipped) and all(
        _same_task(before, after) for before, after in tasks
    )


def _same_task(one: dict[str, Any], other: dict[str, Any]) -> bool:
    figures = ("truth", "low", "high")
    if any(one[name] != other[name] for name in one if name not in (*figures, *_DERIVED)):
        return False
    width = abs(one["high"] - one["low"]) if None not in (one["low"], one["high"]) else 0.0
    return all(
        one[name] == other[name]
        if None in (one[name], other[name])
        else math.isclose(one[name], other[name], rel_tol=1e-12, abs_tol=_NOT_WORTH_TELLING * width)
        for name in figures
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
