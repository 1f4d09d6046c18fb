"""Which engine to take, by the size of the claims and the memory that is free."""

from pathlib import Path

from sottovoce.claims.blocks import Pack

# The memory engine holds the claims (12 bytes each) up to three times.
_BYTES_PER_CLAIM = 36
_BYTES_PER_LABEL = 200
_USABLE = 0.6  # of what is free: others want some too


def free_memory() -> int | None:
    """Bytes that this process may still take, by what the system and its control group say; None if they do not."""
    found = []
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        found.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        pass
    try:
        group = Path("/sys/fs/cgroup")
        most, now = (group / "memory.max").read_text(), (group / "memory.current").read_text()
        found.append(int(most) - int(now))
    except (OSError, ValueError):  # no such group, or no limit
        pass
    return min(found, default=None)


def fits_in_memory(pack: Pack) -> tuple[bool, str]:
    """Whether a pack should be held in memory, and the reason in words."""
    counts = pack.manifest
    needed = _BYTES_PER_CLAIM * counts.claims + _BYTES_PER_LABEL * (counts.users + counts.objects)
    free = free_memory()
    if free is None:
        return False, "the system does not say how much memory is free"
    fits = needed <= _USABLE * free
    return fits, f"{counts.claims:,} claims need up to {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free"
