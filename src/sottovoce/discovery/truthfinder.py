"""TruthFinder."""

import numpy as np
from scipy.special import expit

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.choices import ChoiceEstimate, ChoiceInput, ChoiceIteration, normalised
from sottovoce.discovery.iteration import Floats, Knowledge, UserLosses
from sottovoce.discovery.similarity import Similarity, Support, check_similarity
from sottovoce.errors import BadParameter

_MOST_TRUST = 1 - 1e-12  # a user who is trusted without any doubt would have infinite weight
_SCALE = 100.0  # 1 - cosine falls much faster than chances move: the fit stops at 10⁻⁵, where chances stop at 10⁻³


class TruthFinder(TruthDiscovery):
    """TruthFinder: users are trusted as much as their answers are, and answers as much as their users.

    τ = -ln(1 - t),  σ = Σ τ,  σ* = σ + ρ Σ σ' · implication(answer', answer),  s = 1 / (1 + exp(-γσ*)),  t = mean s

    Starts at trust 0.9; stops when the users' trust keeps its direction (1 - cosine below 10⁻⁵). One pass over the
    claims for the votes and one for the trust. Chances are the confidences s, divided by their sum for the object.
    X. Yin, J. Han, P. S. Yu, KDD 2007, doi:10.1145/1281192.1281309

    Parameters
    ----------
    trust
        Trustworthiness of all users before the first iteration.
    dampening
        γ: dampens confidence, because users have errors in common.
    influence
        ρ: how much similar answers support each other.
    similarity
        How much one answer implies another, from -1 to 1: a function of both, "string" to compare their texts, or None.

    Examples
    --------
    >>> import sottovoce as sv
    >>> answers = ["dry", "dry", "muddy", "dry", "dry", "muddy"]
    >>> claims = sv.Claims.from_arrays(list("abcabc"), ["path"] * 3 + ["road"] * 3, answers)
    >>> sv.TruthFinder().fit(claims).truths_.tolist()
    ['dry', 'dry']
    """

    name = "truthfinder"
    title = "TruthFinder"
    words = "people count as much as their answers are trusted, and answers as much as the people who give them."
    kinds = ("choice",)
    takes_known = True

    def __init__(
        self,
        *,
        trust: float = 0.9,
        dampening: float = 0.3,
        influence: float = 0.5,
        similarity: Similarity = None,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(max_iter=max_iter, tol=tol)
        self.trust = trust
        self.dampening = dampening
        self.influence = influence
        self.similarity = similarity

    def weigh(self, losses: UserLosses) -> Floats:
        """Trustworthiness scores, from losses that are doubts about a user's answers."""
        return np.asarray(-np.log1p(-np.clip(1 - losses.mean, 0, _MOST_TRUST)))

    def begin_choices(self, given: ChoiceInput) -> ChoiceIteration:
        return _TrustIteration(given, self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_similarity(self.similarity)
        for name, valid, rule in (
            ("trust", 0 < self.trust < 1, "be above 0 and below 1"),
            ("influence", -1 < self.influence <= 1, "be above -1 and at most 1"),
            ("dampening", 0 < self.dampening < np.inf, "be a finite number above 0"),
        ):
            if not valid:
                raise BadParameter(f"{name}={getattr(self, name)!r}: it must {rule}; correct it, or leave it out")


class _TrustIteration(ChoiceIteration):
    def __init__(self, given: ChoiceInput, method: TruthFinder) -> None:
        self._given, self._engine, self._method = given, given.engine, method
        self._support = Support(given.answers, method.similarity) if method.similarity else None
        self._confidence = np.zeros(given.answers.n_cells)
        size = given.answers.size
        self._mean = 1 / (given.counts * size)
        self._trust = np.full(given.engine.n_users, method.trust)
        if given.earlier is not None and "trust" in given.earlier.by_user:
            here, there = given.earlier.common_users(given.engine.user_labels)
            self._trust[here] = given.earlier.by_user["trust"][there]

    def _weights(self) -> Floats:
        return np.asarray(-np.log1p(-np.minimum(self._trust, _MOST_TRUST)))

    def advance(self) -> float:
        scores = self._engine.tally(self._weights())
        if self._support:
            scores = scores + self._method.influence * self._support.added(scores)
        self._confidence = self._given.pinned(expit(self._method.dampening * scores))
        before, self._trust = self._trust, self._engine.agree(self._confidence) * self._mean
        lengths = float(np.linalg.norm(before)) * float(np.linalg.norm(self._trust))
        cosine = float(before @ self._trust) / max(lengths, 1e-300)
        move = _SCALE * max(1 - cosine, 0.0)
        self.settled = self._method.tol > 0 and move <= 1000 * self._method.tol
        return move

    def knowledge(self) -> Knowledge:
        return Knowledge({}, {"trust": self._trust})

    def estimate(self) -> ChoiceEstimate:
        chances = normalised(self._confidence, self._given.answers.offsets)
        return ChoiceEstimate(self._given.pinned(chances), self._weights())
