"""Several servers on one PostgreSQL: whatever two of them do at the same moment, the outcome is as if one had come
first.

In each test one process is in the middle of a transaction when another one begins: the first has done its work and not
committed it yet. The second must wait or see what the first did; it must not act on what was true before.
"""

import asyncio
import secrets
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import insert, text

from server_under_test import OPERATOR_TOKEN, TestClient
from sottovoce.protocol import Manifest, Problem
from sottovoce.protocol.tokens import new_token, token_hash
from sottovoce.server.app import create_app
from sottovoce.server.fast.wire import Submission
from sottovoce.server.metrics import Metrics
from sottovoce.server.settings import Settings
from sottovoce.server.storage import campaigns, invitations, operators, participants, retention, sessions, steps, tables
from sottovoce.server.storage.engine import RESULTS_LOCK, open_engine
from sottovoce.server.storage.locks import JobsLock
from sottovoce.server.storage.migrations import is_current, migrate
from sottovoce.server.storage.reports import ReportStore
from sottovoce.server.storage.writer import Writer

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("server_database", ["postgresql"], indirect=True)]
PATIENCE = 60  # seconds; what a loaded machine may need
TASKS = [{"id": f"t{n}", "low": 0, "high": 9, "grid": 1} for n in range(3)]
MANIFEST = Manifest.of(
    {"campaign": "c", "title": "t", "asked_by": "o", "tasks": TASKS, "noise": "fresh:0.5", "distance": 1, "readings": 1}
)


@pytest.fixture
def engine(server_database):
    engine = open_engine(server_database)
    yield engine
    engine.dispose()


@pytest.fixture
def opened(engine):
    """An open campaign of three tasks, of which everybody may answer one; t2 has room for one reading."""
    migrate(engine)
    with engine.execution_options(write=True).begin() as connection:
        operators.add_operator(connection, "o", "token", administrator=True, now=0)
        made = campaigns.create_campaign(connection, 1, MANIFEST, {"t2": 1}, {}, None, 0)
        campaigns.open_campaign(connection, made, MANIFEST, "{}", 0)
        connection.execute(
            insert(tables.participants),
            [{"campaign_key": 1, "token_hash": token_hash(f"p{n}"), "label": f"l{n}"} for n in range(3)],
        )


def report(participant, task="t0", report_id=None, content=None):
    return Submission(
        "c", token_hash(f"p{participant}"), report_id or str(uuid.uuid4()), MANIFEST.sha256, (task,), (1,),
        content or secrets.token_hex(32),
    )  # fmt: skip


def storing(submission):
    """What the first process does with a report."""
    return lambda connection: ReportStore().store(connection, [submission], 7)[0]


def overlapping(engine, first, second):
    """Outcomes of two processes: the second begins when the first has done its work, but not committed it."""

    async def through_a_writer():
        writer = Writer(engine, lambda: 7, Metrics(), rows=5_000, milliseconds=0, waiting=10)
        writer.start()
        try:
            if isinstance(second, Submission):
                return await writer.submit(second)
            return await writer.run(second)
        except Problem as problem:
            return problem
        finally:
            await writer.close()

    with engine.execution_options(write=True).connect() as connection, ThreadPoolExecutor(1) as elsewhere:
        outcome = first(connection)
        other = elsewhere.submit(lambda: asyncio.run(through_a_writer()))
        end = time.monotonic() + PATIENCE
        while not other.done() and not waits_for_a_lock(engine):
            assert time.monotonic() < end
            time.sleep(0.005)
        connection.commit()
        return outcome, other.result(PATIENCE)


def waits_for_a_lock(engine):
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with engine.connect() as connection:
        return connection.exec_driver_sql(waiting).scalar() > 0


def scalar(engine, query):
    with engine.connect() as connection:
        return connection.exec_driver_sql(query).scalar()


def test_nobody_gives_more_readings_than_promised(engine, opened):
    stored, refused = overlapping(engine, storing(report(0, "t0")), report(0, "t1"))
    assert stored.new
    assert refused.code == "too_many_readings"
    assert scalar(engine, "SELECT count(*) FROM readings") == 1


def test_one_and_the_same_report_is_stored_once(engine, opened):
    sent = report(0)
    stored, repeated = overlapping(engine, storing(sent), sent)
    assert (stored.new, repeated.new) == (True, False)
    assert scalar(engine, "SELECT reports FROM campaigns") == 1


def test_two_participants_cannot_share_a_report_id(engine, opened):
    """The two have no lock in common; only the table ensures that an id exists once."""
    shared = str(uuid.uuid4())
    stored, refused = overlapping(engine, storing(report(0, report_id=shared)), report(1, report_id=shared))
    assert (stored.new, refused.code) == (True, "report_conflict")


def test_a_quota_is_kept(engine, opened):
    stored, refused = overlapping(engine, storing(report(0, "t2")), report(1, "t2"))
    assert (stored.new, refused.code) == (True, "quota_reached")
    assert scalar(engine, "SELECT taken FROM tasks WHERE id = 't2'") == 1


def closing(connection):
    campaigns.close_campaign(connection, campaigns.campaign_of(connection, 1, "c"), 7)


def test_nothing_is_stored_after_the_closing(engine, opened):
    _, refused = overlapping(engine, closing, report(0))
    assert refused.code == "campaign_not_open"
    assert scalar(engine, "SELECT count(*) FROM reports") == 0


def test_the_closing_waits_for_what_is_being_stored(engine, opened):
    stored, closed = overlapping(engine, storing(report(0)), closing)
    assert (stored.new, closed) == (True, None)
    assert scalar(engine, "SELECT reports FROM campaigns WHERE state = 'closed'") == 1


def test_a_report_and_a_withdrawal_do_not_cross(engine, opened):
    def withdrawing(connection):
        participants.withdraw(connection, "c", "p0", 7)

    _, refused = overlapping(engine, withdrawing, report(0))
    assert refused.code == "withdrawn"
    stored, left = overlapping(
        engine, storing(report(1)), lambda connection: participants.withdraw(connection, "c", "p1", 7)
    )
    assert (stored.new, left) == (True, None)
    assert scalar(engine, "SELECT count(*) FROM readings") == 0
    assert scalar(engine, "SELECT reports FROM campaigns") == 0


def test_an_erasure_and_a_withdrawal_do_not_cross(engine, opened):
    """A withdrawal that counted readings which are already erased would ask for results without readings."""
    with engine.execution_options(write=True).begin() as connection:
        assert ReportStore().store(connection, [report(0)], 7)[0].new
        closing(connection)
    overlapping(
        engine,
        lambda connection: retention.erase_some(connection, 1, 7),
        lambda connection: participants.withdraw(connection, "c", "p0", 7),
    )
    assert scalar(engine, "SELECT changes FROM campaigns") == 1


@pytest.fixture
def invitation(engine, opened):
    with engine.execution_options(write=True).begin() as connection:
        ((_, token),) = invitations.create_invitations(connection, campaigns.campaign_of(connection, 1, "c"), 1, 0)
    return token


def test_an_invitation_lets_one_participant_in(engine, invitation):
    def enrolling(key):
        return lambda connection: participants.enrol(connection, invitation, key, 7)

    mine, other = new_token(), new_token()
    first, again = overlapping(engine, enrolling(mine), enrolling(mine))
    assert first == again  # a lost answer, asked for again at another server
    assert scalar(engine, "SELECT count(*) FROM participants") == 4
    _, refused = overlapping(engine, enrolling(mine), enrolling(other))
    assert refused.code == "invitation_spent"


def test_two_who_use_one_link_do_not_both_get_in(engine, invitation):
    def enrolling(connection):
        return participants.enrol(connection, invitation, new_token(), 7)

    _, refused = overlapping(engine, enrolling, enrolling)
    assert refused.code == "invitation_spent"
    assert scalar(engine, "SELECT count(*) FROM participants") == 4


def test_an_invitation_that_is_being_used_lets_its_user_in_whatever_the_operator_does(engine, invitation):
    """Whether an invitation is spent is not shown before the next step, so it can be renewed as if it were not."""
    key = new_token()

    def renewing(connection):
        return invitations.rotate_invitation(connection, campaigns.campaign_of(connection, 1, "c"), 1, 7)

    def enrolling(connection):
        return participants.enrol(connection, invitation, key, 7)

    enrolled, _ = overlapping(engine, enrolling, renewing)
    assert overlapping(engine, enrolling, enrolling) == (enrolled, enrolled)
    assert scalar(engine, "SELECT count(*) FROM participants") == 4


def test_no_report_slips_into_a_cohort_that_has_ended(engine, opened):
    """The results of the next step would differ by this one report, and give it away."""
    with engine.execution_options(write=True).begin() as connection:
        assert ReportStore().store(connection, [report(0)], 7)[0].new
    overlapping(engine, lambda connection: steps.advance(connection, 1, 1, 7), report(1))
    assert scalar(engine, "SELECT cohort FROM campaigns") == 1
    assert scalar(engine, "SELECT max(cohort) FROM readings") == 2


def test_an_invitation_that_was_revoked_at_the_same_moment_lets_nobody_in(engine, invitation):
    _, refused = overlapping(
        engine,
        lambda connection: invitations.revoke_invitation(connection, 1, 1, 7),
        lambda connection: participants.enrol(connection, invitation, new_token(), 7),
    )
    assert refused.code == "invitation_revoked"


def test_nobody_joins_after_the_closing(engine, invitation):
    _, refused = overlapping(engine, closing, lambda connection: participants.enrol(connection, invitation, None, 7))
    assert refused.code == "campaign_not_open"


def test_what_is_being_opened_does_not_change(engine, opened):
    draft = Manifest.of(MANIFEST.model_dump() | {"campaign": "d"})
    other = Manifest.of(draft.model_dump() | {"title": "another question"})
    with engine.execution_options(write=True).begin() as connection:
        campaigns.create_campaign(connection, 1, draft, {}, {}, None, 0)

    def opening(connection):
        campaigns.open_campaign(connection, campaigns.campaign_of(connection, 1, "d"), draft, "{}", 7)

    def changing(connection):
        campaigns.change_draft(connection, campaigns.campaign_of(connection, 1, "d"), other, {})

    _, refused = overlapping(engine, opening, changing)
    assert refused.code == "frozen"
    with engine.connect() as connection:
        found = campaigns.published_campaign(connection, "d")
    assert found.manifest == draft.bytes()
    assert found.manifest_sha256 == draft.sha256


def test_two_administrators_cannot_revoke_each_other(engine, opened):
    with engine.execution_options(write=True).begin() as connection:
        operators.add_operator(connection, "second", "other token", administrator=True, now=0)
    _, refused = overlapping(
        engine,
        lambda connection: operators.revoke_operator(connection, 1, 7),
        lambda connection: operators.revoke_operator(connection, 2, 7),
    )
    assert refused.code == "wrong_state"


def test_a_token_that_is_being_replaced_opens_no_session(engine, opened):
    _, refused = overlapping(
        engine,
        lambda connection: operators.rotate_operator(connection, 1),
        lambda connection: sessions.start_session(connection, "token", 7, 1_000),
    )
    assert refused.code == "unauthorised"
    assert scalar(engine, "SELECT count(*) FROM sessions") == 0


def test_servers_that_start_together_make_the_tables_once(engine):
    with ThreadPoolExecutor(3) as servers:
        list(servers.map(migrate, [engine] * 3))
    with engine.connect() as connection:
        assert is_current(connection)


def test_servers_that_start_together_draw_one_first_token(server_database):
    drawn = []

    def start(_):
        with TestClient(create_app(Settings(database=server_database), background=False, show_token=drawn.append)):
            pass

    with ThreadPoolExecutor(3) as servers:
        list(servers.map(start, range(3)))
    assert len(drawn) == 1


def test_what_one_server_did_all_others_know(start_local):
    """Closing, signing in, new tokens: nothing of it is kept in the memory of one server."""
    here, there = start_local(), start_local()
    campaign = here.opened()
    token = there.participants(campaign, 1)[0]
    assert here.report(campaign, token, here.body(campaign, {"hall-0": 1})).status_code == 201
    assert there.report(campaign, token, there.body(campaign, {"hall-1": 1})).status_code == 201
    here.client.post(f"/api/campaigns/{campaign}/close", headers=here.operator)
    refused = there.report(campaign, token, there.body(campaign, {"hall-2": 1}))
    assert refused.json()["code"] == "campaign_not_open"

    signed_in = here.client.post("/sign-in", data={"token": OPERATOR_TOKEN}, follow_redirects=False)
    cookie = {"Cookie": signed_in.headers["set-cookie"].partition(";")[0]}
    assert there.client.get("/", headers=cookie, follow_redirects=False).status_code == 200
    here.client.post("/api/operators/1/rotate", headers=here.operator)
    assert there.client.get("/api/operators/me", headers=there.operator).status_code == 401
    assert there.client.get("/", headers=cookie, follow_redirects=False).status_code == 303


def test_the_jobs_run_in_one_process_until_it_ends(engine):
    first, second, ran = JobsLock(engine, RESULTS_LOCK), JobsLock(engine, RESULTS_LOCK), []
    first.run(lambda: ran.append("first"))
    second.run(lambda: ran.append("second"))
    first.run(lambda: ran.append("first"))
    assert ran == ["first", "first"]
    # Its connection is cut off, as when the process is killed: it notices, and the other one takes over.
    scalar(
        engine,
        "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
        " WHERE datname = current_database() AND locktype = 'advisory' AND granted",
    )
    takes_over(second, lambda: ran.append("second"))
    with pytest.raises(Exception, match="terminating"):
        first.run(lambda: ran.append("first"))
    first.run(lambda: ran.append("first"))
    assert ran == ["first", "first", "second"]
    second.release()
    takes_over(first, lambda: ran.append("first"))
    first.release()


def takes_over(lock, work):
    """Wait until the database has noticed that the previous process's connection is gone, and this one can work."""
    done = []
    end = time.monotonic() + PATIENCE
    while not done:
        assert time.monotonic() < end
        lock.run(lambda: done.append(work()))
        time.sleep(0.01)


def test_jobs_that_fail_are_left_to_another_process(engine):
    first, second, ran = JobsLock(engine, RESULTS_LOCK), JobsLock(engine, RESULTS_LOCK), []

    def fail():
        raise OSError("no room left")

    with pytest.raises(OSError, match="no room"):
        first.run(fail)
    takes_over(second, lambda: ran.append("second"))
    assert ran == ["second"]
    second.release()


def test_a_process_that_is_stopped_gives_up_its_locks(engine, opened, monkeypatch):
    """Stopped in the middle of a transaction, as by a debugger or a machine that was put to sleep."""
    monkeypatch.setattr("sottovoce.server.storage.engine._LEAVE_LOCKS_AFTER", "100ms")
    with engine.execution_options(write=True).connect() as stopped, ThreadPoolExecutor(1) as elsewhere:
        storing(report(0))(stopped)

        def other():
            with engine.execution_options(write=True).begin() as connection:
                return storing(report(0, "t1"))(connection)

        assert elsewhere.submit(other).result(PATIENCE).new
        with pytest.raises(Exception, match=r"terminat|closed|lost"):
            stopped.execute(text("SELECT 1"))
        stopped.invalidate()


def test_answers_to_comparisons_come_to_three_servers(start_local):
    """All publish the same cuts, store a report once, and any of them can take the next step."""
    servers = [start_local() for _ in range(3)]
    asked = {
        "title": "t", "noise": "response:2", "levels": 2, "readings": 1,
        "tasks": [{"id": "hall", "title": "How long?", "low": 0, "high": 30, "grid": "0.1"}],
    }  # fmt: skip
    first = servers[0]
    campaign = first.client.post("/api/campaigns", json=asked, headers=first.operator).json()["id"]
    first.open(campaign)
    published = []
    for step in range(3):
        lists = [server.client.get(f"/api/campaigns/{campaign}/cuts").json() for server in servers]
        assert lists[0] == lists[1] == lists[2]
        published.append(lists[0]["tasks"]["hall"])
        for number, token in enumerate(first.participants(campaign, 6)):
            body = first.body(campaign, {"hall": number % 2})
            body["readings"][0]["cuts"] = published[-1][number % len(published[-1])]
            with ThreadPoolExecutor(3) as together:
                sent = [together.submit(server.report, campaign, token, body) for server in servers]
            assert sorted(reply.result().status_code for reply in sent) == [200, 200, 201]
        servers[step].recompute()
        rows = [server.results(campaign)["results"][0] for server in servers]
        assert rows[0] == rows[1] == rows[2]
        assert rows[0]["claims"] == 6 * (step + 1)
    assert published[0] != published[1] != published[2]
    assert first.rows("reports") == first.rows("readings") == 18
