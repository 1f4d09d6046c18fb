"""Engines: where one pass over the claims runs."""

from sottovoce.engines.base import AwareStep, AwareSweep, Engine, Lookup, Step
from sottovoce.engines.memory import MemoryEngine

__all__ = ["AwareStep", "AwareSweep", "Engine", "Lookup", "MemoryEngine", "Step"]
