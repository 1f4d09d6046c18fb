"""Versions and vendored files are those that are known to work."""

import json
import re
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_PINNED = {"sottovoce", "setuptools"}  # the second comes with some Pythons, and nothing here uses it
VENDORED = [ROOT / "src/sottovoce/server/console/vendor", ROOT / "tests/browser/vendor"]


def normal(name):
    """Names of packages as the packaging standards compare them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned():
    comment, *lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert comment.startswith("# ")
    return lines


def test_pins_name_a_version_but_no_source():
    for line in pinned():
        assert re.fullmatch(r"[A-Za-z0-9][\w.-]*==\d[\w.!+-]*", line), line


def test_every_package_is_pinned_to_the_version_that_is_installed():
    pins = {normal(name): version for name, version in (line.split("==") for line in pinned())}
    assert len(pins) == len(pinned()), "a package is pinned twice"
    installed = {normal(found.name): found.version for found in distributions()}
    different = {
        name: (version, pins.get(name))
        for name, version in installed.items()
        if name not in NOT_PINNED and pins.get(name) != version
    }
    assert not different, (
        f"installed and pinned: {different}; `make clean test` installs what is pinned, `make pins` pins"
    )


@pytest.mark.parametrize("folder", VENDORED, ids=lambda folder: folder.parent.name)
def test_vendored_files_are_those_that_were_recorded(folder):
    recorded = json.loads((folder / "vendored.json").read_text())
    assert {path.name for path in folder.iterdir()} - {"vendored.json"} == set(recorded)
    for name, origin in recorded.items():
        assert origin["package"]
        assert origin["version"]
        assert origin["licence"]
        assert sha256((folder / name).read_bytes()).hexdigest() == origin["sha256"], name


def test_nothing_is_vendored_elsewhere():
    """Minified or licensed by others: it belongs in a folder whose files are recorded."""
    tracked = [path for place in ("src", "tests", "docs") for path in (ROOT / place).rglob("*")]
    foreign = [path for path in tracked if re.search(r"\.min\.(js|css|mjs)$|LICENSE", path.name)]
    assert {path.parent for path in foreign if "_build" not in path.parts} == set(VENDORED)
