"""Real processes, killed and raced: each task still gets noise once, and every attempt sends the same bytes."""

import json
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import warm
from campaign_server import campaign_server
from command import run
from hallways import manifest
from sottovoce.device import ParticipantFile
from sottovoce.protocol import Manifest, Report

DRIVER = Path(__file__).with_name("driver.py")


def files_of(folder):
    files = sorted(folder.glob("*.db"))
    for path in files:
        with ParticipantFile(path) as file:
            yield file


def check_that_each_task_was_noised_once(server, folder):
    """What the files hold is all that ever arrived, and each participant has one report, delivered."""
    written = set()
    for file in files_of(folder):
        (release,) = file.releases()
        assert release.state == "delivered", file.path
        assert [reading.task for reading in Report.parse(release.body).readings] == ["hall-1", "hall-2"]
        written.add(release.body)
    assert set(server.bodies) == written
    assert len(server.reports) == len(written) == len(list(folder.glob("*.db")))
    assert len(server.enrolments) == len(written)


@pytest.mark.slow
def test_a_device_killed_at_any_line_draws_no_noise_twice(server, tmp_path):
    links = [str(server.invite()) for _ in range(81)]
    ran = warm.run([DRIVER, "kill", tmp_path, *links])
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 80  # every link had its own line to die at
    check_that_each_task_was_noised_once(server, tmp_path)
    assert len(server.bodies) > len(server.reports)  # some died after the server had their report


@pytest.mark.slow
def test_a_device_killed_at_any_line_answers_a_comparison_once(tmp_path):
    """Cuts that change all the time, and a death between any two lines: what was stored first is what is sent."""
    tasks = [{"id": f"hall-{n}", "kind": "number", "low": 0, "high": 100, "grid": "0.1", "title": ""} for n in (1, 2)]
    compared = Manifest.of({
        "format": "sottovoce-manifest/2", "campaign": "hallways", "title": "Lengths", "asked_by": "Somebody",
        "tasks": tasks, "noise": "response:1", "levels": 2, "readings": 2,
    })  # fmt: skip
    with campaign_server(compared) as server:
        offered = [[2 * cut + 1] for cut in range(100)]  # two draws hardly ever agree
        server.cuts = json.dumps({"as_of": None, "tasks": {"hall-1": offered, "hall-2": offered}}).encode()
        links = [str(server.invite()) for _ in range(41)]
        ran = warm.run([DRIVER, "kill", tmp_path, *links])
        assert ran.returncode == 0, ran.stderr
        check_that_each_task_was_noised_once(server, tmp_path)


@pytest.mark.slow
def test_the_command_killed_at_any_time_draws_no_noise_twice(server, tmp_path):
    (tmp_path / "readings.csv").write_text("task,value\nhall-1,12.3\nhall-2,45.6\n")
    chance = random.Random(5)
    folder = tmp_path / "files"
    for number in range(4):
        path = folder / f"{number}.db"
        assert run("join", server.invite(), "--yes", "--json", "--file", path).returncode == 0
        submit = ("submit", tmp_path / "readings.csv", "--file", path)
        server.trouble("/reports", "lost", times=2)
        for _ in range(3):
            process = warm.Process(
                ["-m", "sottovoce", *submit], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )  # fmt: skip
            time.sleep(chance.uniform(0.0, 0.5))
            process.kill()
            process.wait()
        server.troubles.clear()
        run(*submit)
    check_that_each_task_was_noised_once(server, folder)


@pytest.mark.slow
def test_processes_with_one_file_make_one_release(server, tmp_path):
    path = tmp_path / "one.db"
    command = [DRIVER, "race", server.invite(), path]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with ExitStack() as entered:
        racers = [entered.enter_context(warm.Process(command, **pipes)) for _ in range(6)]
        assert [racer.stdout.readline() for racer in racers] == ["ready\n"] * 6
        for racer in racers:
            racer.stdin.write("\n")
            racer.stdin.flush()
        assert [racer.stderr.read() for racer in racers] == [""] * 6
        outcomes = sorted(racer.stdout.read().strip() for racer in racers)
    assert outcomes == ["already_released"] * 5 + ["released"]
    check_that_each_task_was_noised_once(server, tmp_path)


@pytest.mark.slow
def test_a_full_disk_sends_nothing_and_loses_nothing(tmp_path):
    tasks = [{"id": f"hall-{n}", "low": 0, "high": 100, "grid": "0.1"} for n in range(3000)]
    with campaign_server(manifest(tasks=tasks, readings=3000)) as server:
        path = tmp_path / "p.db"
        readings = tmp_path / "readings.csv"
        readings.write_text("task,value\n" + "".join(f"{task['id']},5\n" for task in tasks))
        assert run("join", server.invite(), "--yes", "--json", "--file", path).returncode == 0
        submit = ("submit", readings, "--file", path)
        limited = ["bash", "-c", 'ulimit -f 60; exec "$@"', "bash", sys.executable, "-m", "sottovoce", *submit]
        full = subprocess.run(limited, capture_output=True, text=True)
        assert full.returncode == 2, full.stderr
        assert "free some disk space" in " ".join(full.stderr.split())
        assert server.bodies == []
        assert run(*submit).returncode == 0
        assert len(server.reports) == 1
