"""Engines, which make the passes over the claims: in memory, over blocks on disk, or on a Spark cluster."""

from sottovoce.engines.base import Engine, Lookup, Poll, Polled, Step, Sweep
from sottovoce.engines.choosing import EngineChoice, choose_engine, engine_of
from sottovoce.engines.disk import DiskEngine
from sottovoce.engines.memory import MemoryEngine
from sottovoce.engines.spark import SparkEngine

__all__ = [
    "DiskEngine",
    "Engine",
    "EngineChoice",
    "Lookup",
    "MemoryEngine",
    "Poll",
    "Polled",
    "SparkEngine",
    "Step",
    "Sweep",
    "choose_engine",
    "engine_of",
]
