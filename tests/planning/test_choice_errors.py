"""The error of a crowd's answers without simulation, against votes drawn one by one."""

import numpy as np
import pytest

from sottovoce.planning.choice_errors import predicted_wrong
from sottovoce.privacy.laws import Response

DRAWN = 20_000


@pytest.mark.parametrize(("choices", "epsilon", "answers"), [(2, 0.5, 101), (2, 1, 31), (4, 1, 100), (10, 2, 60)])
def test_the_share_of_wrong_questions_is_that_of_drawn_votes(choices, epsilon, answers):
    """Five standard errors of the drawn share, and two points for the normal curve."""
    rng = np.random.default_rng(1)
    keep = (np.exp(epsilon) - 1) / (np.exp(epsilon) + choices - 1)  # otherwise any choice is sent
    right = (1 + 1 / choices) / 2
    chances = np.full(choices, (1 - keep) / choices + keep * (1 - right) / (choices - 1))
    chances[0] = (1 - keep) / choices + keep * right
    votes = rng.multinomial(answers, chances, size=DRAWN) + rng.random((DRAWN, choices)) / 2  # ties by lot
    wrong = (votes.argmax(axis=1) != 0).mean()
    predicted = predicted_wrong(Response(epsilon), choices, answers)
    assert abs(predicted - wrong) < 0.02 + 5 * np.sqrt(wrong / DRAWN)


def test_more_answers_and_weaker_promises_are_wrong_less_often():
    shares = [[predicted_wrong(Response(e), 4, n) for e in (1e-3, 0.1, 1, 10, 700)] for n in (1, 10, 1000, 10**9)]
    assert (np.diff(shares, axis=0) <= 1e-12).all()
    assert (np.diff(shares, axis=1) <= 1e-12).all()
    assert shares[0][0] == pytest.approx(3 / 4, abs=0.01)  # a guess
    assert shares[-1][-1] < 1e-12
