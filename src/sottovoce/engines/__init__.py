"""Engines: where one pass over the claims runs."""

from sottovoce.engines.base import Engine, Step
from sottovoce.engines.memory import MemoryEngine

__all__ = ["Engine", "MemoryEngine", "Step"]
