"""An independent check of a promise, in formulas short enough to check by hand and without NumPy.

The figures of `sottovoce.privacy.guarantee` are upper bounds, and long computations. Each law also has lower bounds
that share nothing with them: no true promise is below them. Where they disagree, one of the two is wrong, and nothing
is sent. docs/reference/protocol.md ("How a device checks a promise") derives them; the browser page has the same.
"""

import math
from fractions import Fraction

from sottovoce.protocol import Manifest, Problem, Promise

_SLACK = 1e-9  # for the rounding of these formulas, relative and absolute


def check_promise(manifest: Manifest, promise: Promise) -> None:
    """Refuse a promise that cannot be true for the manifest's noise, whoever computed it."""
    epsilon, delta = promise.epsilon, promise.delta
    if not (0 <= epsilon < math.inf and 0 <= delta < 1):
        raise Problem(
            "promise_in_doubt",
            f"epsilon {epsilon:.4g} with delta {delta:.3g}: a promise is two numbers, ε ≥ 0 and δ < 1",
        )
    law, distance = manifest.law, float(manifest.distance)
    for grid in manifest.grids:
        least = law.least_epsilon(distance, manifest.moved_readings, float(grid), delta)
        if not epsilon >= least * (1 - _SLACK) - _SLACK:
            raise Problem(
                "promise_in_doubt",
                f"epsilon {epsilon:.4g} with delta {delta:.3g}: noise {manifest.noise} on grid {grid} cannot have an "
                f"epsilon below {least:.4g}",
            )
        chance = law.chance_of_no_noise(float(grid))
        steps = math.ceil(Fraction(manifest.distance) / Fraction(grid))
        allowed = most_chance_of_no_noise(epsilon, delta, steps)
        if not chance * (1 - _SLACK) <= allowed:
            raise Problem(
                "promise_in_doubt",
                f"noise {manifest.noise} on grid {grid}: a reading would be sent unchanged with a probability of "
                f"{chance:.3g} or more; epsilon {epsilon:.4g} with delta {delta:.3g} allows {allowed:.3g}",
            )


def most_chance_of_no_noise(epsilon: float, delta: float, steps: int) -> float:
    """How often a promise for readings this many grid steps apart allows a reading to be sent as it is."""
    others = 2 * steps * math.exp(-epsilon)
    return min(1.0, (1 + others * delta) / (1 + others))
