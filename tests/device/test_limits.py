"""The device refuses what protects less than its participant asks for, and says why."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hallways import manifest
from sottovoce.device import Limits
from sottovoce.errors import BadParameter
from sottovoce.protocol import Problem, Promise


def refusal(call, *arguments):
    with pytest.raises(Problem) as caught:
        call(*arguments)
    return caught.value


def test_the_usual_limits_accept_a_typical_campaign():
    assert Limits().judge(manifest()) == Promise(1.0, 0.0)
    assert Limits().judge(manifest(noise="gaussian:3.74")).epsilon == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"noise": "fresh:50"}, r"epsilon 10 .*your limit is 3"),
        ({"noise": "gaussian:0.5"}, r"epsilon .*your limit is 3"),
        # one small variance gives all readings away
        pytest.param({"noise": "shared:0.5"}, r"epsilon .*your limit is 3", marks=pytest.mark.slow),
        ({"noise": "gaussian:0.00001"}, r"the campaign promises nothing"),
        ({"unit": "participant", "distance": 2}, r"epsilon .*your limit is 3"),
        ({"distance": "0.05"}, r"distance 0.05 on task 'hall-1'.*your limit is 0.1"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_a_weaker_promise_is_refused_with_the_reason(change, words):
    problem = refusal(Limits().judge, manifest(**change))
    assert problem.code == "weaker_than_limits"
    assert re.search(words, str(problem))


def test_limits_are_the_participants_own():
    assert Limits(epsilon=12).judge(manifest(noise="fresh:50")).epsilon == 10
    assert refusal(Limits(epsilon=0.5).judge, manifest()).code == "weaker_than_limits"
    assert refusal(Limits(delta=0).judge, manifest(noise="gaussian:10")).code == "weaker_than_limits"
    assert Limits(distance=0.01).judge(manifest())
    assert refusal(Limits(distance=0.0101).judge, manifest()).code == "weaker_than_limits"


def test_campaigns_add_up():
    limits = Limits(total_epsilon=2.0, total_delta=2e-5)
    limits.check_total(Promise(1.0, 1e-5), Promise(1.0, 1e-5))
    assert "1.5 of your limit" in str(refusal(limits.check_total, Promise(1.5, 0.0), Promise(1.0, 0.0)))
    assert "delta" in str(refusal(limits.check_total, Promise(0.0, 2e-5), Promise(1.0, 1e-5)))
    assert limits.left(Promise(1.5, 0.0)) == Promise(0.5, 2e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"delta": -1},
        {"delta": 1},
        {"distance": 1.5},
        {"total_epsilon": 1e999},
    ],
    ids=str,
)
def test_limits_that_mean_nothing_are_refused(wrong):
    with pytest.raises(BadParameter):
        Limits(**wrong)


def test_the_rule_for_a_limit_excludes_infinity():
    with pytest.raises(BadParameter, match="limit total_epsilon inf: it must be a finite number above 0"):
        Limits(total_epsilon=float("inf"))
    with pytest.raises(BadParameter, match="limit delta -1: it must be 0 or a finite number above 0"):
        Limits(delta=-1)


def test_a_device_under_fresh_noise_never_loads_numpy():
    """In a fresh interpreter: it is imported, judges a promise and adds noise."""
    code = """
import sys
sys.path.insert(0, "tests")
from hallways import manifest
from sottovoce.device import Limits
from sottovoce.device.release import noisy_readings
from sottovoce.privacy.sampler import ByteStream
Limits().judge(manifest())
noisy_readings(manifest(), {"hall-1": "3"}, ByteStream())
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    loaded = set(ran.stdout.split())
    assert {"sottovoce", "httpx", "sqlite3"} <= loaded
    assert not loaded & {"numpy", "scipy", "numba", "pyarrow", "duckdb", "pandas", "fastapi", "sqlalchemy"}


def on_many_grids(**parts):
    tasks = [{"id": f"t{n}", "low": 0, "high": 100, "grid": f"{0.001 + n / 10_000:.4f}"} for n in range(101)]
    return manifest(tasks=tasks, readings=3, **parts)


def test_more_grids_than_can_be_judged_in_a_moment_are_refused():
    problem = refusal(Limits().judge, on_many_grids(noise="gaussian:3.74"))
    assert problem.code == "too_many_grids"  # a change of one's own limits would not help
    assert re.match("tasks with 101 different pairs of grid and distance: a device checks at most 100", problem.detail)
    assert Limits().judge(on_many_grids()).epsilon <= 1.1  # fresh noise is one division for each
