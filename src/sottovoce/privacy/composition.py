"""Several releases of one participant: what they promise together."""

import math
from collections.abc import Sequence

import numpy as np

from sottovoce.errors import BadParameter, MissingExtra
from sottovoce.privacy.guarantee import Guarantee

_STEP = 1e-3  # of the lattice of losses
_POINTS = 200


def basic_epsilon(releases: Sequence[Guarantee], delta: float) -> float:
    """ε of all releases together by adding up: each may spend an equal share of δ.

    >>> from sottovoce.privacy.laws import FreshVariance
    >>> basic_epsilon([FreshVariance(0.5).guarantee()] * 3, delta=0)
    3.0
    """
    _check(releases, delta)
    pure = [release.pure_epsilon for release in releases]
    certain = math.inf if None in pure else math.fsum(epsilon for epsilon in pure if epsilon is not None)
    if delta == 0:
        if certain == math.inf:
            raise BadParameter(
                "delta 0: one of the releases has no ε without exception; give a small delta such as 1e-5"
            )
        return certain
    return min(certain, math.fsum(release.epsilon(delta / len(releases)) for release in releases))


def tight_epsilon(releases: Sequence[Guarantee], delta: float) -> float:
    """ε of all releases together by composing their privacy losses (dp-accounting); never less than the true one.

    Each profile is handed over at points of a lattice, between which the accountant takes the worst case.
    """
    _check(releases, delta)
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError as error:
        raise MissingExtra(
            "composition needs dp-accounting; install it with pip install 'sottovoce[accounting]'"
        ) from error
    together = None
    for release, times in _counted(releases):
        steps = _lattice(release, delta / len(releases))
        deltas = np.array([release.delta(step * _STEP) for step in steps])
        # The noise is symmetric, so the profile below 0 follows from the one above: δ(-ε) = 1 - e^-ε (1 - δ(ε)).
        below = 1 - np.exp(-steps[:0:-1] * _STEP) * (1 - deltas[:0:-1])
        profile = np.minimum.accumulate(np.concatenate([below, deltas]))
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots(_STEP, np.concatenate([-steps[:0:-1], steps]), profile)
        losses = privacy_loss_distribution.PrivacyLossDistribution(pmf).self_compose(times)
        together = losses if together is None else together.compose(losses)
    assert together is not None
    return float(together.get_epsilon_for_delta(delta))


def _lattice(release: Guarantee, share: float) -> np.ndarray:
    """Lattice points from 0 to where next to nothing of δ is left, denser near 0."""
    pure = release.pure_epsilon
    highest = release.epsilon(share * 1e-3)
    if pure is not None:
        highest = min(pure, 1.2 * highest)
    last = max(2, math.ceil(highest / _STEP))
    return np.unique(np.round(last * np.linspace(0, 1, _POINTS) ** 1.5).astype(np.int64))


def _counted(releases: Sequence[Guarantee]) -> list[tuple[Guarantee, int]]:
    counts: dict[Guarantee, int] = {}
    for release in releases:
        counts[release] = counts.get(release, 0) + 1
    return list(counts.items())


def _check(releases: Sequence[Guarantee], delta: float) -> None:
    if not releases:
        raise BadParameter("no release: there must be at least one to add up; leave composition out")
    if not 0 <= delta < 1:
        raise BadParameter(f"delta {delta!r}: it must be at least 0 and below 1; 1e-5 is usual")
