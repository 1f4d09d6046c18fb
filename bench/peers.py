"""A separate environment for other people's packages, which have many dependencies of their own."""

import subprocess
import sys
import tomllib
from pathlib import Path

from rich.console import Console

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers"


def peers_python(console: Console) -> Path:
    """The interpreter of that environment, which is made when it is first needed.

    A package that cannot be installed is reported and left out: some need libraries of the system.
    """
    python, ready = PEERS / "bin" / "python", PEERS / ".ready"
    packages = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["dependency-groups"]["bench"]
    wanted = "\n".join(packages)
    if not ready.exists() or ready.read_text() != wanted:
        console.print("\nmaking an environment for crowd-kit and truthdiscovery …")
        subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
        for package in packages:
            pip = [python, "-m", "pip", "install", "--quiet", package]
            if subprocess.run(pip, capture_output=True).returncode:
                console.print(f"{package}: it cannot be installed here, and is left out", soft_wrap=True)
        ready.write_text(wanted)
    return python
