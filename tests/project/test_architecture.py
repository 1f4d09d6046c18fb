"""Imports point one way, and nothing heavy is imported before it is used."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce
from sottovoce.cli import main

SOURCE = Path(sottovoce.__file__).parent
# From DESIGN: which room may import which. Modules outside the rooms are open to all.
OPEN = {"digits", "errors", "progress", "spreadsheets", "text_tables", "texts", "__version__"}
# The lab runs whole campaigns: the operator's client and the participants' devices, against a real server.
EVERYTHING_BELOW = {"server", "operators", "device", "protocol", "planning", "worlds", "discovery", "comparisons"}
EVERYTHING_BELOW |= {"engines", "privacy", "claims"}
MAY_IMPORT = {
    "texts": set(),
    "claims": set(),
    "engines": {"claims"},
    "privacy": set(),
    "discovery": {"engines", "claims", "privacy"},
    "comparisons": {"claims", "privacy"},
    "worlds": {"comparisons", "privacy", "claims"},
    "planning": {"worlds", "discovery", "comparisons", "privacy", "claims"},
    "protocol": {"privacy"},
    "device": {"protocol", "privacy"},
    "operators": {"protocol", "claims"},
    "server": {"protocol", "discovery", "comparisons", "planning", "engines", "claims", "privacy"},
    "lab": EVERYTHING_BELOW,
    "cli": {"lab", *EVERYTHING_BELOW},
}


def imported_rooms(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: imports name the whole way"
            names = [node.module] if node.module != "sottovoce" else [f"sottovoce.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("sottovoce."):
                yield name.split(".")[1]


@pytest.mark.parametrize("room", sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()))
def test_imports_point_one_way(room):
    for path in (SOURCE / room).rglob("*.py"):
        foreign = set(imported_rooms(path)) - {room, *OPEN}
        assert foreign <= MAY_IMPORT[room], f"{path.relative_to(SOURCE)} imports {foreign - MAY_IMPORT[room]}"


def test_two_classes_never_share_a_name():
    places: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def modules_after(statement):
    code = f"import sys; {statement}; print(*sorted(name for name in sys.modules if '.' not in name))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


HEAVY = {"numpy", "scipy", "numba", "pyarrow", "duckdb", "matplotlib", "pyspark", "fastapi", "sqlalchemy", "pandas"}


def test_import_is_light():
    assert not modules_after("import sottovoce") & HEAVY


def test_help_is_light():
    code = "import sottovoce.cli.app as a, contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n"
    code += "    a.app(['--help'], standalone_mode=False)"
    assert not modules_after(f"exec({code!r})") & HEAVY


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("4", "4")])
def test_the_command_uses_one_thread_for_matrices_unless_asked_for_more(given, used, monkeypatch):
    """NumPy and SciPy, which read this as they are loaded, are not loaded with the command (see above)."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if not given:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    monkeypatch.setattr("sottovoce.cli.app.app", lambda: None)
    main()
    assert os.environ["OPENBLAS_NUM_THREADS"] == used


@pytest.mark.slow
def test_reading_claims_compiles_but_draws_and_serves_nothing():
    loaded = modules_after("import sottovoce as sv; sv.CRH().fit(sv.Claims.from_matrix([[1.0]]))")
    # Arrow imports pandas by itself where it is installed.
    assert not loaded & (HEAVY - {"numpy", "scipy", "numba", "pyarrow", "pandas"})


def test_public_names_are_there():
    for name in sottovoce.__all__:
        assert getattr(sottovoce, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sottovoce.nothing  # noqa: B018
