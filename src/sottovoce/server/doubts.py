"""What an operator should doubt about results before he shows them to anybody."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FEW = 0.1  # of those who claimed: when fewer than this share decide, a few do
_LEAST_DECIDING = 3
# Mean and median of claims that err to both sides alike differ by chance, with a standard deviation below one standard
# error of the mean. So many of them are beyond chance, for a task or, over all tasks together, for their average.
_BEYOND_CHANCE = 4.5


def doubts(
    tasks: int,
    least_claims: int,
    *,
    claims: NDArray[np.int64],
    effective_users: Floats,
    skew: tuple[Floats, Floats],
    converged: bool,
) -> list[dict[str, str]]:
    """Warnings with a stable code and a sentence each.

    ``claims``, ``effective_users`` and ``skew`` (mean less median, and the spread of the claims) are by task, of the
    tasks that have claims at all.
    """
    found = []
    enough = claims >= least_claims
    few = tasks - int(enough.sum())
    if few:
        found.append(
            ("few_claims", f"{_count(few, tasks)} fewer than {least_claims} claims so far: no truth is shown there.")
        )
    decided_by_few = enough & (effective_users < np.maximum(_LEAST_DECIDING, _FEW * claims))
    if decided_by_few.any():
        worst = int(np.argmin(np.where(decided_by_few, effective_users / claims, np.inf)))
        found.append(
            (
                "few_decide",
                f"A few participants decide {_those(decided_by_few)}: at worst it is as if "
                f"{effective_users[worst]:.1f} of {claims[worst]:,} had spoken. If they err, so do the results.",
            )
        )
    difference, spread = skew
    told = enough & (spread > 0)
    leaning = difference[told] * np.sqrt(claims[told] - 1) / spread[told]
    lopsided = np.abs(leaning) > _BEYOND_CHANCE
    together = bool(len(leaning)) and abs(leaning.sum()) > _BEYOND_CHANCE * np.sqrt(len(leaning))
    if lopsided.any() or together:
        where = "Over all tasks" if together else f"In {_those(lopsided)}"
        found.append(
            (
                "suspicious_crowd",
                f"{where} mean and median lie further apart than chance explains: some participants lean to one side. "
                "They may err in the same way, or have agreed on a lie.",
            )
        )
    if not converged:
        found.append(("not_converged", "The method had not quite settled when it stopped; treat the last digits so."))
    return [{"code": code, "text": text} for code, text in found]


def _count(some: int, tasks: int) -> str:
    if some == tasks:
        return "All tasks have" if tasks > 1 else "The task has"
    return f"{some:,} of {tasks:,} tasks {'has' if some == 1 else 'have'}"


def _those(chosen: NDArray[np.bool_]) -> str:
    count = int(chosen.sum())
    return "one task" if count == 1 else f"{count:,} tasks"
