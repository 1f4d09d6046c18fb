"""Run in the peers' own environment: time their aggregation of choices, and print the seconds as JSON."""

# mypy: disable-error-code="no-untyped-call"

import json
import sys
import time

import numpy as np
import pandas as pd
from crowdkit.aggregation import DawidSkene, MajorityVote
from truthdiscovery import MatrixDataset
from truthdiscovery import TruthFinder as TheirTruthFinder

data = pd.read_parquet(sys.argv[1]).rename(columns={"user": "worker", "object": "task", "value": "label"})
table = np.full((data["worker"].nunique(), data["task"].nunique()), np.nan)
table[data["worker"], data["task"]] = data["label"]
matrix = np.ma.masked_invalid(table)
found = {}
for name, work in (
    ("crowd-kit MajorityVote", lambda: MajorityVote().fit(data)),
    ("crowd-kit DawidSkene", lambda: DawidSkene(n_iter=100).fit(data)),
    ("truthdiscovery TruthFinder", lambda: TheirTruthFinder().run(MatrixDataset(matrix))),
):
    start = time.perf_counter()
    work()
    found[name] = time.perf_counter() - start
print(json.dumps(found))
