"""A report: the noisy readings that a device releases, once."""

import builtins
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from json.encoder import encode_basestring
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints

from sottovoce.protocol.canonical import LARGEST_INTEGER, first_repeated, parse_json, sha256_of
from sottovoce.protocol.fields import Document, reported_as
from sottovoce.protocol.manifest import MOST_CHOICES, MOST_TASKS, Manifest, Task
from sottovoce.protocol.parts import Part
from sottovoce.protocol.problems import Problem


def _uuid(text: str) -> str:
    with suppress(ValueError):
        if str(UUID(text)) == text:
            return text
    raise ValueError("must be a UUID in lower case, with hyphens")


Value = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Values = Annotated[tuple[Value, ...], Field(min_length=1, max_length=MOST_CHOICES, strict=False)]


class Reading(Document):
    """What is reported for one task.

    The value is the noisy reading in whole steps of the task's grid, which may lie far outside the task's range; or the
    number of the choice, counted from 0; or, where sets of choices are reported, an ascending list of their numbers.
    For a comparison it is the level; ``cuts`` are the cuts that the reading was compared with, in half grid steps.
    """

    task: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    value: Value | Values
    cuts: Values | None = None

    def text(self) -> str:
        """Its canonical form."""
        # What `canonical_bytes` would give, in a fifth of the time: a server does this for every report it accepts, and
        # the model has checked that there are only whole numbers and plain text.
        cuts = "" if self.cuts is None else f'"cuts":{_listed(self.cuts)},'
        value = self.value if isinstance(self.value, int) else _listed(self.value)
        return f'{{{cuts}"task":{encode_basestring(self.task)},"value":{value}}}'

    @property
    def detail(self) -> str | None:
        """The whole set, or the cuts, as JSON; None where the value alone is enough."""
        listed = self.cuts if isinstance(self.value, int) else self.value
        return None if listed is None else _listed(listed)

    def check(self, task: Task, part: Part) -> None:
        """Refuse a value that does not answer this task."""
        if self.cuts is not None and (task.kind != "number" or part.cells is None):
            raise Problem("wrong_kind", f"cuts for task {self.task!r}: the task is not answered by comparison")
        if part.cells is None:
            if not isinstance(self.value, int):
                raise Problem("wrong_kind", f"a list for task {self.task!r}: the task asks for a number")
            return
        cells = (self.value,) if isinstance(self.value, int) else self.value
        if isinstance(self.value, int) != (part.cells_reported == 1) or len(cells) != part.cells_reported:
            asked = "one answer" if part.cells_reported == 1 else f"a set of {part.cells_reported}"
            raise Problem("wrong_kind", f"value {_short(self.value)} for task {self.task!r}: the task asks for {asked}")
        for cell, following in zip(cells, (*cells[1:], part.cells), strict=True):
            if not 0 <= cell < part.cells:
                raise Problem(
                    "unknown_choice",
                    f"answer {cell} to task {self.task!r}: it must be a number from 0 to {part.cells - 1}",
                    fix="send the number of the level, counted from 0" if task.kind == "number" else "",
                )
            if cell >= following:
                raise Problem(
                    "bad_report", f"value {_short(self.value)} for task {self.task!r}: a set must be strictly ascending"
                )
        if task.kind == "number":
            check_cuts(self.task, self.cuts, part.cells)


def check_cuts(task: str, cuts: tuple[int, ...] | None, levels: int) -> None:
    """Refuse cuts that do not make this many levels, do not ascend or do not lie midway between grid steps."""
    if cuts is None or len(cuts) != levels - 1:
        raise Problem("bad_cuts", f"cuts of task {task!r}: their number must be {levels - 1}")
    if not all(cut % 2 for cut in cuts) or any(one >= other for one, other in pairwise(cuts)):
        raise Problem("bad_cuts", f"cuts {_short(cuts)} of task {task!r}: they must be odd numbers in ascending order")


def _listed(numbers: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _short(value: object) -> str:
    shown = str(value)
    return shown if len(shown) <= 60 else f"{shown[:40]}…"


class Report(Document):
    """Readings of one participant for one manifest. The order of the readings has no meaning."""

    report_id: Annotated[str, AfterValidator(_uuid)]
    manifest_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    readings: Annotated[tuple[Reading, ...], Field(fail_fast=True, min_length=1, max_length=MOST_TASKS, strict=False)]

    def bytes(self) -> bytes:
        """The canonical bytes, readings in the order of their tasks."""
        readings = ",".join(reading.text() for reading in sorted(self.readings, key=lambda reading: reading.task))
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
            task = manifest.task_of[reading.task]
            reading.check(task, manifest.part_of(task))
        if len(self.readings) > manifest.most_answers:
            raise Problem(
                "too_many_readings",
                f"{len(self.readings)} readings: a participant may give at most {manifest.most_answers}",
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
