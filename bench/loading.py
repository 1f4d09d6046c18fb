"""Loading a claims file, compared with DuckDB's scan of the same file."""

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.console import Console

from sottovoce.claims import Claims
from sottovoce.lab.bench import fastest


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
    """The same with only DuckDB: scan the file, number the labels in sorted order, return ids and values as arrays."""
    with duckdb.connect() as database:
        database.sql(f"create table claims as select * from read_csv('{path}')")
        for column in ("user", "object"):
            database.sql(
                f"create table {column}s as select {column}, row_number() over (order by {column}) - 1 as id "
                f"from (select distinct {column} from claims)"
            )
        columns = database.sql(
            "select users.id::int as user, objects.id::int as object, value "
            "from claims join users using (user) join objects using (object)"
        ).fetchnumpy()
    return len(columns["value"])


def compare_loading(console: Console, rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claims.csv"
        write_csv(path, rows)
        ours = fastest(lambda: Claims.read(path), 3)
        theirs = fastest(lambda: duckdb_scan_and_factorise(path), 3)
    console.print(
        f"\nLoading {rows:,} CSV rows with text labels, ours / DuckDB's scan-and-factorise: {ours / theirs:.2f}"
    )
