"""How colluders affect each method, and how often intervals contain the truth where the model is wrong.

``python -m bench.robustness`` prints the tables of docs/why/noise-aware.md, and its figures about rounded claims.
"""

import itertools
import warnings
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.discovery import CATD, CRH, GTM, Mean, Median, NoiseAware, TruthDiscovery
from sottovoce.errors import ConvergenceWarning
from sottovoce.privacy.laws import NoiseLaw, parse_noise_law
from sottovoce.worlds import crowd, synthetic, with_colluders
from sottovoce.worlds.crowds import Errors

USERS, OBJECTS, RUNS = 150, 30, 10
LAWS = ("shared:0.5", "fresh:0.5")
FRACTIONS = (0.05, 0.1, 0.2, 0.4)
OFFSETS = (0.5, 1.0, 2.0, 5.0)
STEPS = (0.5, 1, 2, 4, 8)  # of rounding, over the usual error
SIZES = ((12, 8), (20, 5), (50, 10), (150, 20))  # objects, and claims about each
DRAWS = 8
_EXACT = 0.1  # steps: smaller errors count as this, so that no ratio divides by zero


def methods(law: NoiseLaw) -> dict[str, TruthDiscovery]:
    return {"noise-aware": NoiseAware(noise=law), "CRH": CRH(), "GTM": GTM(), "CATD": CATD(), "median": Median()}


def errors_under_attack(law: NoiseLaw, fraction: float, offset: float, own_noise: bool) -> dict[str, float]:
    """Mean absolute error of each method, over the same worlds."""
    errors: dict[str, list[float]] = {}
    for run in range(RUNS):
        rng = np.random.default_rng((run, 3))
        world = synthetic(USERS, OBJECTS, error_rate=1.0, seed=rng)
        claims = with_colluders(world, fraction, offset, law, own_noise, rng).claims
        for name, method in methods(law).items():
            errors.setdefault(name, []).append(float(np.abs(method.fit(claims).truths_ - world.truths).mean()))
    return {name: float(np.mean(errors_of_runs)) for name, errors_of_runs in errors.items()}


def print_attacks() -> None:
    for text in LAWS:
        law = parse_noise_law(text)
        honest = errors_under_attack(law, 0.0, 0.0, True)
        for own_noise in (True, False):
            lie = "who add noise" if own_noise else "who add no noise"
            print(f"\n**{text}, colluders {lie}**\n")
            print("| colluders | lie | " + " | ".join(honest) + " |\n|---|---|" + "---|" * len(honest))
            print("| none | – | " + " | ".join(f"{error:.2f}" for error in honest.values()) + " |")
            for fraction in FRACTIONS:
                for offset in OFFSETS:
                    attacked = errors_under_attack(law, fraction, offset, own_noise)
                    least = min(attacked.values())
                    cells = (
                        f"**{error:.2f}**" if error <= 1.02 * least else f"{error:.2f}" for error in attacked.values()
                    )
                    print(f"| {fraction:.0%} | {offset:g} | " + " | ".join(cells) + " |")


def wrong_models(rng: np.random.Generator, law: NoiseLaw, kind: str) -> tuple[Claims, NDArray[np.float64]]:
    """Claims whose errors do not follow the model, and their truths."""
    truths, variances = rng.uniform(0, 10, OBJECTS), rng.exponential(1.0, USERS)
    errors = rng.standard_normal((USERS, OBJECTS))
    if kind == "Student's t, 3 degrees of freedom":
        errors = rng.standard_t(3, (USERS, OBJECTS))
    elif kind == "Student's t, 2 degrees of freedom":
        errors = rng.standard_t(2, (USERS, OBJECTS))
    matrix = truths + errors * np.sqrt(variances)[:, None]
    if kind.startswith("all share an error"):
        matrix += rng.standard_normal(OBJECTS) * (0.1 if "0.1" in kind else 0.5)
    elif kind == "groups of ten share their errors":
        shared = rng.standard_normal((USERS // 10, OBJECTS))
        matrix += np.repeat(shared, 10, axis=0)
    claims = Claims.from_matrix(matrix)
    return claims.with_values(law.simulate(claims.values, claims.users, rng), noise=str(law)), truths


def print_coverage() -> None:
    kinds = (
        "as in the model",
        "Student's t, 3 degrees of freedom",
        "Student's t, 2 degrees of freedom",
        "groups of ten share their errors",
        "all share an error, deviation 0.1",
        "all share an error, deviation 0.5",
    )
    print("\n| errors | shared:0.5 | fresh:0.5 |\n|---|---|---|")
    for kind in kinds:
        cells = []
        for text in LAWS:
            covered = []
            for run in range(4 * RUNS):
                claims, truths = wrong_models(np.random.default_rng((run, 4)), parse_noise_law(text), kind)
                low, high = NoiseAware(noise=text).fit(claims).intervals()
                covered.append(float(((low <= truths) & (truths <= high)).mean()))
            cells.append(f"{np.mean(covered):.0%}")
        print(f"| {kind} | " + " | ".join(cells) + " |")


def rounded(errors: Errors, step: float, objects: int, claims: int, whole: bool) -> tuple[float, float]:
    """Coverage on claims rounded to a step, and the error relative to the smaller of those of mean and median."""
    covered, missed = [], np.zeros(3)
    for draw in range(DRAWS):
        rng = np.random.default_rng((draw, 17))
        world = crowd(objects, claims, errors, seed=rng)
        truths = rng.uniform(0, 20 * step, objects)
        truths = step * np.round(truths / step) if whole else truths
        values = world.claims.values + (truths - world.truths)[world.claims.objects]
        found = world.claims.with_values(step * np.round(values / step))
        fits = [method.fit(found) for method in (NoiseAware(target="value"), Mean(), Median())]
        missed += [float(np.abs(fit.truths_ - truths).mean()) for fit in fits]
        low, high = fits[0].intervals()
        covered.append(float(((low <= truths) & (truths <= high)).mean()))
    return float(np.mean(covered)), float(missed[0] / max(missed[1:].min(), DRAWS * _EXACT * step))


def print_rounded() -> None:
    print("\n| rounded claims | crowds | coverage | error at most 1.05 times the better average's | at most |")
    print("|---|---|---|---|---|")
    for truths in ("between the steps", "on the steps"):
        crowds = itertools.product(get_args(Errors), STEPS, SIZES)
        figures = [rounded(errors, step, *size, truths == "on the steps") for errors, step, size in crowds]
        coverage, ratios = np.array(figures).T
        print(
            f"| truths {truths} | {len(ratios)} | {coverage.min():.0%} to {coverage.max():.0%} | "
            f"{(ratios <= 1.05).sum()} | {ratios.max():.2f} |"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    print_attacks()
    print_coverage()
    print_rounded()
