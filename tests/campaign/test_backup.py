"""Copies of a database: made while the server is being written to, checked, and put back in place."""

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from sottovoce.errors import BadParameter, UnreadableFile
from sottovoce.lab.crowd import send_all
from sottovoce.operators.client import OperatorClient
from sottovoce.server.storage.backup import back_up, restore
from sottovoce.server.storage.engine import open_engine
from sottovoce.server.storage.migrations import migrate


def database(path):
    return f"sqlite:///{path}"


def count(path, table="reports"):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.fixture
def copied(tmp_path):
    """A backup of a small database."""
    engine = open_engine(database(tmp_path / "original.db"))
    migrate(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO operators VALUES (1, 'Ada', 'hash', 1, 0, NULL)")
    engine.dispose()
    back_up(database(tmp_path / "original.db"), tmp_path / "copy.db")
    return tmp_path / "copy.db"


@pytest.mark.slow
def test_a_backup_during_writes_holds_everything_that_was_acknowledged(serve, operator, tmp_path):
    live, people = tmp_path / "live.db", 40
    with serve(database(live)) as url, OperatorClient(url, operator("").token) as client, ThreadPoolExecutor(1) as pool:
        draft = {"title": "T", "noise": "fresh:0.5", "distance": 1,
                 "tasks": [{"id": f"t{n}", "low": 0, "high": 9, "grid": 0.1} for n in range(30)]}  # fmt: skip
        campaign = client.create(draft)["id"]
        client.open(campaign)
        links = [invitation["url"] for invitation in client.invite(campaign, people)]
        acknowledged = []
        sending = pool.submit(
            send_all, [{f"t{n}": "5" for n in range(30)}] * people, links, at_once=4,
            progress=lambda done, _: acknowledged.append(done),
        )  # fmt: skip
        copies = []
        while not sending.done():
            before = len(acknowledged)
            contents = back_up(database(live), tmp_path / f"copy-{len(copies)}.db")
            copies.append((before, contents.reports))
        assert sending.result().reports == people
        assert all(before <= reports <= people for before, reports in copies)
        # Some were made while it ran, or this test proves nothing.
        assert any(0 < reports < people for _, reports in copies)
        with pytest.raises(BadParameter, match="a server is using it; stop the server first"):
            restore(tmp_path / "copy-0.db", database(live), replace=True)
        assert count(live) == people
    middle = next(number for number, (_, reports) in enumerate(copies) if 0 < reports < people)
    assert restore(tmp_path / f"copy-{middle}.db", database(live), replace=True).reports == copies[middle][1]
    with serve(database(live)) as url, OperatorClient(url, operator("").token) as client:
        assert client.campaign(campaign)["state"] == "open"
        assert count(live, "readings") == 30 * copies[middle][1]


@pytest.mark.slow
def test_commands_back_up_and_restore(campaigns, copied, tmp_path):
    again, target = tmp_path / "again.db", tmp_path / "restored.db"
    ran = campaigns.run("backup", "--database", database(tmp_path / "original.db"), "--out", again)
    assert ran.returncode == 0, ran.stderr
    assert "0 campaigns, 0 reports" in ran.stdout
    assert stat.S_IMODE(again.stat().st_mode) == 0o600
    assert campaigns.run("restore", again, SOTTOVOCE_DATABASE=database(target)).returncode == 0
    assert count(target, "operators") == 1
    ran = campaigns.run("restore", again, "--database", database(target))
    assert (ran.returncode, "which would be lost" in " ".join(ran.stderr.split())) == (2, True)


def test_a_backup_is_never_overwritten(copied, tmp_path):
    with pytest.raises(UnreadableFile, match="a backup is not overwritten"):
        back_up(database(tmp_path / "original.db"), copied)


def test_a_damaged_copy_is_refused_and_changes_nothing(copied, tmp_path):
    with copied.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    target = tmp_path / "original.db"
    before = target.read_bytes()
    with pytest.raises(UnreadableFile, match="use an older backup"):
        restore(copied, database(target), replace=True)
    assert target.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "original.db"]


def test_a_copy_whose_rows_do_not_belong_together_is_refused(copied, tmp_path):
    """Each page of it is sound, but a session belongs to an operator who does not exist."""
    with closing(sqlite3.connect(copied)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("DELETE FROM operators")
        columns = [row[1] for row in connection.execute("PRAGMA table_info(sessions)")]
        connection.execute(f"INSERT INTO sessions VALUES ({', '.join('7' for _ in columns)})")
        connection.commit()
    with pytest.raises(UnreadableFile, match=r"copy\.db: some rows refer to missing ones; .*; use an older backup"):
        restore(copied, database(tmp_path / "target.db"))
    assert not (tmp_path / "target.db").exists()


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at as one " * 20)
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE birds (name TEXT)")
    for name in ("text.db", "other.db"):
        with pytest.raises(UnreadableFile, match="not a database of Sottovoce"):
            restore(tmp_path / name, database(tmp_path / "target.db"))
    with pytest.raises(UnreadableFile, match="there is no such file"):
        restore(tmp_path / "nothing.db", database(tmp_path / "target.db"))
    assert not (tmp_path / "target.db").exists()


def test_a_damaged_database_can_be_replaced(copied, tmp_path):
    target = tmp_path / "original.db"
    target.write_bytes(b"\0" * 10_000)
    restore(copied, database(target), replace=True)
    assert count(target, "operators") == 1


def test_the_log_of_the_old_database_does_not_affect_the_new_one(copied, tmp_path):
    target = tmp_path / "live.db"
    restore(copied, database(target))
    # A server that was killed leaves its log behind, with rows that are not in the file yet.
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("INSERT INTO operators VALUES (2, 'Bob', 'other', 0, 0, NULL)")
        connection.commit()
        log, shared = (target.with_name(f"live.db-{kind}").read_bytes() for kind in ("wal", "shm"))
        file = target.read_bytes()
    target.write_bytes(file)
    target.with_name("live.db-wal").write_bytes(log)
    target.with_name("live.db-shm").write_bytes(shared)
    restore(copied, database(target), replace=True)
    assert count(target, "operators") == 1


def test_a_newer_schema_is_refused_and_an_older_one_is_not(copied, tmp_path):
    old = open_engine(database(tmp_path / "old.db"))
    migrate(old, "0001")
    old.dispose()
    contents = back_up(database(tmp_path / "old.db"), tmp_path / "old-copy.db")
    assert (contents.revision, contents.current) == ("0001", False)
    with closing(sqlite3.connect(copied)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    with pytest.raises(UnreadableFile, match="schema '9999' is unknown"):
        restore(copied, database(tmp_path / "target.db"))


def test_postgresql_has_its_own_tools(tmp_path):
    url = "postgresql://ada:secret@localhost/campaigns"
    with pytest.raises(BadParameter, match="pg_dump --format=custom") as refused:
        back_up(url, tmp_path / "copy.db")
    assert "secret" not in str(refused.value)
    with pytest.raises(BadParameter, match="pg_restore"):
        restore(tmp_path / "copy.db", url)


def test_a_copy_that_does_not_name_its_schema_is_refused(copied, tmp_path):
    with closing(sqlite3.connect(copied)) as connection:
        connection.execute("DELETE FROM alembic_version")
        connection.commit()
    with pytest.raises(UnreadableFile, match=r"copy\.db: it does not name its schema; .*; use an older backup"):
        restore(copied, database(tmp_path / "new.db"))
