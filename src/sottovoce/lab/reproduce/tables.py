"""Rows of numbers, and their means over repetitions with intervals."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Row = dict[str, Any]
Table = list[Row]

_DIGITS = 6  # significant ones; more would be noise


def summarise(rows: Table, by: Sequence[str], of: Sequence[str]) -> Table:
    """Means over the rows that agree in ``by``, with 95% intervals (Student's t) as ``_low`` and ``_high``.

    >>> summarise([{"x": 1, "y": 2.0}, {"x": 1, "y": 4.0}], by=["x"], of=["y"])
    [{'x': 1, 'runs': 2, 'y': 3.0, 'y_low': -9.7062, 'y_high': 15.7062}]
    """
    groups: dict[tuple[Any, ...], Table] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    summary = []
    for key, group in groups.items():
        entry: Row = {**dict(zip(by, key, strict=True)), "runs": len(group)}
        for name in of:
            values = column(group, name)
            mean, margin = float(values.mean()), 0.0
            if len(values) > 1:
                margin = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1)) / math.sqrt(len(values))
            entry |= {name: mean, f"{name}_low": mean - margin, f"{name}_high": mean + margin}
        summary.append(rounded(entry))
    return summary


def rounded(row: Row) -> Row:
    """The row with six significant digits."""
    return {name: float(f"{entry:.{_DIGITS}g}") if isinstance(entry, float) else entry for name, entry in row.items()}


def repetitions(table: Table) -> str:
    """How often each point was repeated, for the note under a figure."""
    runs = max(row["runs"] for row in table)
    return f"{runs} runs, bands: 95\N{NO-BREAK SPACE}% intervals" if runs > 1 else "1 run"


def plain(number: float) -> str:
    """A number in a sentence: 0.1, 1e-5."""
    return f"{number:g}".replace("e-0", "e-")


def where(table: Table, **wanted: Any) -> Table:
    """The rows with these entries."""
    return [row for row in table if all(row[name] == entry for name, entry in wanted.items())]


def headings(table: Table) -> list[str]:
    """The columns that any row has, in order of appearance."""
    return list(dict.fromkeys(name for row in table for name in row))


def column(table: Table, name: str) -> NDArray[np.float64]:
    """One column as numbers."""
    return np.array([row[name] for row in table], dtype=np.float64)


def distinct(table: Table, name: str) -> list[Any]:
    """The entries of a column, each once, in order of appearance."""
    return list(dict.fromkeys(row[name] for row in table))
