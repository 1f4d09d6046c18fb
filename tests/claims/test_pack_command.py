"""``sottovoce claims`` and ``sottovoce discover`` on packs, run as a user runs them."""

import json
import signal
import sqlite3
import subprocess

import numpy as np
import pytest

import sottovoce as sv
import warm
from command import rows_of, run
from patience import PATIENCE, until
from questions import ASKED_BIRD, ASKED_WIDTH, MIXED, answered, mostly
from server_under_test import clock, postgres, server, server_database, start_local  # noqa: F401
from sottovoce.claims.blocks import Pack
from sottovoce.claims.packing import pack_claims


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crowd")
    assert run("simulate", folder, "--participants", 40, "--objects", 25, "--fill", 0.5, "--seed", 3).returncode == 0
    assert run("claims", "pack", folder / "claims.csv", folder / "pack").returncode == 0
    return folder


def halves(crowd, folder):
    """The claims in two files; the second also has new objects and users."""
    header, *rows = (crowd / "claims.csv").read_text().splitlines()
    for name, mine in (("first", rows[: len(rows) // 2]), ("second", rows[len(rows) // 2 :])):
        (folder / f"{name}.csv").write_text("\n".join([header, *mine]) + "\n")


def test_what_is_in_a_pack_is_reported(crowd):
    ran = run("claims", "info", crowd / "pack")
    assert ran.returncode == 0, ran.stderr
    claims = sv.Claims.read(crowd / "claims.csv")
    assert f"{len(claims)} claims by 40 users about 25 objects; 1 round, 1 block" in ran.stdout
    said = json.loads(run("claims", "info", crowd / "pack", "--json").stdout)
    assert (said["claims"], said["users"], said["objects"], said["rounds"]) == (len(claims), 40, 25, 1)


def test_info_finds_damage(crowd, tmp_path):
    packed = pack_claims(sv.Claims.read(crowd / "claims.csv"), tmp_path / "pack", claims_per_block=100)
    path = tmp_path / "pack" / packed.manifest.blocks[-1].file
    path.write_bytes(path.read_bytes()[:-9])
    ran = run("claims", "info", tmp_path / "pack")
    assert ran.returncode == 2
    assert "damaged" in ran.stderr


@pytest.mark.parametrize("engine", ["auto", "memory", "disk"])
@pytest.mark.parametrize("method", ["crh", "noise-aware"])
def test_a_pack_gives_the_truths_of_the_file(crowd, tmp_path, engine, method):
    ran = run("discover", crowd / "pack", "--engine", engine, "--method", method, "--out", tmp_path / "t.csv",
              "--weights", tmp_path / "w.csv", "--truth", crowd / "truth.csv", "--json")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    from_file = json.loads(
        run("discover", crowd / "claims.csv", "--method", method, "--truth", crowd / "truth.csv", "--json").stdout
    )
    result = json.loads(ran.stdout)
    assert list(result["truths"]) == list(from_file["truths"])
    for label, entry in result["truths"].items():
        assert entry == pytest.approx(from_file["truths"][label], rel=1e-9)
    assert result["scores"]["mae"] == pytest.approx(from_file["scores"]["mae"], rel=1e-9)
    assert [float(row["truth"]) for row in rows_of(tmp_path / "t.csv")] == [
        entry["truth"] for entry in result["truths"].values()
    ]
    assert len(rows_of(tmp_path / "w.csv")) == 40
    assert ("engine memory: " in ran.stderr) == (engine == "auto")  # and why


@pytest.mark.slow
def test_new_claims_are_added_and_a_later_run_starts_from_the_last(crowd, tmp_path):
    halves(crowd, tmp_path)
    assert run("claims", "pack", "first.csv", "pack", cwd=tmp_path).returncode == 0
    assert run("discover", "pack", "--method", "crh", cwd=tmp_path).returncode == 0
    again = run("claims", "pack", "second.csv", "pack", "--append", "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["rounds"] == 2
    warm = run("discover", "pack", "--method", "crh", "--resume", "--json", "--engine", "disk", cwd=tmp_path)
    assert "continuing from iteration" in warm.stderr
    cold = json.loads(run("discover", crowd / "claims.csv", "--method", "crh", "--json").stdout)["truths"]
    result = json.loads(warm.stdout)["truths"]
    assert sorted(result) == sorted(cold)
    assert all(entry["truth"] == pytest.approx(cold[label]["truth"], abs=1e-4) for label, entry in result.items())
    decayed = run("discover", "pack", "--method", "crh", "--decay", "0.3", "--json", cwd=tmp_path)
    assert decayed.returncode == 0, decayed.stderr
    fit = sv.CRH(decay=0.3).fit(sv.engines.DiskEngine(Pack(tmp_path / "pack")))
    truths = [entry["truth"] for entry in json.loads(decayed.stdout)["truths"].values()]
    assert truths == pytest.approx(fit.truths_.tolist())
    assert np.abs(np.array([result[str(label)]["truth"] for label in fit.objects_]) - fit.truths_).max() > 1e-4


@pytest.mark.alike
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["claims", "pack", "none.csv", "new"], ["none.csv", "no such file"]),
        (["claims", "pack", "claims.csv", "pack"], ["already exists"]),
        (["claims", "pack", "claims.csv", "new", "--append"], ["manifest.json"]),
        (["claims", "pack", "claims.csv", "pack", "--append"], ["a second claim", "earlier round", "--duplicates"]),
        (["claims", "pack", "claims.csv", "new", "--campaign", "x"], ["only a database"]),
        (["claims", "pack", "sqlite:///x.db", "new"], ["--campaign"]),
        (["claims", "pack", "claims.csv", "new", "--memory", "much"], ["500MB"]),
        (["claims", "info", "nowhere"], ["manifest.json"]),
        (["discover", "claims.csv", "--engine", "disk"], ["claims pack"]),
        (["discover", "claims.csv", "--resume"], ["--checkpoint"]),
        (["discover", "claims.csv", "--method", "crh", "--decay", "0.5"], ["only packs have rounds"]),
        (["discover", "pack", "--decay", "0.5"], ["--method crh"]),
        (["discover", "pack", "--left-out", "new"], ["--left-out new: pack is a pack", "`sottovoce claims pack`"]),
        (["discover", "pack", "--kind", "choice"], ["--kind choice: pack is a pack"]),
        (["discover", "pack", "--duplicates", "last"], ["--duplicates last: pack is a pack"]),
        (["discover", "pack", "--decimal", ","], ["--decimal ,: pack is a pack"]),
        (["discover", "pack", "--skip-bad"], ["--skip-bad: pack is a pack"]),
        (["discover", "pack", "--user", "who", "--truth", "none.csv"], ["--user who: pack is a pack"]),
        (["discover", "pack", "--value", "width"], ["--value width: pack is a pack"]),
        (["discover", "pack", "--value", "width", "--truth", "none.csv"], ["none.csv: there is no such file"]),
        (["discover", "claims.csv", "--known", "pack"], ["a file is needed; give a file instead"]),
        (["discover", "pack", "--method", "crh", "--decay", "2"], ["decay=2"]),
        (["discover", "pack", "--method", "gtm", "--resume"], ["no checkpoint"]),
        (["discover", "pack", "--method", "gtm", "--resume", "--checkpoint", "crh.arrow"], ["was made by crh"]),
    ],
)
def test_mistakes_are_reported(crowd, tmp_path, arguments, words):
    (tmp_path / "claims.csv").symlink_to(crowd / "claims.csv")
    (tmp_path / "pack").symlink_to(crowd / "pack")
    if "crh.arrow" in arguments:
        assert run("discover", "pack", "--method", "crh", "--checkpoint", "crh.arrow", cwd=tmp_path).returncode == 0
    ran = run(*arguments, cwd=tmp_path)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    said = " ".join(ran.stderr.split())
    for word in words:
        assert word in said
    assert not (tmp_path / "new").exists()


def start_endless_run(pack):
    """An endless discovery, with its first checkpoint written."""
    command = ["discover", str(pack), "--engine", "disk", "--method", "crh", "--tol", "0", "--max-iter", "100000000"]
    running = warm.Process(["-m", "sottovoce", *command], stderr=subprocess.PIPE)
    checkpoint = pack / "checkpoint-crh.arrow"
    until(lambda: running.poll() is not None or checkpoint.exists(), "checkpoint")
    assert running.poll() is None, running.stderr.read()
    return running


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_can_be_resumed(crowd, tmp_path, end):
    pack_claims(sv.Claims.read(crowd / "claims.csv"), tmp_path / "pack", claims_per_block=100)
    with start_endless_run(tmp_path / "pack") as running:
        running.send_signal(end)
        said = running.stderr.read()
        code = running.wait(PATIENCE)
    if end == signal.SIGINT:
        assert code == 130
        assert "--resume continues from it" in " ".join(said.split())
        assert "Traceback" not in said
    resumed = run("discover", tmp_path / "pack", "--method", "crh", "--resume", "--json")
    assert resumed.returncode == 0, resumed.stderr
    result = json.loads(resumed.stdout)
    cold = json.loads(run("discover", crowd / "claims.csv", "--method", "crh", "--tol", "1e-9", "--json").stdout)
    for label, entry in result["truths"].items():
        assert entry["truth"] == pytest.approx(cold["truths"][label]["truth"], abs=1e-5)
    assert not [
        path for path in (tmp_path / "pack").iterdir() if path.name.startswith(".check") and end == signal.SIGINT
    ]


def test_the_claims_of_a_campaign_are_packed_from_its_database(server, server_database, tmp_path):  # noqa: F811
    campaign = server.opened()
    server.crowd(campaign, 9)
    server.recompute()  # exports follow the results
    exported = server.client.get(f"/api/campaigns/{campaign}/claims.parquet", headers=server.operator)
    (tmp_path / "claims.parquet").write_bytes(exported.content)
    ran = run("claims", "pack", server_database, tmp_path / "pack", "--campaign", campaign)
    assert ran.returncode == 0, ran.stderr
    packed, claims = Pack(tmp_path / "pack").claims(), sv.Claims.read(tmp_path / "claims.parquet")
    # An export gives its participants new names.
    assert sorted(claim[1:] for claim in packed) == sorted(claim[1:] for claim in claims)
    assert len(packed) == 27
    assert packed.noise == claims.noise == "fresh:0.5"
    unknown = run("claims", "pack", server_database, tmp_path / "other", "--campaign", "elsewhere")
    assert unknown.returncode == 2
    assert "elsewhere" in unknown.stderr


def packed_and_exported(server, database, campaign, folder, kind, *options):  # noqa: F811
    exported = server.client.get(f"/api/campaigns/{campaign}/claims.parquet?kind={kind}", headers=server.operator)
    assert exported.status_code == 200, exported.text
    (folder / f"{kind}.parquet").write_bytes(exported.content)
    ran = run("claims", "pack", database, folder / f"pack-{kind}", "--campaign", campaign, *options)
    assert ran.returncode == 0, ran.stderr
    return Pack(folder / f"pack-{kind}").claims(), sv.Claims.read(folder / f"{kind}.parquet")


@pytest.mark.slow
def test_numbers_and_choices_of_a_campaign_make_a_pack_each(server, server_database, tmp_path):  # noqa: F811
    campaign = server.opened(**MIXED)
    answered(server, campaign, 10, mostly)
    server.recompute()
    for kind, law in (("number", "fresh:0.5"), ("choice", "response:2.0")):
        packed, claims = packed_and_exported(server, server_database, campaign, tmp_path, kind, "--kind", kind)
        assert packed.kind == kind
        assert packed.noise == claims.noise == law
        assert sorted(claim[1:] for claim in packed) == sorted(claim[1:] for claim in claims)
    assert dict(zip(packed.object_labels, packed.answers.counts, strict=True)) == {"bird": 4, "path": 2}
    assert packed.answers.declared
    truths = json.loads(run("discover", tmp_path / "pack-choice", "--engine", "disk", "--json").stdout)["truths"]
    assert {task: row["truth"] for task, row in truths.items()} == {"path": "yes", "bird": "robin"}
    ran = run("claims", "pack", server_database, tmp_path / "both", "--campaign", campaign)
    assert (ran.returncode, "--kind choice" in " ".join(ran.stderr.split())) == (2, True), ran.stderr
    assert not (tmp_path / "both").exists()


@pytest.mark.slow
def test_sets_of_choices_are_packed_from_a_database(server, server_database, tmp_path):  # noqa: F811
    campaign = server.opened(tasks=[ASKED_BIRD], noise="response:1:2", readings=1)
    answered(server, campaign, 10, lambda number: {"bird": [1, 2 + number % 2]})
    server.recompute()
    packed, claims = packed_and_exported(server, server_database, campaign, tmp_path, "choice")
    assert packed.answers.size == claims.answers.size == 2
    assert sorted(claim[1:] for claim in packed) == sorted(claim[1:] for claim in claims)


@pytest.mark.slow
def test_a_kind_that_a_campaign_does_not_have_is_refused(server, server_database, tmp_path):  # noqa: F811
    numbers = server.opened()
    compared = server.opened(tasks=[ASKED_WIDTH], noise="response:2", levels=2, readings=1)
    for campaign, options, words in (
        (numbers, ("--kind", "choice"), "has only numbers"),
        (compared, (), "compared with cuts"),
    ):
        ran = run("claims", "pack", server_database, tmp_path / "pack", "--campaign", campaign, *options)
        assert (ran.returncode, words in " ".join(ran.stderr.split())) == (2, True), ran.stderr
        assert "API description" not in " ".join(ran.stderr.split())  # its advice is for requests
        assert not (tmp_path / "pack").exists()


def test_a_file_that_is_not_a_database_is_refused_and_left_alone(tmp_path):
    missing, foreign, broken, empty = (tmp_path / f"{name}.db" for name in ("missing", "foreign", "broken", "empty"))
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE recipes (name)")
    connection.close()
    broken.write_bytes(b"SQLite format 3\x00" + b"?" * 5000)
    empty.touch()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for path, words in ((missing, "no such file"), (foreign, "no campaigns"), (broken, "cannot be read"),
                        (empty, "no campaigns"), (tmp_path, "is a folder")):  # fmt: skip
        ran = run("claims", "pack", f"sqlite:///{path}", tmp_path / "pack", "--campaign", "c")
        assert (ran.returncode, "Traceback" in ran.stderr) == (2, False), ran.stderr
        assert words in " ".join(ran.stderr.split())
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
