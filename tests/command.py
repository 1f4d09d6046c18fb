"""Running the command line as a user does."""

import csv
import subprocess
import sys


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))
