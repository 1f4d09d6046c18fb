"""A device that answers questions: choices by their words, tasks drawn once, and refusals before anything is drawn."""

import json
import shutil

import pytest

from byte_streams import seeded_stream
from campaign_server import campaign_server
from participant import Participant
from questions import PATH
from questions import second as any_campaign
from sottovoce.device import Client, TryLater
from sottovoce.device.cuts import fetch_cuts
from sottovoce.device.release import drawn_order
from sottovoce.protocol import Problem, Report

READINGS = {"path": "no", "bird": " Robin", "width": "3.2"}


def second(**changes):
    return any_campaign(campaign="hallways", **changes)


def refusal(call, *arguments, **options):
    with pytest.raises(Problem) as caught:
        call(*arguments, **options)
    return caught.value


def test_answers_are_sent_as_numbers_of_choices_and_cost_the_whole_promise(participant):
    with campaign_server(second()) as server:
        participant.join(server.invite())
        report = Report.parse(participant.release(READINGS).body)
        report.check(second())
        assert participant.file.spent().epsilon == 1.0
        assert refusal(participant.release, {"path": "yes"}).code == "already_released"


@pytest.mark.parametrize(
    ("readings", "code"),
    [({"path": "perhaps"}, "unknown_choice"), ({"path": "1"}, "unknown_choice"), ({"width": "yes"}, "bad_reading")],
)
def test_what_does_not_answer_the_question_is_refused_and_nothing_is_stored(participant, readings, code):
    with campaign_server(second()) as server:
        participant.join(server.invite())
        problem = refusal(participant.release, READINGS | readings)
        assert problem.code == code
        assert participant.file.releases() == []
    if code == "unknown_choice":
        assert "'yes', 'no'" in str(problem)


def test_a_device_answers_the_tasks_that_it_drew_when_it_joined(participant):
    tasks = [PATH | {"id": f"q{n}"} for n in range(10)]
    asked = second(tasks=tasks, noise="response:1", readings=10, answer=3, unit="participant")
    with campaign_server(asked) as server:
        participant.join(server.invite())
        (joined,) = participant.file.memberships()
        assert sorted(joined.task_order) == list(range(10))
        drawn = [f"q{place}" for place in joined.task_order]
        some = dict.fromkeys([drawn[4], drawn[1], drawn[2]], "yes")
        first = participant.release({drawn[1]: "yes"})
        assert [reading.task for reading in Report.parse(first.body).readings] == [drawn[1]]
        rest = participant.release({name: "yes" for name in drawn if name not in some} | {drawn[2]: "no"})
        assert {reading.task for reading in Report.parse(rest.body).readings} == {drawn[0], drawn[2]}
        assert refusal(participant.release, {drawn[5]: "yes"}).code == "too_many_readings"
        assert participant.file.spent().epsilon == 3.0


def test_another_invitation_does_not_change_the_tasks_that_were_drawn(participant):
    """Otherwise somebody could join again and again until they get the tasks that they like."""
    tasks = [PATH | {"id": f"q{n}"} for n in range(10)]
    asked = second(tasks=tasks, noise="response:1", readings=10, answer=3, unit="participant")
    with campaign_server(asked) as server:
        orders = []
        for _ in range(3):
            server.trouble("/enrolments", "cut")
            with pytest.raises(TryLater):
                participant.join(server.invite())
            orders += [membership.task_order for membership in participant.file.memberships()]
    assert len(orders) == 3
    assert len(set(orders)) == 1  # of 10! orders


NUMBER = {"id": "", "kind": "number", "title": "How long?", "unit": "m", "low": 0, "high": 30, "grid": "0.1"}
LAWS = {
    "noise": ({"noise": "fresh:0.5"}, NUMBER | {"distance": 1}),
    "comparisons": ({"noise": "response:0.5", "levels": 2}, NUMBER),
    "choices": ({"noise": "response:0.5"}, PATH | {"choices": ["0", "15.5", "30", "29.9"]}),
}


@pytest.mark.parametrize("law", LAWS)
def test_no_reading_decides_which_tasks_are_answered(participant, tmp_path, law):
    """Copies of one device with quite different readings answer the same tasks, however the manifest is made.

    Tasks differ in their ranges, so that a device that left out what does not fit would show what it holds.
    """
    terms, task = LAWS[law]
    tasks = [
        task | {"id": f"t{n}"} | ({"low": 3 * n, "high": 3 * n + 2} if law != "choices" else {}) for n in range(10)
    ]
    asked = second(tasks=tasks, **terms, readings=10, answer=3, unit="participant")
    with campaign_server(asked) as server:
        server.cuts = json.dumps({"as_of": None, "tasks": {f"t{n}": [[60 * n + 21]] for n in range(10)}}).encode()
        participant.join(server.invite())
        fetch_cuts(participant.file, "hallways", Client, participant.retries)
        (joined,) = participant.file.memberships()
        expected = [f"t{place}" for place in joined.task_order[:3]]
        participant.file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for number, reading in enumerate(("0", "15.5", "30", "29.9")):
            copy = tmp_path / f"copy-{number}.db"
            shutil.copy(participant.file.path, copy)
            other = Participant(copy)
            report = Report.parse(other.release({f"t{n}": reading for n in range(10)}).body)
            other.file.close()
            assert sorted(entry.task for entry in report.readings) == sorted(expected)


@pytest.mark.parametrize("changes", [{"answer": 11}, {"answer": 0}, {"answer": "3"}, {"answer": 3, "prefer": "high"}])
def test_a_manifest_that_asks_for_another_choice_is_refused(changes):
    tasks = [PATH | {"id": f"q{n}"} for n in range(10)]
    with pytest.raises(Problem):
        second(tasks=tasks, noise="response:1", readings=10, unit="participant", **changes)


def test_devices_draw_every_task_equally_often():
    """1,000 orders of five tasks: five standard errors of a share of a fifth are below 0.065."""
    asked = second(tasks=[PATH | {"id": f"q{n}"} for n in range(5)], noise="response:1", readings=5, answer=1)
    stream = seeded_stream("order")
    first = [drawn_order(asked, stream)[0] for _ in range(1000)]
    for place in range(5):
        assert first.count(place) / 1000 == pytest.approx(0.2, abs=0.065)
