"""A participant's file that is damaged is refused, with what to do: the ledger is never lost silently."""

import json
import os
import random
import sqlite3
import sys
from pathlib import Path

import pytest

from hallways import manifest
from sottovoce.cli.app import main
from sottovoce.device import ParticipantFile, release
from sottovoce.device.participant_limits import Limits
from sottovoce.protocol import Problem, Promise

LINK = f"http://127.0.0.1:1/j/{'n' * 43}#sha256={'0' * 64}"
COMMANDS = {
    "ledger": ["--json"],
    "ledger and send": ["--send", "--wait", "0"],
    "submit": ["--reading", "hall-2=4", "--wait", "0"],
    "join": [LINK, "--yes", "--wait", "0"],
    "withdraw": ["--yes", "--wait", "0"],
    "limits": ["--epsilon", "2"],
}
TABLES = ("limits", "memberships", "consents", "releases", "released_tasks")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A file with a release in it, as bytes."""
    path = tmp_path_factory.mktemp("sound") / "mine.db"
    asked = manifest()
    with ParticipantFile(path) as mine:
        mine.consent("http://127.0.0.1:1", asked, Promise(1.0, 0.0), "i" * 43, "e" * 43, False)
        mine.enrolled(asked.campaign, "p" * 43)
        release(mine, asked.campaign, {"hall-1": "3"})
    assert not path.with_name("mine.db-wal").exists()
    return path.read_bytes()


def changed(*statements):
    def damage(path):
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return damage


def rewritten(change):
    return lambda path: path.write_bytes(change(path.read_bytes()))


def flipped(seed):
    def change(data):
        spoilt, chance = bytearray(data), random.Random(seed)
        for _ in range(40):
            spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
        return bytes(spoilt)

    return rewritten(change)


def folder(path):
    path.unlink()
    path.mkdir()


def only_its_log(path):
    path.with_name("mine.db-wal").write_bytes(b"x" * 5000)
    path.unlink()


DAMAGES = {
    "emptied": rewritten(lambda data: b""),
    "cut to its header": rewritten(lambda data: data[:100]),
    "cut in the middle": rewritten(lambda data: data[: len(data) // 2]),
    "cut by a byte": rewritten(lambda data: data[:-1]),
    "zeros": rewritten(lambda data: bytes(len(data))),
    "zeros after the header": rewritten(lambda data: data[:4096] + bytes(len(data) - 4096)),
    "text": rewritten(lambda data: b"my ledger\n" * 1000),
    "JSON": rewritten(lambda data: b'{"version": 1}'),
    "more after its end": rewritten(lambda data: data + b"?" * 5000),
    "a folder": folder,
    "only its log": only_its_log,
    "an older version": changed("PRAGMA user_version = 0"),
    "a newer version": changed("PRAGMA user_version = 7"),
    "another manifest": changed("UPDATE memberships SET manifest = X'7B7D'"),
    "no keys": changed("UPDATE memberships SET participant_token = NULL, enrolment_key = NULL"),
    "nonsense limits": changed("INSERT INTO limits VALUES (1, -1, 5, 0, 1e999, -1)"),
    "a table of another shape": changed("DROP TABLE releases", "CREATE TABLE releases (id INTEGER)"),
    **{f"no {table}": changed(f"DROP TABLE {table}") for table in TABLES},
    **{f"flipped bits {seed}": flipped(seed) for seed in range(12)},
}


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["sottovoce", *arguments])
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    return code, capsys.readouterr()


@pytest.mark.alike
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_and_never_forgotten(sound, tmp_path, monkeypatch, capsys, name):
    for command, options in COMMANDS.items():
        place = tmp_path / command.replace(" ", "-")
        place.mkdir()
        path = place / "mine.db"
        path.write_bytes(sound)
        DAMAGES[name](path)
        before = path.read_bytes() if path.is_file() else None
        code, output = run(monkeypatch, capsys, command.split()[0], *options, "--file", str(path))
        assert code in (0, 2), output.err
        assert "Traceback" not in output.err
        if code == 2 and command != "join":
            assert "Error: " in output.err
        if command == "ledger" and code == 0:
            # Whatever was damaged, the release is still counted.
            assert json.loads(output.out)["spent"]["epsilon"] == 1.0
        if command == "ledger" and before is not None and code == 2:
            assert path.read_bytes() == before
        assert not [entry for entry in os.listdir(place) if entry.startswith(".")]


@pytest.mark.parametrize(
    "name", ["emptied", "zeros after the header", "only its log", "no releases", "another manifest"]
)
def test_what_cannot_be_trusted_is_refused_with_what_to_do(sound, tmp_path, name):
    path = tmp_path / "mine.db"
    path.write_bytes(sound)
    DAMAGES[name](path)
    with pytest.raises(Problem) as refusal, ParticipantFile(path) as mine:
        mine.memberships()
    assert refusal.value.code == "damaged_file"
    assert "restore the newest copy of it" in str(refusal.value)


def test_a_new_file_is_whole_when_it_has_its_name(tmp_path, monkeypatch):
    """The process that makes it ends just before: no half-written ledger, and nothing that looks like an empty one."""
    path = tmp_path / "mine.db"

    def ended(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", ended)
        with pytest.raises(KeyboardInterrupt):
            ParticipantFile(path)
    assert not list(tmp_path.iterdir())
    with ParticipantFile(path) as mine:
        assert mine.spent() == Promise(0.0, 0.0)


def test_a_file_that_another_process_is_creating_is_not_damaged(tmp_path, monkeypatch):
    path = tmp_path / "new.db"
    exists, others = Path.exists, []

    def looked_at_a_moment_before(file):
        found = exists(file)
        if file == path and not others:
            others.append(None)
            others[0] = ParticipantFile(path)  # open, so that its log is there
            others[0].set_limits(Limits())
            return False
        return found

    monkeypatch.setattr(Path, "exists", looked_at_a_moment_before)
    others_made_it = ParticipantFile(path)
    assert (tmp_path / "new.db-wal").is_file()
    assert others_made_it.limits == Limits()
    others_made_it.close()
    others[0].close()
