"""The share of questions that a crowd gets wrong, without simulation: fast enough to update while a form is filled in.

Votes for the truth and for any other choice differ by a sum of independent terms, nearly normal, whose squared
signal-to-noise ratio is the `worth` of an answer times the number of answers. The truth wins if it is ahead of all
other choices. Differences to two others share the votes for the truth, so their correlation is a half or a little more;
a half is assumed. Weights do better than votes where participants answer many questions, and ties do worse where there
are few answers. The figures are within five percentage points of simulations with 10 to 300 answers.
"""

import numpy as np
from scipy.special import log_ndtr

from sottovoce.planning.choices import worth
from sottovoce.privacy.laws import AnswerLaw

_NODES = np.linspace(-12.0, 12.0, 2401)
_CHANCES = np.exp(-(_NODES**2) / 2) / np.sqrt(2 * np.pi) * (_NODES[1] - _NODES[0])


def predicted_wrong(law: AnswerLaw, choices: int, answers: int) -> float:
    """The share of wrong results to expect from the usual crowd, with this many answers to each question.

    >>> from sottovoce.privacy.laws import Response
    >>> f"{predicted_wrong(Response(1.0), choices=2, answers=100):.3f}"
    '0.009'
    """
    ahead = np.sqrt(2 * answers * worth(law, choices))
    return float(_CHANCES @ -np.expm1((choices - 1) * log_ndtr(_NODES + ahead)))
