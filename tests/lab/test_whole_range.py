"""Figures of a promise for the whole range and for a participant, compared with values known from elsewhere."""

import math

import numpy as np
import pytest

from sottovoce.lab.reproduce import named
from sottovoce.lab.reproduce.experiment import Setting
from sottovoce.lab.reproduce.participant_level import _COMPARISONS, _GAUSSIAN, _OVER_SPREAD, information_of_one
from sottovoce.lab.reproduce.whole_range import OVER_RANGE, OVER_SPREAD, PAPER, RANGE, rooted, squared_errors
from sottovoce.planning.answering import best_answering


def table_of(name, **setting):
    experiment = named(name)
    return experiment, experiment.collect(
        [row for task in experiment.tasks(Setting(quick=True, **setting)) for row in experiment.run(task)]
    )


@pytest.mark.parametrize(("way", "deviation"), [(OVER_RANGE, RANGE / math.sqrt(500)), (OVER_SPREAD, 0.071)])
def test_laplace_errs_as_statistics_say(way, deviation):
    """Scale/√S where noise dwarfs the errors; 0.071 by an independent simulation. Bound: 4 SE of 120 normal errors."""
    squares = np.concatenate([squared_errors(way, 1.0, 500, 40, (5, number)) for number in range(3)])
    assert np.sqrt(squares.mean()) == pytest.approx(deviation, rel=4 / math.sqrt(2 * 120))


@pytest.mark.slow
@pytest.mark.parametrize(("readings", "variance"), [(10, 35_200), (30, 45_000)])
def test_the_papers_law_over_the_range_is_worse_than_a_guess(readings, variance):
    """The mean variance that 10 and 30 readings need, per squared distance, was found with other code; here readings
    and noise are drawn with it, and averaged with the weights that are best. Bound: 4 SE of 2,000 normal errors, a
    tenth more because the smallest variances count most."""
    rng = np.random.default_rng(readings)
    drawn = rng.exponential(variance * RANGE**2, (500, 2_000)) + 1
    noisy = rng.standard_normal(drawn.shape) * np.sqrt(drawn)
    expected = np.sqrt((np.average(noisy, axis=0, weights=1 / drawn) ** 2).mean())
    squares = np.concatenate([squared_errors(PAPER, 1.0, 500, readings, (1, number)) for number in range(20)])
    assert np.sqrt(squares.mean()) == pytest.approx(expected, rel=1.1 * 4 / math.sqrt(2 * 2_000))
    assert np.sqrt(squares.mean()) > 5 * RANGE / math.sqrt(12)


# Error of answering all 30 over that of the best m, at ε = 1, 2, 4: derived with other code. Four levels, which
# comparisons may use from ε = 2.75 on, only help.
@pytest.mark.parametrize(
    ("way", "epsilon", "answer", "gain"),
    [
        (_COMPARISONS, 1.0, 1, 5.06), (_COMPARISONS, 2.0, 1, 4.17), (_OVER_SPREAD, 1.0, 1, 3.39),
        (_OVER_SPREAD, 2.0, 2, 2.44), (_OVER_SPREAD, 4.0, 3, 1.80), (_GAUSSIAN, 1.0, 30, 1.0),
    ],
)  # fmt: skip
def test_the_best_number_of_tasks(way, epsilon, answer, gain):
    best = best_answering(lambda count: information_of_one(way, epsilon / count, count), 30)
    assert best.answer == answer
    assert best.gain == pytest.approx(gain, abs=0.006)


def test_roots_and_their_ends():
    (row,) = rooted([{"way": "x", "runs": 3, "square": 4.0, "square_low": -1.0, "square_high": 9.0}])
    assert row == {"way": "x", "runs": 3, "error": 2.0, "error_low": 0.2, "error_high": 3.0}


@pytest.mark.slow
def test_comparisons_are_better_by_far_over_a_range_and_few_answers_better_than_all():
    experiment, table = table_of("whole-range")
    assert experiment.verdict(table).holds is None
    found = {row["way"]: row["error"] for row in table if row["against"] == "epsilon" and row["epsilon"] == 1}
    assert found["comparisons"] < found[OVER_RANGE] / 8
    assert found[PAPER] > RANGE / math.sqrt(12)
    experiment, table = table_of("participant-level")
    assert "comparisons: 1 of 30" in experiment.verdict(table).sentence
    seen = {row["answer"]: row["error"] for row in table if row["part"] == "seen" and row["way"] == _OVER_SPREAD}
    assert seen[1] < seen[30]
