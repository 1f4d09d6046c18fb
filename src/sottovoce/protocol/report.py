"""A report: the noisy readings that a device releases, once."""

import builtins
from functools import cached_property
from json.encoder import encode_basestring
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from sottovoce.protocol.canonical import LARGEST_INTEGER, first_repeated, parse_json, sha256_of
from sottovoce.protocol.manifest import MOST_TASKS, Document, Manifest, reported_as
from sottovoce.protocol.problems import Problem


def _uuid(text: str) -> str:
    if str(UUID(text)) != text:
        raise ValueError("must be a UUID in lower case, with hyphens")
    return text


class Reading(Document):
    """A noisy reading, in whole steps of the task's grid. It may lie far outside the task's range."""

    task: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    value: Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]


class Report(Document):
    """Readings of one participant for one manifest. The order of the readings has no meaning."""

    report_id: Annotated[str, AfterValidator(_uuid)]
    manifest_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    readings: Annotated[tuple[Reading, ...], Field(fail_fast=True, min_length=1, max_length=MOST_TASKS, strict=False)]

    def bytes(self) -> bytes:
        """The canonical bytes, readings in the order of their tasks."""
        # What `canonical_bytes` would give, in a fifth of the time: a server does this for every report it takes, and
        # the model has checked that there are only whole numbers and plain text.
        readings = ",".join(
            f'{{"task":{encode_basestring(reading.task)},"value":{reading.value}}}'
            for reading in sorted(self.readings, key=lambda reading: reading.task)
        )
        return (
            f'{{"manifest_sha256":"{self.manifest_sha256}","readings":[{readings}],"report_id":"{self.report_id}"}}'
        ).encode()

    @cached_property
    def content_hash(self) -> str:
        """Distinguishes a retry (same id, same hash) from a conflict (same id, another hash)."""
        return sha256_of(self.bytes())

    def check(self, manifest: Manifest) -> None:
        """Refuse a report that does not belong to this manifest."""
        if self.manifest_sha256 != manifest.sha256:
            raise Problem("stale_manifest", f"manifest {self.manifest_sha256[:12]}…: the campaign has another one")
        for reading in self.readings:
            if reading.task not in manifest.task_of:
                raise Problem("unknown_task", f"task {reading.task!r}: the campaign has no such task")
        if len(self.readings) > manifest.readings:
            raise Problem(
                "too_many_readings",
                f"{len(self.readings)} readings: a participant may give at most {manifest.readings}",
            )

    @classmethod
    def parse(cls, data: builtins.bytes, *, most_bytes: int = 1 << 20) -> Self:
        """Parse a received report; its JSON need not be canonical."""
        return cls.of(parse_json(data, most_bytes=most_bytes))

    @classmethod
    def of(cls, content: Any) -> Self:
        """Make a report from parsed JSON, such as one of a batch; mistakes are problems."""
        with reported_as("bad_report"):
            report = cls.model_validate(content)
        twice = first_repeated(reading.task for reading in report.readings)
        if twice is not None:
            raise Problem("repeated_task", f"task {twice!r}: it appears more than once in one report")
        return report
