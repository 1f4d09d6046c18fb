"""Promises against exact figures: thousands of random valid manifests, checked with the reference of the tests."""

import math
import sys
import time
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from rich.console import Console

from sottovoce.device.sanity import check_promise
from sottovoce.errors import UnwiseChoice
from sottovoce.protocol import promise_of

_CASES = 2000  # per kind
_TIMES = (1.0001, 1.001, 1.01)  # a certified ε is at most this many times the exact one


def run(console: Console, quick: bool, seconds: float = math.inf) -> Counter[str]:
    """Print how many cases were right, and fail on the first figure that is below the exact one."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    tests = import_module("promise_cases")
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds

    def look(case: Any) -> None:
        manifest = tests.admitted(case)
        if manifest is None or time.monotonic() > end:
            return
        promise = promise_of(manifest, case.delta, enough=0)
        if promise.epsilon < math.inf:
            check_promise(manifest, promise)
        verdict = case.judge(promise.epsilon)
        assert verdict != "too small", (case, promise)
        counts["cases"] += 1
        counts["no promise"] += math.isinf(promise.epsilon)
        counts["over 1% too large, or refused"] += bool(verdict)
        if verdict:
            console.print(f"{verdict}: {case}, ε = {promise.epsilon:.6g}")
        elif 0 < promise.epsilon < math.inf and case.exact(promise.epsilon) is not None:
            counts["compared"] += 1
            for times in _TIMES:
                before = case.exact(promise.epsilon / times - 1e-9) if promise.epsilon > 1e-6 else None
                counts[f"at most {times} times the exact ε"] += before is None or before > case.delta

    phases, checks = (Phase.generate,), tuple(HealthCheck)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnwiseChoice)
        for number, cases in enumerate(
            (
                tests.usual(kinds=("gaussian", "fresh")), tests.usual(kinds=("shared", "floored")), tests.extreme(),
                tests.little(), tests.mixed(), tests.mixed(kinds=("shared", "floored")),
            )
        ):  # fmt: skip
            limited: Any = settings(
                max_examples=_CASES // (20 if quick else 1), deadline=None, database=None, phases=phases,
                suppress_health_check=checks,
            )  # fmt: skip
            searched: Any = seed(number)(limited(given(cases)(look)))  # type: ignore[no-untyped-call]
            searched()
    console.print("\nPromises against exact figures, none of them too small:")
    for name, count in counts.items():
        console.print(f"  {name}: {count:,}")
    return counts


if __name__ == "__main__":
    run(Console(), "--quick" in sys.argv, float(sys.argv[-1]) if sys.argv[-1].isdigit() else math.inf)
