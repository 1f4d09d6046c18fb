"""Results: truths from the readings of a campaign, with the method and the promise stated beside them."""

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.discovery import DEFAULT, METHODS, NoiseAware, make_method
from sottovoce.discovery.doubts import CAMPAIGN, Nouns, doubts
from sottovoce.discovery.registry import takes
from sottovoce.discovery.result import ChoiceResult, Outcome, Result, discovered
from sottovoce.discovery.schema import SCHEMAS, Column, Place, columns_in
from sottovoce.discovery.target import Target
from sottovoce.errors import ConvergenceWarning
from sottovoce.privacy.laws import Kind
from sottovoce.protocol.manifest import ChoiceTask, Manifest, NumberTask, Task
from sottovoce.protocol.promise import distance_words, promise_of, pure_epsilon, sentence
from sottovoce.server.clock import moment
from sottovoce.server.gold import Known, by_place
from sottovoce.server.methods import main_kind
from sottovoce.server.steps import NOTHING_INCLUDED, ResultStep, next_step
from sottovoce.server.storage.claims import NO_READINGS, Readings, Sets
from sottovoce.server.storage.rows import CampaignRow

Findings = dict[Kind, Result | ChoiceResult]  # by the kind of claims
LEVEL = 0.95  # of the intervals
_DEFAULT_TARGET: Target = "value"  # with noise, readings differ by their errors anyway
_WEIGHT_EDGES = [round(0.2 * step, 1) for step in range(11)]  # relative to the mean weight; one more bin lies above
_OVERALL = ("converged", "iterations", "participants", "effective_users", "weights", "warnings")
# The columns about the task itself; those of the figures are in `sottovoce.discovery.schema`.
_TASK = {
    "task": Column("task", pa.string(), "id of the task", lambda asked: asked.task.id, Place.API | Place.FILE),
    "title": Column("title", pa.string(), "title of the task", lambda asked: asked.title, Place.API | Place.FILE),
    "unit": Column("unit", pa.string(), "unit of the figures", lambda asked: asked.unit, Place.API | Place.FILE),
}


@dataclass(frozen=True)
class _Asked:
    """A task in the words of its campaign's own language."""

    manifest: Manifest
    task: Task

    @property
    def title(self) -> str:
        return self.manifest.words(self.task.title)

    @property
    def unit(self) -> str:
        return self.manifest.words(self.task.unit) if isinstance(self.task, NumberTask) else ""


def row_columns(place: Place, kind: Kind = "number") -> list[Column]:
    """The columns of a campaign's results: its task first, then the figures about it."""
    return [*columns_in(place, _TASK), *columns_in(place, SCHEMAS[kind])]


def kind_of(row: dict[str, Any]) -> Kind:
    """The kind of task that a row of results is about."""
    return "choice" if "chances" in row else "number"


def guarantee_of(manifest: Manifest) -> dict[str, Any]:
    """What participants were promised, in words and in figures."""
    promise = promise_of(manifest)
    return {
        "sentence": sentence(manifest, promise),
        "noise": " and ".join(dict.fromkeys(map(str, manifest.laws.values()))),
        "distance": distance_words(manifest),
        "unit": manifest.unit,
        "readings": manifest.most_readings,
        "epsilon": _finite(promise.epsilon),
        "delta": promise.delta,
        "pure_epsilon": pure_epsilon(manifest),
    }


def is_final(campaign: CampaignRow) -> bool:
    """Whether a campaign is closed and its last results are there. A later withdrawal does not show at once."""
    considered = campaign.computed_at is not None and campaign.computed_at > (campaign.closed_at or 0)
    return campaign.state == "closed" and (campaign.erasing_at is not None or (considered and _settled(campaign)))


def _settled(campaign: CampaignRow) -> bool:
    return bool(campaign.published >= campaign.step or campaign.trouble)


def trouble_words(trouble: str) -> str:
    """Why there are no newer results, as the second half of a sentence.

    >>> trouble_words("failed: ZeroDivisionError")
    'the newest computation failed (ZeroDivisionError)'
    """
    kind, _, error = trouble.partition(": ")
    return f"the newest computation failed ({error})" if error else f"the newest computation has {kind}"


@dataclass(frozen=True)
class Computation:
    """Everything that results depend on. What follows from it is computed only once: thousands of tasks need it."""

    manifest: Manifest
    guarantee: dict[str, Any]
    method: str | None  # None: the default one
    target: Target | None  # None: the default, value
    step: ResultStep
    reports: int
    least_claims: int
    before: dict[str, Any] | None  # the results published last
    sets: Sets = field(default_factory=dict)  # of choices, where sets are reported
    known: Known = field(default_factory=dict)  # truths that count once the campaign is closed

    @classmethod
    def empty(
        cls,
        manifest: Manifest,
        guarantee: dict[str, Any],
        method: str | None,
        target: Target | None,
        least_claims: int,
    ) -> Self:
        """The computation for a campaign that has just opened."""
        nothing = next_step(NOTHING_INCLUDED, NO_READINGS, 0, least_claims, len(manifest.tasks))
        return cls(manifest, guarantee, method, target, nothing, 0, least_claims, None)

    @property
    def readings(self) -> Readings:
        return self.step.readings

    @cached_property
    def method_name(self) -> str:
        return self.method_for(main_kind(self.manifest))

    def method_for(self, kind: Kind) -> str:
        """The chosen method, or the default one; if it does not support claims of this kind, the first that does."""
        wanted = self.method or DEFAULT
        if wanted not in METHODS or kind in METHODS[wanted].kinds:
            return wanted
        return next(name for name, method in METHODS.items() if kind in method.kinds)

    @cached_property
    def used_target(self) -> Target | None:
        """What counts as the truth of a number; None where there are no numbers, or the method offers no choice."""
        method = self.method_for("number")
        if method not in METHODS or not takes(method, "target") or not self._asked("number").any():
            return None
        return self.target or _DEFAULT_TARGET

    @cached_property
    def used_known(self) -> Known:
        """The known truths of tasks whose method can use them."""

        def uses(kind: Kind) -> bool:
            method = METHODS.get(self.method_for(kind))
            return method is not None and method.uses_known(kind)

        return {name: truth for name, truth in self.known.items() if uses(self.manifest.task_of[name].kind)}

    @property
    def first(self) -> bool:
        """Whether no figure was ever published."""
        return self.before is None or all(row["truth"] is None for row in self.before["results"])

    def find(self) -> Findings:
        """Truths and weights, by the kind of claims; for numbers and answers, users' qualities are separate.

        Always from scratch: results depend only on the readings, not on earlier results.
        """
        found: Findings = {}
        with warnings.catch_warnings():
            # Reported in the results instead.
            warnings.simplefilter("ignore", ConvergenceWarning)
            for kind, law in self.manifest.laws.items():
                readings = self.readings.where(self._asked(kind)[self.readings.places])
                if len(readings):
                    target = {"target": self.used_target} if kind == "number" and self.used_target else {}
                    method = make_method(self.method_for(kind), noise=law, **target)
                    claimed = {*readings.places.tolist()}
                    known = by_place(self.used_known, self.manifest).items()
                    gold = {place: truth for place, truth in known if place in claimed}
                    found[kind] = discovered(method, self._claims(kind, readings), LEVEL, known=gold)
        return found

    def _asked(self, kind: Kind) -> NDArray[np.bool_]:
        """For each task, by its place, whether it asks for claims of this kind."""
        manifest = self.manifest  # comparisons are not claims: they are evaluated in their own way
        return np.array([task.kind == kind and not manifest.is_compared(task) for task in manifest.tasks])

    def results(self, found: Findings, version: int, as_of: int) -> dict[str, Any]:
        """The results as published. A task that takes no step keeps its figures."""
        counts = self.step.included.counts(len(self.manifest.tasks))
        figures: dict[int, dict[str, Any]] = {}
        for result in found.values():
            figures |= dict(zip(result.fit.objects_.tolist(), figures_of(result), strict=True))
        unknown = {
            kind: {column.name: column.unknown for column in columns_in(Place.API, schema)}
            for kind, schema in SCHEMAS.items()
        }
        tasks = []
        for place, (task, claims) in enumerate(zip(self.manifest.tasks, counts.tolist(), strict=True)):
            nothing = unknown[task.kind]
            if self.step.retracted[place]:
                row = nothing
            elif self._has_new_figures(place):
                row = self._published(figures.get(place, nothing), task) | {"claims": claims}
            else:
                assert self.before is not None
                row = {name: self.before["results"][place].get(name, nothing[name]) for name in nothing}
            asked = _Asked(self.manifest, task)
            tasks.append({column.name: column.values(asked) for column in _TASK.values()} | row)
        return {
            "campaign": self.manifest.campaign,
            "title": self.manifest.words(self.manifest.title),
            "version": version,
            "as_of": moment(as_of),
            "method": self.method_name,
            "target": self.used_target,
            "known": self.used_known,
            "level": LEVEL,
            "reports": self.reports,
            "least_claims": self.least_claims,
            "guarantee": self.guarantee,
            **self._overall(found, counts),
            "results": tasks,
        }

    def _published(self, figures: dict[str, Any], task: Task) -> dict[str, Any]:
        """Figures without meaningless digits; answers in the words of the campaign."""
        if isinstance(task, ChoiceTask):
            return in_words(figures, [self.manifest.words(choice) for choice in task.choices])
        return rounded(figures, float(task.grid)) if isinstance(task, NumberTask) else figures

    def _overall(self, found: Findings, counts: NDArray[np.int64]) -> dict[str, Any]:
        """Figures over all participants together. They must not reveal that a single one has left."""
        if self.before is not None and not (self.step.changed.any() or self.step.whole.all()):
            return {name: self.before.get(name) for name in _OVERALL}
        overall: dict[str, Any] = dict.fromkeys(_OVERALL) | {"warnings": []}
        overall["participants"] = len(np.unique(self.readings.participants))
        for kind, result in found.items():
            claims = counts[result.fit.objects_.astype(np.int64)]
            overall["warnings"] += doubts_about(result, int(self._asked(kind).sum()), self.least_claims, claims)
        if found:
            overall["converged"] = all(bool(result.fit.converged_) for result in found.values())
            overall["iterations"] = max(result.fit.n_iter_ for result in found.values())
            if overall["participants"] >= self.least_claims:
                tasks = [len(result.fit.objects_) for result in found.values()]
                effective = np.average([result.effective_users for result in found.values()], weights=tasks)
                overall |= {"effective_users": round(float(effective), 1), "weights": weights_of([*found.values()])}
        return overall

    def _has_new_figures(self, place: int) -> bool:
        """Whether the figures of a task are new: it takes a step, or another method evaluates the same claims.

        Once somebody has withdrawn, another method would have fewer claims, and the difference would reveal theirs.
        """
        if self.before is None or self.step.changed[place]:
            return True
        same_method = self.before["method"] == self.method_name
        same_target = self.before.get("target", _DEFAULT_TARGET) == self.used_target
        same_known = self.before.get("known", {}) == self.used_known
        same = self.before["results"][place]["truth"] is not None and same_method and same_target and same_known
        return not same and bool(self.step.whole[place])

    def _claims(self, kind: Kind, readings: Readings) -> Claims:
        """Readings as claims of participants (by number) about tasks (by place); answers are numbers of choices."""
        who, what = readings.participants, readings.places
        if kind == "number":
            return Claims.from_arrays(who, what, readings.values(self.manifest))
        options = {
            place: list(range(len(task.choices)))
            for place, task in enumerate(self.manifest.tasks)
            if isinstance(task, ChoiceTask)
        }
        return Claims.from_arrays(who, what, self._answers(readings), kind="choice", choices=options)

    def _answers(self, readings: Readings) -> Any:
        """Numbers of choices, or sets of them."""
        if not self.sets:
            return readings.steps
        who = zip(readings.participants.tolist(), readings.places.tolist(), strict=True)
        return [self.sets[one] for one in who]


def in_words(figures: dict[str, Any], choices: list[str]) -> dict[str, Any]:
    """Figures about numbers of choices, as figures about the choices.

    >>> in_words({"truth": 1, "majority": 0, "chances": {0: 0.25, 1: 0.75}}, ["no", "yes"])
    {'truth': 'yes', 'majority': 'no', 'chances': {'no': 0.25, 'yes': 0.75}}
    """
    said = dict(figures)
    for name in ("truth", "majority"):
        if said[name] is not None:
            said[name] = choices[int(said[name])]
    if said["chances"] is not None:
        said["chances"] = {choices[int(number)]: chance for number, chance in said["chances"].items()}
    return said


def figures_of(result: Outcome, place: Place = Place.API) -> list[dict[str, Any]]:
    """One row per object, as published but not rounded: a figure that is not finite is null.

    A figure that is not measured is rounded to the decimals that its column states.
    """
    columns = columns_in(place, result.schema)
    return [
        {column.name: _published(row[column.name], column.decimals) for column in columns} for row in result.rows(place)
    ]


def _published(entry: Any, decimals: int | None) -> Any:
    if isinstance(entry, dict):
        return {answer: _published(chance, 3) for answer, chance in entry.items()}
    if not isinstance(entry, float):
        return entry
    return _finite(entry if decimals is None else round(entry, decimals))


def weights_of(results: Sequence[Outcome]) -> dict[str, list[Any]]:
    """How many participants have which weight, relative to the mean of all. Nobody can be identified.

    With both numbers and answers, everybody counts once: with the mean of their weights, weighted by the number of
    tasks of each kind.
    """
    users = np.concatenate([result.fit.users_ for result in results])
    shares = np.concatenate([np.full(len(result.fit.users_), len(result.fit.objects_)) for result in results])
    _, person = np.unique(users, return_inverse=True)
    weighed = np.bincount(person, shares * np.concatenate([_relative(result.fit.weights_) for result in results]))
    relative = weighed / np.bincount(person, shares)
    counts, _ = np.histogram(np.minimum(relative, _WEIGHT_EDGES[-1] + 0.1), [*_WEIGHT_EDGES, math.inf])
    return {"edges": [*_WEIGHT_EDGES, None], "counts": counts.tolist()}


def _relative(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / weights.mean() if weights.any() else np.ones(len(weights))  # equal where noise hides everything


def doubts_about(
    result: Outcome,
    tasks: int,
    least_claims: int,
    claims: NDArray[np.int64] | None = None,
    words: Nouns = CAMPAIGN,
) -> list[dict[str, str]]:
    """Warnings about a result; ``claims`` are the published numbers of claims, if they differ from the result's own."""
    fit = result.fit
    return doubts(
        tasks,
        least_claims,
        claims=fit.claims_ if claims is None else claims,
        effective_users=fit.effective_users_,
        skew=result.skew,
        converged=bool(fit.converged_),
        words=words,
    )


def warm_up() -> None:
    """Load the compiled kernels before the first results need them."""
    claims = Claims.from_matrix([[1.0, 2.0], [1.5, 2.5], [0.5, 3.0]])
    for law in ("fresh:1", "shared:1"):
        NoiseAware(noise=law, max_iter=2, tol=0).fit(claims)


def rounded(figures: dict[str, Any], grid: float) -> dict[str, Any]:
    """Figures to two digits of the interval's half width: further digits are noise, and help to recover single claims.

    >>> rounded({"truth": 41.66317, "low": 41.2481, "high": 42.0782, "mean": 41.7005}, 0.1)
    {'truth': 41.66, 'low': 41.25, 'high': 42.08, 'mean': 41.7}
    """
    low, high = figures["low"], figures["high"]
    half = (high - low) / 2 if low is not None and high is not None else 0.0
    decimals = math.ceil(-math.log10(grid)) if half <= 0 else 1 - math.floor(math.log10(half))
    measured = {column.name for column in columns_in(Place.API) if column.measured}
    # Adding zero turns -0.0 into 0.0.
    return {
        name: round(entry, decimals) + 0.0 if name in measured and entry is not None else entry
        for name, entry in figures.items()
    }


def encode(results: dict[str, Any]) -> bytes:
    return json.dumps(results, ensure_ascii=False, allow_nan=False).encode()


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
