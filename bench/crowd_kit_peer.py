"""Run in crowd-kit's own environment: time its aggregation of numbers, and print the seconds as JSON."""

import json
import sys
import time

import pandas as pd
from crowdkit.aggregation import ClosestToAverage

data = pd.read_parquet(sys.argv[1]).rename(columns={"user": "worker", "object": "task", "value": "output"})
data["embedding"] = data["output"]
start = time.perf_counter()
ClosestToAverage(distance=lambda a, b: abs(a - b)).fit(data)
print(json.dumps({"seconds": time.perf_counter() - start}))
