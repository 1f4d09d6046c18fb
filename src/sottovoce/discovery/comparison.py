"""All methods on the same claims, in one table."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sottovoce.claims.labels import label_column
from sottovoce.claims.writing import write_table
from sottovoce.discovery.registry import make_method, methods_for
from sottovoce.discovery.result import Outcome, discovered
from sottovoce.engines import Engine
from sottovoce.errors import ConvergenceWarning
from sottovoce.progress import Progress


@dataclass(frozen=True)
class Comparison:
    """The results of several methods; the others are compared with the first."""

    results: Sequence[Outcome]
    scores: dict[str, dict[str, Any]]  # by method, if truths are known

    @classmethod
    def of(
        cls, engine: Engine, noise: str | None, level: float, truth: Path | None = None,
        progress: Progress[str, int, int] | None = None, **options: Any,
    ) -> "Comparison":  # fmt: skip
        """All registered methods that work with these claims, including those that do not converge."""
        names = [*methods_for(engine.kind, engine.kind == "number" or engine.answers.one_list)]
        columns = {name: options.pop(name) for name in ("object", "value") if name in options}
        results: list[Outcome] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the table shows it
            for name in names:
                if progress is not None:
                    progress(name, len(results), len(names))
                results.append(discovered(make_method(name, noise=noise, **options), engine, level))
        scores = {one.fit.name: one.scores(truth, **columns) for one in results} if truth else {}
        return cls(results, scores)

    def rows(self) -> list[dict[str, Any]]:
        """One row per method: iterations, effective users, distance from the first method's truths, and scores."""
        first = self.results[0].fit
        rows = []
        for result in self.results:
            fit = result.fit
            row: dict[str, Any] = {
                "method": fit.name, "n_iter": fit.n_iter_, "converged": bool(fit.converged_),
                "effective_users": result.effective_users,
            }  # fmt: skip
            if fit.kind_ == "number":
                apart = np.abs(fit.truths_ - first.truths_)
            else:
                pairs = zip(fit.truths_, first.truths_, strict=True)
                apart = np.array([str(one) != str(other) for one, other in pairs], float)
            row["apart"] = float(apart.mean())
            row["furthest"] = str(first.objects_[int(apart.argmax())]) if apart.any() else None
            own = self.scores.get(fit.name, {})
            rows.append(row | {name: own[name] for name in ("mae", "rmse", "coverage", "accuracy") if name in own})
        return rows

    def summary(self) -> dict[str, Any]:
        """The rows and the truths of every method, for programs."""
        return {
            "methods": self.rows(),
            "objects": len(self.results[0].fit.objects_),
            "known": next(iter(self.scores.values()))["objects"] if self.scores else None,
            "truths": {
                str(label): dict(zip((one.fit.name for one in self.results), truths, strict=True))
                for label, *truths in zip(
                    self.results[0].fit.objects_.tolist(),
                    *(one.fit.truths_.tolist() for one in self.results),
                    strict=True,
                )
            },
        }

    def write(self, path: str | Path) -> None:
        """Write the truths, a column per method."""
        columns = {one.fit.name: label_column(one.fit.truths_) for one in self.results}
        write_table(pa.table({"object": label_column(self.results[0].fit.objects_), **columns}), path)
