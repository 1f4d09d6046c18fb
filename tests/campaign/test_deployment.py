"""The unit for systemd: valid according to systemd, and naming commands and folders that exist."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import run

UNIT = Path(__file__).parents[2] / "deploy/sottovoce@.service"


def settings():
    return re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.MULTILINE)


def test_unit_starts_a_command_that_exists():
    (command,) = [entry for name, entry in settings() if name == "ExecStart"]
    program, *arguments = command.split()
    assert Path(program).name == "sottovoce"
    options = [word for word in arguments if word.startswith("--")]
    help_text = run(arguments[0], "--help").stdout
    assert options
    assert all(option in help_text for option in options)


def test_unit_is_one_instance_per_port_under_one_user():
    found = dict(settings())
    assert found["ExecStart"].endswith("--port %i")
    # Each instance would otherwise get its own user, and take the folders away from the one before.
    assert (found["DynamicUser"], found["User"]) == ("yes", "sottovoce")


def test_unit_may_write_where_it_keeps_its_database():
    found = dict(settings())
    assert f"/var/lib/{found['StateDirectory']}/" in UNIT.read_text()
    assert "SOTTOVOCE_DATABASE=sqlite:////var/lib/" in UNIT.read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_finds_no_mistake_in_the_unit(tmp_path):
    unit = tmp_path / UNIT.name.replace("@", "@8000")
    # The program must exist for the unit to be valid, so the unit names one that does.
    unit.write_text(UNIT.read_text().replace("/opt/sottovoce/bin/sottovoce", sys.executable))
    judged = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (judged.returncode, judged.stderr) == (0, "")
