"""A real server and crowds of real devices, for days when nothing goes right."""

import subprocess
import threading
import time
from pathlib import Path

import pytest

import warm
from patience import PATIENCE
from server_under_test import (  # noqa: F401
    clock,
    postgres,
    running_server,
    server_database,
    start_local,
    start_postgres,
)
from sottovoce.device import ParticipantFile
from sottovoce.protocol import Report

DRIVER = Path(__file__).with_name("device.py")


class Crowd:
    """Several processes of devices that send at once, each with a folder of participants' files."""

    def __init__(self, folder, links, processes):
        self.folder = folder
        self.links = [links[start::processes] for start in range(processes)]
        self._done = [set() for _ in self.links]
        for number in range(processes):
            (folder / str(number)).mkdir(parents=True)
        self._processes = [self._start(number) for number in range(processes)]

    def _start(self, number):
        process = warm.Process(
            [DRIVER, self.folder / str(number), *self.links[number]], stdout=subprocess.PIPE
        )  # fmt: skip
        process.listener = threading.Thread(target=self._listen, args=(number, process.stdout))
        process.listener.start()
        return process

    def _listen(self, number, lines):
        with lines:
            for line in lines:
                self._done[number].add(int(line))

    def wait_for(self, count):
        """Wait until this many participants are done."""
        end = time.monotonic() + PATIENCE
        while sum(map(len, self._done)) < count:
            assert time.monotonic() < end, f"{self._done} are done, and it should be {count}"
            time.sleep(0.002)

    def kill(self, number):
        process = self._processes[number]
        process.kill()
        process.wait()
        process.listener.join()

    def kill_and_restart(self, number):
        self.kill(number)
        self._processes[number] = self._start(number)

    def wait_for_all(self):
        for process in self._processes:
            assert process.wait(PATIENCE) == 0

    def end(self):
        for number in range(len(self._processes)):
            self.kill(number)

    def check_that_all_is_stored_once(self, server, campaign):
        """The server has what the files hold: each report once, each reading with the noise that it got first."""
        written = []
        for path in sorted(self.folder.glob("*/*.db")):
            with ParticipantFile(path) as file:
                (release,) = file.releases()
            assert (release.state, release.problem) == ("delivered", None)
            written.append([(reading.task, reading.value) for reading in Report.parse(release.body).readings])
        assert len(written) == sum(map(len, self.links))
        stored = server.stored(campaign)
        assert sorted(sorted(claims.items()) for claims in stored.values()) == sorted(written)


@pytest.fixture
def crowd(tmp_path):
    """Start a crowd: one participant per link, in this many processes."""
    started = []

    def start(links, processes=3):
        started.append(Crowd(tmp_path / f"crowd-{len(started)}", links, processes))
        return started[-1]

    yield start
    for crowd in started:
        crowd.end()


@pytest.fixture
def own_postgres():
    """A PostgreSQL that no other test uses, so that it may be restarted."""
    server = start_postgres()
    yield server
    server.cleanup()
