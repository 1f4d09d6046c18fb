"""Simulated crowds whose truths are known: for planning, experiments, the demo and tests."""

from sottovoce.worlds.synthetic import World, synthetic

__all__ = ["World", "synthetic"]
