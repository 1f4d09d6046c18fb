"""Choosing an engine, according to the size of the claims and the free memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sottovoce.claims import Claims
from sottovoce.claims.blocks import Pack
from sottovoce.digits import counted
from sottovoce.engines.base import Engine
from sottovoce.engines.disk import DiskEngine
from sottovoce.engines.memory import MemoryEngine
from sottovoce.engines.spark import SparkEngine
from sottovoce.errors import BadParameter

EngineName = Literal["auto", "memory", "disk", "spark"]

# The memory engine holds the claims (12 bytes each) up to three times.
_BYTES_PER_CLAIM = 36
_BYTES_PER_LABEL = 200
_USABLE = 0.6  # of the free memory: other processes need some too


@dataclass(frozen=True)
class EngineChoice:
    """An engine, its name, and why it was chosen."""

    engine: Engine
    name: EngineName
    reason: str


def choose_engine(
    claims: Claims | Pack, engine: EngineName = "auto", *, spark_master: str | None = None
) -> EngineChoice:
    """The engine for these claims: memory if they fit, else disk; or the one that is named.

    Parameters
    ----------
    claims
        Claims, which are already in memory, or a pack.
    engine
        "auto" chooses memory if 60% of the free memory is enough for a pack, else disk. The others name an engine.
    spark_master
        For "spark", the master, such as spark://host:7077; by default this machine. Close a Spark engine after use, or
        use it in a ``with`` statement.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.engines import choose_engine
    >>> choice = choose_engine(sv.Claims.from_matrix([[1.0, 2.0]]))
    >>> choice.name, choice.reason
    ('memory', 'the claims are in memory already')
    """
    if engine not in ("auto", "memory", "disk", "spark"):
        raise BadParameter(f"engine={engine!r}: it must be 'auto', 'memory', 'disk' or 'spark'; choose one of them")
    if spark_master is not None and engine != "spark":
        raise BadParameter(f"spark_master={spark_master!r}: only Spark has a master; leave it out, or use Spark")
    if isinstance(claims, Claims):
        if engine not in ("auto", "memory"):
            raise BadParameter(
                f"engine={engine!r}: claims in memory can only be processed in memory; pack them, and use the pack"
            )
        return EngineChoice(MemoryEngine(claims), "memory", "the claims are in memory already")
    reason = "as requested"
    if engine == "auto":
        fits, reason = fits_in_memory(claims)
        engine = "memory" if fits else "disk"
    if engine == "memory":
        return EngineChoice(MemoryEngine(claims.claims(), ages=claims.object_ages), engine, reason)
    if engine == "disk":
        return EngineChoice(DiskEngine(claims), engine, reason)
    return EngineChoice(SparkEngine(claims, spark_master or "local[*]"), engine, reason)


def engine_of(claims: Claims | Pack | Engine) -> Engine:
    """The given engine; for claims and packs, the engine that `choose_engine` chooses."""
    if isinstance(claims, Claims | Pack):
        return choose_engine(claims).engine
    if not hasattr(claims, "sweep"):
        raise BadParameter(
            f"{type(claims).__name__}: a method is fitted to claims, a pack, an engine or a data frame; make claims "
            "with Claims.read, from_arrays or from_matrix"
        )
    return claims


def check_file_fits(path: str | Path) -> None:
    """Refuse to read a file that is larger than the free memory."""
    size, free = Path(path).stat().st_size if Path(path).is_file() else 0, free_memory()
    if free is not None and size > free:
        raise BadParameter(
            f"{path}: {size / 1e9:.1f} GB is more than the {free / 1e9:.1f} GB of free memory; make a pack "
            f"with `sottovoce claims pack {path} PACK` and use that, or try --engine memory"
        )


def free_memory() -> int | None:
    """Bytes that this process may still use, according to the system and its control group; None if neither says."""
    limits = []
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        limits.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        pass
    try:
        group = Path("/sys/fs/cgroup")
        most, now = (group / "memory.max").read_text(), (group / "memory.current").read_text()
        limits.append(int(most) - int(now))
    except (OSError, ValueError):  # no such group, or no limit
        pass
    return min(limits, default=None)


def fits_in_memory(pack: Pack) -> tuple[bool, str]:
    """Whether a pack should be held in memory, and the reason in words."""
    counts = pack.manifest
    needed = _BYTES_PER_CLAIM * counts.claims * counts.size + _BYTES_PER_LABEL * (counts.users + counts.objects)
    free = free_memory()
    if free is None:
        return False, "the system does not say how much memory is free"
    fits = needed <= _USABLE * free
    needed_gb = max(needed / 1e9, 0.1)
    usable = "" if fits else f", of which {_USABLE:.0%} may be used"
    need = f"{counted(counts.claims, 'claim')} {'needs' if counts.claims == 1 else 'need'} up to {needed_gb:.1f} GB"
    return fits, f"{need}; {free / 1e9:.1f} GB are free{usable}"
