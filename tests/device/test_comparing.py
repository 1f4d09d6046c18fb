"""Devices that compare: public cuts are fetched, checked and kept; each task is answered once, ever."""

import json

import pytest

from campaign_server import campaign_server
from sottovoce.device import Client
from sottovoce.device.cuts import alternatives_of, fetch_cuts
from sottovoce.protocol import Manifest, Problem, Report
from sottovoce.protocol.manifest import MOST_TASKS

HALL = {"id": "hall", "kind": "number", "title": "How long?", "unit": "m", "low": 0, "high": 30, "grid": "0.1"}
TASKS = [HALL, {**HALL, "id": "stairs"}]


def manifest(**changes):
    return Manifest.of({
        "format": "sottovoce-manifest/2", "campaign": "lengths", "title": "Lengths", "asked_by": "Somebody",
        "tasks": TASKS, "noise": "response:1", "levels": 2, "readings": 2, **changes,
    })  # fmt: skip


def listed(**tasks):
    return json.dumps({"as_of": "2030-01-01T00:00:00Z", "tasks": tasks}).encode()


@pytest.fixture
def server():
    with campaign_server(manifest()) as running:
        running.cuts = listed(hall=[[249], [187]], stairs=[[61]])
        yield running


@pytest.fixture
def joined(server, participant):
    participant.join(server.invite("lengths"))
    return participant


def fetched(participant):
    fetch_cuts(participant.file, "lengths", Client, participant.retries)


def sent(server):
    return [reading for body in server.bodies for reading in Report.parse(body).readings]


def test_a_reading_becomes_a_level_among_published_cuts(server, joined):
    fetched(joined)
    assert joined.submit({"hall": "9.04", "stairs": "3"}, campaign="lengths") == ["delivered"]
    by_task = {reading.task: reading for reading in sent(server)}
    assert by_task["hall"].cuts in ((249,), (187,))
    assert by_task["stairs"].cuts == (61,)
    assert {reading.value for reading in by_task.values()} <= {0, 1}
    assert b"9.04" not in server.bodies[0]


def test_a_task_is_answered_once_whatever_the_cuts_are_later(server, joined):
    fetched(joined)
    server.trouble("reports", 503, times=3)
    joined.release({"hall": "9"}, campaign="lengths")
    server.cuts = listed(hall=[[11]], stairs=[[13]])
    fetched(joined)
    with pytest.raises(Problem, match="released on"):
        joined.release({"hall": "9"}, campaign="lengths")
    assert [one.state for one in joined.flush()] == ["delivered"]
    assert len(set(server.bodies)) == 1  # the same bytes at every attempt
    assert sent(server)[0].cuts in ((249,), (187,))


def test_without_a_network_the_last_list_is_used_and_without_any_list_the_device_waits(server, joined):
    with pytest.raises(Problem) as problem:
        joined.release({"hall": "9"}, campaign="lengths")
    assert problem.value.code == "no_cuts"
    assert joined.file.releases("lengths") == []  # nothing was drawn or charged
    fetched(joined)
    server.trouble("cuts", 503, times=50, method="GET")
    fetched(joined)
    joined.release({"hall": "9"}, campaign="lengths")
    assert len(joined.file.releases("lengths")) == 1


def test_a_full_task_is_not_answered(server, joined):
    server.cuts = listed(stairs=[[61]])
    fetched(joined)
    joined.submit({"hall": "9", "stairs": "3"}, campaign="lengths")
    assert [reading.task for reading in sent(server)] == ["stairs"]
    with pytest.raises(Problem) as problem:
        joined.release({"hall": "9"}, campaign="lengths")
    assert problem.value.code == "quota_reached"


BAD = {
    "even": [[248]], "not whole": [["249"]], "too many": [[1, 3]], "none": [[]], "no alternative": [], "no list": 249,
    "not lists": [249], "true": [[True]], "beyond": [[2**53 + 1]], "nothing": [None],
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_cuts_are_refused_and_the_last_list_stays(server, joined, name):
    fetched(joined)
    server.cuts = listed(hall=BAD[name])
    with pytest.raises(Problem) as problem:
        fetched(joined)
    assert problem.value.code in ("bad_cuts", "bad_answer")
    joined.release({"hall": "9"}, campaign="lengths")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"tasks":[]}', b'{"tasks":{"other":[[1]]}}', b"\xff"])
def test_invalid_lists_are_refused(content):
    with pytest.raises(Problem):
        alternatives_of(manifest(), content)


@pytest.mark.slow
def test_a_list_may_have_as_many_tasks_as_a_campaign():
    halls = [{**HALL, "id": f"hall-{number}"} for number in range(MOST_TASKS)]
    content = json.dumps({"tasks": {hall["id"]: [[249]] for hall in halls}}).encode()
    assert len(alternatives_of(manifest(tasks=halls), content)) == MOST_TASKS


def test_a_campaign_of_comparisons_with_sets_is_refused_before_consent_and_before_a_release(participant, monkeypatch):
    sets = manifest(levels=4, noise="response:2:2")
    with campaign_server(sets) as server:
        link, asked = server.invite("lengths"), []
        with pytest.raises(Problem, match="a comparison reports one level") as problem:
            participant.join(link, agree=lambda *terms: asked.append(terms))
        assert (problem.value.code, asked) == ("bad_manifest", [])
        # An older version of the device has joined.
        monkeypatch.setattr(Manifest, "check_comparisons", lambda manifest: None)
        participant.join(link)
        server.cuts = listed(hall=[[1, 3, 9]], stairs=[[1, 3, 9]])
        fetched(participant)
        monkeypatch.undo()
        with pytest.raises(Problem, match="a comparison reports one level"):
            participant.release({"hall": "9"}, campaign="lengths")
        assert participant.file.releases("lengths") == []


def test_four_levels_need_three_rising_cuts():
    four = manifest(levels=4, noise="response:4")
    assert alternatives_of(four, listed(hall=[[1, 3, 9]])) == {"hall": [(1, 3, 9)]}
    for cuts in ([1, 3], [3, 1, 9], [1, 1, 3]):
        with pytest.raises(Problem):
            alternatives_of(four, listed(hall=[cuts]))
