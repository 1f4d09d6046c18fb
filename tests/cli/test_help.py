"""The help of every command says what to type."""

import re

import pytest
import typer
from typer.testing import CliRunner

from command import run
from sottovoce.cli.app import app


def _paths(command, path=()):
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from _paths(below, (*path, name))


def _help(path, columns):
    ran = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    assert ran.exit_code == 0, ran.output
    return ran.output


@pytest.mark.alike
@pytest.mark.parametrize("path", list(_paths(typer.main.get_command(app))), ids=" ".join)
def test_flags_take_no_value_and_nothing_is_cut_off(path):
    text = _help(path, 80)
    assert "<bool>" not in text
    assert "list[" not in "".join(line for line in text.splitlines() if "--" in line)
    assert not re.search(r"\w…", text)
    assert "{" not in text.partition("╭")[0]


def test_paragraphs_are_filled_to_the_width_of_the_terminal():
    lines = [line.strip() for line in _help(["submit"], 300).splitlines()]
    assert any(line.startswith("Readings are final.") and len(line) > 250 for line in lines)


def test_arguments_are_in_capitals():
    assert "sottovoce submit [OPTIONS] [READINGS]" in _help(["submit"], 80)
    assert "sottovoce explain [OPTIONS] CLAIMS OBJECT" in _help(["explain"], 80)


def test_narrow_tables_fold_headings_and_cut_nothing(tmp_path):
    claims = "user,object,value\na,x,10.25\nb,x,10.5\nc,x,11\n"
    (tmp_path / "claims.csv").write_text(claims)
    ran = run("discover", tmp_path / "claims.csv", env={"COLUMNS": "50"})
    assert ran.returncode == 0, ran.stderr
    assert "…" not in ran.stdout


def test_a_plan_says_what_it_assumes():
    asked = ["plan", "--range", "0:100", "--simulations", "0", "--participants", "300"]
    assert "(assumed: readings vary by 1/50 of the range)" in " ".join(run(*asked).stdout.split())
    assert "(given)" in " ".join(run(*asked, "--error-rate", "0.25").stdout.split())
