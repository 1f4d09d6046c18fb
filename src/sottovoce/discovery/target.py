"""Two kinds of truth: the value that a careful person would measure, or the crowd's average opinion.

If nobody says which is meant, the claims decide: measurements that differ are errors, ratings that differ are opinions.
"""

from typing import Literal, get_args

import numpy as np

from sottovoce.engines import Engine
from sottovoce.errors import BadParameter

Target = Literal["value", "mean"]

_SAMPLE = 20_000
_PILE = 0.1  # share of all claims at one end of the scale
_EVERYWHERE = 1 / 3  # share of the objects that have a claim there
_FEW = 0.08  # chance that claims about two objects are equal: that of a dozen values used equally often


def check_target(target: object) -> None:
    """Check that this is a valid target, or None."""
    if target is not None and target not in get_args(Target):
        raise BadParameter(
            f"target={target!r}: it must be 'value' (what a careful person would measure) or 'mean' (the crowd's "
            "average opinion); leave it out to let the claims decide"
        )


def likely_target(engine: Engine) -> Target:
    """Guess the target: unlike measurements, opinions pile up at an end of their scale, or use few different values."""
    medians = engine.medians()
    objects, _, residuals = engine.sample(medians, _SAMPLE)
    values, where = np.unique((medians[objects] + residuals).round(12), return_inverse=True)
    if engine.n_objects < 2 or len(values) < 2:
        return "value"
    for end in (0, len(values) - 1):
        there = where == end
        if there.mean() >= _PILE and len(np.unique(objects[there])) >= _EVERYWHERE * len(np.unique(objects)):
            return "mean"
    _, both = np.unique(where * np.int64(engine.n_objects) + objects, return_counts=True)
    _, claimed = np.unique(objects, return_counts=True)
    pairs = float(len(objects)) ** 2 - float((claimed.astype(np.float64) ** 2).sum())
    equal = float((np.bincount(where).astype(np.float64) ** 2).sum() - (both.astype(np.float64) ** 2).sum())
    return "mean" if pairs > 0 and equal / pairs > _FEW else "value"
