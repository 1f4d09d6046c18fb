"""The SQLite file: one server's, its owner's, and without what was erased."""

import os
import random
import signal
import sqlite3
import stat
import time
from contextlib import closing

import pytest

from command import run, run_process
from server_under_test import TestClient
from sottovoce.errors import BadParameter, UnreadableFile
from sottovoce.protocol import Report
from sottovoce.server.app import create_app
from sottovoce.server.settings import Settings
from sottovoce.server.storage.backup import back_up

pytestmark = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
PATIENCE = 60  # seconds; what a loaded machine may need
RETENTION_DAYS = 30


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.glob("campaigns.db*")}


def test_only_its_owner_can_read_it(usual_umask, server, tmp_path):
    server.opened()
    assert modes(tmp_path) == {f"campaigns.db{kind}": 0o600 for kind in ("", "-wal", "-shm", "-lock")}


def test_a_file_that_others_could_read_is_made_private(usual_umask, start_local, tmp_path, caplog):
    for kind in ("", "-wal"):  # as an older version left them; an empty log is no log
        (tmp_path / f"campaigns.db{kind}").touch(0o644)
    start_local().opened()
    assert set(modes(tmp_path).values()) == {0o600}
    records = [record for record in caplog.records if record.message.startswith("other users could open the database")]
    assert {(os.path.basename(record.file), record.mode) for record in records} == {
        ("campaigns.db", "0644"),
        ("campaigns.db-wal", "0644"),
    }


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_not_a_regular_file_is_left_as_it_is(server_database, tmp_path, make):
    """Least of all are its permissions changed: think of /dev/null, and a server that root starts."""
    place = tmp_path / "campaigns.db"
    make(place)
    place.chmod(0o755)
    with pytest.raises(UnreadableFile, match="it is a folder or a device; the database must be a file, so name one"):
        TestClient(create_app(Settings(database=server_database))).__enter__()
    assert modes(tmp_path) == {"campaigns.db": 0o755}


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_file_of_another_program_is_left_as_it_is(server_database, tmp_path, journal):
    place = tmp_path / "campaigns.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        for table in ("albums", "artists", "labels", "songs"):
            connection.execute(f"CREATE TABLE {table} (title)")
    place.chmod(0o644)
    before = place.read_bytes()
    with pytest.raises(UnreadableFile, match="name a new file, or a server's database"):
        TestClient(create_app(Settings(database=server_database))).__enter__()
    refused = run_process("serve", "--database", server_database, "--port", "0", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    words = " ".join(refused.stderr.split())
    assert f"{place}: its tables (albums, artists, labels, …) belong to another program, but a server needs" in words
    assert place.read_bytes() == before
    assert stat.S_IMODE(place.stat().st_mode) == 0o644
    assert not (tmp_path / "campaigns.db-lock").exists()


@pytest.mark.slow
def test_a_second_server_is_refused(server, server_database, tmp_path):
    with pytest.raises(BadParameter, match="another server is using it"):
        TestClient(create_app(Settings(database=server_database))).__enter__()
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "campaigns.db")  # the same file by another name
    refused = run_process("serve", "--database", f"sqlite:///{link}", "--port", "0", "--json")
    assert (refused.returncode, refused.stdout) == (2, "")
    words = " ".join(refused.stderr.split())
    assert "another server is using it, and a SQLite file serves one at a time; stop the other one, or move to" in words
    assert server.opened()  # the first one goes on


@pytest.mark.slow
def test_a_server_that_was_killed_does_not_lock_out_the_next(running_server):
    running_server().stop(signal.SIGKILL)
    assert running_server().client.get("/readyz").status_code == 200


def test_copies_can_be_made_while_a_server_runs(server, server_database, tmp_path):
    campaign = server.opened()
    server.crowd(campaign, 2)
    assert back_up(server_database, tmp_path / "copy.db").reports == 2
    packed = run("claims", "pack", server_database, tmp_path / "pack", "--campaign", campaign, "--json")
    assert packed.returncode == 0, packed.stderr
    assert '"claims": 6' in packed.stdout
    server.crowd(campaign, 1)


class Marked:
    """A crowd whose readings and reports can be recognised in the bytes of the files."""

    def __init__(self, server, campaign, people, seed=5):
        self._rng = random.Random(seed)
        self._server, self._campaign = server, campaign
        self.tokens = server.participants(campaign, people)
        self._pattern = server.body(campaign, [0, 0, 0])
        self.marks = {}  # by participant

    def send(self, number):
        values = [self._rng.randrange(1 << 44, 1 << 46) for _ in range(3)]  # six bytes each in the database
        body = self._pattern | {
            "report_id": f"{number:08x}-0000-4000-8000-000000000000",
            "readings": [{"task": f"hall-{place}", "value": value} for place, value in enumerate(values)],
        }
        assert self._server.report(self._campaign, self.tokens[number], body).status_code == 201
        self.marks[number] = [value.to_bytes(6) for value in values] + [Report.of(body).content_hash.encode()]

    def withdraw(self, number):
        headers = {"Authorization": f"Bearer {self.tokens[number]}"}
        address = f"/api/campaigns/{self._campaign}/participation"
        assert self._server.client.delete(address, headers=headers).status_code == 204

    def found(self, folder):
        """Whose marks are still in any of the files."""
        content = b"".join(path.read_bytes() for path in sorted(folder.glob("campaigns.db*")))
        return {number for number, marks in self.marks.items() if any(mark in content for mark in marks)}


@pytest.mark.slow
def test_what_was_withdrawn_is_nowhere_in_the_files(server, tmp_path):
    """People come and go in any order, so that pages of the file are split, merged and used again."""
    people = 120
    crowd = Marked(server, server.opened(), people)
    order = random.Random(1)
    there, gone = set(), set()
    for number in order.sample(range(people), people):
        crowd.send(number)
        there.add(number)
        if order.random() < 0.4:
            leaving = order.choice(sorted(there))
            crowd.withdraw(leaving)
            there.remove(leaving)
            gone.add(leaving)
            assert not crowd.found(tmp_path) & gone
    assert len(gone) > 20
    assert crowd.found(tmp_path) == there  # those who stayed are found, so the search would find the others


def test_what_was_erased_after_the_retention_is_nowhere_in_the_files(start_local, tmp_path):
    server = start_local(retention_days=RETENTION_DAYS)
    campaign = server.opened()
    crowd = Marked(server, campaign, 8)
    for number in range(8):
        crowd.send(number)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    server.recompute()
    assert crowd.found(tmp_path) == set(range(8))
    server.clock.pass_time(days=RETENTION_DAYS + 1)
    server.tick()
    assert server.rows("readings") == 0
    assert crowd.found(tmp_path) == set()


@pytest.mark.slow
def test_a_reader_only_delays_that_what_was_withdrawn_is_gone(server, tmp_path):
    crowd = Marked(server, server.opened(), 2)
    crowd.send(0)
    with closing(server.state.engine.raw_connection()) as reading:
        reading.cursor().execute("BEGIN")
        reading.cursor().execute("SELECT count(*) FROM readings").fetchone()
        crowd.withdraw(0)  # is not held up
        crowd.send(1)
        assert crowd.found(tmp_path) == {0, 1}
    end = time.monotonic() + PATIENCE
    while crowd.found(tmp_path) != {1}:
        assert time.monotonic() < end
        time.sleep(0.05)
