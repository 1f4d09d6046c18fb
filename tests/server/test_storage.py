"""Tables, migrations and the writer."""

import asyncio
import secrets
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from typing import get_args

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import insert, inspect, select, text

from plans import SVG
from sottovoce.errors import BadParameter
from sottovoce.protocol import Manifest, Problem
from sottovoce.protocol.pictures import Picture
from sottovoce.protocol.tokens import token_hash
from sottovoce.server.fast.wire import Submission
from sottovoce.server.metrics import Metrics
from sottovoce.server.storage import rows, tables
from sottovoce.server.storage.campaigns import campaign_of, create_campaign, open_campaign
from sottovoce.server.storage.engine import open_engine
from sottovoce.server.storage.migrations import is_current, migrate
from sottovoce.server.storage.operators import add_operator
from sottovoce.server.storage.pictures import LOGOS, PLANS
from sottovoce.server.storage.writer import Writer


@pytest.fixture
def engine(server_database):
    engine = open_engine(server_database)
    yield engine
    engine.dispose()


def test_every_column_says_what_it_is_for():
    for table in tables.metadata.sorted_tables:
        for column in table.columns:
            assert column.comment, f"{table.name}.{column.name}"


def test_migrations_lead_to_the_tables_as_they_are_declared(engine):
    migrate(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []
        assert is_current(connection)
    if engine.dialect.name == "postgresql":  # where comments are kept, they are the declared ones
        for table in tables.metadata.sorted_tables:
            found = {column["name"]: column["comment"] for column in inspect(engine).get_columns(table.name)}
            assert found == {column.name: column.comment for column in table.columns}


def test_a_database_of_the_first_revision_is_brought_up_to_date_with_its_data(engine):
    migrate(engine, "0001")
    with engine.begin() as connection:
        assert not is_current(connection)
        for statement in (
            "INSERT INTO operators VALUES (1, 'o', 'h', TRUE, 0, NULL)",
            "INSERT INTO campaigns (key, id, operator_key, state, manifest, manifest_sha256, created_at, changes,"
            " changed_at, computed) VALUES (1, 'c', 1, 'open', '', 'x', 0, 3, 0, 3)",
            "INSERT INTO campaigns (key, id, operator_key, state, manifest, created_at, changes, changed_at, computed)"
            " VALUES (2, 'd', 1, 'draft', '', 0, 0, 0, 0)",
            "INSERT INTO tasks VALUES (1, 0, 'hall')",
            "INSERT INTO participants VALUES (1, 1, 'a', 'ann', NULL), (2, 1, 'b', 'bob', NULL), (3, 1, 'c', 'cyn', 5)",
            "INSERT INTO reports VALUES (1, 'r1', 1, 'x', 0, 1), (1, 'r2', 2, 'x', 0, 1), (1, 'r3', 3, NULL, 0, 0)",
            "INSERT INTO readings VALUES (1, 1, 0, 7), (1, 2, 0, 9)",
        ):
            connection.execute(text(statement))
    migrate(engine)
    with engine.connect() as connection:
        assert is_current(connection)
        counted = connection.execute(select(tables.campaigns.c.id, tables.campaigns.c.reports).order_by("id")).all()
        assert counted == [("c", 2), ("d", 0)]  # without the report of the participant who withdrew
        assert connection.execute(select(tables.tasks.c.quota, tables.tasks.c.taken)).all() == [(None, 0)]
        assert connection.execute(select(tables.readings.c.value).order_by("value")).scalars().all() == [7, 9]
    migrate(engine)  # and a second time does nothing


def test_campaigns_from_before_there_were_plans_are_kept_and_can_get_one(engine):
    migrate(engine, "0009")
    with engine.begin() as connection:
        assert "plans" not in inspect(connection).get_table_names()
        for statement in (
            "INSERT INTO operators VALUES (1, 'o', 'h', TRUE, 0, NULL)",
            "INSERT INTO campaigns (key, id, operator_key, state, manifest, created_at, changes, changed_at, computed,"
            " reports) VALUES (1, 'c', 1, 'draft', '', 0, 3, 0, 3, 0)",
        ):
            connection.execute(text(statement))
    migrate(engine)
    with engine.begin() as connection:
        assert connection.execute(select(tables.campaigns.c.id)).scalars().all() == ["c"]
        for pictures in (PLANS, LOGOS):
            assert pictures.hash_of(connection, 1) is None
            pictures.put(connection, 1, Picture(SVG, "image/svg+xml", 400, 300))
    with engine.begin() as connection:
        for pictures in (PLANS, LOGOS):
            stored = pictures.of(connection, 1)
            assert (stored.content, stored.type, stored.sha256) == (SVG, "image/svg+xml", sha256(SVG).hexdigest())
    with engine.begin() as connection:
        connection.execute(tables.campaigns.delete())
    with engine.connect() as connection:
        # Pictures go with their campaign.
        assert [pictures.hash_of(connection, 1) for pictures in (PLANS, LOGOS)] == [None, None]


def test_a_database_of_a_newer_program_is_left_alone(engine):
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(BadParameter, match="9999"):
        migrate(engine)


def test_sqlite_is_as_durable_as_it_can_be(tmp_path):
    engine = open_engine(f"sqlite:///{tmp_path}/x.db")
    with engine.connect() as connection:
        found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in
                 ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "secure_delete")}  # fmt: skip
    engine.dispose()
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 5000,
        "secure_delete": 1,
    }


@pytest.fixture
def prepared(engine):
    """An open campaign with twenty participants; how to make submissions to it."""
    migrate(engine)
    tasks = [{"id": f"t{n}", "low": 0, "high": 9, "grid": 1} for n in range(3)]
    manifest = Manifest.of(
        {"campaign": "c", "title": "t", "asked_by": "o", "tasks": tasks, "noise": "fresh:0.5", "distance": 1,
         "readings": 3}
    )  # fmt: skip
    with engine.execution_options(write=True).begin() as connection:
        add_operator(connection, "o", "token", administrator=True, now=0)
        create_campaign(connection, 1, manifest, {}, {}, None, 0)
        open_campaign(connection, campaign_of(connection, 1, "c"), manifest, "{}", 0)
        connection.execute(
            insert(tables.participants),
            [{"campaign_key": 1, "token_hash": token_hash(f"p{n}"), "label": f"l{n}"} for n in range(20)],
        )

    def submission(participant, value=1, task="t0"):
        return Submission(
            "c",
            token_hash(f"p{participant}"),
            str(uuid.uuid4()),
            manifest.sha256,
            (task,),
            (value,),
            secrets.token_hex(32),
        )

    return submission


@pytest.mark.parametrize(
    ("kind", "table"),
    [(rows.OperatorRow, "operators"), (rows.CampaignRow, "campaigns"), (rows.TaskRow, "tasks"),
     (rows.InvitationRow, "invitations"), (rows.ParticipantRow, "participants"), (rows.ResultsRow, "results")],
)  # fmt: skip
def test_typed_rows_have_the_columns_of_their_tables(kind, table):
    columns = tables.metadata.tables[table].columns
    assert list(kind._fields) == columns.keys()
    for column in columns:
        assert (type(None) in get_args(kind.__annotations__[column.name])) == bool(column.nullable)


def with_writer(engine, use, **options):
    """Use a writer on its own event loop."""

    async def main():
        chosen = {"rows": 5_000, "milliseconds": 20, "waiting": 1_000} | options
        writer = Writer(engine, lambda: 7, metrics := Metrics(), **chosen)
        writer.start()
        try:
            return await use(writer), metrics
        finally:
            await writer.close()

    # In a separate thread: the tests in a browser may have left an event loop in this one.
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(asyncio.run, main()).result()


def count(engine, table):
    with engine.connect() as connection:
        return connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()


def commits(metrics):
    return metrics.registry.get_sample_value("sottovoce_batch_reports_count")


def test_reports_that_come_together_share_a_commit(engine, prepared):
    async def use(writer):
        return await asyncio.gather(*(writer.submit(prepared(n)) for n in range(20)))

    receipts, metrics = with_writer(engine, use)
    assert all(receipt.new for receipt in receipts)
    assert commits(metrics) == 1
    assert count(engine, "readings") == 20


def test_enough_rows_do_not_wait_for_the_time(engine, prepared):
    async def use(writer):
        return await asyncio.wait_for(asyncio.gather(*(writer.submit(prepared(n)) for n in range(20))), 5)

    _, metrics = with_writer(engine, use, rows=20, milliseconds=1_000_000)
    assert commits(metrics) == 2  # a report and its reading are two rows


def test_twins_in_one_batch_count_once(engine, prepared):
    async def use(writer):
        twin, other = prepared(1), prepared(1)  # the other has the same task in another report
        return await asyncio.gather(*map(writer.submit, (twin, replace(twin), other)), return_exceptions=True)

    (first, second, third), _ = with_writer(engine, use)
    assert (first.new, second.new, third.code) == (True, False, "task_already_reported")


def test_one_that_fails_does_not_take_the_others_along(engine, prepared):
    """A constraint that only the database knows stands in for any failure that no check foresees."""
    with engine.execution_options(write=True).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE poison (value BIGINT PRIMARY KEY)")

    def bad(connection):
        for _ in range(2):
            connection.exec_driver_sql("INSERT INTO poison VALUES (1)")

    async def use(writer):
        waiting = [writer.submit(prepared(n)) for n in range(10)]
        waiting.append(writer.run(bad))
        waiting += [writer.submit(prepared(n)) for n in range(10, 20)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    outcomes, _ = with_writer(engine, use)
    failed = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert [type(failure) for failure in failed] == [Problem]
    assert failed[0].code == "internal"
    assert (count(engine, "readings"), count(engine, "poison")) == (20, 0)


def test_a_refused_action_is_undone_alone(engine, prepared):
    def half(connection):
        connection.execute(text("UPDATE participants SET withdrawn_at = 1"))
        raise Problem("frozen", "changed its mind")

    async def use(writer):
        return await asyncio.gather(
            writer.submit(prepared(0)), writer.run(half), writer.submit(prepared(1)), return_exceptions=True
        )

    (first, refused, second), _ = with_writer(engine, use)
    assert (first.new, refused.code, second.new) == (True, "frozen", True)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM participants WHERE withdrawn_at IS NOT NULL")) == 0


@pytest.mark.parametrize("rows", [5_000, 4], ids=["one batch", "many batches"])
def test_what_waits_is_stored_before_the_end(engine, prepared, rows):
    waiting = []

    async def use(writer):
        waiting.extend(writer.submit(prepared(n)) for n in range(20))

    with_writer(engine, use, rows=rows, milliseconds=1_000_000)
    assert count(engine, "readings") == 20
    assert all(future.result().new for future in waiting)


def test_too_many_waiting_are_refused_at_once(engine, prepared):
    async def use(writer):
        waiting = [writer.submit(prepared(n)) for n in range(3)]
        with pytest.raises(Problem) as refused:
            writer.submit(prepared(3))
        await asyncio.gather(*waiting)
        return refused.value

    problem, _ = with_writer(engine, use, waiting=3)
    assert (problem.code, problem.retry_after) == ("unavailable", 5)


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("state", ["40001", "40P01"], ids=["serialization", "deadlock"])
@pytest.mark.parametrize(("failures", "outcome"), [(2, "done"), (100, "unavailable")])
def test_a_conflict_with_another_process_is_tried_again(prepared, engine, state, failures, outcome):
    attempts = []

    def conflict(connection):
        attempts.append(1)
        if len(attempts) <= failures:
            connection.exec_driver_sql(f"DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '{state}'; END $$")
        return "done"

    async def use(writer):
        return await asyncio.gather(writer.submit(prepared(0)), writer.run(conflict), return_exceptions=True)

    (stored, ended), _ = with_writer(engine, use)
    assert stored.new
    assert getattr(ended, "code", ended) == outcome


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["postgresql"], indirect=True)
def test_a_database_that_goes_away_and_comes_back(prepared, engine):
    """The session is cut off under the writer: what was not committed fails, and the next report is stored."""

    def change(connection):
        connection.execute(text("UPDATE participants SET withdrawn_at = 1"))

    def cut_off(connection):
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    async def use(writer):
        lost = await asyncio.gather(writer.run(change), writer.run(cut_off), return_exceptions=True)
        return lost, await writer.submit(prepared(1))

    (lost, stored), _ = with_writer(engine, use)
    assert [problem.code for problem in lost] == ["unavailable", "unavailable"]
    assert stored.new
    assert count(engine, "readings") == 1
