"""Documents made to be slow: whatever their size, reading them takes no longer than an honest one of that size."""

import json
import time
from contextlib import suppress

import pytest

from hallways import manifest
from sottovoce.protocol import Manifest, Report
from sottovoce.protocol.canonical import parse_json
from sottovoce.protocol.manifest import MOST_TASKS
from sottovoce.protocol.problems import Problem


def processor_time(call, *arguments):
    """Processor time of this thread only, the least of three: other work on the machine has little effect."""
    times = []
    for _ in range(3):
        started = time.thread_time()
        with suppress(Problem):
            call(*arguments)
        times.append(time.thread_time() - started)
    return min(times)


def report(readings):
    return json.dumps(
        {"report_id": "0" * 8 + "-0000-4000-8000-" + "0" * 12, "manifest_sha256": "0" * 64, "readings": readings}
    ).encode()


def full_of(entry):
    """A report of the same size as the right one."""
    return report([entry] * (len(RIGHT) // len(json.dumps(entry) + ", ")))


READINGS = [{"task": f"hall-{n:04}", "value": 1} for n in range(6_000)]
RIGHT = report(READINGS)
TASKS = [{"id": f"{n:04}", "low": "0", "high": "1", "grid": "1"} for n in range(10_000)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [report([*READINGS, READINGS[-1]]), full_of({}), full_of(1), full_of("")],
    ids=["last task twice", "empty readings", "numbers", "texts"],
)
def test_a_wrong_report_takes_hardly_longer_than_a_right_one(hostile):
    """Comparing all pairs of names, or listing all mistakes, takes 15 to 30 times as long; stopping at one, 1 to 3."""
    with pytest.raises(Problem):
        Report.parse(hostile)
    assert processor_time(Report.parse, hostile) < 7 * processor_time(Report.parse, RIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [[*TASKS[:-1], TASKS[-2]], [1] * 200_000], ids=["last task twice", "numbers"])
def test_a_wrong_manifest_takes_no_longer_than_a_right_one(tasks):
    right = manifest(tasks=TASKS, readings=1).model_dump()
    wrong = right | {"tasks": tasks}
    with pytest.raises(Problem):
        Manifest.of(wrong)
    assert processor_time(Manifest.of, wrong) < 2 * processor_time(Manifest.of, right)


def test_an_object_has_no_more_keys_than_a_campaign_has_tasks():
    with pytest.raises(Problem, match="an object of 20,001 keys: it must have at most 10,000"):
        parse_json(("{" + "".join(f'"{n}":1,' for n in range(20_000)) + '"19999":1}').encode())
    assert len(parse_json(json.dumps({str(n): n for n in range(MOST_TASKS)}).encode())) == MOST_TASKS


def test_the_key_that_appears_twice_is_named():
    with pytest.raises(Problem, match="key 'b': it appears twice in one object"):
        parse_json(b'{"a":1,"b":2,"b":3,"a":4}')
