"""Comparisons: the errors of whole campaigns beside their limits, and what an answer and new cuts cost.

``python -m bench.comparisons [RUNS]``, or ``cost`` in place of RUNS for the cost of answers only.
"""

import math
import resource
import sys
import time

import numpy as np

from sottovoce.comparisons.board import Board
from sottovoce.comparisons.information import shift_by_liars
from sottovoce.comparisons.policy import Steps
from sottovoce.comparisons.posterior import Scale
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.worlds.sequential import SequentialCrowd, SequentialOutcome

SEARCHING = 10  # spreads: while an interval is this wide, the truth has not been found
LIMITS = ((0.5, 2, 0.45), (1, 2, 0.16), (2, 2, 0.085), (4, 4, 0.072))  # ε, levels, RMSE over spread at 500 people
TASKS, ANSWERS = 10_000, 100


def played(epsilon: float, participants: int, runs: int, **options: object) -> SequentialOutcome:
    crowd = SequentialCrowd(parse_answer_law(f"response:{epsilon}"), participants, runs, **options)  # type: ignore[arg-type]
    return crowd.play()


def print_errors(runs: int) -> None:
    for epsilon, levels, limit in LIMITS:
        outcome = played(epsilon, 500, runs, levels=levels, seed=1)
        found = (outcome.high - outcome.low) / outcome.spread < SEARCHING
        print(
            f"ε {epsilon}, {levels} levels, 500 people: RMSE {outcome.rmse:.3f} ± {outcome.rmse_error:.3f} spreads "
            f"(at most {limit}), {outcome.coverage:.0%} covered; still searching {np.sum(~found)} of {runs}, RMSE of "
            f"the others {np.sqrt((outcome.errors[found] ** 2).mean()):.3f}"
        )
    at_once = played(1, 400, runs, seed=2)
    for name, options in (
        ("a fifth 50 people late", {"late": 0.2}),
        ("in batches of 50", {"batch": 50}),
        ("cuts after 5 answers or more", {"steps": Steps(5)}),
    ):
        other = played(1, 400, runs, seed=2, **options)
        error = math.hypot(at_once.rmse_error / at_once.rmse, other.rmse_error / other.rmse)
        print(f"{name}: {other.rmse / at_once.rmse:.2f} ± {error:.2f} of the error at once (at most 1.25)")
    for guess in (0.5, 1.0, 3.0):
        covered = [played(1, 300, 10, spread_guess=guess, seed=(3, run)).coverage for run in range(max(1, runs // 10))]
        print(f"spread guessed {guess} times as large: {np.mean(covered):.1%} covered (at least 93%)")
    for epsilon in (1.0, 4.0):
        errors = played(epsilon, 500, runs, liars=0.1, seed=4).errors
        error = errors.std(ddof=1) / math.sqrt(len(errors))
        print(
            f"ε {epsilon}, a tenth lies: shift {errors.mean():.3f} ± {error:.3f} (median {np.median(errors):.3f}), "
            f"formula {shift_by_liars(epsilon, 0.1):.3f}"
        )


def print_cost() -> None:
    rng = np.random.default_rng(0)
    scale = Scale(0.0, 100.0, 2, parse_answer_law("response:1").channel(2).miss, 2.0)
    board = Board({str(task): scale for task in range(TASKS)})
    truths = rng.uniform(10, 90, TASKS)
    for _, posterior in board.posteriors(["0"]):
        posterior.interval()  # compiled before the clock runs
    seconds = refresh = 0.0
    for _ in range(ANSWERS // 20):
        cuts = truths[:, None] + rng.normal(0, 5, (TASKS, 20)).round(1)
        levels = (rng.random((TASKS, 20)) < 0.5).astype(int)
        start = time.process_time()
        for task in range(TASKS):
            for cut, level in zip(cuts[task].tolist(), levels[task].tolist(), strict=True):
                board.add(str(task), (cut,), level)
        middle = time.process_time()
        for _, posterior in board.posteriors():
            posterior.quantile(0.5)
        seconds, refresh = seconds + middle - start, time.process_time() - middle
    start = time.process_time()
    for _, posterior in board.posteriors():
        posterior.quantile(0.5)
    # Seconds of one processor, whatever else runs on the machine.
    print(
        f"{TASKS * ANSWERS:,} answers to {TASKS:,} tasks: {seconds / (TASKS * ANSWERS) * 1e3:.3f} ms each (at most 1), "
        f"new cuts of all tasks {time.process_time() - start:.1f} s (at most 2), "
        f"after 20 new answers each {refresh:.1f} s; memory of the process at most "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB"
    )


if __name__ == "__main__":
    if sys.argv[1:] != ["cost"]:
        print_errors(int(sys.argv[1]) if len(sys.argv) > 1 else 120)
    print_cost()
