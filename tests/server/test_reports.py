"""Reports: each counted once, whatever happens on the way."""

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.protocol import Report
from sottovoce.protocol.canonical import canonical_bytes, sha256_of
from sottovoce.server.fast.wire import _read_canonical, read_submission


@pytest.fixture
def campaign(server):
    return server.opened()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_a_retry_differs_from_a_conflict(server, campaign):
    token = server.participants(campaign, 1)[0]
    body = server.body(campaign, [1, 2, 3])
    assert server.report(campaign, token, body).status_code == 201
    assert server.report(campaign, token, body).status_code == 200
    body["readings"].reverse()  # the order of readings has no meaning
    assert server.report(campaign, token, body).status_code == 200
    body["readings"][0]["value"] += 1
    answer = server.report(campaign, token, body)
    assert (answer.status_code, answer.json()["code"]) == (409, "report_conflict")
    assert (server.rows("reports"), server.rows("readings")) == (1, 3)


def test_a_task_is_reported_once(server, campaign):
    token = server.participants(campaign, 1)[0]
    assert server.report(campaign, token, server.body(campaign, {"hall-0": 5})).status_code == 201
    answer = server.report(campaign, token, server.body(campaign, {"hall-1": 5, "hall-0": 5}))
    assert (answer.status_code, answer.json()["code"]) == (409, "task_already_reported")
    assert "hall-0" in answer.json()["detail"]
    assert server.report(campaign, token, server.body(campaign, {"hall-1": 5})).status_code == 201
    assert server.rows("readings") == 2


def test_an_id_belongs_to_one_participant(server, campaign):
    one, other = server.participants(campaign, 2)
    body = server.body(campaign, [1])
    assert server.report(campaign, one, body).status_code == 201
    assert server.report(campaign, other, body).json()["code"] == "report_conflict"


@pytest.mark.slow  # the exact guarantee of this law takes a few seconds
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_under_a_shared_variance_all_readings_come_at_once(server):
    campaign = server.opened(noise="shared:0.5")
    token = server.participants(campaign, 1)[0]
    assert server.report(campaign, token, server.body(campaign, {"hall-0": 5})).status_code == 201
    answer = server.report(campaign, token, server.body(campaign, {"hall-1": 5}))
    assert answer.json()["code"] == "task_already_reported"


def test_no_more_readings_than_promised(server):
    campaign = server.opened(readings=2)
    token = server.participants(campaign, 1)[0]
    assert server.report(campaign, token, server.body(campaign, [1, 2, 3])).json()["code"] == "too_many_readings"
    assert server.report(campaign, token, server.body(campaign, {"hall-0": 1})).status_code == 201
    rest = server.body(campaign, {"hall-1": 1, "hall-2": 1})
    assert server.report(campaign, token, rest).json()["code"] == "too_many_readings"
    assert server.rows("readings") == 1


def test_a_report_for_another_manifest_is_refused(server, campaign):
    token = server.participants(campaign, 1)[0]
    body = server.body(campaign, [1]) | {"manifest_sha256": "0" * 64}
    assert server.report(campaign, token, body).json()["code"] == "stale_manifest"


def test_noise_may_carry_a_value_far_out(server, campaign):
    token = server.participants(campaign, 1)[0]
    assert server.report(campaign, token, server.body(campaign, [2**62, -(2**62), -1])).status_code == 201


def test_a_closed_campaign_accepts_nothing_new_but_confirms_what_it_has(server, campaign):
    early, late = server.participants(campaign, 2)
    body = server.body(campaign, [1, 2, 3])
    server.report(campaign, early, body)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    assert server.report(campaign, early, body).status_code == 200
    answer = server.report(campaign, late, server.body(campaign, [1]))
    assert (answer.status_code, answer.json()["code"]) == (409, "campaign_not_open")


def test_a_full_task_accepts_no_more_but_the_report_counts(server):
    tasks = [
        {"id": "hall-0", "low": 0, "high": 9, "grid": 1, "quota": 1},
        {"id": "hall-1", "low": 0, "high": 9, "grid": 1},
    ]
    campaign = server.opened(tasks=tasks)
    one, two, three = server.participants(campaign, 3)
    assert server.report(campaign, one, server.body(campaign, [5, 5])).json()["over_quota"] == []
    second = server.report(campaign, two, server.body(campaign, [5, 5]))
    assert (second.status_code, second.json()["readings"], second.json()["over_quota"]) == (201, 1, ["hall-0"])
    answer = server.report(campaign, three, server.body(campaign, [5]))
    assert (answer.status_code, answer.json()["code"]) == (409, "quota_reached")
    assert server.rows("readings") == 3
    # Whoever withdraws makes room.
    server.client.delete(f"/api/campaigns/{campaign}/participation", headers=bearer(one))
    assert server.report(campaign, three, server.body(campaign, [5])).status_code == 201


def test_a_batch_gets_a_verdict_for_each_report(server, campaign):
    one, two, withdrawn = server.participants(campaign, 3)
    server.client.delete(f"/api/campaigns/{campaign}/participation", headers=bearer(withdrawn))
    stored, before = server.body(campaign, [1, 2, 3]), server.body(campaign, {"hall-0": 4})
    server.report(campaign, two, before)
    conflict = json.loads(json.dumps(stored))
    conflict["readings"][0]["value"] = 9
    entries = [
        (one, stored, 201, None),
        (two, before, 200, None),
        (one, conflict, 409, "report_conflict"),
        (two, server.body(campaign, {"hall-0": 1}), 409, "task_already_reported"),
        (two, server.body(campaign, {"attic": 1}), 422, "unknown_task"),
        (two, server.body(campaign, {"hall-1": 1}) | {"readings": []}, 422, "bad_report"),
        ("nobody-at-all-0123456789", server.body(campaign, [1]), 401, "unauthorised"),
        (withdrawn, server.body(campaign, [1]), 410, "withdrawn"),
        (two, server.body(campaign, {"hall-1": 1}), 201, None),
    ]
    answer = server.client.post(
        f"/api/campaigns/{campaign}/reports/batch",
        json={"reports": [{"participant_token": token, **body} for token, body, _, _ in entries] + [7]},
        headers=server.operator,
    )
    assert answer.status_code == 200, answer.text
    verdicts = answer.json()["verdicts"]
    assert [(entry["status"], entry["code"]) for entry in verdicts] == [
        *((status, code) for _, _, status, code in entries),
        (422, "bad_report"),
    ]
    assert verdicts[0]["report_id"] == stored["report_id"]
    assert server.rows("readings") == 5


def test_an_unknown_token_is_refused_with_what_a_participant_can_do(server, campaign):
    stranger = bearer("nobody-at-all-0123456789")
    for answer in (
        server.client.post(f"/api/campaigns/{campaign}/reports", json=server.body(campaign, [1]), headers=stranger),
        server.client.delete(f"/api/campaigns/{campaign}/participation", headers=stranger),
    ):
        assert answer.status_code == 401
        assert answer.json()["fix"] == "use the token that you received on joining, or join again with a new invitation"


def test_withdrawal_erases_readings_and_keeps_the_id(server, campaign):
    tokens = server.crowd(campaign, 6)
    body = server.body(campaign, [7, 7, 7])
    leaver = server.participants(campaign, 1)[0]
    server.report(campaign, leaver, body)
    server.recompute()
    assert server.results(campaign)["reports"] == 7
    address = f"/api/campaigns/{campaign}/participation"
    for _ in range(2):
        assert server.client.delete(address, headers=bearer(leaver)).status_code == 204
    assert server.rows("readings") == 18
    with server.state.engine.connect() as connection:
        kept = connection.exec_driver_sql("SELECT report_id, content_hash FROM reports WHERE readings = 0").all()
    assert kept == [(body["report_id"], None)]
    assert server.report(campaign, leaver, body).json()["code"] == "withdrawn"
    assert server.report(campaign, tokens[0], body).json()["code"] == "report_conflict"
    server.crowd(campaign, 5)
    server.recompute()
    results = server.results(campaign)
    assert (results["reports"], results["results"][0]["claims"], results["version"]) == (11, 11, 3)


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(st.dictionaries(WORDS, st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=8), st.booleans())
def test_the_fast_parser_and_the_strict_one_agree(values, canonical):
    readings = [{"task": task, "value": value} for task, value in values.items()]
    document = {"report_id": str(uuid.uuid4()), "manifest_sha256": "a" * 64, "readings": readings}
    exact = canonical_bytes(document | {"readings": sorted(readings, key=lambda entry: entry["task"])})
    content = exact if canonical else json.dumps(document).encode()
    fast, strict = read_submission("c", "hash", content), Report.parse(content)
    assert dict(zip(fast.tasks, fast.values, strict=True)) == values
    assert fast.as_report().bytes() == exact
    assert fast.content_hash == strict.content_hash == sha256_of(exact)
    assert strict.bytes() == exact
    plain = all(len(task) <= 100 and json.dumps(task, ensure_ascii=False) == f'"{task}"' for task in values)
    assert (_read_canonical(exact) is not None) == plain


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace('"value":1}', '"value":1.0}'),
        lambda text: text.replace('"value":1}', '"value":true}'),
        lambda text: text.replace('"value":1}', f'"value":{2**63}}}'),
        lambda text: text.replace('"value":1}', '"value":"1"}'),
        lambda text: text.replace('"value":1}', '"value":1,"value":1}'),
        lambda text: text.replace('"b"', '"a"'),
        lambda text: text.replace('"a"', '"' + "a" * 101 + '"'),
        lambda text: text.replace('"a"', '""'),
        lambda text: text.replace("f" * 64, "F" * 64),
        lambda text: text.replace("00000000-", "0000000g-"),
        lambda text: text[:-1] + ',"report_id":"00000000-0000-4000-8000-000000000000"}',
        lambda text: text + " ",
    ],
    ids=["float", "bool", "large", "text", "twice", "repeated", "long", "empty", "hash", "uuid", "key", "space"],
)
def test_the_fast_path_accepts_only_canonical_and_valid_reports(spoil):
    good = (
        '{"manifest_sha256":"' + "f" * 64 + '","readings":[{"task":"a","value":1},{"task":"b","value":-2}],'
        '"report_id":"00000000-0000-4000-8000-000000000000"}'
    )
    assert _read_canonical(good.encode()) is not None
    spoilt = spoil(good)
    assert spoilt != good
    assert _read_canonical(spoilt.encode()) is None


def test_the_last_millisecond_before_the_deadline_counts_and_the_deadline_itself_does_not(server):
    campaign = server.opened(deadline="2030-03-17T18:00:00Z")
    first, second = server.participants(campaign, 2)
    (late,) = server.invite(campaign)
    noon_to_deadline = 800  # seconds
    server.clock.pass_time(seconds=noon_to_deadline - 0.001)
    assert server.report(campaign, first, server.body(campaign, [1])).status_code == 201
    server.clock.pass_time(seconds=0.001)
    answer = server.report(campaign, second, server.body(campaign, [1]))
    assert (answer.status_code, answer.json()["code"]) == (409, "deadline_passed")
    assert server.enrol(late["token"]).json()["code"] == "deadline_passed"
