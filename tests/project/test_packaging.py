"""Wheel and source distribution are complete, and the installed command works without the source tree."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from sottovoce.server.console.docs import PAGES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return out


@pytest.mark.slow
def test_metadata_is_accepted(built):
    ran = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *built.iterdir()], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout


@pytest.mark.slow
def test_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"sottovoce/py.typed", "sottovoce/privacy/vectors.json"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    guides = {f"sottovoce/server/console/guides/{page}.md" for page in PAGES}
    assert guides <= set(names)
    assert all(name.startswith(("sottovoce/", "sottovoce-")) for name in names)
    assert not any("__pycache__" in name for name in names)


@pytest.mark.slow
def test_source_distribution_can_be_tested(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "Makefile", "constraints.txt", "pyproject.toml", "tests/conftest.py"} <= names


@pytest.mark.slow
def test_installed_wheel_runs_without_the_source_tree(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "site", wheel]
    subprocess.run(install, check=True, capture_output=True)
    code = "import sottovoce, sottovoce.cli.app as app; print(sottovoce.__file__); app.app(['--version'])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path,
                         env={"PYTHONPATH": str(tmp_path / "site"), "PATH": ""})  # fmt: skip
    assert str(tmp_path) in ran.stdout
    assert "sottovoce 0." in ran.stdout
