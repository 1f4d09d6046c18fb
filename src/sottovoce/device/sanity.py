"""A second opinion on a promise, in formulas short enough to check by hand and without NumPy.

The figures of `sottovoce.privacy.guarantee` are upper bounds, and long computations. Here are lower bounds that share
nothing with them: no true promise is below them. Where they disagree, one of the two is wrong, and nothing is sent.
docs/reference/protocol.md ("How a device checks a promise") derives them; the page in the browser has the same.
"""

import math
from fractions import Fraction

from sottovoce.privacy.laws import FlooredVariance, FreshVariance, Gaussian, NoiseLaw, SharedVariance
from sottovoce.privacy.sampler import SCALE_DENOMINATOR, VARIANCE_STEPS
from sottovoce.protocol import Manifest, Problem, Promise

_SLACK = 1e-9  # for the rounding of these very formulas, as a share and as a difference


def check_promise(manifest: Manifest, promise: Promise) -> None:
    """Refuse a promise that cannot be true of the manifest's noise, whoever computed it."""
    epsilon, delta = promise.epsilon, promise.delta
    if not (0 <= epsilon < math.inf and 0 <= delta < 1):
        raise Problem(
            "promise_in_doubt",
            f"epsilon {epsilon:.4g} with delta {delta:.3g}: a promise is two numbers, ε ≥ 0 and δ < 1",
        )
    distance = float(manifest.distance)
    moved = manifest.most_readings if manifest.unit == "participant" else 1
    for grid in manifest.grids:
        least = least_epsilon(manifest.law, distance, moved, float(grid), delta)
        if not epsilon >= least * (1 - _SLACK) - _SLACK:
            raise Problem(
                "promise_in_doubt",
                f"epsilon {epsilon:.4g} with delta {delta:.3g}: noise {manifest.noise} on grid {grid} cannot have an "
                f"epsilon below {least:.4g}",
            )
        chance = chance_of_no_noise(manifest.law, float(grid))
        steps = math.ceil(Fraction(manifest.distance) / Fraction(grid))
        allowed = most_chance_of_no_noise(epsilon, delta, steps)
        if not chance * (1 - _SLACK) <= allowed:
            raise Problem(
                "promise_in_doubt",
                f"noise {manifest.noise} on grid {grid}: a reading would be sent unchanged with a chance of "
                f"{chance:.3g} or more; epsilon {epsilon:.4g} with delta {delta:.3g} allows {allowed:.3g}",
            )


def least_epsilon(law: NoiseLaw, distance: float, moved: int, grid: float, delta: float) -> float:
    """What no true ε at this δ is below."""
    odds = math.log(0.5 - delta) if delta < 0.5 else -math.inf
    if isinstance(law, FreshVariance):
        share = distance / (1 / math.sqrt(2 * law.rate) + grid / SCALE_DENOMINATOR)
        return moved * share if delta == 0 else odds + max(share, moved * (share / 2 - math.log(4 / 3)))
    if isinstance(law, Gaussian):
        return odds + moved * (distance / law.sigma) * (distance / law.sigma) / 2
    lowest, mean = _variance(law)
    lowest += mean / VARIANCE_STEPS
    half_square = moved * distance * distance / 2
    return odds - math.log(2) + 2 * half_square / (lowest + math.sqrt(lowest * lowest + 4 * half_square * mean))


def chance_of_no_noise(law: NoiseLaw, grid: float) -> float:
    """A reading is sent as it is at least this often."""
    if isinstance(law, FreshVariance):
        return math.tanh(1 / (2 * (1 / (grid * math.sqrt(2 * law.rate)) + 1 / SCALE_DENOMINATOR)))
    if isinstance(law, Gaussian):
        return 1 / (1 + math.sqrt(2 * math.pi) * law.sigma / grid)
    lowest, mean = _variance(law)
    return 1 / (1 + math.sqrt(2 * math.pi * (lowest + 1.001 * mean)) / grid)


def most_chance_of_no_noise(epsilon: float, delta: float, steps: int) -> float:
    """How often a promise for readings this many grid steps apart allows a reading to be sent as it is."""
    others = 2 * steps * math.exp(-epsilon)
    return min(1.0, (1 + others * delta) / (1 + others))


def _variance(law: NoiseLaw) -> tuple[float, float]:
    """The floor of a drawn variance, and the mean of what is added."""
    assert isinstance(law, SharedVariance | FlooredVariance)
    return (law.floor if isinstance(law, FlooredVariance) else 0.0), 1 / law.rate
