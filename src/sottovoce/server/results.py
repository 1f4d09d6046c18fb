"""Results: truths from the readings of a campaign, with the method and the promise stated beside them."""

import json
import math
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row

from sottovoce.claims import Claims
from sottovoce.discovery import METHODS, NoiseAware, TruthDiscovery
from sottovoce.engines import MemoryEngine
from sottovoce.errors import ConvergenceWarning
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.promise import promise_of, pure_epsilon, sentence
from sottovoce.server.clock import moment
from sottovoce.server.doubts import doubts
from sottovoce.server.steps import NOTHING_INCLUDED, Step, next_step
from sottovoce.server.storage.claims import NO_READINGS, Readings

LEVEL = 0.95  # of the intervals
_NOT_WORTH_TELLING = 1e-3  # a move of a truth by this share of its interval
_WEIGHT_EDGES = [round(0.2 * step, 1) for step in range(11)]  # of the mean weight; what is above goes into one more bin
Floats = NDArray[np.float64]
_NOTHING_KNOWN: dict[str, Any] = {
    "truth": None, "low": None, "high": None, "claims": 0, "mean": None, "median": None, "effective_users": None,
}  # fmt: skip
_OVERALL = ("converged", "iterations", "participants", "effective_users", "weights", "warnings")
_MEASURED = ("truth", "low", "high", "mean", "median")
# What follows from truths and weights, and so moves a little with the point from which the iteration began.
_DERIVED = ("iterations", "effective_users", "weights", "warnings")


def guarantee_of(manifest: Manifest) -> dict[str, Any]:
    """What participants were promised, in words and in figures."""
    promise = promise_of(manifest)
    return {
        "sentence": sentence(manifest, promise),
        "noise": manifest.noise,
        "distance": manifest.distance,
        "unit": manifest.unit,
        "readings": manifest.most_readings,
        "epsilon": _finite(promise.epsilon),
        "delta": promise.delta,
        "pure_epsilon": pure_epsilon(manifest),
    }


def is_final(campaign: Row[Any]) -> bool:
    """Whether a campaign is closed and its last results are there. A withdrawal later on does not show at once."""
    considered = campaign.computed_at is not None and campaign.computed_at > (campaign.closed_at or 0)
    return campaign.state == "closed" and (campaign.erasing_at is not None or (considered and _settled(campaign)))


def _settled(campaign: Row[Any]) -> bool:
    return bool(campaign.published >= campaign.step or campaign.trouble)


def trouble_words(trouble: str) -> str:
    """What stands in the way of newer results, as a sentence's end.

    >>> trouble_words("failed: ZeroDivisionError")
    'the newest computation failed (ZeroDivisionError)'
    """
    kind, _, error = trouble.partition(": ")
    return f"the newest computation failed ({error})" if error else f"the newest computation has {kind}"


@dataclass(frozen=True)
class Computation:
    """Everything that results follow from."""

    manifest: Manifest
    guarantee: dict[str, Any]
    method: str | None  # None: noise-aware, under the law of the campaign
    step: Step
    reports: int
    least_claims: int
    before: dict[str, Any] | None  # the results published last

    @classmethod
    def empty(cls, manifest: Manifest, guarantee: dict[str, Any], method: str | None, least_claims: int) -> Self:
        """Of a campaign that has just opened."""
        nothing = next_step(NOTHING_INCLUDED, NO_READINGS, 0, least_claims, len(manifest.tasks))
        return cls(manifest, guarantee, method, nothing, 0, least_claims, None)

    @property
    def readings(self) -> Readings:
        return self.step.readings

    @property
    def method_name(self) -> str:
        return self.method or NoiseAware.name

    @property
    def first(self) -> bool:
        """Whether no figure was ever published."""
        return self.before is None or all(row["truth"] is None for row in self.before["results"])

    def find(self) -> "Findings | None":
        """Truths and weights; None where there is no reading.

        Always from scratch: results follow from the readings alone, whatever was computed before.
        """
        if not len(self.readings):
            return None
        options: dict[str, Any] = {"noise": self.manifest.law} if self.method_name == NoiseAware.name else {}
        method = METHODS[self.method_name](**options)
        engine = MemoryEngine(self.claims())
        with warnings.catch_warnings():
            # Said in the results instead.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = method.fit(engine)
        return Findings(fit, engine.means(), engine.medians(), engine.spreads())

    def results(self, found: "Findings | None", version: int, as_of: int) -> dict[str, Any]:
        """The results as they are sent out. A task that takes no step keeps the figures that it has."""
        counts = self.step.included.counts(len(self.manifest.tasks))
        rows = {} if found is None else found.rows()
        tasks = []
        for place, (task, claims) in enumerate(zip(self.manifest.tasks, counts.tolist(), strict=True)):
            if self.step.retracted[place]:
                figures = _NOTHING_KNOWN
            elif self._anew(place):
                figures = rounded(rows.get(place, _NOTHING_KNOWN), float(task.grid)) | {"claims": claims}
            else:
                assert self.before is not None
                figures = {name: self.before["results"][place][name] for name in _NOTHING_KNOWN}
            tasks.append({"task": task.id, "title": task.title, "unit": task.unit, **figures})
        return {
            "campaign": self.manifest.campaign,
            "title": self.manifest.title,
            "version": version,
            "as_of": moment(as_of),
            "method": self.method_name,
            "level": LEVEL,
            "reports": self.reports,
            "least_claims": self.least_claims,
            "guarantee": self.guarantee,
            **self._overall(found, counts),
            "results": tasks,
        }

    def _overall(self, found: "Findings | None", counts: NDArray[np.int64]) -> dict[str, Any]:
        """What is said of all participants together. It is not to tell that a single one has left."""
        if self.before is not None and not (self.step.changed.any() or self.step.whole.all()):
            return {name: self.before.get(name) for name in _OVERALL}
        overall: dict[str, Any] = dict.fromkeys(_OVERALL) | {"warnings": []}
        overall["participants"] = len(np.unique(self.readings.participants))
        if found is not None:
            claims = counts[found.fit.objects_.astype(np.int64)]
            overall["warnings"] = found.warnings(len(counts), self.least_claims, claims)
            overall |= {"converged": bool(found.fit.converged_), "iterations": found.fit.n_iter_}
            if overall["participants"] >= self.least_claims:
                overall |= {"effective_users": found.effective_users, "weights": found.weights}
        return overall

    def _anew(self, place: int) -> bool:
        """Whether the figures of a task are new: it takes a step, or the same claims are seen by another method.

        Once somebody has withdrawn, another method would see fewer claims, and the difference would tell of them.
        """
        if self.before is None or self.step.changed[place]:
            return True
        known = self.before["results"][place]["truth"] is not None and self.before["method"] == self.method_name
        return not known and bool(self.step.whole[place])

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
                "effective_users": round(users, 1),
            }
            for place, truth, least, most, claims, mean, median, users in zip(
                fit.objects_.tolist(), *(column.tolist() for column in columns), strict=True
            )
        }

    @property
    def effective_users(self) -> float:
        """(Σw)²/Σw² over all participants: as if so many had equal weights."""
        weights = self.fit.weights_ / self.fit.weights_.max()
        return round(float(weights.sum() ** 2 / (weights**2).sum()), 1)

    @property
    def weights(self) -> dict[str, list[Any]]:
        """How many participants have which weight, against the mean of all. Nobody is named, or could be."""
        relative = self.fit.weights_ / self.fit.weights_.mean()
        counts, _ = np.histogram(np.minimum(relative, _WEIGHT_EDGES[-1] + 0.1), [*_WEIGHT_EDGES, math.inf])
        return {"edges": [*_WEIGHT_EDGES, None], "counts": counts.tolist()}

    def warnings(self, tasks: int, least_claims: int, claims: NDArray[np.int64] | None = None) -> list[dict[str, str]]:
        """``claims`` are the numbers of claims by object, where they are stated otherwise than they are now."""
        fit = self.fit
        return doubts(
            tasks,
            least_claims,
            claims=fit.claims_ if claims is None else claims,
            effective_users=fit.effective_users_,
            skew=(self.means - self.medians, self.spreads),
            converged=bool(fit.converged_),
        )


def warm_up() -> None:
    """Load the compiled kernels before the first results need them."""
    claims = Claims.from_matrix([[1.0, 2.0], [1.5, 2.5], [0.5, 3.0]])
    for law in ("fresh:1", "shared:1"):
        NoiseAware(noise=law, max_iter=2, tol=0).fit(claims)


def rounded(figures: dict[str, Any], grid: float) -> dict[str, Any]:
    """Figures to two digits of the interval's half width: what follows is noise, and would help to undo the sums.

    >>> rounded({"truth": 41.66317, "low": 41.2481, "high": 42.0782, "mean": 41.7005}, 0.1)
    {'truth': 41.66, 'low': 41.25, 'high': 42.08, 'mean': 41.7}
    """
    low, high = figures["low"], figures["high"]
    half = (high - low) / 2 if low is not None and high is not None else 0.0
    decimals = math.ceil(-math.log10(grid)) if half <= 0 else 1 - math.floor(math.log10(half))
    # Zero added, so that none is negative.
    return {
        name: round(entry, decimals) + 0.0 if name in _MEASURED and entry is not None else entry
        for name, entry in figures.items()
    }


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
