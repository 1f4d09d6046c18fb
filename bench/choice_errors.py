"""How often truths of randomised choices are wrong: the default method beside others, and beside the best possible.

``python -m bench.choice_errors`` simulates crowds of 18 sizes for each number of choices and ε, and prints the share of
wrong truths in percent, with standard errors. ``python -m bench.choice_errors FOLDER`` adds noise to real sets of
answers; each is a folder in FOLDER, with claims.csv and truth.csv.
"""

import itertools
import math
import sys
import warnings

import numpy as np
from numba import njit
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from sottovoce.discovery import DawidSkene, Majority, NoiseAware, TruthDiscovery
from sottovoce.errors import ConvergenceWarning
from sottovoce.lab.reproduce.answer_sets import read_answers, sets_of_answers
from sottovoce.lab.reproduce.choices import accuracy, oracle
from sottovoce.planning.choices import MOST_CHOICES
from sottovoce.privacy.laws import Response
from sottovoce.worlds import ChoiceWorld, choice_crowd

# mypy: disable-error-code="no-untyped-def"

CELLS = ((2, 1.0), (2, 4.0), (4, 2.0), (10, 2.0))  # choices, ε
SIZES = tuple(itertools.product((20, 50, 150), (30, 100, 1000), (1.0, 0.2)))  # users, objects, share of claims present
RUNS = {30: 240, 100: 120, 1000: 30}  # by the number of objects
REAL_RUNS, REAL_EPSILONS = 8, (1.0, 2.0, 4.0)
SWEEPS, FIRST = 500, 100
METHODS = ("oracle", "best", "noise-aware", "majority", "Dawid–Skene")


def wrong(world: ChoiceWorld, law: Response, best: bool = True, sampler: int = 0) -> dict[str, float]:
    """Percentage of wrong truths by each method; ``best`` uses the distribution of the users, but knows no user."""
    methods: dict[str, TruthDiscovery] = {"noise-aware": NoiseAware(str(law)), "majority": Majority()}
    methods["Dawid–Skene"] = DawidSkene()
    votes = {name: method.fit(world.claims).chances_.entries for name, method in methods.items()}
    votes["oracle"] = oracle(world, law)
    if best:
        votes["best"] = best_chances(world, law, sampler)
    return {name: 100 - 100 * accuracy(one.reshape(-1, world.choices), world.truths) for name, one in votes.items()}


def best_chances(world: ChoiceWorld, law: Response, seed: int) -> NDArray[np.float64]:
    """Posterior chances, by Gibbs sampling, under the distribution that `choice_crowd` draws from.

    No method can do better on average without knowing the users.
    """
    claims, options = world.claims, world.choices
    shape = (np.arange(64) + 0.5) / 64
    channel = law.channel(options)
    right = np.array([channel.chance(1 / options + (1 - 1 / options) * one) for one in shape.tolist()])
    start = Majority().fit(claims).chances_.entries.reshape(-1, options).argmax(axis=1)
    return np.asarray(
        _gibbs(
            claims.offsets,
            claims.users,
            claims.values,
            claims.n_users,
            options,
            right,
            shape * (1 - shape),
            start,
            seed,
        )
    )


@njit(cache=True)
def _gibbs(offsets, users, answers, n_users, options, right, prior, truths, seed):
    np.random.seed(seed)  # noqa: NPY002 - compiled code has no other generator of its own
    agreed, counts, weights = np.zeros(n_users), np.zeros(n_users), np.zeros(n_users)
    logs, scores, sums = np.log(prior), np.empty(options), np.zeros((len(truths), options))
    for user in users:
        counts[user] += 1
    for sweep in range(SWEEPS):
        agreed[:] = 0
        for n in range(len(truths)):
            for i in range(offsets[n], offsets[n + 1]):
                agreed[users[i]] += answers[i] == truths[n]
        for user in range(n_users):
            likely = logs + agreed[user] * np.log(right) + (counts[user] - agreed[user]) * np.log1p(-right)
            chances = np.cumsum(np.exp(likely - likely.max()))
            node = min(np.searchsorted(chances, np.random.random() * chances[-1]), len(right) - 1)  # noqa: NPY002
            weights[user] = np.log(right[node] * (options - 1) / (1 - right[node]))
        for n in range(len(truths)):
            scores[:] = 0
            for i in range(offsets[n], offsets[n + 1]):
                scores[answers[i]] += weights[users[i]]
            chances = np.exp(scores - scores.max())
            if sweep >= FIRST:
                sums[n] += chances / chances.sum()
            chances = np.cumsum(chances)
            truths[n] = min(np.searchsorted(chances, np.random.random() * chances[-1]), options - 1)  # noqa: NPY002
    return sums / (SWEEPS - FIRST)


def simulated(console: Console, scale: float) -> None:
    """Means over all sizes, the larger ones alone, and the size at which ours compares worst with the majority."""
    table = Table("choices", "ε", "sizes", *METHODS, "ours − oracle", "ours − majority", box=None, header_style="bold")
    for options, epsilon in CELLS:
        law, found = Response(epsilon), {}
        for users, objects, present in SIZES:
            runs = max(4, round(scale * RUNS[objects]))
            rows = []
            for run in range(runs):
                rng = np.random.default_rng((options, users, objects, run))
                world = choice_crowd(users, objects, options, answer=round(present * objects), seed=rng)
                rows.append(wrong(world.with_simulated_noise(law, rng), law, sampler=run))
            found[users, objects, present] = rows
        worst = max(found, key=lambda size: _mean(found[size], "noise-aware", "majority")[0])
        for name, sizes in (
            ("all 18", list(found)),
            ("1000 objects", [size for size in found if size[1] == 1000]),
            (f"worst beside majority: {worst[0]} × {worst[1]}, {worst[2]:.0%}", [worst]),
        ):
            cells = [[_mean(found[size], *one) for size in sizes] for one in (*((method,) for method in METHODS),
                     ("noise-aware", "oracle"), ("noise-aware", "majority"))]  # fmt: skip
            table.add_row(str(options), f"{epsilon:g}", name, *(_shown(one) for one in cells))
    console.print(table)


def _mean(rows: list[dict[str, float]], method: str, beside: str | None = None) -> tuple[float, float]:
    """The mean of a method, less that of another on the same crowds, and its standard error."""
    entries = [row[method] - (row[beside] if beside else 0.0) for row in rows]
    return float(np.mean(entries)), float(np.std(entries, ddof=1)) / math.sqrt(len(entries))


def _shown(means: list[tuple[float, float]]) -> str:
    error = math.sqrt(sum(error**2 for _, error in means)) / len(means)
    return f"{sum(mean for mean, _ in means) / len(means):.2f} ± {error:.2f}"


def real(console: Console, folder: str) -> None:
    """Mean accuracy over the sets, in percent."""
    shown = [name for name in METHODS if name not in ("oracle", "best")]
    table = Table("ε", *shown, box=None, header_style="bold", title="Real sets with added noise: right results, %")
    worlds = [world for world in map(read_answers, sets_of_answers(folder)) if world.choices <= MOST_CHOICES]
    for epsilon in REAL_EPSILONS:
        law = Response(epsilon)
        means = []
        for run in range(REAL_RUNS):
            noisy = [
                world.with_simulated_noise(law, np.random.default_rng((run, place)))
                for place, world in enumerate(worlds)
            ]
            means.append([[100 - wrong(one, law, best=False)[name] for name in shown] for one in noisy])
        by_run = np.array(means).mean(axis=1)
        errors = by_run.std(axis=0, ddof=1) / math.sqrt(REAL_RUNS)
        table.add_row(f"{epsilon:g}", *(f"{m:.2f} ± {e:.2f}" for m, e in zip(by_run.mean(axis=0), errors, strict=True)))
    console.print(table)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    console, words = Console(width=200), [word for word in sys.argv[1:] if word != "--quick"]
    if words:
        real(console, words[0])
    else:
        simulated(console, 0.05 if "--quick" in sys.argv else 0.25)


if __name__ == "__main__":
    main()
