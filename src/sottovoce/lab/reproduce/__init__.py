"""Every figure of the paper, and what the paper could not show, from one command.

Names are listed here without importing anything heavy, so that the command line can show them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sottovoce.errors import BadParameter

if TYPE_CHECKING:
    from sottovoce.lab.reproduce.experiment import Experiment

# Figure → the module whose EXPERIMENTS contain it, in the order of the page: the paper's figures, then the others.
FIGURES = {
    "trade-off": "trade_off",
    "trade-off-exact": "trade_off",
    "effect-of-quality": "effects",
    "effect-of-crowd": "effects",
    "gtm": "trade_off",
    "gtm-exact": "trade_off",
    "floorplan": "floorplan",
    "weights": "weights",
    "efficiency": "efficiency",
    "baselines": "baselines",
    "guarantees": "guarantees",
    "readings": "readings",
    "theorem": "theorem",
    "frontier": "frontier",
    "coverage": "coverage",
    "attackers": "attackers",
    "sparsity": "sparsity",
    "cost": "cost",
    "choices": "choices",
    "two-layer": "two_layer",
    "whole-range": "whole_range",
    "participant-level": "participant_level",
}
# The numbers of the figures in the paper; its Figure 1 shows the setting.
NUMBERS = {
    "trade-off": 2, "effect-of-quality": 3, "effect-of-crowd": 4, "gtm": 5, "floorplan": 6, "weights": 7,
    "efficiency": 8,
}  # fmt: skip


def named(name: str) -> "Experiment":
    """The experiment behind a figure."""
    if name not in FIGURES:
        raise BadParameter(f"figure {name!r}: there is no such figure; choose among {', '.join(FIGURES)}")
    module = import_module(f"sottovoce.lab.reproduce.{FIGURES[name]}")
    found: Experiment = next(known for known in module.EXPERIMENTS if known.name == name)
    return found
