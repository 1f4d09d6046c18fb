"""The posterior of a truth: right by another computation, and the same whatever happened on the way."""

import math
import random

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from sottovoce.comparisons.board import Board
from sottovoce.comparisons.kernels import below, core, quantile
from sottovoce.comparisons.posterior import ComparedTask, Scale
from sottovoce.comparisons.spreads import FINE, GUESSED, SpreadPrior

BITS = Scale(0.0, 100.0, 2, 1 / (math.e + 1), 2.0)
FOUR = Scale(0.0, 100.0, 4, 1 / (math.exp(4) + 3), 2.0)


def some_answers(scale, number, seed, truth=37.0):
    rng = np.random.default_rng(seed)
    for place in range(number):  # every other answer is far off, as in the search
        cuts = tuple(np.sort(rng.normal(truth, 30 if place % 2 else 3, scale.levels - 1)))
        reading = rng.normal(truth, 1)
        held = sum(cut < reading for cut in cuts)
        right = rng.random() < 1 - scale.levels * scale.floor
        yield cuts, held if right else int(rng.integers(scale.levels))


def filled(scale, answers):
    task = ComparedTask(scale)
    for cuts, level in answers:
        task.add(cuts, level)
    return task


def state(task, prior=GUESSED):
    posterior = task.posterior(prior)
    return posterior.start, posterior.step, posterior.chances.tobytes(), posterior.log_spread


@pytest.mark.parametrize("scale", [BITS, FOUR], ids=["bits", "four levels"])
def test_the_posterior_agrees_with_quadrature(scale):
    """The likelihood over the whole range, by the formula, under the normal prior of the spread's logarithm."""
    answers = list(some_answers(scale, 60, 1))
    truths, spreads = np.arange(0.005, 100, 0.01)[:, None], 2.0 * np.exp(FINE)
    chances = np.tile(GUESSED.fine, (len(truths), 1))
    for cuts, level in answers:
        edges = (-math.inf, *cuts, math.inf)
        inside = ndtr((edges[level + 1] - truths) / spreads) - ndtr((edges[level] - truths) / spreads)
        chances *= scale.floor + (1 - scale.levels * scale.floor) * inside
    below = np.cumsum(chances.sum(axis=1))
    posterior = filled(scale, answers).posterior()
    for share in (0.025, 0.25, 0.5, 0.75, 0.975):
        exact = truths[np.searchsorted(below, share * below[-1]), 0]
        # Cells are up to 0.8 wide here, as the posterior has long tails: their middles stand for them.
        assert posterior.quantile(share) == pytest.approx(exact, abs=0.05 * posterior.deviation)


def test_the_order_of_answers_leaves_no_trace():
    answers = list(some_answers(BITS, 200, 2))
    looked = ComparedTask(BITS)
    for cuts, level in answers:
        looked.add(cuts, level)
        looked.posterior()  # looking on the way must not matter either
    shuffled = answers.copy()
    random.Random(3).shuffle(shuffled)
    assert state(looked) == state(filled(BITS, answers)) == state(filled(BITS, shuffled))


def test_a_withdrawal_leaves_no_trace():
    answers = list(some_answers(FOUR, 120, 4))
    task = filled(FOUR, answers)
    task.posterior()
    for cuts, level in answers[80:]:
        task.add(cuts, level, -1)
    assert state(task) == state(filled(FOUR, answers[:80]))
    with pytest.raises(ValueError, match="not 1 such answers"):
        task.add(answers[100][0], answers[100][1], -1)


def test_forgetting_saves_memory_only():
    task = filled(BITS, some_answers(BITS, 150, 5))
    before = state(task)
    task.forget()
    assert state(task) == before


def test_without_answers_the_truth_is_anywhere_in_the_range():
    posterior = ComparedTask(BITS).posterior()
    assert [posterior.quantile(share) for share in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([0, 25, 50, 100])
    assert posterior.log_spread == pytest.approx(math.log(2.0))


@pytest.mark.parametrize("floor", [0.5 - 1e-12, 1e-300, 0.0], ids=["no information", "hardly any noise", "none"])
def test_extreme_noise_gives_finite_results(floor):
    scale = Scale(-1e6, 1e6, 2, floor, 10.0)
    task = ComparedTask(scale)
    task.add((5.0,), 1, 1000)
    task.add((9.0,), 0, 1000)
    task.add((-900.0,), 0, 1)  # impossible without noise, or nearly so
    posterior = task.posterior()
    assert np.isfinite(posterior.chances).all()
    assert posterior.chances.sum() == pytest.approx(1)
    if floor < 0.4:
        assert 5 < posterior.median < 9


def test_a_million_equal_answers_do_not_overflow():
    task = ComparedTask(Scale(0.0, 1.0, 2, 0.0, 0.01))
    task.add((0.25,), 1, 500_000)
    task.add((0.75,), 0, 500_000)
    low, high = task.posterior().interval()
    assert 0.25 < low < high < 0.75


def test_the_spread_is_estimated_from_all_tasks():
    rng = np.random.default_rng(6)
    board = Board({str(number): FOUR for number in range(20)})
    for number in range(20):
        for cuts, level in some_answers(FOUR, 60, (7, number), truth=rng.uniform(20, 80)):
            board.add(str(number), cuts, level)
    own = [board.tasks[str(number)].posterior().log_spread for number in range(20)]
    pooled = [posterior.log_spread for _, posterior in board.posteriors()]
    assert np.std(pooled) < np.std(own) / 2  # each borrows from the others
    assert np.mean(pooled) == pytest.approx(0.0, abs=0.15)  # the readings' spread is 1, the guess was 2


def test_a_prior_is_estimated_from_three_tasks_on():
    evidence = np.exp(-((FINE - 1.0) ** 2) / 0.02)
    assert SpreadPrior.estimated([evidence] * 2) is GUESSED
    prior = SpreadPrior.estimated([evidence] * 30)
    assert prior.fine @ FINE == pytest.approx(1.0, abs=0.225)  # half a step of the nodes
    assert [prior.fine.sum(), prior.coarse.sum()] == pytest.approx([1, 1])


def test_within_a_cell_the_density_is_linear_and_never_negative():
    """It rises from 0 in the second cell, since it cannot rise more: half of the cell's share is below √½ of it."""
    assert quantile(np.array([0.0, 1.0, 6.0]) / 7, 10.0, 2.0, 0.5 / 7) == pytest.approx(10 + 2 * (1 + math.sqrt(0.5)))


def test_the_core_leaves_out_the_same_share_on_either_side():
    assert core(np.array([0.1, 0.1, 0.6, 0.1, 0.1]), 0.15) == (1, 3)


def test_the_normal_distribution_agrees_with_its_integral():
    """The table of the kernel against quadrature."""
    for place in (-7.9, -3.21, -1.0, 0.0, 0.123, 2.5, 7.77):
        integral = quad(lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi), 0, place)[0]
        assert below(place) == pytest.approx(0.5 + integral, abs=5e-7)
    assert (below(-9.0), below(9.0)) == (0.0, 1.0)
