"""A crowd that answers questions with choices; each user has their own chance of being right."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import AnswerLaw
from sottovoce.worlds.seeds import generator

_MOST_CLAIMS = 10**9  # memory must hold them several times
_SHAPE = 2.0  # both parameters of the beta distribution of qualities


@dataclass(frozen=True)
class ChoiceWorld:
    """Answers whose truths (places among the choices; -1 if unknown) are known, and how often each user is right."""

    claims: Claims
    choices: int
    truths: NDArray[np.int64]
    right: NDArray[np.float64]

    def with_simulated_noise(self, law: AnswerLaw, seed: int | np.random.Generator = 0) -> "ChoiceWorld":
        """The same world as the server sees it: with what devices report instead of the answers."""
        reported = law.simulate(self.claims.values, self.claims.users, self.choices, generator(seed))
        return replace(self, claims=self.claims.with_values(reported, noise=str(law)))


def choice_crowd(
    participants: int = 150,
    questions: int = 30,
    choices: int = 4,
    *,
    answer: int | None = None,
    right: tuple[float, float] | None = None,
    seed: int | np.random.Generator = 0,
) -> ChoiceWorld:
    """Users who are right with chance q = 1/k + (1 - 1/k)·Beta(2, 2), and otherwise pick any other of the k choices.

    ``right`` gives another distribution of q: the two parameters of a beta distribution.

    Each user answers ``answer`` of the questions, drawn at random; all by default. A question that nobody drew does not
    appear.

    >>> choice_crowd(participants=4, questions=3, seed=1).claims
    Claims(12 claims, 4 users, 3 objects, 4 choices)
    """
    answer = questions if answer is None else answer
    if participants < 1 or questions < 1 or participants * answer > _MOST_CLAIMS:
        raise BadParameter(
            f"participants={participants} and questions={questions}: a crowd has at least one of each, and at most "
            f"{_MOST_CLAIMS:g} answers in all; give other numbers"
        )
    if not 1 <= answer <= questions:
        raise BadParameter(f"answer={answer}: it must be from 1 to {questions}, the number of questions; correct it")
    if choices < 2:
        raise BadParameter(f"choices={choices}: a question has at least 2 choices; give 4, for example")
    rng = generator(seed)
    if right is None:
        chances = 1 / choices + (1 - 1 / choices) * rng.beta(_SHAPE, _SHAPE, participants)
    else:
        chances = rng.beta(*right, participants)
    truths = rng.integers(0, choices, questions)
    users = np.repeat(np.arange(participants), answer)
    if answer == questions:
        objects = np.tile(np.arange(questions), participants)
    elif answer == 1:
        objects = rng.integers(0, questions, participants)
    else:
        order = np.argpartition(rng.random((participants, questions)), answer - 1, axis=1)
        objects = order[:, :answer].ravel()
    hits = rng.random(len(users)) < chances[users]
    answers = np.where(hits, truths[objects], (truths[objects] + rng.integers(1, choices, len(users))) % choices)
    claims = Claims.from_arrays(users, objects, answers, kind="choice", choices=list(range(choices)))
    return ChoiceWorld(claims, choices, truths[claims.object_labels], chances[claims.user_labels])
