"""A release: readings are clipped, rounded and noised once, and recorded with their cost before they are sent."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

from sottovoce.device.cuts import Alternatives, alternatives_of, compared_tasks
from sottovoce.device.sanity import check_promise
from sottovoce.device.store import Membership, ParticipantFile, Release
from sottovoce.digits import counted
from sottovoce.errors import BadParameter, NoClaims, UnreadableFile
from sottovoce.privacy import sampler
from sottovoce.privacy.comparing import compare
from sottovoce.privacy.laws import parse_answer_law, parse_noise_law
from sottovoce.privacy.sampler import ByteStream, exact_number
from sottovoce.protocol import ChoiceTask, Manifest, NumberTask, Problem, Report
from sottovoce.protocol.fields import comparable
from sottovoce.text_tables import read_rows


def release(
    file: ParticipantFile,
    campaign: str,
    readings: Mapping[str, str],
    *,
    keep_readings: bool = False,
    stream: ByteStream | None = None,
    full: Collection[str] = (),
) -> Release:
    """Draw noise for these readings, only once; the release is stored and queued when this returns.

    A task that was released before is refused, whatever its reading is now: two noisy copies reveal more than one. Raw
    readings are forgotten unless the participant wants to keep them. Readings of tasks that are ``full`` are left out.
    """

    def draw(membership: Membership, released: Mapping[str, str]) -> tuple[str, list[str], bytes]:
        _check(file, membership, readings, released)
        cuts = _cuts(membership, readings)
        possible = {task: reading for task, reading in readings.items() if cuts.get(task, True) and task not in full}
        if not possible:
            whose = "its task has" if len(readings) == 1 else "their tasks have"
            raise Problem(
                "quota_reached",
                f"{counted(len(readings), 'reading')}: {whose} enough readings",
                fix="nothing was released; answer other tasks, if there are any",
            )
        chosen = _asked_for(membership, possible, released)
        report = Report.of(
            {
                "report_id": str(uuid4()),
                "manifest_sha256": membership.manifest.sha256,
                "readings": noisy_readings(membership.manifest, chosen, stream or ByteStream(), cuts),
            }
        )
        return report.report_id, [reading.task for reading in report.readings], report.bytes()

    return file.release(campaign, draw, readings if keep_readings else {})


def drawn_order(manifest: Manifest, stream: ByteStream) -> list[int]:
    """A random order of all tasks, by place. It is drawn once, before any reading is known.

    A device answers the first tasks in this order that it has readings for, as many as the campaign asks for.
    """
    order = list(range(len(manifest.tasks)))
    for last in range(len(order) - 1, 0, -1):
        other = sampler.uniform(stream, last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def _asked_for(membership: Membership, readings: Mapping[str, str], released: Mapping[str, str]) -> Mapping[str, str]:
    """The readings to release: all of them, or the first ones in the device's own order of tasks."""
    if membership.task_order is None:
        return readings
    manifest = membership.manifest
    left = manifest.most_readings - len(released)
    in_order = [manifest.tasks[place].id for place in membership.task_order]
    return {task: readings[task] for task in [task for task in in_order if task in readings][:left]}


def _cuts(membership: Membership, readings: Mapping[str, str]) -> Alternatives:
    """The alternatives for tasks that are compared; none if a task has enough readings, and so is not listed."""
    manifest = membership.manifest
    compared = [task for task in readings if task in compared_tasks(manifest)]
    if not compared:
        return {}
    if membership.cuts is None:
        raise Problem(
            "no_cuts",
            f"campaign {membership.campaign!r}: the published values to compare readings with were never fetched",
        )
    listed = alternatives_of(manifest, membership.cuts)
    return {task: listed.get(task, []) for task in compared}


def noisy_readings(
    manifest: Manifest, readings: Mapping[str, str], stream: ByteStream, cuts: Alternatives | None = None
) -> list[dict[str, Any]]:
    """What is reported for these readings, with exact noise.

    Numbers that share a grid are noised together, grid by grid; then come comparisons, each with one of its
    alternative ``cuts``; then the answers to questions, all together.
    """
    asked = [manifest.task_of[task] for task in readings]
    numbers = sorted((task for task in asked if isinstance(task, NumberTask)), key=lambda task: (task.grid, task.id))
    compared = sorted((task for task in numbers if task.id in (cuts or {})), key=lambda task: task.id)
    numbers = [task for task in numbers if task not in compared]
    noisy: list[dict[str, Any]] = []
    if compared and cuts:
        # Which alternative is drawn must not depend on a reading.
        drawn = [cuts[task.id][sampler.uniform(stream, len(cuts[task.id]))] for task in compared]
        steps = [
            sampler.steps_of(readings[task.id], Fraction(task.grid), Fraction(task.low), Fraction(task.high))
            for task in compared
        ]
        law_of_levels = parse_answer_law(manifest.part_of(compared[0]).noise)
        levels = compare(law_of_levels, list(zip(steps, drawn, strict=True)), stream)
        noisy += [
            {"task": task.id, "cuts": list(cut), "value": level}
            for task, cut, level in zip(compared, drawn, levels, strict=True)
        ]
    for grid, together in groupby(numbers, key=lambda task: task.grid):
        tasks = list(together)
        ranged = [(readings[task.id], Fraction(task.low), Fraction(task.high)) for task in tasks]
        law = parse_noise_law(manifest.part_of(tasks[0]).noise)
        outputs = sampler.noisy_steps(law, Fraction(grid), ranged, stream)
        noisy += [{"task": task.id, "value": value} for task, value in zip(tasks, outputs, strict=True)]
    questions = sorted((task for task in asked if isinstance(task, ChoiceTask)), key=lambda task: task.id)
    if questions:
        law_of_answers = parse_answer_law(manifest.part_of(questions[0]).noise)
        answers = [(choice_of(manifest, task, readings[task.id]), len(task.choices)) for task in questions]
        for task, cells in zip(questions, sampler.reported_cells(law_of_answers, answers, stream), strict=True):
            noisy.append({"task": task.id, "value": cells[0] if law_of_answers.cells_reported == 1 else list(cells)})
    return noisy


def choice_of(manifest: Manifest, task: ChoiceTask, answer: str) -> int:
    """The number of the choice that a participant wrote, in any of the campaign's languages, cases and spacings."""
    wanted = comparable(answer)
    for number, choice in enumerate(task.choices):
        if wanted in map(comparable, [choice] if isinstance(choice, str) else choice.values()):
            return number
    offered = ", ".join(repr(manifest.words(choice)) for choice in task.choices[:5])
    raise Problem(
        "unknown_choice",
        f"answer {answer[:40]!r} to task {task.id!r}: it must be one of {offered}"
        + (f" and {len(task.choices) - 5} more" if len(task.choices) > 5 else ""),
    )


def clipped_readings(manifest: Manifest, readings: Mapping[str, str]) -> list[str]:
    """Tasks whose readings lie outside the range, so that its nearest end is used instead."""
    return [
        task.id
        for task in manifest.tasks
        if isinstance(task, NumberTask)
        and task.id in readings
        and not Fraction(task.low) <= exact_number(readings[task.id]) <= Fraction(task.high)
    ]


def _check(
    file: ParticipantFile, membership: Membership, readings: Mapping[str, str], released: Mapping[str, str]
) -> None:
    """Refuse what cannot be released, before the first random bit is drawn."""
    manifest, campaign = membership.manifest, membership.campaign
    if membership.withdrawn_at:
        raise Problem("withdrawn", f"campaign {campaign!r}: you withdrew on {membership.withdrawn_at}")
    if not readings:
        raise Problem("bad_reading", "no readings: there must be at least one", fix="add a reading")
    for task, reading in readings.items():
        if task not in manifest.task_of:
            few = get_close_matches(task, manifest.task_of, 3) or [*manifest.task_of][:5]
            raise Problem(
                "unknown_task",
                f"task {task[:40]!r}: campaign {campaign!r} has no such task; there "
                f"{'is' if len(few) == 1 else 'are'} {', '.join(map(repr, few))}"
                + (f" and {len(manifest.task_of) - len(few):,} more" * (len(few) < len(manifest.task_of))),
            )
        if task in released:
            raise Problem("already_released", f"task {task!r}: a noisy reading of it was released on {released[task]}")
        asked = manifest.task_of[task]
        if isinstance(asked, ChoiceTask):
            choice_of(manifest, asked, reading)
            continue
        try:
            exact_number(reading)
        except BadParameter:
            sign = " with a decimal point, not a comma" if "," in reading else ""
            raise Problem(
                "bad_reading", f"reading {reading[:40]!r} for task {task!r}: a reading must be a finite number{sign}"
            ) from None
    if released and manifest.readings_come_at_once:
        raise Problem(
            "one_release_only",
            f"task {next(iter(readings))!r}: the campaign takes all readings of a participant at once, and you have "
            f"already released {len(released)}",
        )
    fits = len(released) < manifest.most_answers  # a device that draws its tasks releases no more than are left
    if not (fits if membership.task_order else len(released) + len(readings) <= manifest.most_answers):
        raise Problem(
            "too_many_readings",
            f"{counted(len(readings), 'reading')}: campaign {campaign!r} accepts {manifest.most_answers} per "
            "participant" + (f", and you have released {len(released)} before" if released else ""),
        )
    manifest.check_comparisons()
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
        raise NoClaims(f"{path}: it has no readings; write one line per task")
    return readings


def add_reading(readings: dict[str, str], task: str, reading: str) -> None:
    """Add a reading; each task may have only one."""
    if task in readings:
        raise Problem("repeated_task", f"task {task!r}: it has more than one reading")
    readings[task] = reading.strip()
