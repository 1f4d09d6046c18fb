"""Simulated crowds whose truths are known: for planning, experiments, the demo and tests."""

from sottovoce.worlds.attackers import with_colluders
from sottovoce.worlds.choices import ChoiceWorld, choice_crowd
from sottovoce.worlds.crowds import IMITATIONS, crowd
from sottovoce.worlds.floorplan import careful_floorplan, floorplan, read_floorplan
from sottovoce.worlds.synthetic import synthetic
from sottovoce.worlds.world import World

__all__ = [
    "IMITATIONS",
    "ChoiceWorld",
    "World",
    "careful_floorplan",
    "choice_crowd",
    "crowd",
    "floorplan",
    "read_floorplan",
    "synthetic",
    "with_colluders",
]
