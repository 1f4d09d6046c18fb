"""Run in the peers' own environment: time their aggregation of choices, and print the seconds as JSON.

A package that is missing there is left out.
"""

# mypy: disable-error-code="no-untyped-call"

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pandas as pd

MOST_CELLS = 10**7  # truthdiscovery needs a table of all users and objects in memory

data = pd.read_parquet(sys.argv[1]).rename(columns={"user": "worker", "object": "task", "value": "label"})
runs: dict[str, Callable[[], object]] = {}
with suppress(ImportError):
    from crowdkit.aggregation import DawidSkene, MajorityVote

    runs["crowd-kit MajorityVote"] = lambda: MajorityVote().fit(data)
    runs["crowd-kit DawidSkene"] = lambda: DawidSkene(n_iter=100).fit(data)
with suppress(ImportError):
    from truthdiscovery import MatrixDataset
    from truthdiscovery import TruthFinder as TheirTruthFinder

    shape = data["worker"].nunique(), data["task"].nunique()
    if shape[0] * shape[1] <= MOST_CELLS:
        table = np.full(shape, np.nan)
        table[data["worker"], data["task"]] = data["label"]
        matrix = np.ma.masked_invalid(table)
        runs["truthdiscovery TruthFinder"] = lambda: TheirTruthFinder().run(MatrixDataset(matrix))
found = {}
for name, work in runs.items():
    start = time.perf_counter()
    work()
    found[name] = time.perf_counter() - start
print(json.dumps(found))
