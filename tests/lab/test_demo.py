"""The demo as a user runs it: a real server, real devices, and nothing left behind."""

import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
import warm
from command import rows_of, run, run_process
from patience import PATIENCE, until


@pytest.mark.slow
def test_demo_finds_the_hallways(tmp_path):
    # Settings of another server in the environment do not concern the demo's.
    environment = {**os.environ, "TMPDIR": str(tmp_path), "SOTTOVOCE_TLS_CERT": "nothing.pem"}
    ran = run_process("demo", "--out", tmp_path / "demo", "--json", env=environment)
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert (summary["reports"], summary["readings"], summary["tasks"]) == (247, 740, 129)
    # If the machine pauses for seconds, a step is taken before all have sent; the last three may then be left out, and
    # up to three readings of a hallway.
    assert 120 <= summary["shown"] <= 129
    assert summary["refused"] == {}
    assert summary["guarantee"]["epsilon"] == pytest.approx(1, abs=1e-3)
    assert "learns almost nothing about any one reading" in summary["guarantee"]["sentence"]

    claims = sv.Claims.read(tmp_path / "demo/claims.csv")
    assert 740 - 3 * 129 <= len(claims) <= 740
    assert claims.noise == "fresh:0.5"
    truth = {row["object"]: float(row["value"]) for row in rows_of(tmp_path / "demo/truth.csv")}
    off = np.abs(claims.values - np.array([truth[label] for label in claims.object_labels])[claims.objects])
    # Walkers err by some 2.4 m, and Laplace noise of scale 1 moves readings by 1 m on average: together by more than
    # the first and less than the sum; five deviations of a mean of at least 353 such errors, whose own is about 4 m.
    deviation = 4 / np.sqrt(len(claims))
    assert 2.4 - 5 * deviation < off.mean() < 3.4 + 5 * deviation

    # Noise moves the mean of a segment's n readings by √(2/n) and less on average; it may also happen to help.
    bound = 1.3 * np.sqrt(2 / claims.claims_per_object).mean()
    errors = {row["method"]: row for row in summary["errors"]}
    assert list(errors) == ["NoiseAware", "CRH", "Mean", "Median"]
    assert all(row["after"] < row["before"] + bound for row in errors.values())
    assert errors["NoiseAware"]["after"] < errors["Mean"]["after"]  # by 0.5 m on average, one world in eight by less
    # A bias that nearly all readings share is in no interval: most truths are within, but not 95 of 100.
    assert summary["within_interval"] >= 0.6 * summary["shown"]

    # 80 people, of whose reported answers .5 + .25·tanh(½) are right on average; the bound is four deviations of the
    # mean of 12 doors' shares, each of which has a deviation of .05. A wrong door has a chance of some 2 %.
    questions = summary["questions"]
    assert (questions["reports"], questions["tasks"], questions["shown"]) == (80, 12, 12)
    assert abs(questions["answers_right"]["sent"] - 0.616) < 0.06
    assert questions["right"] >= 9
    assert questions["guarantee"]["epsilon"] == pytest.approx(1, abs=1e-3)
    answers = sv.Claims.read(tmp_path / "demo/answers.csv")
    assert (answers.kind, answers.noise, answers.n_objects) == ("choice", "response:1.0", 12)

    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "answers-truth.csv", "answers.csv", "claims.csv", "demo.png", "places.geojson", "plan.png", "plan.svg",
        "truth.csv",
    ]  # fmt: skip
    for name in ("demo", "plan"):
        assert (tmp_path / f"demo/{name}.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["demo"], "a temporary folder is left behind"


@pytest.mark.slow
def test_the_demo_of_the_whole_range_closes_in(tmp_path):
    ran = run_process(
        "demo", "--whole-range", "--out", tmp_path / "demo", "--json", env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert (summary["reports"], summary["tasks"], summary["refused"]) == (300, 6, {})
    assert summary["guarantee"]["epsilon"] == 1.0
    assert "any one reading: had it been any other value" in summary["guarantee"]["sentence"]
    steps = summary["steps"]
    assert [step["people"] for step in steps] == sorted({step["people"] for step in steps})
    assert 296 <= steps[-1]["people"] <= 300  # the last few may be too few for a step
    # 1.1/√(.136·(300 - 49)) = .19 m is expected of a task, .15 m on average; one campaign of ten is still searching
    # for one of its tasks at half of these answers, next to none at all of them.
    assert steps[-1]["error"] < 1
    assert steps[-1]["wide_error"] > 1  # Laplace noise of scale 100 m: 100/√300 = 5.8 m for one task, 4.6 on average
    assert steps[0]["error"] > 5 * steps[-1]["error"]
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "comparisons.csv",
        "truth.csv",
        "whole-range.png",
    ]
    found = run(
        "discover",
        tmp_path / "demo/comparisons.csv",
        "--range",
        "0:100",
        "--truth",
        tmp_path / "demo/truth.csv",
        "--json",
    )
    assert json.loads(found.stdout)["scores"]["mae"] == pytest.approx(steps[-1]["error"], abs=0.06)  # shown on the grid
    assert [path.name for path in tmp_path.iterdir()] == ["demo"], "a temporary folder is left behind"


def children(process):
    return [int(child) for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for processes where Linux lists them")
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_stopping_the_demo_stops_its_server(kind, tmp_path):
    command = ["-m", "sottovoce", "demo", "--out", str(tmp_path / "demo")]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    with warm.Process(command, **options) as demo:
        until(lambda: demo.poll() is not None or list(tmp_path.glob("sottovoce-crowd-*/*.db")), "device at work")
        (server,) = children(demo)
        demo.send_signal(kind)
        assert demo.wait(PATIENCE) != 0
    assert not is_running(server)
    assert list(tmp_path.iterdir()) == [], "a temporary folder is left behind"
