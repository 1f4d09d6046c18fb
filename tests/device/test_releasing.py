"""One release per campaign and task, ever; its cost is counted; raw readings are not kept."""

import random
import sqlite3
import stat
from datetime import UTC, datetime, timedelta

import pytest

from campaign_server import campaign_server
from hallways import manifest
from participant import Participant
from sottovoce.device import Limits, ParticipantFile
from sottovoce.device.release import noisy_readings, read_readings
from sottovoce.errors import MissingColumn, NoClaims, UnreadableFile
from sottovoce.privacy.sampler import ByteStream
from sottovoce.protocol import Problem, Promise, Report


def refusal(call, *arguments, **options):
    with pytest.raises(Problem) as caught:
        call(*arguments, **options)
    return caught.value


def test_a_reading_is_clipped_and_rounded_and_then_noised():
    """What the same random bytes do to zeros and to readings differs by the readings on their grid."""
    readings = {"hall-1": "12.34", "hall-2": "-5", "hall-3": "1e3"}

    def drawn(readings):
        stream = ByteStream(random.Random(3).randbytes)
        return {entry["task"]: entry["value"] for entry in noisy_readings(manifest(), readings, stream)}

    noise, noisy = drawn(dict.fromkeys(readings, "0")), drawn(readings)
    assert {task: noisy[task] - noise[task] for task in readings} == {"hall-1": 123, "hall-2": 0, "hall-3": 1000}


@pytest.mark.parametrize(("noise", "low", "high"), [("shared:0.05", 0.2, 5.0), ("fresh:0.05", 0.0, 0.1)])
def test_readings_of_a_release_share_a_variance_only_where_the_law_says_so(noise, low, high):
    """60 releases of 200 zeros: how much do their mean squares scatter, relative to their mean?

    One exponential variance per release: expected near 1, below 0.33 in none of 200,000 simulated cases. A new one for
    each reading: expected 5/200, above 0.044 in none of 2,000.
    """
    tasks = [{"id": f"t{n}", "low": -1, "high": 1, "grid": "0.1"} for n in range(200)]
    asked, zeros = manifest(tasks=tasks, noise=noise, readings=200), {task["id"]: "0" for task in tasks}
    stream = ByteStream(random.Random(4).randbytes)
    squares = [sum(entry["value"] ** 2 for entry in noisy_readings(asked, zeros, stream)) for _ in range(60)]
    mean = sum(squares) / 60
    assert low < sum((square / mean - 1) ** 2 for square in squares) / 60 < high


def test_a_changed_reading_is_refused_with_the_reason(server, participant):
    participant.join(server.invite())
    assert participant.submit({"hall-1": "12"}) == ["delivered"]
    for again in ("12", "13"):
        problem = refusal(participant.release, {"hall-2": "7", "hall-1": again})
        assert problem.code == "already_released"
        assert "'hall-1'" in str(problem)
        assert "second noisy copy" in str(problem)
    assert participant.submit({"hall-2": "7", "hall-3": "8"}) == ["delivered"]  # the refusal changed nothing
    assert {task: len(values) for task, values in server.released().items()} == {"hall-1": 1, "hall-2": 1, "hall-3": 1}


@pytest.mark.parametrize("noise", ["shared:0.00001", "floored:20:0.05"])
def test_under_one_variance_there_is_one_release(participant, noise):
    with campaign_server(manifest(noise=noise)) as server:
        participant.join(server.invite())
        participant.release({"hall-1": "12", "hall-2": "3"})
        problem = refusal(participant.release, {"hall-3": "12"})
    assert problem.code == "one_release_only"
    assert "one secret draw decides the noise of all your readings" in str(problem)


BAD = {
    "not a number": ({"hall-1": "nan"}, "bad_reading"),
    "infinite": ({"hall-1": "-inf"}, "bad_reading"),
    "empty": ({"hall-1": ""}, "bad_reading"),
    "words": ({"hall-1": "twelve"}, "bad_reading"),
    "comma": ({"hall-1": "5,5"}, "bad_reading"),
    "endless": ({"hall-1": "9" * 10_000}, "bad_reading"),
    "no reading": ({}, "bad_reading"),
    "unknown task": ({"hall-1": "1", "hall-9": "1"}, "unknown_task"),
    "too many": ({"hall-1": "1", "hall-2": "1", "hall-3": "1"}, "too_many_readings"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_reading_that_cannot_be_used_is_refused_before_any_noise(participant, name):
    readings, code = BAD[name]
    with campaign_server(manifest(readings=2)) as server:
        participant.join(server.invite())

        def no_bytes(count):
            raise AssertionError("noise was drawn")

        assert refusal(participant.release, readings, stream=ByteStream(no_bytes)).code == code
        assert participant.file.releases() == []
        assert participant.submit({"hall-1": "1"}) == ["delivered"]
        assert refusal(participant.release, {"hall-2": "1", "hall-3": "1"}).code == "too_many_readings"


def test_a_decimal_comma_is_named(participant):
    with campaign_server(manifest()) as server:
        participant.join(server.invite())
        assert refusal(participant.release, {"hall-1": "5,5"}).detail == (
            "reading '5,5' for task 'hall-1': a reading must be a finite number with a decimal point, not a comma"
        )
        assert "comma" not in refusal(participant.release, {"hall-1": "five"}).detail


def test_a_campaign_must_be_joined(participant):
    assert refusal(participant.release, {"hall-1": "1"}).code == "not_joined"


def test_campaigns_cost_once_each_and_stop_at_the_limit(tmp_path, participant):
    names = ["one", "two", "three"]
    with campaign_server(*(manifest(campaign=name) for name in names)) as server:
        participant.file.set_limits(Limits(total_epsilon=2.5))
        for name in names:
            participant.join(server.invite(name))
        participant.release({"hall-1": "1"}, "one")
        participant.release({"hall-2": "1"}, "one")
        assert participant.file.spent() == Promise(1.0, 0.0)
        participant.release({"hall-1": "1"}, "two")
        problem = refusal(participant.release, {"hall-1": "1"}, "three")
        assert problem.code == "budget_spent"
        participant.withdraw("one")
        assert participant.file.spent() == Promise(2.0, 0.0)  # what is released cannot be unlearnt
        participant.file.set_limits(Limits(epsilon=0.5))
        assert refusal(participant.release, {"hall-3": "1"}, "two").code == "weaker_than_limits"


def test_raw_readings_are_kept_only_if_asked_for(server, participant):
    participant.join(server.invite())
    kept = participant.release({"hall-1": "12.3456"}, keep_readings=True)
    forgotten = participant.release({"hall-2": "65.4321"})
    assert participant.file.tasks_of(kept.report_id) == {"hall-1": "12.3456"}
    assert participant.file.tasks_of(forgotten.report_id) == {"hall-2": None}
    path = participant.file.path
    everything = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"12.3456" in everything
    assert b"65.4321" not in everything


def test_the_file_is_for_its_owner_only(server, participant):
    participant.join(server.invite())
    for path in participant.file.path.parent.glob("participant.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_jumping_clock_changes_only_the_recorded_times(server, tmp_path):
    times = [datetime(2030, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)]
    moments = iter(times * 3)
    participant = Participant(tmp_path / "p.db", clock=lambda: next(moments) + timedelta(seconds=1))
    participant.join(server.invite())
    first = participant.release({"hall-1": "1"})
    second = participant.release({"hall-2": "1"})
    assert first.released_at < second.released_at
    third = participant.release({"hall-3": "1"})
    assert third.released_at < second.released_at
    assert [sent.report_id for sent in participant.flush()] == [first.report_id, second.report_id, third.report_id]
    assert refusal(participant.release, {"hall-2": "1"}).code == "already_released"
    participant.file.close()


def test_the_server_judges_the_deadline(participant):
    with campaign_server(manifest(deadline="2001-01-01T00:00:00Z")) as server:
        participant.join(server.invite())
        assert participant.submit({"hall-1": "1"}) == ["delivered"]


def test_another_file_or_a_newer_one_is_not_touched(tmp_path):
    newer = tmp_path / "newer.db"
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = newer.read_bytes()
    newer.chmod(0o644)
    assert refusal(ParticipantFile, newer).code == "unknown_file"
    assert newer.read_bytes() == before
    assert stat.S_IMODE(newer.stat().st_mode) == 0o644
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE recipes (name)")
    connection.close()
    assert refusal(ParticipantFile, foreign).code == "unknown_file"
    text = tmp_path / "text.db"
    text.write_text("not a database, though long enough to be taken for one" * 30)
    assert refusal(ParticipantFile, text).code == "unknown_file"


def test_the_report_is_on_disk_before_it_is_sent(server, participant):
    participant.join(server.invite())
    made = participant.release({"hall-1": "12"})
    assert server.bodies == []
    with sqlite3.connect(participant.file.path) as other:
        assert other.execute("SELECT body, state FROM releases").fetchall() == [(made.body, "queued")]
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    assert participant.file.connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    participant.flush()
    assert server.bodies == [made.body]
    assert Report.parse(made.body).bytes() == made.body


def test_readings_come_from_a_table(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text("\ufefftask,value,note\nhall-1, 12.50 ,x\nhall-2,3,\n", encoding="utf-8")
    assert read_readings(path) == {"hall-1": "12.50", "hall-2": "3"}
    path.write_text("task,value\nhall-1,1\nhall-1,2\n")
    assert refusal(read_readings, path).code == "repeated_task"
    path.write_text("task;value\nhall-1;12,5\n")  # as spreadsheets write where the comma is in numbers
    assert read_readings(path) == {"hall-1": "12,5"}
    path.write_text("task,value\nhall-1,12,5\n")
    with pytest.raises(UnreadableFile, match="line 2 has more cells than columns"):
        read_readings(path)
    path.write_text("name,value\n")
    with pytest.raises(MissingColumn, match="no column 'task'"):
        read_readings(path)
    path.write_text("task,value\n")
    with pytest.raises(NoClaims):
        read_readings(path)
