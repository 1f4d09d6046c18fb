"""The site builds without a warning, needs no other host, and its reference misses nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.cli.app import app
from sottovoce.lab.reproduce import FIGURES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def command_reference(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import command_reference

    return command_reference


@pytest.mark.slow
def test_site_builds_without_a_warning(tmp_path):
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-b", "html"]
    built = subprocess.run([*sphinx, "-d", tmp_path / "trees", DOCS, tmp_path / "site"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr

    from sphinx.util.inventory import InventoryFile

    with (tmp_path / "site/objects.inv").open("rb") as file:
        documented = {name for kind in InventoryFile.load(file, "", lambda base, uri: uri).values() for name in kind}
    missing = [name for name in sottovoce.__all__ if f"sottovoce.{name}" not in documented]
    assert not missing, f"add these to docs/reference/python.md: {missing}"

    for page in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"((?:https?:)?//[^\"]+)", page.read_text())
        assert not fetched, f"{page.name} asks another host for {fetched}"


def commands(typed, path=()):
    """Every command by the words that call it, as registered with typer."""
    for command in typed.registered_commands:
        yield (*path, command.name or command.callback.__name__.replace("_", "-"))
    for group in typed.registered_groups:
        yield (*path, group.name or group.typer_instance.info.name)
        yield from commands(group.typer_instance, (*path, group.name or group.typer_instance.info.name))


def section(reference, command):
    """What the reference says about a command."""
    heading = f"{'#' * (1 + len(command))} sottovoce {' '.join(command)}\n"
    assert heading in reference, f"no section for {' '.join(command)}"
    return re.split(r"^#", reference.split(heading)[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.slow
def test_every_option_of_every_command_is_in_the_reference(command_reference):
    reference = command_reference.reference()
    for command in commands(app):
        help_text = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "300", "NO_COLOR": "1"}).output
        options = set(re.findall(r"^\W*(--[a-z][a-z0-9-]*)", help_text, re.MULTILINE)) - {"--help"}
        undocumented = [option for option in options if f"`{option}" not in section(reference, command)]
        assert not undocumented, f"sottovoce {' '.join(command)}: {undocumented}"


def test_every_option_says_what_it_is_for(command_reference):
    bare = re.findall(r"^`(.+)`\n: *(?:\\\[.*)?$", command_reference.reference(), re.MULTILINE)
    assert not bare, f"give these a help text: {bare}"


def test_page_of_commands_has_the_place_for_them(command_reference):
    assert command_reference.PLACEHOLDER in (DOCS / "reference/cli.md").read_text()


def test_reproduction_page_shows_every_figure(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import reproduction

    assert [figure["name"] for figure in reproduction.figures()] == list(FIGURES), "`make figures` draws them all"
    assert reproduction.PLACEHOLDER in (DOCS / "reproduction.md").read_text()
