"""Every option of every command, with values that make no sense: one sentence and exit code 2, nothing left behind.

The options are read from the commands themselves, so that a new one is tried as soon as it is there. No server is
within reach: requests go to a closed port of this machine.
"""

import sys
import warnings
from functools import cache
from pathlib import Path

import pytest
import typer

from sottovoce.cli.app import app, main

NUMBERS = ("nan", "inf", "-inf", "-1", "0", "1e300", "-1e300", "1e-300", "1" * 5000, "1e99999", "²", "", "0x10", "one")
TEXTS = ("", " ", "\x00", "nan", "½" * 40, "a" * 100_000, "-1", "../..", "[bold]", "{}", "1:2:3", "gaussian:1e300",
         "gaussian:1e-300", "shared:nan", "fresh:1e300", "fresh:1e-300", "floored:1e300:1e-300", "sqlite:///x/y/z",
         "http://[", "task=nan")  # fmt: skip
PATHS = ("", ".", "missing.csv", "missing/missing.csv", "null", "broken.csv", "broken.parquet", "broken.jsonl",
         "deep.jsonl", "giant.csv", "broken.db", "broken.json", "a" * 300 + ".csv", "nul\x00.csv")  # fmt: skip
CLAIMS = "user,object,value\na,x,1\nb,x,2\na,y,3\nb,y,5\n"
LINK = f"http://127.0.0.1:1/j/{'t' * 43}#sha256={'0' * 64}"

# What makes each command succeed, or end at the closed port, in little time.
COMMANDS = {
    "discover": ["claims.csv", "--out", "truths.csv", "--weights", "weights.csv", "--max-iter", "5"],
    "explain": ["claims.csv", "x"],
    "compare": ["--runs", "1", "--participants", "5", "--objects", "3", "--methods", "mean"],
    "perturb": ["claims.csv", "--noise", "fresh:0.5", "--out", "noisy.csv"],
    "guarantee": ["--noise", "fresh:0.5"],
    "plan": ["--simulations", "0", "--delta", "0"],
    "theorem": ["--lambda1", "1", "--lambda2", "0.5", "--alpha", "1", "--beta", "0.05", "--participants", "50",
                "--epsilon", "1", "--delta", "0.1"],
    "simulate": ["crowd", "--participants", "5", "--objects", "3"],
    "audit": ["--noise", "fresh:0.5", "--samples", "1000", "--readings", "1"],
    "backup": ["--database", "sqlite:///missing.db", "--out", "copy.db"],
    "restore": ["missing.db", "--database", "sqlite:///new.db"],
    "join": [LINK, "--yes", "--wait", "0", "--file", "mine.db"],
    "submit": ["--reading", "hall-1=1", "--wait", "0", "--file", "mine.db"],
    "ledger": ["--send", "--wait", "0", "--file", "mine.db"],
    "limits": ["--epsilon", "1", "--file", "mine.db"],
    "withdraw": ["--yes", "--wait", "0", "--file", "mine.db"],
    "claims pack": ["claims.csv", "pack"],
    "claims info": ["missing"],
    "claims convert": ["claims.csv", "converted", "--format", "matrix"],
    "claims formats": [],
    "campaign create": ["tasks.csv", "--title", "t", "--noise", "fresh:0.5", "--distance", "1"],
    "campaign export": ["c", "claims", "--out", "export.csv"],
    "campaign invite": ["c", "--out", "links.csv"],
    "campaign results": ["c"],
    "campaign method": ["c", "mean"],
    "campaign revoke": ["c", "1"],
    "campaign operators add": ["name"],
}  # fmt: skip
# Worlds that run for long when their sizes are good; a server that runs until it is ended; a browser of options.
ELSEWHERE = {"reproduce", "bench", "demo", "serve"}
# Each is one more file or option of a kind that is tried elsewhere.
SKIPPED_OPTIONS = {
    "server",
    "token",
    "json",
    "help",
    "engine",
    "spark_master",
    "method",
    "duplicates",
    "kind",
    "target",
    "unit",
    "object",
    "value",
    "asked_by",
    "purpose",
    "title",
}
ON_SERVER = {"--server": "http://127.0.0.1:1", "--token": "t" * 43}


# Made once: otherwise three quarters of the time here would go into making the same commands two thousand times.
command_of = cache(typer.main.get_command)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in {
        "claims.csv": CLAIMS,
        "tasks.csv": "id,low,high,grid\na,0,1,0.1\n",
        "broken.csv": 'user,object,value,task,id\n\x00\xff,;"',
        "broken.parquet": "PAR1nothing",
        "broken.jsonl": '{"user":\n}}',
        "broken.json": "[" * 5000,
        "broken.db": "SQLite format 3\x00" + "?" * 2000,
        "deep.jsonl": '{"user":' + "[" * 100_000 + "]" * 100_000 + "}\n",
        "giant.csv": "user,object,value,task,id,low,high,grid\n" + "a" * 200_000 + ",b,1,t,t,0,1,0.1\n",
    }.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "null").symlink_to("/dev/null")  # which must not become a file
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(typer.main, "get_command", command_of)
    return tmp_path


def listing(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def run(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sottovoce", *arguments])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(SystemExit) as end:
            main()
    return end.value.code or 0, capsys.readouterr().err


def parameters(name):
    command = command_of(app)
    for part in name.split():
        command = command.commands[part]
    return command.params


def cases():
    for name, given in COMMANDS.items():
        for parameter in parameters(name):
            if parameter.name in SKIPPED_OPTIONS or getattr(parameter, "is_flag", False):
                continue
            kind = str(parameter.type_descriptor.annotation)
            values = PATHS if "Path" in kind else NUMBERS if "int" in kind or "float" in kind else TEXTS
            yield pytest.param(name, given, parameter, values, id=f"{name} {parameter.name}")


def is_argument(parameter):
    return not parameter.opts[0].startswith("-")


def arguments(name, given, parameter, value):
    """The command with this value in place of what it is given."""
    line = [*given]
    if is_argument(parameter):
        place = [one.name for one in parameters(name) if is_argument(one)].index(parameter.name)
        if place < len(line) and not line[place].startswith("--"):  # arguments come first
            line[place] = value
            return line
        return [value, *line]
    option = parameter.opts[0]
    if option in line:
        place = line.index(option)
        del line[place : place + 2]
    return [*line, option, value]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "given", "parameter", "values"), [*cases()])
def test_nasty_values_give_one_sentence(folder, monkeypatch, capsys, name, given, parameter, values):
    on_server = [part for pair in ON_SERVER.items() for part in pair] if name.startswith("campaign") else []
    for value in values:
        before = listing(folder)
        line = [*name.split(), *arguments(name, given, parameter, value), *on_server]
        code, output = run(line, monkeypatch, capsys)
        shown = f"{parameter.name} = {value[:60]!r}: exit code {code}, {output[-600:]}"
        assert code in ((0, 1, 2) if name == "audit" else (0, 2)), shown
        assert "Traceback" not in output, shown
        if code == 2:
            # A participant's file is made where there is none.
            left = {path for path in listing(folder) - before if "mine.db" not in path and parameter.name != "file"}
            assert not left, f"{shown}: left behind {sorted(left)}"
            assert len(output) < 5000, shown
        for path in listing(folder) - before:
            made = folder / path
            if made.is_file():
                made.unlink()


def test_every_command_is_tried():
    def names(command, before=()):
        for name, one in command.commands.items():
            if hasattr(one, "commands"):
                yield from names(one, (*before, name))
            else:
                yield " ".join((*before, name))

    everything = set(names(command_of(app)))
    alike = {name for name in everything if name.startswith("campaign")}  # the same few arguments, sent to a server
    assert everything - alike - ELSEWHERE <= set(COMMANDS)


@pytest.mark.parametrize("port", ["99999", "-1", "nan", "1e3"])
def test_an_invalid_port_is_refused_before_anything_is_made(folder, monkeypatch, capsys, port):
    before = listing(folder)
    code, output = run(["serve", "--port", port], monkeypatch, capsys)
    assert code == 2
    assert "--port" in output
    assert listing(folder) == before


def test_nasty_files_are_where_their_names_say(folder):
    assert all(Path(name).exists() for name in PATHS if name.startswith(("broken", "giant", "deep")))
