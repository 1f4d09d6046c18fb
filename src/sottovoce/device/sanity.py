"""An independent check of a promise, in formulas short enough to check by hand and without NumPy.

The figures of `sottovoce.privacy.guarantee` are upper bounds, found by long computations. Each law also has simple
lower bounds, derived independently: no true promise is below them. If a promise is below a lower bound, one of the two
is wrong, and nothing is sent. docs/reference/protocol.md ("How a device checks a promise") derives these bounds; the
browser page uses the same ones.
"""

import math

from sottovoce.protocol import Manifest, Problem, Promise

_SLACK = 1e-9  # for the rounding of these formulas, relative and absolute


def check_promise(manifest: Manifest, promise: Promise) -> None:
    """Refuse a promise that cannot be true for the manifest's noise, whoever computed it."""
    epsilon, delta = promise.epsilon, promise.delta
    if not (0 <= epsilon < math.inf and 0 <= delta < 1):
        raise Problem(
            "promise_in_doubt",
            f"epsilon {epsilon:.4g} with delta {delta:.3g}: a promise is a finite ε ≥ 0 and a δ from 0 to below 1",
        )
    for part, tasks in manifest.parts.items():
        readings = min(tasks, manifest.most_readings)
        least = part.least_epsilon(readings, min(tasks, manifest.moved_readings), delta)
        if not epsilon >= least * (1 - _SLACK) - _SLACK:
            raise Problem(
                "promise_in_doubt",
                f"epsilon {epsilon:.4g} with delta {delta:.3g}: {part} cannot have an epsilon below {least:.4g}",
            )
        chance, allowed = part.chance_unchanged(), part.most_unchanged(epsilon, delta)
        if not chance * (1 - _SLACK) <= allowed:
            raise Problem(
                "promise_in_doubt",
                f"{part}: a reading would be sent unchanged with a probability of {chance:.3g} or more; epsilon "
                f"{epsilon:.4g} with delta {delta:.3g} allows {allowed:.3g}",
            )
