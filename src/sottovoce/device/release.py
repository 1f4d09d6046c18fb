"""A release: readings are clipped, rounded and noised once, and recorded with their cost before they are sent."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from uuid import uuid4

from sottovoce.device.sanity import check_promise
from sottovoce.device.store import Membership, ParticipantFile, Release
from sottovoce.errors import BadParameter, NoClaims, UnreadableFile
from sottovoce.privacy import sampler
from sottovoce.privacy.sampler import ByteStream, exact_number
from sottovoce.protocol import Manifest, Problem, Report
from sottovoce.text_tables import read_rows


def release(
    file: ParticipantFile,
    campaign: str,
    readings: Mapping[str, str],
    *,
    keep_readings: bool = False,
    stream: ByteStream | None = None,
) -> Release:
    """Draw noise for these readings, only once; the release is stored and queued when this returns.

    A task that was released before is refused, whatever its reading is now: two noisy copies reveal more than one. Raw
    readings are forgotten unless the participant wants to keep them.
    """

    def draw(membership: Membership, released: Mapping[str, str]) -> tuple[str, list[str], bytes]:
        _check(file, membership, readings, released)
        report = Report.of(
            {
                "report_id": str(uuid4()),
                "manifest_sha256": membership.manifest.sha256,
                "readings": noisy_readings(membership.manifest, readings, stream or ByteStream()),
            }
        )
        return report.report_id, [reading.task for reading in report.readings], report.bytes()

    return file.release(campaign, draw, readings if keep_readings else {})


def noisy_readings(manifest: Manifest, readings: Mapping[str, str], stream: ByteStream) -> list[dict[str, str | int]]:
    """The readings on their grids, with exact noise. Those that share a grid are noised together, grid by grid."""
    noisy: list[dict[str, str | int]] = []
    asked = sorted((manifest.task_of[task] for task in readings), key=lambda task: (task.grid, task.id))
    for grid, together in groupby(asked, key=lambda task: task.grid):
        tasks = list(together)
        ranged = [(readings[task.id], Fraction(task.low), Fraction(task.high)) for task in tasks]
        outputs = sampler.noisy_steps(manifest.law, Fraction(grid), ranged, stream)
        noisy += [{"task": task.id, "value": value} for task, value in zip(tasks, outputs, strict=True)]
    return noisy


def _check(
    file: ParticipantFile, membership: Membership, readings: Mapping[str, str], released: Mapping[str, str]
) -> None:
    """Everything is checked before the first random bit is drawn."""
    manifest, campaign = membership.manifest, membership.campaign
    if membership.withdrawn_at:
        raise Problem("withdrawn", f"campaign {campaign!r}: you withdrew on {membership.withdrawn_at}")
    if not readings:
        raise Problem("bad_reading", "no readings: there must be at least one")
    for task, reading in readings.items():
        if task not in manifest.task_of:
            raise Problem("unknown_task", f"task {task!r}: campaign {campaign!r} has no such task")
        if task in released:
            raise Problem("already_released", f"task {task!r}: a noisy reading of it was released on {released[task]}")
        try:
            exact_number(reading)
        except BadParameter:
            raise Problem(
                "bad_reading", f"reading {reading[:40]!r} for task {task!r}: a reading must be a finite number"
            ) from None
    if released and manifest.readings_come_at_once:
        raise Problem(
            "one_release_only",
            f"task {next(iter(readings))!r}: under {manifest.noise} all readings share one secret variance, and "
            f"{len(released)} were released with it",
        )
    if len(released) + len(readings) > manifest.readings:
        raise Problem(
            "too_many_readings",
            f"{len(readings)} readings: campaign {campaign!r} accepts {manifest.readings} per participant, and "
            f"{len(released)} were released before",
        )
    limits = file.limits  # the participant may have tightened them since joining
    limits.check(membership.promise)
    check_promise(manifest, membership.promise)  # an older version may have computed it wrongly
    if not released:
        limits.check_total(file.spent(), membership.promise)


def read_readings(path: Path, task: str = "task", value: str = "value") -> dict[str, str]:
    """Readings from a CSV file with the columns ``task`` and ``value``; the values stay text."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as mistake:
        raise UnreadableFile(
            f"{path}: {mistake}; readings must be CSV in UTF-8 with the columns task and value"
        ) from None
    readings: dict[str, str] = {}
    for _, cells in read_rows(str(path), text, (task, value)):
        add_reading(readings, cells.get(task, ""), cells.get(value, ""))
    if not readings:
        raise NoClaims(f"{path}: it holds no reading; write one line per task")
    return readings


def add_reading(readings: dict[str, str], task: str, reading: str) -> None:
    """One more reading; each task once."""
    if task in readings:
        raise Problem("repeated_task", f"task {task!r}: it has more than one reading")
    readings[task] = reading.strip()
