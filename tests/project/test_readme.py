"""The README's commands and code run as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_commands_and_code_run(tmp_path):
    commands = [line.split("  #")[0] for line in TEXT.splitlines() if line.startswith("sottovoce ")]
    assert len(commands) >= 7
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in commands:
        ran = subprocess.run(
            shlex.split(command),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path},
            timeout=120,
        )
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("[0 1 2] [")


def test_pictures_and_pages_are_there():
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / target).is_file(), target
