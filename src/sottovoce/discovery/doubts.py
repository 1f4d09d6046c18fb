"""Warnings that are shown with results, for campaigns and for files alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims.answers import spelt_alike

Floats = NDArray[np.float64]

_FEW = 0.1  # share of the users who made claims: if fewer decide, there is a warning
_LEAST_DECIDING = 3
_PAIRS_SHOWN = 3  # of answers that are spelt alike
_LEAST_CLAIMS = 5  # with fewer claims, few users can decide
# If claims err to both sides alike, their mean and median differ by chance, with a standard deviation below one
# standard error of the mean. This many standard errors are beyond chance, for one task or for the average of all tasks.
_BEYOND_CHANCE = 4.5


@dataclass(frozen=True)
class Nouns:
    """The words for those who make claims, and for what the claims are about."""

    user: str
    object: str


CAMPAIGN = Nouns("participant", "task")
FILE = Nouns("user", "object")


def doubts(
    tasks: int,
    least_claims: int,
    *,
    claims: NDArray[np.int64],
    effective_users: Floats,
    skew: tuple[Floats, Floats] | None,
    converged: bool,
    words: Nouns = CAMPAIGN,
) -> list[dict[str, str]]:
    """Warnings with a stable code and a sentence each.

    ``claims``, ``effective_users`` and ``skew`` (mean less median, and the spread of the claims; None for choices) have
    an entry for each task with claims.
    """
    warnings = []
    enough = claims >= least_claims
    few = tasks - int(enough.sum())
    if few:
        too_few = f"fewer than {least_claims} claims" if least_claims > 1 else "no claims"
        warnings.append(("few_claims", f"{_count(few, tasks, words)} {too_few}, so no truth is shown there."))
    decided_by_few = enough & (claims >= _LEAST_CLAIMS) & (effective_users < np.maximum(_LEAST_DECIDING, _FEW * claims))
    if decided_by_few.any():
        very_few = skew is not None and bool((effective_users[decided_by_few] < _LEAST_DECIDING).any())
        wider = f" If fewer than {_LEAST_DECIDING} decide, intervals are wider." if very_few else ""
        worst = int(np.argmin(np.where(decided_by_few, effective_users / claims, np.inf)))
        warnings.append(
            (
                "few_decide",
                f"A few {words.user}s decide {_those(decided_by_few, words)}. In the worst case, the result rests on "
                f"the equivalent of {effective_users[worst]:.1f} of {claims[worst]:,} {words.user}s. If they err, so "
                f"do the results.{wider}",
            )
        )
    nothing = np.zeros(len(claims))
    difference, spread = (nothing, nothing) if skew is None else skew
    usable = enough & (spread > 0)
    leaning = difference[usable] * np.sqrt(claims[usable] - 1) / spread[usable]
    lopsided = np.abs(leaning) > _BEYOND_CHANCE
    together = len(leaning) > 1 and abs(leaning.sum()) > _BEYOND_CHANCE * np.sqrt(len(leaning))
    if lopsided.any() or together:
        where = f"Over all {words.object}s" if together else f"In {_those(lopsided, words)}"
        warnings.append(
            (
                "suspicious_crowd",
                f"{where}, mean and median differ by more than chance explains: some {words.user}s lean to one side. "
                "They may make the same error, or have agreed on a false value.",
            )
        )
    if not converged:
        warnings.append(("not_converged", "The method stopped before it converged; the results may be inaccurate."))
    return [{"code": code, "text": text} for code, text in warnings]


def spelling_doubts(options: Sequence[Any]) -> list[dict[str, str]]:
    """A warning if answers differ only in spaces and case."""
    pairs = spelt_alike(options)
    if not pairs:
        return []
    shown = "; ".join(f"{first!r} and {other!r}" for first, other in pairs[:_PAIRS_SHOWN])
    more = f"; and {len(pairs) - _PAIRS_SHOWN:,} more" if len(pairs) > _PAIRS_SHOWN else ""
    text = (
        f"Some answers differ only in spaces and case, and count as different: {shown}{more}. Spell them alike if they "
        "mean the same."
    )
    return [{"code": "spelt_alike", "text": text}]


def _count(some: int, tasks: int, words: Nouns) -> str:
    if some == tasks:
        return f"All {words.object}s have" if tasks > 1 else f"The {words.object} has"
    return f"{some:,} of {tasks:,} {words.object}s {'has' if some == 1 else 'have'}"


def _those(chosen: NDArray[np.bool_], words: Nouns) -> str:
    count = int(chosen.sum())
    return f"one {words.object}" if count == 1 else f"{count:,} {words.object}s"
