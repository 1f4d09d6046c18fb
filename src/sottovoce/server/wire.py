"""Reports off the wire: strictly, and fast where that is safe.

Devices send canonical JSON, and that of a report with plain task names is a regular language. What a pattern for the
whole of it matches can have nothing that was overlooked, such as a key that appears twice, and the hash of its bytes is
the hash of the content. Everything else goes through the protocol's own parser.
"""

import re
from dataclasses import dataclass

from sottovoce.protocol.canonical import LARGEST_INTEGER, sha256_of
from sottovoce.protocol.manifest import MOST_TASKS
from sottovoce.protocol.report import Report

# A name without signs that JSON escapes, at most as long as the protocol allows; an integer as it is spelled.
_READING = r'\{"task":"[^"\\\x00-\x1f]{1,100}","value":(?:0|-?[1-9][0-9]{0,18})\}'
_REPORT = re.compile(
    r'\{"manifest_sha256":"([0-9a-f]{64})",'
    rf'"readings":\[({_READING}(?:,{_READING})*)\],'
    r'"report_id":"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"\}'
)
_TASK_AND_VALUE = re.compile(r'"task":"([^"]*)","value":(-?[0-9]+)')


@dataclass(slots=True, frozen=True)
class Contents:
    """What a report says."""

    report_id: str
    manifest_sha256: str
    readings: tuple[tuple[str, int], ...]  # task and value
    content_hash: str

    @classmethod
    def of(cls, report: Report) -> "Contents":
        readings = tuple((reading.task, reading.value) for reading in report.readings)
        return cls(report.report_id, report.manifest_sha256, readings, report.content_hash)

    def as_report(self) -> Report:
        """The same in the protocol's words, for whatever is not done a thousand times a second."""
        readings = [{"task": task, "value": value} for task, value in self.readings]
        return Report.of({"report_id": self.report_id, "manifest_sha256": self.manifest_sha256, "readings": readings})


def read_report(content: bytes) -> Contents:
    """Read a report, or raise the problem with it."""
    return _read_canonical(content) or Contents.of(Report.parse(content))


def _read_canonical(content: bytes) -> Contents | None:
    """A good report in canonical JSON; None for anything else."""
    try:
        whole = _REPORT.fullmatch(content.decode())
    except UnicodeDecodeError:
        return None
    if whole is None:
        return None
    manifest, told, report_id = whole.groups()
    tasks, spelled = zip(*_TASK_AND_VALUE.findall(told), strict=True)
    values = tuple(map(int, spelled))
    in_order = list(tasks) == sorted(set(tasks)) and len(tasks) <= MOST_TASKS
    if not in_order or max(values) > LARGEST_INTEGER or min(values) < -LARGEST_INTEGER:
        return None
    return Contents(report_id, manifest, tuple(zip(tasks, values, strict=True)), sha256_of(content))
