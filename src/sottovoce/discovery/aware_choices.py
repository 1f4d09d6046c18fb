"""The noise-aware estimator for choices: given how answers were randomised, it estimates how often users are right.

Each user has a chance q of being right, and otherwise picks any other option. A randomised answer is then right with
chance r = q·hit + (1 - q)·miss. Users' q follow a beta law that is estimated from the crowd. The weight of a vote is
the log of the odds of r̄ = E[r | how often the user agreed], over the odds of guessing. What a claim itself contributes
to this weight is removed from its own vote, to first order; otherwise chances would be overconfident. If all objects
share their options, users may also have habits: the probability of each answer given each truth, shrunk towards the
model above.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.digits import counted
from sottovoce.discovery.choices import TOLERANCE, ChoiceEstimate, ChoiceInput, ChoiceIteration
from sottovoce.discovery.habits import Habits
from sottovoce.discovery.iteration import Floats, Knowledge
from sottovoce.discovery.right_chance import Group, RightChance
from sottovoce.engines import Poll, Polled
from sottovoce.errors import BadParameter

_LEARNING = (0, 1, 2, 4, 7, 11, 16, 24, 36)  # iterations in which the crowd's law is estimated
_SETTLED_ENOUGH = 4  # iterations after which habits are dropped if the claims show none
_UNDAMPED, _DAMPING = 8, 0.3  # from this iteration on, chances are mixed with this share of the previous ones
# Tables by user, truth and answer are worth their time only if they fit into a core's cache.
_HABIT_BYTES = 1 << 20


class AwareChoices(ChoiceIteration):
    """Chances from the users' posteriors, then posteriors from how often users agree with the chances."""

    def __init__(self, given: ChoiceInput, law: Any, tol: float) -> None:
        self._given, self._engine, self._tol = given, given.engine, tol * TOLERANCE
        answers = given.answers
        self._groups, self._group_of = groups_of(given, law)
        counts = self._counts_by_group()
        self._users = RightChance(self._groups, counts)
        self._votes = class_votes(given, self._groups[0]) if answers.shared else None
        self._prior = None if self._votes is None else np.tile(self._votes, given.engine.n_objects)
        unseen = answers.counts - np.diff(answers.offsets)
        self._unseen = unseen.astype(np.float64) if (unseen > 0).any() else None
        self._habits = self._may_have_habits(counts)
        chances = given.shares(given.earlier_weights())
        self._polled = Polled(chances, self._agreement(chances))
        self._done = 0

    def _counts_by_group(self) -> Floats:
        """Numbers of claims, users × groups."""
        if len(self._groups) == 1:
            return self._given.counts.astype(np.float64)[:, None]
        size = self._given.answers.size
        assert self._group_of is not None
        columns = [self._engine.user_sums(np.equal(self._group_of, g) / size) for g in range(len(self._groups))]
        return np.stack(columns, axis=1)

    def _may_have_habits(self, counts: Floats) -> Habits | None:
        answers = self._given.answers
        options, one_list = len(answers.labels), answers.one_list and self._unseen is None
        if not one_list or options < 2 or 24 * len(counts) * options**2 > _HABIT_BYTES:
            return None
        return Habits(options, self._groups[0])

    def _agreement(self, chances: Floats) -> Floats:
        """How often users agree with chances: by group, or with habits by truth and answer."""
        if self._habits:
            return self._engine.agree_by_truth(chances)
        if len(self._groups) == 1:
            return self._engine.agree(chances)[:, None]
        assert self._group_of is not None
        mine = np.repeat(self._group_of, np.diff(self._given.answers.offsets))
        return np.stack([self._engine.agree(chances * (mine == g)) for g in range(len(self._groups))], axis=1)

    def advance(self) -> float:
        users, before, agreed = self._users, self._polled, self._polled.agreed
        right = self._habits.right(agreed)[:, None] if self._habits else agreed
        users.update(right)
        if self._done in _LEARNING:
            users.learn()
        mix = _DAMPING if self._done >= _UNDAMPED else 0.0
        known = self._given.known
        if self._habits:
            rows, corrected = self._habits.rows(agreed, users.mean(), learn=self._done in _LEARNING)
            assert self._votes is not None
            self._polled = self._engine.confuse(rows, self._votes, before, known, mix, corrected)
        else:
            weights, slopes = users.votes()
            poll = Poll(weights, slopes, self._group_of, True, self._prior, self._unseen, known, mix)
            self._polled = self._engine.poll(poll, before)
        if self._habits and not self._habits.seen and self._done >= _SETTLED_ENOUGH:
            polled = self._polled
            self._polled = Polled(polled.chances, self._habits.right(polled.agreed)[:, None], polled.move)
            self._habits = None
        self._done += 1
        move = self._polled.move
        self.settled = self._tol > 0 and move <= self._tol
        return move

    def knowledge(self) -> Knowledge:
        return Knowledge({}, {"weight": self._users.weights()}, {"prior": self._users.prior})

    def estimate(self) -> ChoiceEstimate:
        return ChoiceEstimate(self._polled.chances, self._users.weights(), self._power())

    def _power(self) -> Floats:
        """The exponent of chances shown to people: crowds share difficulties that no vote shows (see docs/why)."""
        powers = np.array([1 / (1 + 2 * (group.hit - group.miss) ** 2) for group in self._groups])
        return powers[np.zeros(self._engine.n_objects, np.int64) if self._group_of is None else self._group_of]


def groups_of(given: ChoiceInput, law: Any) -> tuple[list[Group], NDArray[np.int64] | None]:
    """Groups of objects with the same number of options; and each object's group, if there are several groups."""
    answers = given.answers
    if law is None:
        kinds = np.unique(answers.counts) if not answers.shared else answers.counts[:1]
    else:
        if "choice" not in law.kinds:
            raise BadParameter(f"noise law {law}: it is for numbers, but these claims are choices; leave it out")
        if not answers.declared:
            raise BadParameter(
                f"noise law {law}: it needs the number of options that devices could choose from, which these claims "
                "do not declare; give it with choices= (--choices), or in a file with the columns noise_law and choices"
            )
        if answers.size != law.cells_reported:
            raise BadParameter(
                f"noise law {law}: each answer names {counted(law.cells_reported, 'option')}, but these claims name "
                f"{answers.size} each; give the law that the devices used"
            )
        kinds = np.unique(answers.counts)
    groups = [Group.of(int(options), law) for options in kinds]
    if len(groups) == 1:
        return groups, None
    return groups, np.searchsorted(kinds, answers.counts)


def class_votes(given: ChoiceInput, group: Group) -> Floats:
    """The prior vote for each option of a shared list: the log of its share of all answers, before randomising.

    Shares are shrunk towards equal ones as far as sampling alone could explain their differences. They are not
    estimated along with the chances, because options that are rarely true would become ever rarer.
    """
    answers = given.answers
    options = group.options
    named = given.plain_votes.reshape(given.engine.n_objects, -1).sum(axis=0)
    claims = float(named.sum()) / group.size
    shares = named / claims
    gain = group.hit - group.miss
    if gain == 0:
        return np.zeros(len(shares))
    before = (shares - group.miss) / gain
    # This counts the sampling of claims only. Shares also vary with the sample of objects, whose claims share a truth.
    noise = float((shares * (1 - shares)).sum()) / claims / gain**2
    apart = float(((before - 1 / options) ** 2).sum()) + (options - len(answers.labels)) * (1 / options) ** 2
    kept = max(0.0, 1 - noise / apart) if apart > 0 else 0.0
    classes = np.maximum(1 / options + kept * (before - 1 / options), 1e-3 / options)
    return np.asarray(np.log(classes * options))
