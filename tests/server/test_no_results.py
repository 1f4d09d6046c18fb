"""When results cannot be computed: what was published stays, the operator sees why, and readings are erased in time."""

import json
import time
from threading import Event

import pytest
from sqlalchemy import text

from console_client import Console
from sottovoce.server.results import Computation
from sottovoce.server.storage.engine import open_engine
from sottovoce.server.storage.migrations import migrate
from sottovoce.server.storage.results import MOST_BYTES, add_results, list_versions, newest_results

ANY_DATABASE = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
find = Computation.find


def fail(self):
    raise ZeroDivisionError("reading 918273 divided by nothing")


def settle_never(self):
    found = find(self)
    for result in found.values():
        result.fit.converged_ = False
    return found


@pytest.fixture(params=[fail, settle_never], ids=["fails", "does not converge"])
def broken(request, monkeypatch):
    """Make computing fail, and work again."""
    reasons = {fail: "the newest computation failed (ZeroDivisionError)", settle_never: "has not converged"}

    def switch(works):
        monkeypatch.setattr(Computation, "find", find if works else request.param)

    switch.reason = reasons[request.param]
    return switch


@pytest.mark.slow
@ANY_DATABASE
def test_the_last_good_results_stay_and_the_operator_sees_why(server, broken):
    campaign = server.opened()
    server.crowd(campaign, 5)
    server.recompute()
    good = server.results(campaign)
    broken(works=False)
    server.crowd(campaign, 5)
    server.recompute()
    assert server.results(campaign) == good
    trouble = server.status(campaign)["trouble"]
    assert broken.reason in trouble["reason"]
    assert trouble["since"] == "2030-03-17T17:46:40.000Z"
    assert "918273" not in json.dumps(trouble)
    server.client.post("/sign-in", data={"token": server.operator["Authorization"][7:]})
    for page in (f"/campaigns/{campaign}", f"/campaigns/{campaign}/progress"):
        assert broken.reason in server.client.get(page).text
    assert broken.reason not in server.client.get(f"/c/{campaign}").text
    # It is tried again when there are more claims, and the trouble has lasted since it began.
    server.clock.pass_time(days=1)
    server.crowd(campaign, 5)
    server.recompute()
    assert server.status(campaign)["trouble"]["since"] == "2030-03-17T17:46:40.000Z"
    broken(works=True)
    server.recompute()
    assert server.results(campaign) == good  # not with the same claims: that would fail again, twice a second
    server.crowd(campaign, 5)
    server.recompute()
    assert server.results(campaign)["results"][0]["claims"] == 20
    assert server.status(campaign)["trouble"] is None


def test_the_command_line_says_why_too(monkeypatch):
    from typer.testing import CliRunner

    from sottovoce.cli.app import app
    from sottovoce.operators.client import OperatorClient

    status = {
        "id": "c", "version": 1, "title": "t", "state": "open", "deadline": None, "tasks": [{}], "readings": 1,
        "counts": dict.fromkeys(("invitations", "spent", "revoked", "participants", "withdrawn"), 0), "reports": 5,
        "erased_at": None, "noise": "fresh:1", "distance": "1", "unit": "reading", "method": None,
        "manifest_sha256": None, "guarantee": None, "final": False,
        "trouble": {"reason": "the newest computation has not converged", "since": "2030-03-17T17:46:40.000Z"},
    }  # fmt: skip
    monkeypatch.setattr(OperatorClient, "campaign", lambda self, campaign: status)
    ran = CliRunner().invoke(app, ["campaign", "status", "c", "--token", "operator-token-0123456789"])
    assert ran.exit_code == 0, ran.output
    printed = " ".join(ran.output.split())
    assert "not the newest: the newest computation has not converged." in printed
    assert "The first failure was on 2030-03-17T17:46:40.000Z." in printed


@pytest.mark.slow
@ANY_DATABASE
def test_where_no_results_are_good_yet_only_counts_are_shown(server, broken):
    campaign = server.opened()
    broken(works=False)
    server.crowd(campaign, 6)
    server.recompute()
    results = server.results(campaign)
    assert (results["reports"], results["participants"]) == (6, 6)
    assert [row["claims"] for row in results["results"]] == [6, 6, 6]
    for row in results["results"]:
        assert [row[name] for name in ("truth", "low", "high", "mean", "median", "effective_users")] == [None] * 6
    assert results["weights"] is None
    broken(works=True)
    server.crowd(campaign, 5)
    server.recompute()
    assert [row["claims"] for row in server.results(campaign)["results"]] == [11, 11, 11]
    assert None not in [row["truth"] for row in server.results(campaign)["results"]]


@ANY_DATABASE
def test_one_campaign_does_not_stop_another(server, broken, monkeypatch):
    bad, good = server.opened(), server.opened(title="Good")
    for campaign in (bad, good):
        server.crowd(campaign, 5)
    broken(works=False)
    spoilt = Computation.find
    monkeypatch.setattr(
        Computation,
        "find",
        lambda self: (find if self.manifest.title == "Good" else spoilt)(self),
    )
    server.recompute()
    assert server.results(good)["results"][0]["truth"] is not None
    assert server.results(bad)["results"][0]["truth"] is None


def test_readings_are_erased_in_time_even_if_results_fail(start_local, broken):
    server = start_local(retention_days=30)
    campaign = server.opened()
    server.crowd(campaign, 5)
    server.recompute()
    broken(works=False)
    server.crowd(campaign, 5)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    server.clock.pass_time(days=31)
    server.tick()  # tries once more, then erases
    assert server.rows("readings") == 0
    assert server.status(campaign)["erased_at"] is not None
    results = server.results(campaign)
    assert results["results"][0]["claims"] == 5
    (warning,) = [warning for warning in results["warnings"] if warning["code"] == "erased_early"]
    assert "2030-04-17" in warning["text"]
    # From now on they stay as they are, whatever happens.
    broken(works=True)
    server.tick()
    server.recompute()
    assert server.results(campaign) == results
    assert server.client.get(f"/c/{campaign}").status_code == 200


@pytest.mark.slow
def test_readings_are_erased_in_time_even_if_a_computation_never_ends(start_local, monkeypatch):
    entered, go_on = Event(), Event()

    def hang(self):
        entered.set()
        go_on.wait(60)
        return find(self)

    server = start_local(retention_days=30)
    stuck, campaign = server.opened(), server.opened()
    for one in (stuck, campaign):
        server.crowd(one, 5)
        server.client.post(f"/api/campaigns/{one}/close", headers=server.operator)
    monkeypatch.setattr(Computation, "find", hang)
    monkeypatch.setattr("sottovoce.server.jobs._GRACE_SECONDS", 0.0)
    server.state.jobs.start()
    try:
        assert entered.wait(60)
        server.clock.pass_time(days=31)
        end = time.monotonic() + 60
        while server.rows("readings") and time.monotonic() < end:
            time.sleep(0.05)
        assert server.rows("readings") == 0
        before = [server.results(one) for one in (stuck, campaign)]
        assert all(results["warnings"][-1]["code"] == "erased_early" for results in before)
    finally:
        go_on.set()
        server.state.jobs.close()
    # What it finds in the end, from readings that are no more, is not published.
    assert [server.results(one) for one in (stuck, campaign)] == before


def test_pages_say_that_readings_were_erased_before_there_were_results(start_local, monkeypatch):
    monkeypatch.setattr("sottovoce.server.jobs._GRACE_SECONDS", 0.0)
    server = start_local(retention_days=30)
    campaign = server.opened()
    server.crowd(campaign, 5)
    console = Console(server)
    console.post(f"/campaigns/{campaign}/close")
    # Not before it is certain that there are too few.
    assert "Fewer than" not in server.client.get(f"/c/{campaign}").text
    server.clock.pass_time(days=31)
    server.state.jobs.erase()
    assert server.rows("readings") == 0
    console = Console(server)  # the session has expired
    for page in (f"/c/{campaign}", f"/c/{campaign}/versions/2", f"/campaigns/{campaign}"):
        shown = console.get(page).text
        assert "erased before results could be computed from them" in shown
        assert "Fewer than" not in shown
    assert "before the last results could be computed" in console.get(f"/campaigns/{campaign}/history/2").text
    for page in (f"/c/{campaign}/versions/1", f"/campaigns/{campaign}/history/1"):
        assert "When this version was created, no results had been computed." in console.get(page).text


@ANY_DATABASE
def test_a_database_that_fails_during_results_does_not_stop_erasing(start_local, monkeypatch):
    from sqlalchemy.exc import OperationalError

    def fail(*_):
        raise OperationalError("SELECT", {}, Exception("gone"))

    server = start_local(retention_days=30)
    campaign = server.opened()
    server.crowd(campaign, 5)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    server.tick()
    monkeypatch.setattr("sottovoce.server.jobs.outdated_campaigns", fail)
    server.clock.pass_time(days=31)
    server.tick()
    assert server.rows("readings") == 0
    assert "erased_early" not in [warning["code"] for warning in server.results(campaign)["warnings"]]


def test_erasing_goes_on_after_a_crash_in_the_middle_and_computes_nothing_meanwhile(start_local, monkeypatch):
    server = start_local(retention_days=30)
    campaign = server.opened()
    tokens = server.crowd(campaign, 6)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    server.tick()
    before = server.results(campaign)
    monkeypatch.setattr("sottovoce.server.storage.retention._PARTICIPANTS_AT_ONCE", 2)
    server.clock.pass_time(days=31)
    server.state.jobs._stop.set()  # after the first few
    server.tick()
    assert 0 < server.rows("readings") < 18
    answer = server.client.get(f"/api/campaigns/{campaign}/claims.csv", headers=server.operator)
    assert answer.json()["code"] == "erased"
    last = {"Authorization": f"Bearer {tokens[-1]}"}
    assert server.client.delete(f"/api/campaigns/{campaign}/participation", headers=last).status_code == 204
    server.state.jobs._stop.clear()
    server.recompute()
    assert server.results(campaign) == before
    server.tick()
    assert server.rows("readings") == 0
    assert server.results(campaign) == before


def filled(connection, campaign_key, versions, size):
    for version in range(1, versions + 1):
        add_results(connection, campaign_key, version, "crh", version, 0, b"x" * size)


@pytest.fixture
def campaign_key(server):
    server.opened()
    return 1


@pytest.mark.slow
def test_old_results_take_a_few_megabytes_at_most(server, campaign_key):
    """Results of 1.5 MB, as for ten thousand tasks, with a version for each of twenty reports."""
    with server.state.engine.execution_options(write=True).begin() as connection:
        connection.execute(text("DELETE FROM results"))
        filled(connection, campaign_key, 20, 1_500_000)
        assert [row.version for row in list_versions(connection, campaign_key)] == [20, 19]
        stored = connection.scalar(text("SELECT sum(length(content)) FROM results"))
        assert stored <= MOST_BYTES
        add_results(connection, campaign_key, 21, "crh", 21, 0, b"x" * (MOST_BYTES + 1))
        assert [row.version for row in list_versions(connection, campaign_key)] == [21]  # the newest, whatever its size
        assert newest_results(connection, campaign_key).version == 21


@ANY_DATABASE
def test_small_campaigns_keep_all_their_results(server, campaign_key):
    with server.state.engine.execution_options(write=True).begin() as connection:
        connection.execute(text("DELETE FROM results"))
        filled(connection, campaign_key, 300, 2_000)
        assert len(list_versions(connection, campaign_key)) == 300


def test_an_older_database_is_pruned_and_goes_on_in_steps(server_database, start_local):
    engine = open_engine(server_database)
    migrate(engine, "0003")
    manifest = {
        "campaign": "c", "title": "t", "asked_by": "o", "noise": "fresh:0.5", "distance": "1", "readings": 2,
        "tasks": [{"id": name, "low": "0", "high": "9", "grid": "1"} for name in ("a", "b")],
    }  # fmt: skip
    from sottovoce.protocol import Manifest

    bytes_of = Manifest.of(manifest).bytes()
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO operators VALUES (1, 'o', 'h', TRUE, 0, NULL)"))
        connection.execute(
            text(
                "INSERT INTO campaigns (key, id, operator_key, state, manifest, manifest_sha256, guarantee, created_at,"
                " opened_at, changes, changed_at, computed, reports) VALUES"
                " (1, 'c', 1, 'open', :manifest, 'x', '{}', 0, 0, 6, 0, 6, 6)"
            ),
            {"manifest": bytes_of},
        )
        connection.execute(text("INSERT INTO tasks (campaign_key, place, id) VALUES (1, 0, 'a'), (1, 1, 'b')"))
        for n in range(1, 7):
            connection.execute(text(f"INSERT INTO participants VALUES ({n}, 1, 't{n}', 'l{n}', NULL)"))
            connection.execute(text(f"INSERT INTO reports VALUES (1, 'r{n}', {n}, 'x', 0, 1)"))
            connection.execute(text(f"INSERT INTO readings VALUES (1, {n}, 0, {n})"))
        connection.execute(text("INSERT INTO readings VALUES (1, 1, 1, 1)"))
        connection.execute(
            text("INSERT INTO invitations (campaign_key, token_hash, created_at, spent_by) VALUES (1, 'i', 0, 's')")
        )
        for version in range(1, 7):
            connection.execute(
                text("INSERT INTO results VALUES (1, :version, 'crh', 0, 0, :content)"),
                {"version": version, "content": b"x" * 1_500_000},
            )
    migrate(engine)
    with engine.connect() as connection:
        assert [row.version for row in list_versions(connection, 1)] == [6, 5]
        assert connection.execute(text("SELECT place, cohort, claims FROM included")).all() == [(0, 1, 6)]
        shown = text("SELECT cohort, step, published, shown_reports FROM campaigns")
        assert connection.execute(shown).all() == [(1, 1, 1, 6)]
        assert connection.scalar(text("SELECT shown_spent FROM invitations")) in (True, 1)
    engine.dispose()
