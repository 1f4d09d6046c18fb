"""The environment of other people's packages, which need much that nothing else here needs."""

import subprocess
import sys
from pathlib import Path

from rich.console import Console

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers"


def peers_python(console: Console) -> Path:
    """The interpreter of that environment, which is made when it is first needed."""
    python = PEERS / "bin" / "python"
    group = (HERE.parent / "pyproject.toml").read_text().partition("\nbench = ")[2].partition("]")[0]
    ready = PEERS / ".ready"
    if not ready.exists() or ready.read_text() != group:
        console.print("\nmaking an environment for crowd-kit and truthdiscovery …")
        subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
        pip = (python, "-m", "pip", "install", "--quiet")
        subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
        subprocess.run([*pip, "--group", f"{HERE.parent / 'pyproject.toml'}:bench"], check=True)
        ready.write_text(group)
    return python
