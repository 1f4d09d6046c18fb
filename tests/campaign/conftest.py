"""A real server on SQLite, and the command line to run campaigns with."""

import json
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

import warm
from command import run
from patience import PATIENCE

TOKEN = "operator-token-for-tests-0123456789abcdef"
TASKS = "id,title,unit,low,high,grid,quota\n" + "".join(
    f'hall-{n},"Hallway {n}, ground floor",m,0,50,0.10,{100 if n == 1 else ""}\n' for n in (1, 2, 3)
)


@dataclass(frozen=True)
class Campaigns:
    """The commands of one operator."""

    url: str
    token: str = TOKEN

    def run(self, *arguments, **environment):
        """Run ``sottovoce …``."""
        variables = {"SOTTOVOCE_SERVER": self.url, "SOTTOVOCE_OPERATOR_TOKEN": self.token, "COLUMNS": "120"}
        return run(*arguments, env={**os.environ, **variables, **environment})

    def __call__(self, *arguments):
        """Run ``sottovoce campaign …``; what it prints as JSON."""
        ran = self.run("campaign", *arguments, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def refused(self, *arguments):
        """Run ``sottovoce campaign …``, which must fail; its message, in one line."""
        ran = self.run("campaign", *arguments)
        assert ran.returncode == 2, ran.stdout
        assert self.token not in ran.stdout + ran.stderr
        return " ".join(ran.stderr.split())


@contextmanager
def serving(database, **settings):
    """``sottovoce serve`` in a separate process: its address, and how to end it."""
    command = ["-m", "sottovoce", "serve", "--database", database, "--port", "0", "--json"]
    environment = {**os.environ, "SOTTOVOCE_OPERATOR_TOKEN": TOKEN, "SOTTOVOCE_LOG_LEVEL": "error", **settings}
    with warm.Process(command, stdout=subprocess.PIPE, env=environment) as process:
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0


@pytest.fixture(scope="session")
def campaigns(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with serving(f"sqlite:///{folder}/campaigns.db") as url:
        yield Campaigns(url)


@pytest.fixture
def serve():
    """Run a server on a database for a while."""
    return serving


@pytest.fixture
def operator():
    """The commands with another token, or of another server."""
    return Campaigns


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "tasks.csv"
    path.write_text(TASKS)
    return path


@pytest.fixture
def draft(campaigns, tasks):
    """The id of a new draft."""
    return campaigns("create", tasks, "--title", "Hallways", "--noise", "fresh:0.5", "--distance", 1)["id"]


@pytest.fixture
def opened(campaigns, draft):
    """The id of a new open campaign."""
    campaigns("open", draft)
    return draft
