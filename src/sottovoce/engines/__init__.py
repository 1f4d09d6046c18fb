"""Engines: where one pass over the claims runs."""

from sottovoce.engines.base import AwareStep, AwareSweep, Engine, Lookup, Step
from sottovoce.engines.choosing import EngineChoice, choose_engine, engine_of
from sottovoce.engines.disk import DiskEngine
from sottovoce.engines.memory import MemoryEngine
from sottovoce.engines.spark import SparkEngine

__all__ = [
    "AwareStep",
    "AwareSweep",
    "DiskEngine",
    "Engine",
    "EngineChoice",
    "Lookup",
    "MemoryEngine",
    "SparkEngine",
    "Step",
    "choose_engine",
    "engine_of",
]
