"""What a campaign asks and what a device answers: only unambiguous documents are accepted."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from hallways import manifest
from sottovoce.protocol import InvitationLink, Manifest, Problem, Report
from sottovoce.protocol.links import is_encrypted_or_local, server_address
from sottovoce.protocol.tokens import new_token, participant_token, same_hash, token_hash

TASK = {"id": "a", "low": 0, "high": 10, "grid": 1}


def code_of(call, *arguments, **options):
    with pytest.raises(Problem) as caught:
        call(*arguments, **options)
    return caught.value.code


def test_loose_numbers_give_the_same_manifest_as_canonical_text():
    tidy = manifest()
    tasks = [{**task, "high": 100, "grid": 0.1} for task in tidy.model_dump()["tasks"]]
    loose = manifest(noise=" fresh:0.50", distance=1.0, tasks=tasks)
    assert loose.bytes() == tidy.bytes()
    assert Manifest.parse(tidy.bytes()) == tidy
    assert tidy.sha256 == loose.sha256 != manifest(distance=2).sha256


@pytest.mark.parametrize("change", ["space", "order", "escape", "field left out"])
def test_another_spelling_of_the_manifest_is_refused(change):
    content = json.loads(manifest().bytes())
    if change == "space":
        data = json.dumps(content, sort_keys=True).encode()
    elif change == "order":
        data = json.dumps(dict(reversed(content.items())), separators=(",", ":")).encode()
    elif change == "escape":
        data = manifest().bytes().replace(b"How", b"H\\u006fw")
    else:
        del content["purpose"]
        data = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    assert code_of(Manifest.parse, data) == "bad_manifest"


WRONG = {
    "no task": {"tasks": []},
    "task twice": {"tasks": [TASK, TASK]},
    "range upside down": {"tasks": [{**TASK, "low": 10, "high": 0}]},
    "grid of zero": {"tasks": [{**TASK, "grid": 0}]},
    "grid wider than the range": {"tasks": [{**TASK, "grid": 11}]},
    "grid too fine": {"tasks": [{**TASK, "high": 1e9, "grid": 1e-9}]},
    "task without grid": {"tasks": [{"id": "a", "low": 0, "high": 1}]},
    "unknown field": {"colour": "blue"},
    "unknown law": {"noise": "pink:1"},
    "endless noise": {"noise": "gaussian:1e200"},
    "noise wider than 63 bits": {"noise": "fresh:1e-40"},
    "distance of zero": {"distance": 0},
    "distance not a number": {"distance": float("nan")},
    "unknown unit": {"unit": "household"},
    "no reading": {"readings": 0},
    "reading a truth": {"readings": True},
    "deadline without a zone": {"deadline": "2030-01-01T00:00:00"},
    "deadline no date": {"deadline": "soon"},
    "deadline in the year 1": {"deadline": "0001-01-01T00:00:00+14:00"},
    "deadline before years had four digits": {"deadline": "0999-12-31T23:59:59Z"},
    "deadline beyond the year 9999": {"deadline": "9999-12-31T23:59:59-14:00"},
    "deadline in a leap second": {"deadline": "2030-12-31T23:59:60Z"},
    "deadline with an endless zone": {"deadline": "2030-12-31T23:59:00+99:99"},
    "control character": {"title": "a\x00b"},
    "two lines": {"title": "a\nb"},
    "a title without ink": {"title": "\u3164\u2800"},
    "a unit without ink": {"tasks": [{**TASK, "unit": "\ufe0f"}]},
    "long title": {"title": "x" * 201},
    "campaign a path": {"campaign": "../x"},
    "several grids under one variance": {"noise": "shared:0.5", "tasks": [TASK, {**TASK, "id": "b", "grid": 2}]},
    "several grids judged together": {"unit": "participant", "tasks": [TASK, {**TASK, "id": "b", "grid": 2}]},
}


@pytest.mark.parametrize("name", WRONG)
def test_an_invalid_manifest_is_refused(name):
    assert code_of(manifest, **WRONG[name]) == "bad_manifest"


def test_a_deadline_that_is_not_a_date_is_refused_with_an_example():
    with pytest.raises(Problem, match="deadline 'soon': it must be a date and time with its zone, such as 2030-01-31T"):
        manifest(deadline="soon")


@pytest.mark.slow
def test_a_manifest_that_devices_would_refuse_is_not_made():
    """Some 900 bytes per task, in characters of four bytes: over 8 MiB with 10,000 of them, below it with 9,000."""
    tasks = [{**TASK, "id": f"{number}", "title": "\U0001f333" * 200} for number in range(10_000)]
    with pytest.raises(
        Problem, match=r"manifest of 8,[\d,]+ bytes: devices accept at most 8,388,608; shorten its texts"
    ):
        manifest(tasks=tasks)
    most = manifest(tasks=tasks[:9_000])
    assert type(most).parse(most.bytes()) == most


def test_tasks_may_have_different_grids_where_each_reading_is_protected():
    two = [TASK, {**TASK, "id": "b", "grid": 2}]
    for noise in ("fresh:0.5", "gaussian:3"):
        assert {part.grid for part in manifest(tasks=two, noise=noise).parts} == {"1", "2"}


@pytest.mark.parametrize("deadline", ["9999-12-31T23:59:59Z", "1000-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00"])
def test_a_deadline_far_away_can_be_read_again(deadline):
    asked = manifest(deadline=deadline)
    assert datetime.fromisoformat(type(asked).parse(asked.bytes()).deadline).tzinfo is UTC


def test_a_deadline_is_written_in_utc():
    abroad = datetime(2030, 1, 31, 14, 0, tzinfo=timezone(timedelta(hours=2)))
    assert manifest(deadline=abroad).deadline == "2030-01-31T12:00:00Z"
    assert manifest(deadline="2030-01-31T14:00:00+02:00").deadline == "2030-01-31T12:00:00Z"


ID = "0b8f3c1e-5d52-4b0e-9a53-3a4f5e6d7c8b"


def report(**changes):
    readings = [{"task": "hall-1", "value": 124}, {"task": "hall-2", "value": -(2**62)}]
    return {"report_id": ID, "manifest_sha256": manifest().sha256, "readings": readings, **changes}


def encoded(content):
    return json.dumps(content).encode()


def test_order_and_spaces_do_not_make_another_report_but_any_value_does():
    first = Report.parse(encoded(report()))
    again = Report.parse(encoded(report(readings=report()["readings"][::-1])) + b"\n ")
    assert first.content_hash == again.content_hash
    assert Report.parse(first.bytes()).bytes() == first.bytes()
    others = [report(readings=[{"task": "hall-1", "value": 125}]), report(report_id=ID.replace("0b", "1b"))]
    assert first.content_hash not in {Report.parse(encoded(other)).content_hash for other in others}
    first.check(manifest())


READING = {"task": "hall-1", "value": 1}
BAD_REPORTS = {
    "no reading": ({"readings": []}, "bad_report"),
    "value a fraction": ({"readings": [{"task": "hall-1", "value": 1.0}]}, "float_in_report"),
    "value not a number": ({"readings": [{"task": "hall-1", "value": float("nan")}]}, "bad_json"),
    "value as text": ({"readings": [{"task": "hall-1", "value": "1"}]}, "bad_report"),
    "value a truth": ({"readings": [{"task": "hall-1", "value": True}]}, "bad_report"),
    "value of 400 digits": ({"readings": [{"task": "hall-1", "value": 10**399}]}, "number_too_large"),
    "value of 64 bits": ({"readings": [{"task": "hall-1", "value": 2**63}]}, "number_too_large"),
    "task twice": ({"readings": [READING, READING]}, "repeated_task"),
    "id no UUID": ({"report_id": "7"}, "bad_report"),
    "id in capitals": ({"report_id": ID.upper()}, "bad_report"),
    "hash too short": ({"manifest_sha256": "ab"}, "bad_report"),
    "hash with a line end": ({"manifest_sha256": "a" * 64 + "\n"}, "bad_report"),
    "unknown field": ({"name": "Ada"}, "bad_report"),
    "too many readings": ({"readings": [{"task": str(n), "value": n} for n in range(10_001)]}, "bad_report"),
}


@pytest.mark.parametrize("name", BAD_REPORTS)
def test_an_invalid_report_is_refused(name):
    change, code = BAD_REPORTS[name]
    assert code_of(Report.parse, encoded(report(**change))) == code


@pytest.mark.parametrize("document", [b"[]", b"3", b"null", b'"x"'])
def test_a_report_is_an_object(document):
    assert code_of(Report.parse, document) == "bad_report"


def test_a_report_for_something_else_is_refused():
    asked = manifest(readings=1)
    fitting = report(manifest_sha256=asked.sha256)
    assert code_of(Report.of(report(manifest_sha256="0" * 64)).check, asked) == "stale_manifest"
    assert code_of(Report.of(fitting).check, asked) == "too_many_readings"
    elsewhere = {**fitting, "readings": [{"task": "hall-9", "value": 1}]}
    assert code_of(Report.of(elsewhere).check, asked) == "unknown_task"


def test_a_link_survives_a_round_trip():
    link = InvitationLink("https://sense.example:8443/campaigns", new_token(), "ab" * 32)
    assert InvitationLink.parse(f" {link}\n") == link
    assert InvitationLink.parse(str(link).partition("#")[0]).manifest_sha256 is None


@pytest.mark.parametrize(
    "text",
    ["", "hello", "ftp://a/j/0123456789abcdef", "https:///j/0123456789abcdef", "https://a/j/", "https://a/j/short",
     "https://a/j/0123456789abcdef/more", "https://a/j/0123456789abcdef?x=1", "https://a/j/0123456789abcdef#sha256=12",
     "https://a/j/0123456789abcdef#md5=" + "a" * 64, "https://a:port/j/0123456789abcdef", "https://[::1/j/0123456789abcdef",
     "https://you:me@a/j/0123456789abcdef", "https://a/j/0123456789abcdef#sha256=" + "A" * 64],
)  # fmt: skip
def test_invalid_links_are_refused(text):
    assert code_of(InvitationLink.parse, text) == "bad_link"


def test_servers_have_one_spelling():
    assert server_address("http://[::1]:80/x/") == "http://[::1]/x"
    assert is_encrypted_or_local("http://127.0.0.1:8000")
    assert is_encrypted_or_local("https://sense.example")
    assert not is_encrypted_or_local("http://sense.example")
    assert not is_encrypted_or_local("http://localhost.sense.example")


def test_tokens_have_256_bits_and_follow_from_what_the_client_sent():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {43}
    one = participant_token("invitation", "key")
    assert one == participant_token("invitation", "key")
    assert len({one, participant_token("invitation", "yek"), participant_token("invitatio", "nkey")}) == 3
    assert len(one) == 43
    assert same_hash(token_hash(one), token_hash(str(one)))
    assert not same_hash(token_hash(one), token_hash("other"))
