"""``python -m bench.page_promises [CASES]``: the page's promises against exact sums, for any manifest of the protocol.

`make test` does this for a few manifests with the fast laws. Here manifests have any law; the exact figure of a drawn
variance takes seconds, and for some there is none. The exit code is 1 if any figure is below the exact one, or more
than 1 % above it.
"""

import random
import sys
import tempfile
from pathlib import Path

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))


def run(console: Console, cases: int, seed: int = 1) -> bool:
    """Print what was compared, and every fault; return whether there was none."""
    from page_modules import modules_in, sent  # type: ignore[import-not-found]
    from page_promises import fault, random_delta, random_manifest  # type: ignore[import-not-found]

    draw = random.Random(seed)
    drawn = [(random_manifest(draw), random_delta(draw)) for _ in range(cases)]
    with tempfile.TemporaryDirectory() as folder:
        ask = modules_in(Path(folder) / "page")
        answers = ask("timed_promise", [{"manifest": sent(one), "delta": delta} for one, delta in drawn])
    faults = 0
    for (manifest, delta), (epsilon, _) in zip(drawn, answers, strict=True):
        if wrong := fault(manifest, delta, float(epsilon)):
            faults += 1
            grid, distance = next(iter(manifest.parts)).grid, manifest.distance
            console.print(
                f"{wrong}: {manifest.noise}, grid {grid}, distance {distance}, {manifest.most_readings} readings, "
                f"unit {manifest.unit}, δ = {delta}"
            )
    console.print(
        f"\nthe page's promises: {cases} manifests (seed {seed}), {faults} below the exact figure or over 1 % above "
        f"it; a judgement took {max(milliseconds for _, milliseconds in answers):.0f} ms at most"
    )
    return faults == 0


if __name__ == "__main__":
    sys.exit(not run(Console(), int(sys.argv[1]) if len(sys.argv) > 1 else 40))
