"""Compiled kernels are kept on disk, and recompiled when their sources change."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce

SOURCE = Path(sottovoce.__file__).parent
KERNELS = sorted(path for path in SOURCE.rglob("*.py") if "@njit" in path.read_text())

# The weight of a claim that is 5 deviations off, as part of a sweep: (64 - 25)/(64 - 16), squared.
SWEEP = """
import numpy as np
from sottovoce.engines.sweeps import sweep_by_object
claims = np.array([0, 1]), np.array([0]), np.array([5.0])
arrays = np.ones((1, 1)), np.zeros((1, 2)), np.empty(1), np.empty(1)
known = np.array([False])
sweep_by_object(*claims, np.zeros(1), np.ones(1), np.zeros(1), known, 0.0, 0.0, (0.0, True), None, *arrays, None)
print(round(arrays[3][0], 4))
"""


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_kernel_uses_nothing_of_another_file(path):
    """Numba notices changes in the file of a kernel only, and would keep what it inlined from another one."""
    tree = ast.parse(path.read_text())
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "sottovoce"
        for alias in node.names
    }
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and any("njit" in ast.unparse(one) for one in function.decorator_list):
            used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            assert not used & imported, f"{function.name}: move it, or {used & imported}"


@pytest.mark.slow
def test_a_changed_kernel_is_recompiled(tmp_path):
    copy = tmp_path / "sottovoce"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "server", "cli"))
    environment = {name: entry for name, entry in os.environ.items() if name != "NUMBA_CACHE_DIR"}

    def weight():
        command = [sys.executable, "-c", SWEEP]
        ran = subprocess.run(command, env=environment | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return float(ran.stdout)

    assert weight() == 0.6602
    compiled = {path: path.stat().st_mtime_ns for path in copy.rglob("*.nbc")}
    assert weight() == 0.6602
    assert compiled
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*.nbc")} == compiled  # kept
    kernel = copy / "engines/sweeps.py"
    kernel.write_text(kernel.read_text().replace("kept = trust * trust\n", "kept = trust\n"))
    assert weight() == 0.8125
