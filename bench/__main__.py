"""``make bench``: every ratio in one run.

What needs only the package is `sottovoce bench`; here are added loading beside DuckDB, and crowd-kit, which lives in an
environment of its own because of what it pulls in.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console

from sottovoce.claims import Claims
from sottovoce.discovery import CRH
from sottovoce.lab.bench import Crowd, fastest

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers"
console = Console()


def write_csv(path: Path, rows: int) -> None:
    """A claims file with text labels and no repeats."""
    rng = np.random.default_rng(0)
    people, things = 10**5, 10**5
    cells = np.unique(rng.integers(0, people * things, rows + rows // 500))[:rows]
    rng.shuffle(cells)
    users = pa.array([f"user-{n}" for n in range(people)]).take(pa.array(cells % people))
    objects = pa.array([f"object-{n}" for n in range(things)]).take(pa.array(cells // people))
    values = np.round(rng.normal(50, 10, len(cells)), 4)
    pa.csv.write_csv(pa.table({"user": users, "object": objects, "value": values}), path)


def duckdb_scan_and_factorise(path: Path) -> int:
    """The same by DuckDB alone: scan the file, number the labels in their order, give ids and values as arrays."""
    with duckdb.connect() as database:
        database.sql(f"create table claims as select * from read_csv('{path}')")
        for column in ("user", "object"):
            database.sql(
                f"create table {column}s as select {column}, row_number() over (order by {column}) - 1 as id "
                f"from (select distinct {column} from claims)"
            )
        found = database.sql(
            "select users.id::int as user, objects.id::int as object, value "
            "from claims join users using (user) join objects using (object)"
        ).fetchnumpy()
    return len(found["value"])


def compare_loading(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claims.csv"
        write_csv(path, rows)
        ours = fastest(lambda: Claims.read(path), 3)
        theirs = fastest(lambda: duckdb_scan_and_factorise(path), 3)
    console.print(
        f"\nLoading {rows:,} CSV rows with text labels, ours / DuckDB's scan-and-factorise: {ours / theirs:.2f}"
    )


def compare_crowd_kit() -> None:
    """crowd-kit's only method for numbers on 10⁶ claims, each run whole: it makes one pass, CRH iterates to the end."""
    claims = Crowd(10**6, 1000, 1000).draw()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claims.parquet"
        claims.write(path)
        if not (PEERS / ".ready").exists():
            console.print("\nmaking an environment for crowd-kit …")
            subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
            pip = (PEERS / "bin" / "python", "-m", "pip", "install", "--quiet")
            subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
            subprocess.run([*pip, "--group", f"{HERE.parent / 'pyproject.toml'}:bench"], check=True)
            (PEERS / ".ready").touch()
        ran = subprocess.run(
            [PEERS / "bin" / "python", HERE / "crowd_kit_peer.py", path], check=True, capture_output=True, text=True
        )
    theirs = json.loads(ran.stdout.splitlines()[-1])["seconds"]
    CRH().fit(claims)
    ours = fastest(lambda: CRH().fit(claims), 3)
    console.print(
        f"crowd-kit ClosestToAverage / our CRH, on 10⁶ claims, data in memory, to the end: {theirs / ours:,.0f}"
    )


def main() -> None:
    subprocess.run([Path(sys.executable).parent / "sottovoce", "bench", *sys.argv[1:]], check=True)
    compare_loading(10**6 if "--quick" in sys.argv else 10**7)
    compare_crowd_kit()


if __name__ == "__main__":
    main()
