"""A campaign of comparisons whose server is killed again and again while people answer, one after another.

``python -m bench.restarts [KILLS]``
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from sottovoce.device import Client, ParticipantFile, RetryPolicy, flush, join, release
from sottovoce.device.cuts import fetch_cuts
from sottovoce.operators.client import OperatorClient
from sottovoce.protocol import InvitationLink, Report
from sottovoce.protocol.tokens import new_token

TASKS = [f"hall-{number}" for number in range(3)]
PATIENT = RetryPolicy(seconds=600, first=0.05, longest=0.5)
ANSWERS_PER_KILL = 3  # people


class Server:
    """``sottovoce serve`` on one file and one port, to be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.database, self.token, self.port = folder / "campaigns.db", new_token(), 0
        self.start()

    def start(self) -> None:
        command = [
            sys.executable, "-m", "sottovoce", "serve", "--database", f"sqlite:///{self.database}",
            "--port", str(self.port), "--json",
        ]  # fmt: skip
        environment = {**os.environ, "SOTTOVOCE_OPERATOR_TOKEN": self.token, "SOTTOVOCE_ADDRESS_RATE": "0"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.port = int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def cuts(self, campaign: str) -> bytes:
        with Client(self.url) as client:
            return client.cuts(campaign)


def take_part(link: InvitationLink, path: Path, rng: random.Random) -> None:
    with ParticipantFile(path) as file:
        with Client(link.server) as client:
            campaign = PATIENT.run(
                lambda: join(file, link, client, agree=lambda *_: True), PATIENT.deadline()
            ).campaign  # fmt: skip
        fetch_cuts(file, campaign, Client, PATIENT)
        release(file, campaign, {task: f"{rng.gauss(40, 1):.1f}" for task in TASKS})
        flush(file, Client, PATIENT)


def everybody(links: list[str], folder: Path) -> None:
    for number, link in enumerate(links):
        take_part(InvitationLink.parse(link), folder / f"{number}.device", random.Random(number))


def main(kills: int) -> None:
    chance = random.Random(1)
    with TemporaryDirectory(prefix="sottovoce-restarts-") as name:
        folder = Path(name)
        server = Server(folder)
        try:
            with OperatorClient(server.url, server.token) as operator:
                tasks = [{"id": task, "title": task, "low": 0, "high": 100, "grid": "0.1"} for task in TASKS]
                campaign = operator.create(
                    {"title": "Lengths", "tasks": tasks, "noise": "response:1", "levels": 2, "readings": len(TASKS)}
                )["id"]
                operator.open(campaign)
                links = [one["url"] for one in operator.invite(campaign, kills * ANSWERS_PER_KILL)]
            people = threading.Thread(target=everybody, args=(links, folder))
            people.start()
            done = 0
            while people.is_alive() and done < kills:
                while people.is_alive() and len(list(folder.glob("*.device"))) <= done * ANSWERS_PER_KILL:
                    time.sleep(0.02)
                time.sleep(chance.uniform(0, 0.3))  # somebody is joining, answering, or a step is being computed
                server.kill()
                server.start()
                done += 1
            people.join()
            time.sleep(4)  # until the last step has been taken
            before = server.cuts(campaign)
            server.kill()
            server.start()
            same = server.cuts(campaign) == before
            print(f"{done} kills, {len(links)} people; cuts unchanged after the last restart: {same}")
            sent, stored = _sent(folder), _stored(server.database)
            print(f"answers sent {sum(sent.values())}, lost {sum((sent - stored).values())}, "
                  f"duplicated {sum((stored - sent).values())}")  # fmt: skip
            if sent != stored or not same:
                sys.exit(1)
        finally:
            server.kill()


def _sent(folder: Path) -> Counter[tuple[str, tuple[int, ...], int]]:
    answers: Counter[tuple[str, tuple[int, ...], int]] = Counter()
    for path in folder.glob("*.device"):
        with ParticipantFile(path) as file:
            for released in file.releases():
                for reading in Report.parse(released.body).readings:
                    answers[reading.task, tuple(reading.cuts or ()), int(str(reading.value))] += 1
    return answers


def _stored(database: Path) -> Counter[tuple[str, tuple[int, ...], int]]:
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "SELECT r.place, d.content, r.value FROM readings r "
            "JOIN details d USING (campaign_key, participant_key, place)"
        ).fetchall()
    return Counter((TASKS[place], tuple(json.loads(cuts)), level) for place, cuts, level in rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
