"""Tasks whose truth the operator knows: nobody can tell them from the others, and results after closing use them."""

import json
import re

import numpy as np
import pytest

import sottovoce as sv
from console_client import Console
from questions import MIXED, answered, mostly
from sottovoce.discovery import NoiseAware
from sottovoce.server.storage.tables import metadata

SQLITE = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
HALLS = 12
KNOWN = {f"hall-{n}": str(20 + n) for n in range(8)}  # and everybody reads 3 m more


def biased_readings(people=15):
    """In grid steps: the true length of every hall, 3 m that everybody adds, and a decimetre or two."""
    rng = np.random.default_rng(8)
    return [{f"hall-{n}": int(10 * (20 + n) + 30 + rng.integers(-2, 3)) for n in range(HALLS)} for _ in range(people)]


def measured(server, **changes):
    campaign = server.opened(halls=HALLS, noise="gaussian:0.2", **changes)
    readings = biased_readings()
    server.report_all(campaign, server.participants(campaign, len(readings)), readings)
    server.recompute()
    return campaign


def set_known(server, campaign, known):
    return server.client.patch(f"/api/campaigns/{campaign}", json={"known": known}, headers=server.operator)


@pytest.mark.slow
@SQLITE
def test_hundreds_of_truths_may_be_known(server):
    campaign = server.opened(halls=300)
    known = {f"hall-{number}": "20" for number in range(300)}
    assert set_known(server, campaign, known).json()["known"] == known


def close(server, campaign):
    assert server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator).status_code == 200
    server.clock.pass_time(seconds=1)
    server.recompute()


def public_documents(server, campaign):
    """Everything that anybody can fetch about a campaign."""
    paths = [
        *(f"/api/campaigns/{campaign}/{name}" for name in ("manifest", "cuts", "results", "results/versions")),
        *(f"/api/campaigns/{campaign}/results.{suffix}" for suffix in ("csv", "parquet", "jsonl")),
        f"/c/{campaign}",
    ]
    answers = {path: server.client.get(path) for path in paths}
    return {path: (answer.status_code, answer.headers.get("etag"), answer.content) for path, answer in answers.items()}


@pytest.mark.slow
def test_no_public_document_differs_until_closing(server):
    campaign = measured(server)
    before = public_documents(server, campaign)
    assert before[f"/api/campaigns/{campaign}/results"][0] == 200
    assert set_known(server, campaign, KNOWN).json()["known"] == KNOWN
    server.clock.pass_time(seconds=60)
    server.tick()
    assert public_documents(server, campaign) == before
    close(server, campaign)
    after = server.results(campaign)
    assert after["known"] == KNOWN
    assert [row["truth"] for row in after["results"][:8]] == [20.0 + n for n in range(8)]


@pytest.mark.slow
@SQLITE
def test_results_while_open_are_those_of_a_campaign_without_known_truths(server):
    with_gold, without = measured(server, known=KNOWN), measured(server)
    shown = [
        json.loads(json.dumps(server.results(campaign)).replace(campaign, "")) | {"as_of": None}
        for campaign in (with_gold, without)
    ]
    assert shown[0] == shown[1]
    manifest = server.client.get(f"/api/campaigns/{with_gold}/manifest").json()
    assert set(manifest) == set(server.client.get(f"/api/campaigns/{without}/manifest").json())
    assert "known" not in json.dumps(manifest)


def test_after_closing_the_error_that_everybody_shares_is_corrected(server, tmp_path):
    campaign = measured(server, known=KNOWN)
    others = range(8, HALLS)
    before = [server.results(campaign)["results"][n]["truth"] for n in others]
    assert before == pytest.approx([23 + n for n in others], abs=0.2)
    close(server, campaign)
    assert server.status(campaign)["final"]
    after = [server.results(campaign)["results"][n] for n in others]
    assert [row["truth"] for row in after] == pytest.approx([20 + n for n in others], abs=0.3)
    assert all(row["low"] <= 20 + n <= row["high"] for n, row in zip(others, after, strict=True))
    exported = server.client.get(f"/api/campaigns/{campaign}/claims.parquet", headers=server.operator)
    (tmp_path / "claims.parquet").write_bytes(exported.content)
    fit = NoiseAware(noise="gaussian:0.2", target="value")
    fit.fit(sv.Claims.read(tmp_path / "claims.parquet"), known={name: float(truth) for name, truth in KNOWN.items()})
    expected = dict(zip(fit.objects_.tolist(), fit.truths_.tolist(), strict=True))
    # Rounded to a decimal, since their intervals are wide.
    assert {row["task"]: row["truth"] for row in after} == pytest.approx(
        {f"hall-{n}": expected[f"hall-{n}"] for n in others},
        abs=0.051,  # rounded to a decimal, as their intervals are wide
    )
    page = server.client.get(f"/c/{campaign}").text
    assert "8 tasks whose truth the operator knew" in page


def test_known_truths_count_when_the_deadline_closes_the_campaign_too(server):
    campaign = measured(server, known=KNOWN, deadline="2030-04-01T00:00:00Z")
    server.clock.pass_time(days=30)
    server.tick()
    server.tick()
    assert server.status(campaign)["final"]
    assert server.results(campaign)["known"] == KNOWN


@SQLITE
def test_known_truths_can_be_corrected_after_closing(server):
    campaign = measured(server, known={"hall-0": 20})
    close(server, campaign)
    assert server.results(campaign)["results"][0]["truth"] == 20
    set_known(server, campaign, {"hall-0": "20.5"})
    server.recompute()
    assert server.results(campaign)["results"][0]["truth"] == 20.5
    set_known(server, campaign, None)
    server.recompute()
    results = server.results(campaign)
    assert (results["known"], results["results"][0]["truth"]) == ({}, pytest.approx(23, abs=0.2))


@SQLITE
def test_methods_that_cannot_use_them_do_without(server):
    campaign = measured(server, known=KNOWN, method="median")
    close(server, campaign)
    results = server.results(campaign)
    assert (results["known"], results["results"][0]["truth"]) == ({}, pytest.approx(23, abs=0.2))


@pytest.mark.slow
@SQLITE
def test_known_answers_beside_known_numbers(server):
    campaign = server.opened(**MIXED)
    assert set_known(server, campaign, {"path": "no", "bird": "robin"}).status_code == 200
    answered(server, campaign, 30, mostly)
    server.recompute()
    assert server.results(campaign)["results"][0]["truth"] == "yes"
    close(server, campaign)
    path, _, bird = server.results(campaign)["results"]
    assert (path["truth"], path["chance"], bird["truth"]) == ("no", 1.0, "robin")


@SQLITE
def test_known_truths_of_tasks_without_claims_wait(server):
    campaign = server.opened(known={"hall-2": 30})
    server.crowd(campaign, 6, steps=(100, 200))
    server.recompute()
    close(server, campaign)
    assert [row["truth"] is None for row in server.results(campaign)["results"]] == [False, False, True]
    assert server.status(campaign)["trouble"] is None


@SQLITE
@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"hall-9": 20}, "there is no such task"),
        ({"hall-0": 101}, "from 0 to 100"),
        ({"hall-0": "long"}, "it must be a decimal number"),
        ({"hall-0": "NaN"}, "it must be a decimal number"),
        ({"hall-0": True}, "known"),
        ({"hall-0": 20, "hall-1": -0.1}, "from 0 to 100"),
    ],
)
def test_impossible_known_truths_are_refused_as_a_whole(server, known, words):
    campaign = server.opened(known={"hall-1": 30})
    answer = set_known(server, campaign, known)
    assert answer.status_code in (400, 422)
    assert words in answer.json()["detail"]
    assert server.status(campaign)["known"] == {"hall-1": "30"}


@SQLITE
def test_other_operators_cannot_see_them(server):
    campaign = measured(server, known=KNOWN)
    made = server.client.post("/api/operators", json={"name": "Second"}, headers=server.operator).json()
    answer = server.client.get(f"/api/campaigns/{campaign}", headers={"Authorization": f"Bearer {made['token']}"})
    assert answer.status_code == 404
    assert Console(server, made["token"]).get(f"/campaigns/{campaign}/known").status_code == 404


@SQLITE
def test_removed_tasks_lose_their_known_truths_and_new_versions_keep_them(server):
    campaign = server.create(known={"hall-0": 20, "hall-2": 30})
    task = {"id": "hall-0", "low": 0, "high": 100, "grid": 0.1}
    address = f"/api/campaigns/{campaign}"
    narrower = server.client.patch(address, json={"tasks": [task | {"high": 10}]}, headers=server.operator)
    assert (narrower.status_code, "from 0 to 10" in narrower.json()["detail"]) == (422, True)
    changed = server.client.patch(address, json={"tasks": [task]}, headers=server.operator).json()
    assert changed["known"] == {"hall-0": "20"}
    server.open(campaign)
    assert server.client.post(f"{address}/versions", headers=server.operator).json()["known"] == {"hall-0": "20"}


@SQLITE
def test_the_console_takes_known_truths(server):
    console, campaign = Console(server), server.create(**MIXED)
    page = console.get(f"/campaigns/{campaign}/known").text
    assert "participants cannot tell these tasks from the others" in page
    assert console.post(f"/campaigns/{campaign}/known", **{"truth-0": "yes", "truth-1": "4,5"}).status_code == 303
    width = server.status(campaign)["tasks"][1]["id"]
    assert server.status(campaign)["known"] == {"path": "yes", width: "4.5"}
    shown = console.get(f"/campaigns/{campaign}/known").text
    assert "<option selected>yes</option>" in shown
    assert 'value="4.5"' in shown
    wrong = console.post(f"/campaigns/{campaign}/known", **{"truth-1": "far"})
    assert wrong.status_code == 422
    assert "must be a decimal number" in wrong.text
    assert server.status(campaign)["known"] == {"path": "yes", width: "4.5"}
    console.post(f"/campaigns/{campaign}/known")
    assert server.status(campaign)["known"] == {}


@SQLITE
def test_the_console_takes_those_of_many_tasks_as_a_table(server):
    """Every task is in it by its title, where that is its own; ids and decimal commas are understood as well."""
    tasks = [{"id": f"t{n}", "title": f"Hall {n}", "low": 0, "high": 100, "grid": 0.1} for n in range(25)]
    tasks[23]["title"] = tasks[24]["title"] = "Stairs"  # two of one title
    tasks[22]["title"] = "t21"  # the id of another
    console, campaign = Console(server), server.opened(tasks=tasks)
    address = f"/campaigns/{campaign}/known"
    lines = re.search(r"<textarea[^>]*>(.*?)</textarea>", console.get(address).text, re.DOTALL)[1].split()
    assert len(" ".join(lines).split(";")) == 27
    shown = " ".join(lines)
    assert shown.startswith("task;truth Hall 0; Hall 1;")
    assert shown.endswith("Hall 20; Hall 21; t22; t23; t24;")
    console.post(address, table="task;truth\nHall 3;33,5\nt24;12.5\nHall 4;\nt22;7\n")
    assert server.status(campaign)["known"] == {"t3": "33.5", "t24": "12.5", "t22": "7"}
    assert "Hall 3;33.5" in console.get(address).text
    console.post(address, table="task\ttruth\nHall 3\t34\n")  # cells of a spreadsheet
    assert server.status(campaign)["known"] == {"t3": "34"}
    for table, words in {
        "task,truth\nHall 99,1\n": "there is no such task",
        "task;truth\nStairs;1\n": "there is no such task",
        "task;truth\nHall 3;1\nt3;2\n": "already has a truth",
        "task;truth\n;2\n": "has no task",
        "task;truth\nHall 3;101\n": "from 0 to 100",
    }.items():
        wrong = console.post(address, table=table)
        assert (wrong.status_code, words in wrong.text, table.split()[-1] in wrong.text) == (422, True, True)
    assert server.status(campaign)["known"] == {"t3": "34"}


@SQLITE
def test_known_truths_are_stored_in_one_place(server):
    """A truth that nobody else could have written is nowhere else in the database."""
    measured(server, known={"hall-0": "17.123456789"})
    with server.state.engine.connect() as connection:
        holding = {
            (table.name, column)
            for table in metadata.sorted_tables
            for row in connection.execute(table.select()).mappings()
            for column, entry in row.items()
            if "17.123456789" in (entry.decode("latin-1") if isinstance(entry, bytes) else str(entry))
        }
    assert holding == {("campaigns", "known")}
