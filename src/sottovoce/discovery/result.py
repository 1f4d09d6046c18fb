"""A fit with the plain mean and median beside it, and all three compared with known truths."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.claims.labels import label_column, texts
from sottovoce.claims.reading import read_file
from sottovoce.claims.writing import write_table, write_tables
from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.iteration import Floats
from sottovoce.discovery.schema import Estimates, Place
from sottovoce.discovery.state import Checkpoint, State
from sottovoce.engines import Engine, MemoryEngine
from sottovoce.errors import BadRow
from sottovoce.progress import Progress

FEW_USERS = 3
_MANY = 0.1  # share of the truths that another target would change
_OBJECTS_AT_ONCE = 100_000  # written


@dataclass(frozen=True, kw_only=True)
class Result(Estimates):
    """What people see of a fit: always with the plain averages beside it."""

    means: Floats
    medians: Floats
    spreads: Floats  # standard deviations of the claims about each object
    claims_per_user: Any
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
        known: Mapping[Any, float] | None = None,
    ) -> "Result":
        """Fit a method, and the averages beside it, over one engine."""
        engine = MemoryEngine(claims) if isinstance(claims, Claims) else claims
        fit = method.fit(engine, start=start, progress=progress, checkpoint=checkpoint, known=known)
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
    def effective_users(self) -> float:
        """(Σw)²/Σw² over all users: as if this many had equal weights."""
        weights = self.fit.weights_ / self.fit.weights_.max()
        return float(weights.sum() ** 2 / (weights**2).sum())

    @cached_property
    def reason(self) -> str | None:
        """Why the truths differ from the plain means, where a mean lies outside its truth's interval."""
        truths, objects = self.fit.truths_, self.fit.objects_
        low, high = self.interval
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
            f"{int(outside.sum()):,} of {len(truths):,} means lie outside the interval, that of "
            f"{objects[where]!s} by the most ({differences[where]:.3g}): {why}."
        )

    @cached_property
    def aim(self) -> str | None:
        """Which target was taken, where the other one would give truths outside the intervals of a tenth of them."""
        target = getattr(self.fit, "target_", None)
        if target is None:
            return None
        low, high = self.interval
        other = self.by_user if target == "value" else self.medians
        outside = (other < low) | (other > high)
        if outside.mean() < _MANY:
            return None
        if target == "value":
            taken, option = "the value that a careful person would measure", "mean"
        else:
            taken, option = "the mean of all opinions, as claims use few values or pile up at an end", "value"
        if getattr(self.fit, "target", None) is not None:
            taken = taken.partition(",")[0]
        return f"A truth is taken as {taken}; --target {option} would change {int(outside.sum()):,} of them."

    @cached_property
    def few(self) -> str | None:
        """How many truths depend on fewer than three users."""
        effective, claims = self.fit.effective_users_, self.fit.claims_
        few = int(((effective < FEW_USERS) & (claims >= FEW_USERS)).sum())
        if not few:
            return None
        return (
            f"{few:,} of {len(claims):,} truths depend on fewer than {FEW_USERS} effective users: see their intervals."
        )

    def scores(self, path: str | Path, *, object: str = "object", value: str = "value") -> dict[str, Any]:
        """Errors against the truths in a file, over the objects that have a truth and a claim."""
        places, truths = _read_truths(path, self.fit.objects_, object, value)
        return {
            **_errors(self.fit.truths_[places] - truths),
            "objects": len(places),
            "mean": _errors(self.means[places] - truths),
            "median": _errors(self.medians[places] - truths),
        }

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
            **({"target": self.fit.target_} if hasattr(self.fit, "target_") else {}),
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


def known_truths(
    path: str | Path, labels: NDArray[Any], *, object: str = "object", value: str = "value"
) -> dict[Any, float]:
    """Truths in a file, by the label of their object, as a fit takes them; objects without a claim are left out."""
    places, truths = _read_truths(path, labels, object, value)
    return dict(zip(labels[places].tolist(), truths.tolist(), strict=True))


def _read_truths(path: str | Path, labels: NDArray[Any], object: str, value: str) -> tuple[NDArray[np.intp], Floats]:
    """Places of the objects that have a truth in a file, and these truths."""
    table = read_file(path, (object,), value, skip_bad=False)
    (ids,), (named,) = table.ids, table.labels
    names = texts(named)
    known = {names[place]: truth for place, truth in zip(ids.tolist(), table.values.tolist(), strict=True)}
    if len(known) < len(ids):
        raise BadRow(f"{path}: {len(ids) - len(known)} objects have two truths: an object has one; remove the other")
    matched = [(n, known[label]) for n, label in enumerate(map(str, labels.tolist())) if label in known]
    if not matched:
        raise BadRow(
            f"{path}: none of its {len(known):,} objects is in the claims: labels must be the same in both; "
            f"there they are like {labels[0]!r}, here like {names[0]!r}"
        )
    places, truths = (np.array(column) for column in zip(*matched, strict=True))
    return places, truths


def _errors(differences: Floats) -> dict[str, float]:
    return {"mae": float(np.abs(differences).mean()), "rmse": float(np.sqrt((differences**2).mean()))}
