"""Campaigns of comparisons: public cuts that follow the answers in steps, and truths over the whole range."""

import json
import math
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import select, update

from console_client import Console
from sottovoce.comparisons import ByComparison, Comparisons
from sottovoce.privacy.comparing import check_cuts
from sottovoce.protocol import Manifest
from sottovoce.server.compared import BoardCache
from sottovoce.server.storage.tables import campaigns, offers

TRUTH, SPREAD = 9.0, 0.5
HALL = {"id": "hall", "title": "How long is the hallway?", "unit": "m", "low": 0, "high": 30, "grid": 0.1}
STAIRS = {**HALL, "id": "stairs", "title": "How long are the stairs?"}
BITS = {"tasks": [HALL, STAIRS], "noise": "response:2", "levels": 2, "readings": 2, "distance": None}


def comparing(server, **changes):
    return server.opened(**{"title": "Lengths", **BITS, **changes})


def cuts_of(server, campaign):
    answer = server.client.get(f"/api/campaigns/{campaign}/cuts")
    assert answer.status_code == 200, answer.text
    return answer.json()


def body(server, campaign, answers):
    """A report of (cuts, level) by task."""
    report = server.body(campaign, {task: level for task, (_, level) in answers.items()})
    for reading in report["readings"]:
        reading["cuts"] = list(answers[reading["task"]][0])
    return report


def people_answer(server, campaign, people, rng, tasks=("hall", "stairs"), epsilon=2.0):
    """New participants compare with what is published now; their answers are flipped by the law."""
    flip, tokens = 1 / (1 + math.exp(epsilon)), server.participants(campaign, people)
    published = cuts_of(server, campaign)["tasks"]
    for token in tokens:
        answers = {}
        for task in tasks:
            offered = published[task]
            cuts = offered[rng.integers(len(offered))]
            level = sum(cut * 0.05 < round(rng.normal(TRUTH, SPREAD), 1) for cut in cuts)
            if rng.random() < flip and len(cuts) == 1:
                level = 1 - level
            answers[task] = (cuts, level)
        reply = server.report(campaign, token, body(server, campaign, answers))
        assert reply.status_code == 201, reply.text
    return tokens


@pytest.mark.slow
def test_the_answer_closes_in_as_people_answer(server):
    campaign, rng = comparing(server), np.random.default_rng(1)
    first = cuts_of(server, campaign)["tasks"]["hall"]
    assert sorted(cut * 0.05 for (cut,) in first) == pytest.approx([7.5, 11.25, 15, 18.75, 22.5], abs=0.06)
    widths = []
    for _ in range(8):
        people_answer(server, campaign, 10, rng)
        server.recompute()
        row = server.results(campaign)["results"][0]
        widths.append(row["high"] - row["low"])
    assert row["claims"] == 80
    # 80 answers at ε = 2 over a range of 60 spreads: the search takes about 15, then .25 spreads are expected.
    assert abs(row["truth"] - TRUTH) < 4 * 0.25 * SPREAD
    assert row["low"] < TRUTH + 0.2
    assert row["high"] > TRUTH - 0.2
    assert widths[-1] < widths[0] / 5
    last = cuts_of(server, campaign)["tasks"]["hall"]
    assert all(abs(cut * 0.05 - TRUTH) < 1.5 for (cut,) in last)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_devices_accept_all_that_is_published(server, levels):
    campaign, rng = comparing(server, levels=levels), np.random.default_rng(2)
    for _ in range(3):
        for offered in cuts_of(server, campaign)["tasks"].values():
            for cuts in offered:
                assert check_cuts(cuts, levels) == tuple(cuts)
        people_answer(server, campaign, 6, rng)
        server.recompute()


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_cuts_change_in_steps_and_are_the_same_for_everybody(server):
    campaign, rng = comparing(server), np.random.default_rng(3)
    before = cuts_of(server, campaign)
    people_answer(server, campaign, 4, rng)  # least_claims is 5
    server.recompute()
    assert cuts_of(server, campaign) == before
    people_answer(server, campaign, 1, rng)
    server.recompute()
    after = server.client.get(f"/api/campaigns/{campaign}/cuts", headers={"Authorization": "Bearer somebody"})
    assert after.json() == cuts_of(server, campaign) != before
    tag = after.headers["etag"]
    assert server.client.get(f"/api/campaigns/{campaign}/cuts", headers={"If-None-Match": tag}).status_code == 304
    people_answer(server, campaign, 5, rng, tasks=("hall",))
    server.recompute()
    newest = cuts_of(server, campaign)["tasks"]
    assert newest["stairs"] == after.json()["tasks"]["stairs"]  # nobody answered this one
    assert newest["hall"] != after.json()["tasks"]["hall"]


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_old_cuts_stay_valid_and_unknown_ones_are_refused(server):
    campaign, rng = comparing(server), np.random.default_rng(4)
    old = cuts_of(server, campaign)["tasks"]["hall"][0]
    people_answer(server, campaign, 12, rng)
    server.recompute()
    assert old not in cuts_of(server, campaign)["tasks"]["hall"]
    late, liar = server.participants(campaign, 2)
    assert server.report(campaign, late, body(server, campaign, {"hall": (old, 1)})).status_code == 201
    for cuts, code in (
        ([old[0] + 2000], "unknown_cuts"), ([4], "bad_cuts"), ([1, 3], "bad_cuts"), ([], "bad_report"),
    ):  # fmt: skip
        answer = server.report(campaign, liar, body(server, campaign, {"hall": (cuts, 1)}))
        assert (answer.status_code, answer.json()["code"]) == (422, code)
    without = server.report(campaign, liar, server.body(campaign, {"hall": 1}))
    assert (without.status_code, without.json()["code"]) == (422, "bad_cuts")
    too_high = server.report(campaign, liar, body(server, campaign, {"hall": (old, 2)}))
    assert too_high.status_code == 422
    refused = 'sottovoce_reports_total{verdict="unknown_cuts"} 1.0'
    assert refused in server.client.get("/metrics").text


def test_one_invitation_answers_each_task_once_however_often_it_is_sent(server):
    """A flood moves nothing: one answer per task is stored, in single reports, in parallel and in a batch."""
    campaign = comparing(server)
    offered = cuts_of(server, campaign)["tasks"]["hall"]
    invitation = server.invite(campaign)[0]["token"]
    token = server.enrol(invitation).json()["participant_token"]
    again = [server.enrol(invitation, key) for key in (None, "another-device-0123456789abcdef")]
    assert {answer.json()["code"] for answer in again} == {"invitation_spent"}

    twice = body(server, campaign, {"hall": (offered[0], 1)})
    twice["readings"] *= 2
    assert server.report(campaign, token, twice).status_code == 422

    flood = [body(server, campaign, {"hall": (offered[number % len(offered)], 1)}) for number in range(60)]
    with ThreadPoolExecutor(8) as senders:
        sent = list(senders.map(lambda report: server.report(campaign, token, report), flood[:30]))
    batch = server.client.post(
        f"/api/campaigns/{campaign}/reports/batch",
        json={"reports": [{"participant_token": token, **report} for report in flood[30:]]},
        headers=server.operator,
    )
    verdicts = [(answer.status_code, answer.json().get("code")) for answer in sent]
    verdicts += [(entry["status"], entry["code"]) for entry in batch.json()["verdicts"]]
    assert sorted(verdicts, key=str) == [(201, None)] + 59 * [(409, "task_already_reported")]
    assert (server.rows("participants"), server.rows("reports"), server.rows("readings")) == (1, 1, 1)
    assert server.report(campaign, token, body(server, campaign, {"stairs": (offered[0], 1)})).status_code == 201


@pytest.mark.slow
def test_what_is_in_memory_only_saves_time(server):
    """Once as always, once with nothing in memory before every step: all that is published is the same, to the bit."""

    def play(restarts):
        rng, published, campaign = np.random.default_rng(5), [], comparing(server)
        for _ in range(4):
            people_answer(server, campaign, 7, rng)
            if restarts:
                server.state.jobs._boards = BoardCache()  # as after a restart
            server.recompute()
            published.append(cuts_of(server, campaign)["tasks"])
        return published, server.results(campaign)["results"]

    assert play(restarts=True) == play(restarts=False)


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_withdrawals_recompute_and_erasure_freezes(start_local, clock):
    server = start_local(retention_days=1)
    campaign, rng = comparing(server), np.random.default_rng(6)
    tokens = people_answer(server, campaign, 20, rng)
    server.recompute()
    before = server.results(campaign)["results"][0]
    for token in tokens[:8]:
        gone = server.client.delete(
            f"/api/campaigns/{campaign}/participation", headers={"Authorization": f"Bearer {token}"}
        )
        assert gone.status_code in (200, 204), gone.text
    server.recompute()
    after = server.results(campaign)["results"][0]
    assert (before["claims"], after["claims"]) == (20, 12)
    assert after["truth"] != before["truth"]
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    server.recompute()
    last = server.results(campaign)["results"]
    clock.pass_time(days=2)
    server.tick()
    server.tick()
    assert server.rows("readings") == server.rows("details") == 0
    assert server.results(campaign)["results"] == last


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_a_full_task_is_left_out(server):
    campaign, rng = comparing(server, tasks=[{**HALL, "quota": 3}, STAIRS]), np.random.default_rng(7)
    people_answer(server, campaign, 3, rng)
    assert cuts_of(server, campaign)["tasks"].keys() == {"stairs"}


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_pages_show_how_the_answers_closed_in(server):
    campaign, rng = comparing(server), np.random.default_rng(10)
    for _ in range(3):
        people_answer(server, campaign, 10, rng)
        server.recompute()
    page = server.client.get(f"/c/{campaign}").text
    strips = re.findall(r'<svg class="closing".*?</svg>', page, re.DOTALL)
    assert len(strips) == 2  # one for each task
    row = server.results(campaign)["results"][0]
    for strip in strips:
        bands = [float(height) for height in re.findall(r'class="band".*?height="([\d.]+)"', strip)]
        assert len(bands) == 3
        assert bands[0] > bands[-1]
    expected = 84 * (row["high"] - row["low"]) / 30
    assert float(re.findall(r'class="band".*?height="([\d.]+)"', strips[0])[-1]) == pytest.approx(expected, abs=0.1)
    assert "after 10 answers" in strips[0]
    assert "Comparisons: the value that, judging by a task’s answers, is as likely" in page
    assert "Devices do not send readings" in page
    assert "noise was added" not in page
    assert "Wie sich die Antworten dem Ergebnis näherten" in server.client.get(f"/c/{campaign}?lang=de").text
    first = server.client.get(f"/c/{campaign}/versions/2").text
    assert first.count('class="band"') == 2
    console = Console(server)
    for path in ("", "/findings?version=1", "/history/2"):
        assert 'class="closing"' in console.get(f"/campaigns/{campaign}{path}").text
    noisy = server.opened()
    assert "closing" not in server.client.get(f"/c/{noisy}").text


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_pages_name_no_method_where_everything_is_compared(server):
    campaign, console = comparing(server), Console(server)
    people_answer(server, campaign, 5, np.random.default_rng(11))
    server.recompute()
    pages = [console.get(f"/campaigns/{campaign}{part}").text for part in ("", "/history")]
    pages.append(server.client.get(f"/c/{campaign}").text)
    for page in pages:
        assert "noise-aware" not in page
    assert "<td>comparisons</td>" in pages[1]
    noisy = server.opened()
    for part in ("", "/history"):
        assert "noise-aware" in console.get(f"/campaigns/{noisy}{part}").text


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_a_search_in_another_language_also_shows_how_the_answers_closed_in(server):
    hall = {**HALL, "title": {"en": "Hallway", "de": "Flur"}}
    stairs = {**STAIRS, "title": {"en": "Stairs", "de": "Treppe"}}
    campaign, rng = comparing(server, language="en", tasks=[hall, stairs]), np.random.default_rng(11)
    people_answer(server, campaign, 10, rng)
    server.recompute()
    for query in ("search=hallway", "lang=de&search=flur"):
        assert server.client.get(f"/c/{campaign}?{query}").text.count('<svg class="closing"') == 1


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl"])
def test_an_operator_exports_the_comparisons_and_finds_the_same_truths(server, tmp_path, format):
    """The file as `sottovoce discover` reads it, with the range of the tasks: the published figures, up to rounding."""
    campaign, rng = comparing(server), np.random.default_rng(9)
    people_answer(server, campaign, 12, rng)
    server.recompute()
    people_answer(server, campaign, 13, rng)
    server.recompute()
    path = tmp_path / f"answers.{format}"
    answer = server.client.get(f"/api/campaigns/{campaign}/claims.{format}", headers=server.operator)
    assert answer.status_code == 200, answer.text
    path.write_bytes(answer.content)
    table = Comparisons.read(path)
    assert (len(table), table.levels_each, table.noise) == (50, 2, "response:2.0")
    assert len(table.user_labels) == 25
    fit = ByComparison(range=(0.0, 30.0)).fit(table)
    found = dict(zip(fit.objects_.tolist(), fit.truths_.tolist(), strict=True))
    for row in server.results(campaign)["results"]:
        assert found[row["task"]] == pytest.approx(row["truth"], abs=0.0501)  # shown on the grid
    if format == "csv":
        assert answer.text.splitlines()[0].replace('"', "") == "user,object,cuts,level,noise_law"
    refused = server.client.get(f"/api/campaigns/{campaign}/claims.{format}")
    assert refused.status_code == 401


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_a_comparison_reports_one_level_so_its_law_has_no_size(server):
    draft = {
        "title": "t", "noise": "response:1:2", "levels": 4, "tasks": [{"id": "a", "low": 0, "high": 9, "grid": 1}],
    }  # fmt: skip
    refused = server.client.post("/api/campaigns", json=draft, headers=server.operator)
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_manifest")
    assert refused.json()["detail"] == "noise response:1.0:2: a comparison reports one level, so its law has no SIZE"
    assert server.create(**draft | {"noise": "response:1", "distance": None})


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_a_draft_with_such_a_law_that_an_older_version_stored_is_not_opened(server):
    def patch(**changes):
        return server.client.patch(f"/api/campaigns/{campaign}", json=changes, headers=server.operator)

    campaign = server.create(**{"title": "Lengths", **BITS, "levels": 4})
    this = campaigns.c.id == campaign
    with server.state.engine.begin() as connection:
        stored = Manifest.parse(connection.execute(select(campaigns.c.manifest).where(this)).scalar_one())
        older = Manifest.of(stored.content() | {"noise": "response:2:2"})
        connection.execute(update(campaigns).where(this).values(manifest=older.bytes()))
    opened = server.client.post(f"/api/campaigns/{campaign}/open", headers=server.operator)
    for refused in (opened, patch(title="Widths")):
        assert (refused.status_code, refused.json()["code"]) == (422, "bad_manifest")
        assert refused.json()["fix"] == "leave SIZE out, as in response:1"
    assert server.status(campaign)["state"] == "draft"
    console = Console(server)
    assert console.get(f"/campaigns/{campaign}/privacy").status_code == 200
    asked = {"epsilon": "2", "distance": "1", "unit": "reading", "values": "any"}
    saved = console.post(f"/campaigns/{campaign}/privacy", **asked)
    assert saved.status_code == 303, saved.text
    assert patch(noise="response:1", title="Widths").status_code == 200
    server.open(campaign)


def test_numbers_with_noise_have_no_cuts(server):
    campaign = server.opened()
    assert cuts_of(server, campaign) == {"as_of": None, "tasks": {}}
    assert server.client.get("/api/campaigns/nothing/cuts").status_code == 404
    draft = server.create()
    assert server.client.get(f"/api/campaigns/{draft}/cuts").status_code == 404


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_nothing_of_a_single_answer_is_published(server):
    """What is stored as offers is only what was published, step by step."""
    campaign, rng = comparing(server), np.random.default_rng(8)
    people_answer(server, campaign, 9, rng)
    with server.state.engine.connect() as connection:
        stored = connection.execute(select(offers.c.cuts).where(offers.c.is_current)).scalars().all()
    published = [cuts for offered in cuts_of(server, campaign)["tasks"].values() for cuts in offered]
    assert sorted(map(json.loads, stored)) == sorted(published)
