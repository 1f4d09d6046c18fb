"""``make bench``: every ratio in one run.

`sottovoce bench` measures what needs only the package. This adds loading compared with DuckDB; crowd-kit, which has an
environment of its own because of its dependencies; the noise-aware estimator; promises compared with exact figures; the
server and its pages compared with their limits; and the engines for more claims than fit in memory.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from bench import choices, fast_path, fuzz, many_users, noise_aware, page, processes, promises, scale, server, strangers
from bench import console as console_pages
from bench.loading import compare_loading
from bench.peers import peers_python
from sottovoce.discovery import CRH
from sottovoce.lab.bench import CrowdSize, fastest

HERE = Path(__file__).parent
console = Console()


def compare_crowd_kit() -> None:
    """Whole fits on 10⁶ claims: crowd-kit's only method for numbers makes one pass, CRH iterates until it converges."""
    claims = CrowdSize(10**6, 1000, 1000).draw()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claims.parquet"
        claims.write(path)
        ran = subprocess.run(
            [peers_python(console), HERE / "crowd_kit_peer.py", path], check=True, capture_output=True, text=True
        )
    theirs = json.loads(ran.stdout.splitlines()[-1])["seconds"]
    CRH().fit(claims)
    ours = fastest(lambda: CRH().fit(claims), 3)
    console.print(
        f"crowd-kit ClosestToAverage / our CRH, whole fits on 10⁶ claims, data in memory: {theirs / ours:,.0f}"
    )


def main() -> None:
    quick = "--quick" in sys.argv
    subprocess.run([Path(sys.executable).parent / "sottovoce", "bench", *sys.argv[1:]], check=True)
    compare_loading(console, 10**6 if quick else 10**7)
    compare_crowd_kit()
    many_users.run(console, quick)
    choices.run(console, quick)
    noise_aware.run(console, quick)
    promises.run(console, quick)
    server.run(console, quick)
    fast_path.run(console, quick)
    processes.run(console, quick)
    strangers.run(console, quick)
    fuzz.run(console, quick)
    page.run(console)
    console_pages.run(console, quick)
    scale.run(console, quick)


if __name__ == "__main__":
    main()
