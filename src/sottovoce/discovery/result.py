"""A fit with the plain averages beside it (mean and median, or majority), and their errors against known truths."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.claims.answers import Answers
from sottovoce.claims.kinds import Kind
from sottovoce.claims.labels import label_column, to_numpy
from sottovoce.claims.reading import read_file
from sottovoce.claims.writing import write_table, write_tables
from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.choices import labels_at, normalised, winners
from sottovoce.discovery.doubts import FILE, doubts, spelling_doubts
from sottovoce.discovery.iteration import Floats
from sottovoce.discovery.schema import Estimates, Place
from sottovoce.discovery.state import Checkpoint, State
from sottovoce.engines import Engine, MemoryEngine
from sottovoce.errors import BadRow, MissingColumn
from sottovoce.progress import Progress

_MANY = 0.1  # share of the truths that another target would change
_OBJECTS_AT_ONCE = 100_000  # in one part of a file


@dataclass(frozen=True, kw_only=True)
class Outcome(Estimates):
    """A fit to claims of any kind, as it is shown to people."""

    claims_per_user: Any

    @property
    def effective_users(self) -> float:
        """(Σw)²/Σw² over all users: the equivalent number of equally weighted users."""
        if not self.fit.weights_.any():  # all users count equally
            return float(len(self.fit.weights_))
        weights = self.fit.weights_ / self.fit.weights_.max()
        return float(weights.sum() ** 2 / (weights**2).sum())

    @property
    def reason(self) -> str | None:
        """Why the truths differ from the plain averages, if they do."""
        return None

    @property
    def aim(self) -> str | None:
        """What was taken as the truth, if that matters."""
        return None

    @cached_property
    def doubts(self) -> list[dict[str, str]]:
        """Warnings about the result, each with a stable code and a sentence."""
        fit = self.fit
        return doubts(
            len(fit.claims_), 1, claims=fit.claims_, effective_users=fit.effective_users_, skew=self.skew,
            converged=bool(fit.converged_), words=FILE,
        )  # fmt: skip

    @property
    def skew(self) -> tuple[Floats, Floats] | None:
        """Mean less median, and the spread of the claims, of each object; choices have none."""
        return None

    @property
    def plain(self) -> dict[str, NDArray[Any]]:
        """The plain averages (or votes) that are shown beside every result, by name, with an entry for each object."""
        raise NotImplementedError

    def apart(self, truths: NDArray[Any]) -> Floats:
        """For each object, how far another truth is from this one; for answers, 1 if they differ."""
        raise NotImplementedError

    def scores(self, path: str | Path, *, object: str = "object", value: str = "value") -> dict[str, Any]:
        """How far the truths are from those in a file, over the objects that have a truth and a claim."""
        return self._scores(*self.known(path, object=object, value=value))

    def scores_against(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """The same for a mapping from the text of objects' labels to their truths."""
        return self._scores(*self._matched(known, "the truths"))

    def _scores(self, places: NDArray[np.intp], known: list[Any]) -> dict[str, Any]:
        raise NotImplementedError

    def known(
        self, path: str | Path, *, object: str = "object", value: str = "value"
    ) -> tuple[NDArray[np.intp], list[Any]]:
        """The objects whose truth is in a file, and these truths."""
        return self._matched(known_truths(path, self.fit.kind_, object=object, value=value), str(path))

    def _matched(self, known: Mapping[str, Any], path: str) -> tuple[NDArray[np.intp], list[Any]]:
        places, truths = zip(*_matched(known, self.fit.objects_, path), strict=True)
        return np.array(places), list(truths)

    def summary(self) -> dict[str, Any]:
        """The result for programs, as `sottovoce discover --json` prints it."""
        fit = self.fit
        return {
            "method": fit.name,
            "n_iter": fit.n_iter_,
            "converged": fit.converged_,
            "users": len(fit.users_),
            "objects": len(fit.objects_),
            "claims": int(fit.claims_.sum()),
            "effective_users": self.effective_users,
            "level": self.level,
            "reason": self.reason,
            **({"target": fit.target_} if hasattr(fit, "target_") else {}),
            "warnings": self.doubts,
            "truths": dict(zip(map(str, fit.objects_.tolist()), self.rows(Place.COMMAND), strict=True)),
        }

    def write(self, path: str | Path) -> None:
        """Write the columns that the command shows, with the object first."""
        firsts = range(0, len(self.fit.truths_), _OBJECTS_AT_ONCE)
        parts = (self.table(Place.COMMAND, slice(first, first + _OBJECTS_AT_ONCE)) for first in firsts)
        write_tables(parts, path)

    def write_weights(self, path: str | Path) -> None:
        """Write user, weight, claims."""
        columns = {
            "user": label_column(self.fit.users_),
            "weight": self.fit.weights_,
            "claims": self.claims_per_user,
        }
        write_table(pa.table(columns), path)


def discovered(
    method: TruthDiscovery,
    claims: Claims | Engine,
    level: float = 0.95,
    *,
    known: Mapping[Any, Any] | None = None,
    progress: Progress[int, float] | None = None,
    start: State | None = None,
    checkpoint: Checkpoint | None = None,
) -> "Result | ChoiceResult":
    """Fit a method, and compute what is shown beside it, on one engine."""
    engine = MemoryEngine(claims) if isinstance(claims, Claims) else claims
    fit = method.fit(engine, start=start, known=known, progress=progress, checkpoint=checkpoint)
    kind = ChoiceResult if engine.kind == "choice" else Result
    return kind.beside(fit, engine, level)


@dataclass(frozen=True, kw_only=True)
class Result(Outcome):
    """A fit to numbers as it is shown to people, always with the plain averages beside it."""

    means: Floats
    medians: Floats
    spreads: Floats  # standard deviations of the claims about each object
    by_user: Floats  # the means under the users' weights only

    @classmethod
    def of(
        cls,
        method: TruthDiscovery,
        claims: Claims | Engine,
        level: float = 0.95,
        *,
        progress: Progress[int, float] | None = None,
        start: State | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> "Result":
        """Fit a method to numbers, and compute the averages beside it, on one engine."""
        result = discovered(method, claims, level, progress=progress, start=start, checkpoint=checkpoint)
        assert isinstance(result, cls), "claims that may be choices go to `discovered`"
        return result

    @classmethod
    def beside(cls, fit: TruthDiscovery, engine: Engine, level: float) -> "Result":
        """A fit with the averages of its claims."""
        return cls(
            fit=fit,
            level=level,
            means=engine.means(),
            medians=engine.medians(),
            spreads=engine.spreads(),
            claims_per_user=engine.claims_per_user,
            by_user=engine.weighted_means(fit.weights_),
        )

    @property
    def skew(self) -> tuple[Floats, Floats] | None:
        return self.means - self.medians, self.spreads

    @property
    def plain(self) -> dict[str, NDArray[Any]]:
        return {"mean": self.means, "median": self.medians}

    def apart(self, truths: NDArray[Any]) -> Floats:
        return np.asarray(np.abs(truths - self.fit.truths_))

    @cached_property
    def reason(self) -> str | None:
        """Why the truths differ from the plain means, if any mean lies outside its truth's interval."""
        truths, objects = self.fit.truths_, self.fit.objects_
        low, high = self.interval
        outside = ((self.means < low) | (self.means > high)) & (low < high)  # a known truth has no width
        if not outside.any():
            return None
        differences = np.abs(truths - self.means)
        where = int(np.argmax(np.where(outside, differences, -1.0)))
        weights = np.sort(self.fit.weights_ * self.claims_per_user)[::-1]
        first = max(1, len(weights) // 5)
        best = weights[:first].sum() / weights.sum()
        few = "one of them holds" if first == 1 else "a fifth of them hold"
        users = float(np.abs(self.by_user - self.means)[outside].sum())
        readings = float(np.abs(truths - self.by_user)[outside].sum())
        why = (
            f"Users who agree with the crowd count more: {few} {best:.0%} of the weight"
            if users >= readings
            else "Readings far from the others count little"
        )
        many, distance = int(outside.sum()), f"{differences[where]:.3g}"
        if many == 1:
            differ = f"lies outside its truth's interval: that of {objects[where]!s} is {distance} from its truth"
        else:
            # A mean within a wide interval may be even further from its truth.
            of_these = "of these, " if differences[where] < differences.max() else ""
            differ = (
                f"lie outside the truths' intervals; {of_these}the mean of {objects[where]!s} is furthest from its "
                f"truth (by {distance})"
            )
        return f"{many:,} of {len(truths):,} means {differ}. {why}."

    @cached_property
    def aim(self) -> str | None:
        """Which target was used, if the other would move a tenth of the truths or more out of their intervals."""
        target = getattr(self.fit, "target_", None)
        if target is None:
            return None
        low, high = self.interval
        other = self.by_user if target == "value" else self.medians
        outside = ((other < low) | (other > high)) & (low < high)  # a known truth does not depend on the target
        if outside.mean() < _MANY:
            return None
        taken = "what a careful person would measure" if target == "value" else "the mean of all opinions"
        return (
            f"Truths are {taken}; --target {'mean' if target == 'value' else 'value'} would move about "
            f"{int(outside.sum()):,} of {len(outside):,} out of their intervals."
        )

    def _scores(self, places: NDArray[np.intp], known: list[Any]) -> dict[str, Any]:
        """Errors, and the share of truths within their intervals."""
        truths = np.array(known)
        low, high = (end[places] for end in self.interval)
        return {
            **_errors(self.fit.truths_[places] - truths),
            "coverage": float(((low <= truths) & (truths <= high)).mean()),
            "objects": len(places),
            "mean": _errors(self.means[places] - truths),
            "median": _errors(self.medians[places] - truths),
        }


@dataclass(frozen=True, kw_only=True)
class ChoiceResult(Outcome):
    """A fit to choices as it is shown to people, always with the majority beside it."""

    votes: Floats  # for each option of each object, how many chose it
    options: Answers

    @classmethod
    def beside(cls, fit: TruthDiscovery, engine: Engine, level: float) -> "ChoiceResult":
        """A fit with the votes of all users."""
        votes = engine.tally(np.ones(engine.n_users))
        return cls(fit=fit, level=level, claims_per_user=engine.claims_per_user, votes=votes, options=engine.answers)

    @cached_property
    def doubts(self) -> list[dict[str, str]]:
        return [*super().doubts, *spelling_doubts(self.options.label_list())]

    @cached_property
    def majority(self) -> NDArray[Any]:
        return labels_at(self.options, winners(self.votes, self.options.offsets)[1])

    @property
    def plain(self) -> dict[str, NDArray[Any]]:
        return {"majority": self.majority}

    def apart(self, truths: NDArray[Any]) -> Floats:
        pairs = zip(self.fit.truths_.tolist(), truths.tolist(), strict=True)
        return np.array([float(str(one) != str(other)) for one, other in pairs])

    @cached_property
    def vote_shares(self) -> Floats:
        """For each truth, the share of users who chose it."""
        offsets = self.options.offsets
        first = winners(self.fit.chances_.entries, offsets)[1]
        return np.asarray(normalised(self.votes, offsets)[offsets[:-1] + first])

    @cached_property
    def reason(self) -> str | None:
        """Why the truths differ from the majority, if they do."""
        differ = self.apart(self.majority) > 0
        differ[self.fit.known_places] = False
        if not differ.any():
            return None
        where = int(np.argmax(np.where(differ, self.chance, -1.0)))
        count, verb = int(differ.sum()), "differs" if differ.sum() == 1 else "differ"
        truth, voted = self.fit.truths_[where], self.majority[where]
        example = f"{'' if count == 1 else 'such as '}that of {self.fit.objects_[where]!s} ({truth!s}, not {voted!s})"
        return (
            f"{count:,} of {len(differ):,} truths {verb} from the majority, {example}: users who agree with the crowd "
            "elsewhere count more."
        )

    def _scores(self, places: NDArray[np.intp], known: list[Any]) -> dict[str, Any]:
        """The share of right results; each of n tied answers is 1/n right."""
        chances, offsets = self.fit.chances_.entries, self.options.offsets
        return {
            "accuracy": self._accuracy(winners(chances, offsets)[0], places, known),
            "objects": len(places),
            "majority": {"accuracy": self._accuracy(winners(self.votes, offsets)[0], places, known)},
        }

    def _accuracy(self, shares: Floats, places: NDArray[np.intp], truths: list[Any]) -> float:
        number = {str(label): place for place, label in enumerate(to_numpy(self.options.labels).tolist())}
        wanted = np.full(len(self.options.counts), -1)
        wanted[places] = [number.get(str(truth), -2) for truth in truths]
        right = self.options.cell_labels == np.repeat(wanted, np.diff(self.options.offsets))
        return float(shares[right].sum() / len(places))


def known_truths(
    path: str | Path | IO[bytes], kind: Kind, *, object: str = "object", value: str = "value"
) -> dict[str, Any]:
    """Truths from a file, by the text of their object's label: numbers, or answers as text.

    If there is no column of values, the column "truth" is read instead, because results are written with it.
    """
    try:
        table = read_file(path, (object,), value, skip_bad=False, kind=kind)
    except MissingColumn as missing:
        if not isinstance(path, str | Path):
            path.seek(0)
        try:
            table = read_file(path, (object,), "truth", skip_bad=False, kind=kind)
        except MissingColumn:
            raise missing from None
    return table.by_label(str(path))


def known_among(path: str | Path, engine: Engine, *, object: str = "object", value: str = "value") -> dict[Any, Any]:
    """Truths from a file by the label of their object, as `fit` needs them; objects without claims are left out."""
    labels = engine.object_labels
    known = known_truths(path, engine.kind, object=object, value=value)
    return {labels[place]: truth for place, truth in _matched(known, labels, str(path))}


def _matched(known: Mapping[str, Any], labels: NDArray[Any], path: str) -> list[tuple[int, Any]]:
    """Places of the objects whose truth is known, and these truths."""
    matched = [(n, known[label]) for n, label in enumerate(map(str, labels.tolist())) if label in known]
    if not matched:
        raise BadRow(
            f"{path}: none of its objects is in the claims, but labels must be the same in both; it has "
            f"{next(iter(known))!r}, for example, and the claims have {str(labels[0])!r}; correct one of them"
        )
    return matched


def _errors(differences: Floats) -> dict[str, float]:
    return {"mae": float(np.abs(differences).mean()), "rmse": float(np.sqrt((differences**2).mean()))}
