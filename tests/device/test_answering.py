"""A device that answers questions: choices by their words, tasks drawn once, and refusals before anything is drawn."""

import pytest

from campaign_server import campaign_server
from questions import PATH
from questions import second as any_campaign
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
