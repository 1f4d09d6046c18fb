"""Crowds that several tests share, what makes tests the same on any machine, and the order in which they run."""

import gc
import os
import signal
from itertools import groupby

# As the command does, and before NumPy is loaded: on a loaded machine threads for tiny matrices wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# No test depends on how fast a machine is: an example may take as long as it needs. Nor on chance: every run tries
# the same examples.
settings.register_profile("any machine", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# A shell that runs the tests in the background lets them ignore Ctrl-C, and so all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Files that take longest come first: begun last, one would keep one core busy while the others have nothing left to do.
LONGEST = (
    "tests/docs/test_pages.py",
    "tests/lab/test_reproduce.py",
    "tests/engines/test_spark.py",
)


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses by marks
def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
    alike = [item for item in items if item.get_closest_marker("alike") and not item.get_closest_marker("slow")]
    for _, variants in groupby(alike, key=lambda item: (item.path, item.originalname)):
        for variant in [*variants][1:-1]:
            variant.add_marker("slow")


def pytest_collection_finish():
    """What is imported and collected stays, so the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


def random_matrix(rng, users, objects, fill=1.0):
    """A crowd like the paper's; every object has at least two claims and every user one."""
    truths = rng.uniform(-50, 50, objects)
    deviations = np.sqrt(rng.exponential(1.0, users)) + 0.05
    matrix = truths + rng.standard_normal((users, objects)) * deviations[:, None] * rng.uniform(0.5, 3, objects)
    hidden = rng.random((users, objects)) >= fill
    for row in range(users):
        hidden[row, rng.integers(objects)] = False
    for column in range(objects):
        hidden[rng.choice(users, 2, replace=False), column] = False
    matrix[hidden] = np.nan
    return matrix


@pytest.fixture
def dense():
    return random_matrix(np.random.default_rng(1), 40, 12)


@pytest.fixture
def sparse():
    return random_matrix(np.random.default_rng(2), 60, 25, fill=0.3)
