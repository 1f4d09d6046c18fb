"""Whether newer results say anything new."""

import json
import math
from typing import Any

from sottovoce.discovery.schema import Place
from sottovoce.server.results import kind_of, row_columns

_NEGLIGIBLE = 1e-3  # a move of a truth by this share of its interval
# These depend on truths and weights, and so vary slightly with the starting point of the iteration.
_DERIVED = ("iterations", "effective_users", "weights", "warnings")


def same_findings(one: bytes, other: bytes) -> bool:
    """Whether two results are the same, apart from their version and time.

    The same claims give the same truths up to the tolerance of the iteration, which depends on where it began.
    """
    first, second = json.loads(one), json.loads(other)
    tasks = zip(first.pop("results"), second.pop("results"), strict=True)
    skipped = ("version", "as_of", *_DERIVED)
    return all(first[name] == second[name] for name in first if name not in skipped) and all(
        _same_task(before, after) for before, after in tasks
    )


def _same_task(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if kind_of(one) == "choice":
        return all(one[name] == other[name] for name in ("task", "truth", "claims")) and _near(one, other)
    width = abs(one["high"] - one["low"]) if None not in (one["low"], one["high"]) else 0.0
    for column in row_columns(Place.API):
        before, after = one.get(column.name), other.get(column.name)
        if column.iterated and not column.measured:
            continue
        if column.iterated and None not in (before, after):
            if not math.isclose(before, after, rel_tol=1e-12, abs_tol=_NEGLIGIBLE * width):  # type: ignore[arg-type]
                return False
        elif before != after:
            return False
    return True


def _near(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether all chances are the same, up to where the iteration began."""
    before, after = one["chances"] or {}, other["chances"] or {}
    return before.keys() == after.keys() and all(abs(before[name] - after[name]) <= 2e-3 for name in before)
