"""The page's promises against exact sums, for any manifest (``python -m bench.page_promises [CASES]``).

`make test` does this for a few manifests with the fast laws. Here manifests have any law, or one for numbers and one
for choices. For a law that draws variances, an exact figure takes seconds to compute. Manifests without an exact figure
are compared with the installed client. The exit code is 1 if any figure is below the exact one, or over 1% above it.
"""

import random
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from sottovoce.protocol import promise_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))


def run(console: Console, cases: int, seed: int = 1) -> bool:
    """Print what was compared, and every fault; return whether there was none."""
    from page_modules import modules_in, sent  # type: ignore[import-not-found]
    from page_promises import (  # type: ignore[import-not-found]
        fault,
        random_answers,
        random_delta,
        random_manifest,
        random_mixed,
    )

    draw = random.Random(seed)
    kinds = (random_manifest, random_manifest, random_answers, random_mixed)
    drawn = [(draw.choice(kinds)(draw), random_delta(draw)) for _ in range(cases)]
    with tempfile.TemporaryDirectory() as folder:
        ask = modules_in(Path(folder) / "page")
        answers = ask("timed_promise", [{"manifest": sent(one), "delta": delta, "enough": 0} for one, delta in drawn])
    faults, apart = 0, 0
    for (manifest, delta), (epsilon, _) in zip(drawn, answers, strict=True):
        described = (
            f"{[*manifest.parts.items()][:3]}, {manifest.most_readings} readings, unit {manifest.unit}, δ = {delta}"
        )
        if wrong := fault(manifest, delta, float(epsilon), with_delta=True):
            faults += 1
            console.print(f"{wrong}: {described}")
        installed = promise_of(manifest, delta, enough=0).epsilon
        if float(epsilon) > 1.01 * max(installed, 1e-6):
            apart += 1
            console.print(f"ε = {epsilon}, installed client {installed:.6g}: {described}")
    console.print(
        f"\nthe page's promises: {cases} manifests (seed {seed}), {faults} below the exact figure or over 1% above "
        f"it, {apart} over 1% above the installed client's; computing a promise took at most "
        f"{max(milliseconds for _, milliseconds in answers):.0f} ms"
    )
    return faults == 0


if __name__ == "__main__":
    sys.exit(not run(Console(), int(sys.argv[1]) if len(sys.argv) > 1 else 40))
