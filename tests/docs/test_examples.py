"""The examples run as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce as sv
import warm

EXAMPLE = Path(__file__).parents[2] / "examples/hallways.py"


@pytest.mark.slow
def test_hallways_from_a_simulation_and_from_files(tmp_path):
    """Writing the world and reading it again gives the same figures, up to the point where noise is planned."""
    sv.worlds.floorplan(seed=1).write(tmp_path / "data")
    command = [sys.executable, "-W", "error", EXAMPLE]
    simulated = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert simulated.returncode == 0, simulated.stderr
    without_noise, _, _ = EXAMPLE.read_text().partition("# %% Now with noise.")
    read = warm.run(["-c", without_noise, "data"], cwd=tmp_path)
    assert read.returncode == 0, read.stderr
    assert read.stdout.count("\n") >= 9
    assert simulated.stdout.startswith(read.stdout)
    assert "walkers with a single reading: 183" in simulated.stdout
    assert (tmp_path / "hallways.png").read_bytes()[:4] == b"\x89PNG"


def test_hallways_has_cells_and_is_linked_from_the_guide():
    assert EXAMPLE.read_text().count("\n# %% ") >= 5
    guide = EXAMPLE.parents[1] / "docs/guides/analyst.md"
    assert "examples/hallways.py" in guide.read_text()
