"""A fit with the plain mean and median beside it, and all three against known truths."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sottovoce.claims import Claims
from sottovoce.claims.labels import label_column, texts
from sottovoce.claims.reading import read_file
from sottovoce.claims.writing import write_table, write_tables
from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.iteration import Floats
from sottovoce.discovery.state import Checkpoint, State
from sottovoce.engines import Engine, MemoryEngine
from sottovoce.errors import BadRow
from sottovoce.progress import Progress

_OBJECTS_AT_ONCE = 100_000  # written


@dataclass(frozen=True)
class Comparison:
    """What a person should see of a result: never a method alone."""

    fit: TruthDiscovery
    means: Floats
    medians: Floats
    claims_per_user: Any
    by_user: Floats  # the means that users' weights alone would give

    @classmethod
    def of(
        cls,
        method: TruthDiscovery,
        claims: Claims | Engine,
        progress: Progress[int, float] | None = None,
        start: State | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> "Comparison":
        """Fit a method, and the averages beside it, over one engine."""
        engine = MemoryEngine(claims) if isinstance(claims, Claims) else claims
        fit = method.fit(engine, start=start, progress=progress, checkpoint=checkpoint)
        by_user = engine.weighted_means(fit.weights_)
        return cls(fit, engine.means(), engine.medians(), engine.claims_per_user, by_user)

    @property
    def effective_users(self) -> float:
        """(Σw)²/Σw² over all users: as if so many had equal weights."""
        weights = self.fit.weights_ / self.fit.weights_.max()
        return float(weights.sum() ** 2 / (weights**2).sum())

    def reason(self, level: float = 0.95) -> str | None:
        """Why the truths differ from the plain means, where a mean lies outside its truth's interval."""
        truths, objects = self.fit.truths_, self.fit.objects_
        low, high = self.fit.intervals(level)
        outside = (self.means < low) | (self.means > high)
        if not outside.any():
            return None
        differences = np.abs(truths - self.means)
        where = int(np.argmax(np.where(outside, differences, -1.0)))
        weights = np.sort(self.fit.weights_ * self.claims_per_user)[::-1]
        best = weights[: max(1, len(weights) // 5)].sum() / weights.sum()
        users = float(np.abs(self.by_user - self.means)[outside].sum())
        readings = float(np.abs(truths - self.by_user)[outside].sum())
        why = (
            f"users who agree with the crowd count more (a fifth of them holds {best:.0%} of the weight)"
            if users >= readings
            else "readings far from the others count little"
        )
        return (
            f"{int(outside.sum()):,} of {len(truths):,} means lie outside the interval, most so that of "
            f"{objects[where]!s} (by {differences[where]:.3g}): {why}."
        )

    def scores(self, path: str | Path, *, object: str = "object", value: str = "value") -> dict[str, Any]:
        """Errors against the truths in a file, over the objects that have a truth and a claim."""
        table = read_file(path, (object,), value, skip_bad=False)
        (ids,), (labels,) = table.ids, table.labels
        names = texts(labels)
        known = {names[place]: truth for place, truth in zip(ids.tolist(), table.values.tolist(), strict=True)}
        if len(known) < len(ids):
            raise BadRow(
                f"{path}: {len(ids) - len(known)} objects have two truths: an object has one; leave one of them"
            )
        found = [(n, known[label]) for n, label in enumerate(map(str, self.fit.objects_.tolist())) if label in known]
        if not found:
            raise BadRow(
                f"{path}: none of its {len(known):,} objects is in the claims: labels must be the same in both; "
                f"there they are like {self.fit.objects_[0]!r}, here like {names[0]!r}"
            )
        places, truths = (np.array(column) for column in zip(*found, strict=True))
        return {
            **_errors(self.fit.truths_[places] - truths),
            "objects": len(found),
            "mean": _errors(self.means[places] - truths),
            "median": _errors(self.medians[places] - truths),
        }

    def summary(self, level: float = 0.95) -> dict[str, Any]:
        """The result for programs, as `sottovoce discover --json` prints it."""
        fit = self.fit
        low, high = fit.intervals(level)
        columns = (fit.truths_, low, high, fit.claims_, fit.effective_users_, self.means, self.medians)
        names = ("truth", "low", "high", "claims", "effective_users", "mean", "median")
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {
            "method": fit.name,
            "n_iter": fit.n_iter_,
            "converged": fit.converged_,
            "users": len(fit.users_),
            "objects": len(fit.objects_),
            "claims": int(fit.claims_.sum()),
            "effective_users": self.effective_users,
            "level": level,
            "reason": self.reason(level),
            "truths": {
                str(label): dict(zip(names, row, strict=True))
                for label, row in zip(fit.objects_.tolist(), rows, strict=True)
            },
        }

    def write(self, path: str | Path, level: float = 0.95) -> None:
        """Write object, truth, low, high, claims, effective_users, mean, median."""
        fit = self.fit
        low, high = fit.intervals(level)
        columns = (fit.truths_, low, high, fit.claims_, fit.effective_users_, self.means, self.medians)
        names = ("truth", "low", "high", "claims", "effective_users", "mean", "median")

        def part(first: int) -> pa.Table:
            rows = slice(first, first + _OBJECTS_AT_ONCE)
            entries = (column[rows] for column in columns)
            return pa.table({"object": label_column(fit.objects_[rows]), **dict(zip(names, entries, strict=True))})

        write_tables(map(part, range(0, len(fit.truths_), _OBJECTS_AT_ONCE)), path)

    def write_weights(self, path: str | Path) -> None:
        """Write user, weight, claims."""
        columns = {
            "user": label_column(self.fit.users_),
            "weight": self.fit.weights_,
            "claims": self.claims_per_user,
        }
        write_table(pa.table(columns), path)


def _errors(differences: Floats) -> dict[str, float]:
    return {"mae": float(np.abs(differences).mean()), "rmse": float(np.sqrt((differences**2).mean()))}
