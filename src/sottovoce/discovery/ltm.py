"""The latent truth model."""

import numpy as np
from scipy.special import expit

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.choices import TOLERANCE, ChoiceEstimate, ChoiceInput, ChoiceIteration, normalised
from sottovoce.discovery.iteration import Floats, Knowledge, UserLosses
from sottovoce.errors import BadParameter


class LTM(TruthDiscovery):
    """Latent truth model: each answer is true or false on its own; users miss true ones and give false ones.

    sensitivity = (a₁ + Σ p over their answers) / (a₁ + a₀ + Σ p over all answers to their objects)
    false positive rate = (b₁ + Σ (1 - p) over their answers) / (b₁ + b₀ + Σ (1 - p) over all answers to their objects)
    log odds of p = ln(c₁ / c₀) + Σ over the object's users of the log likelihood ratio of giving the answer or not

    Expectation–maximisation with these means (the paper samples instead); starts at vote shares. Chances are the
    probabilities p, divided by their sum for the object.
    B. Zhao, B. Rubinstein, J. Gemmell, J. Han, PVLDB 5(6), 2012, doi:10.14778/2168651.2168656

    Parameters
    ----------
    sensitivity, false_positives, truth
        Prior counts (a₁, a₀), (b₁, b₀) and (c₁, c₀): for and against.

    Examples
    --------
    >>> import sottovoce as sv
    >>> answers = ["dry", "dry", "muddy", "dry", "dry", "muddy"]
    >>> claims = sv.Claims.from_arrays(list("abcabc"), ["path"] * 3 + ["road"] * 3, answers)
    >>> sv.LTM().fit(claims).truths_.tolist()
    ['dry', 'dry']
    """

    name = "ltm"
    title = "LTM"
    words = "people are weighted by how often they give true answers, and how rarely false ones."
    kinds = ("choice",)
    takes_known = True

    def __init__(
        self,
        *,
        sensitivity: tuple[float, float] = (50.0, 50.0),
        false_positives: tuple[float, float] = (10.0, 1000.0),
        truth: tuple[float, float] = (10.0, 10.0),
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.sensitivity = sensitivity
        self.false_positives = false_positives
        self.truth = truth

    def weigh(self, losses: UserLosses) -> Floats:
        """The share of a user's answers that are true."""
        return 1 - losses.mean

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        return _FactIteration(given, self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("sensitivity", "false_positives", "truth"):
            counts = getattr(self, name)
            two = isinstance(counts, tuple | list) and len(counts) == 2
            if not (two and all(0 < count < np.inf for count in counts)):
                raise BadParameter(
                    f"{name}={counts!r}: it must be two finite counts above 0, for and against; write (10, 10), for "
                    "example"
                )


class _FactIteration(ChoiceIteration):
    def __init__(self, given: ChoiceInput, method: LTM) -> None:
        self._given, self._engine, self._method = given, given.engine, method
        answers, size = given.answers, given.answers.size
        self._cells = np.diff(answers.offsets)
        self._own = (given.counts * size).astype(np.float64)  # answers that each user gave
        self._all = given.engine.user_sums(self._cells.astype(np.float64)) / size  # and could have given
        self._chances = given.shares()

    def _rates(self) -> tuple[Floats, Floats]:
        """Sensitivity and false positive rate of each user."""
        offsets, size = self._given.answers.offsets, self._given.answers.size
        true_given = self._engine.agree(self._chances)
        true_all = self._engine.user_sums(np.add.reduceat(self._chances, offsets[:-1])) / size
        (a1, a0), (b1, b0) = self._method.sensitivity, self._method.false_positives
        sensitivity = (a1 + true_given) / (a1 + a0 + true_all)
        false = (b1 + self._own - true_given) / (b1 + b0 + self._all - true_all)
        return sensitivity, false

    def advance(self) -> float:
        sensitivity, false = self._rates()
        omitting = np.log1p(-sensitivity) - np.log1p(-false)
        giving = np.log(sensitivity) - np.log(false)
        self._weights = np.maximum(giving - omitting, 0.0)
        size, before = self._given.answers.size, self._chances
        scores = self._engine.tally(giving - omitting)
        scores += np.repeat(self._engine.object_sums(omitting) / size, self._cells)
        scores += np.log(self._method.truth[0] / self._method.truth[1])
        self._chances = self._given.pinned(expit(scores))
        move = float(np.abs(self._chances - before).max())
        self.settled = self._method.tol > 0 and move <= self._method.tol * TOLERANCE
        return move

    def knowledge(self) -> Knowledge:
        return Knowledge({}, {"weight": self._weights})

    def estimate(self) -> ChoiceEstimate:
        chances = normalised(self._chances, self._given.answers.offsets)
        return ChoiceEstimate(self._given.pinned(chances), self._weights)
