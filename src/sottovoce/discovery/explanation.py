"""Explains an object's truth: who claimed what, with which weight, and what the weights changed."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.claims.labels import to_numpy
from sottovoce.digits import counted
from sottovoce.discovery.result import ChoiceResult, Result
from sottovoce.errors import BadParameter

_FAR = 3.5  # robust standard deviations from the median: a reading further away counts as far off
_LEAST = 5  # claims that are needed to tell which are far off
_NAMED = 3  # users named in the explanation


@dataclass(frozen=True)
class ClaimShown:
    """One claim about the object."""

    user: str
    value: Any
    weight: float  # of the user, as a share of all users with claims about this object
    difference: float | None  # from the truth; None for choices
    far_off: bool  # or, for choices, without the truth


@dataclass(frozen=True)
class Explanation:
    """One object, its claims in order of decreasing weight, and why its truth differs from the plain average."""

    object: str
    truth: Any
    low: float | None
    high: float | None
    chance: float | None
    plain: dict[str, Any]  # mean and median, or the majority
    claims: tuple[ClaimShown, ...]
    why: str

    def summary(self) -> dict[str, Any]:
        """The explanation as plain values, for programs."""
        return asdict(self)


def explain(result: Result | ChoiceResult, claims: Claims, label: str) -> Explanation:
    """Explain the truth of one object; ``result`` must come from these claims."""
    names = [str(one) for one in claims.object_labels.tolist()]
    if label not in names:
        close = [name for name in names if label.casefold() in name.casefold()] or names
        more = ", …" * (len(close) > 5)
        raise BadParameter(
            f"object {label!r}: it has no claims; there are claims about {', '.join(map(repr, close[:5]))}{more}"
        )
    place = names.index(label)
    size = claims.size
    mine = slice(int(claims.offsets[place]), int(claims.offsets[place + 1]))
    users = claims.users[mine][::size]
    weights = result.fit.weights_[users]
    shares = weights / (weights.sum() or 1.0)
    order = np.argsort(-shares, kind="stable")
    if isinstance(result, ChoiceResult):
        return _of_choices(result, claims, place, mine, shares, order)
    values, truth = claims.values[mine], float(result.fit.truths_[place])
    away = np.abs(values - np.median(values))
    spread = 1.4826 * float(np.median(away))
    far = away > _FAR * spread if len(values) >= _LEAST and spread > 0 else np.zeros(len(values), bool)
    shown = tuple(
        ClaimShown(str(claims.user_labels[users[n]]), float(values[n]), float(shares[n]), float(values[n] - truth),
                   bool(far[n]))
        for n in order
    )  # fmt: skip
    low, high = (float(end[place]) for end in result.interval)
    mean, median = float(result.means[place]), float(result.medians[place])
    why = _why(truth, mean, high - low, values, shares, [str(one) for one in claims.user_labels[users].tolist()])
    return Explanation(label, truth, low, high, None, {"mean": mean, "median": median}, shown, why)


def _why(truth: float, mean: float, width: float, values: Any, shares: Any, users: list[str]) -> str:
    moved = truth - mean
    if len(values) == 1:
        return "There is only one claim, so the truth is its value."
    if abs(moved) <= 1e-9 * max(1.0, abs(mean)) or abs(moved) < 0.02 * width:
        return "The truth is practically the plain mean: users count about the same, agree, or balance each other out."
    # What each user's weight adds to the difference from the mean; the sum is the difference of the weighted mean.
    parts = (shares - 1 / len(values)) * (values - mean)
    by_users = float(parts.sum())
    side = f"The truth is {abs(moved):.3g} {'above' if moved > 0 else 'below'} the mean"
    if np.sign(by_users) != np.sign(moved) or abs(by_users) < 0.5 * abs(moved):
        return f"{side}: readings far from the others count less."
    most = [n for n in np.argsort(-parts * np.sign(moved))[:_NAMED] if parts[n] * np.sign(moved) > 0.1 * abs(moved)]
    named = "; ".join(
        f"user {users[n]}, who claims {values[n]:.4g}, counts {shares[n]:.0%} instead of {1 / len(values):.0%}"
        for n in most
    )
    return f"{side}, because users differ in weight: {named or 'many small differences add up'}."


def _of_choices(result: ChoiceResult, claims: Claims, place: int, mine: slice, shares: Any, order: Any) -> Explanation:
    assert claims.answers is not None
    offsets = claims.answers.offsets
    labels = to_numpy(claims.answers.labels)[claims.answers.cell_labels[offsets[place] : offsets[place + 1]]]
    # A claim names several options if devices report sets.
    named = [[str(label) for label in labels[numbers]] for numbers in claims.values[mine].reshape(-1, claims.size)]
    truth, majority = str(result.fit.truths_[place]), str(result.majority[place])
    users = claims.users[mine][:: claims.size]
    shown = tuple(
        ClaimShown(
            str(claims.user_labels[users[n]]), ", ".join(named[n]), float(shares[n]), None, truth not in named[n]
        )
        for n in order
    )
    held = sum(share for share, answers in zip(shares, named, strict=True) if truth in answers)
    votes, others = (sum(answer in answers for answers in named) for answer in (truth, majority))
    why = (
        f"{truth} has {votes} of {counted(len(named), 'vote')} and {held:.0%} of the weight."
        if truth == majority
        else f"{majority} has {others} of {counted(len(named), 'vote')} and {truth} {votes}, but those who "
        f"chose {truth} agree with the crowd elsewhere and hold {held:.0%} of the weight."
    )
    chance = float(result.chance[place])
    return Explanation(str(result.fit.objects_[place]), truth, None, None, chance, {"majority": majority}, shown, why)
