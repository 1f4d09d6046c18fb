"""What every plan contains: a law that keeps a promise, the error to expect, and how many tasks to answer."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import Any

from sottovoce.claims import Claims
from sottovoce.errors import BadParameter
from sottovoce.privacy.answers import AnswerGuarantee
from sottovoce.privacy.guarantee import Guarantee
from sottovoce.privacy.laws import Law
from sottovoce.worlds.seeds import check_seed

_MOST_WORLDS = 10_000


def check_simulations(simulations: int | None, seed: int) -> None:
    """Refuse an invalid number of simulated worlds, or an invalid seed; with None the planner chooses the number."""
    if simulations is not None and not 0 <= simulations <= _MOST_WORLDS:
        raise BadParameter(
            f"simulations {simulations}: it must be a whole number from 0 to {_MOST_WORLDS:,}; 40 is typical"
        )
    check_seed(seed)


def check_pilot(pilot: Claims) -> None:
    """Refuse claims that cannot show how accurate users are."""
    if not (pilot.claims_per_object > 1).any():
        raise BadParameter(
            "pilot: no object has two claims, but quality is estimated from several claims about the same object; "
            "add claims"
        )


@dataclass(frozen=True)
class Simulated:
    """The error in simulated worlds, with a 95% interval: for numbers the mean absolute error, for choices the share of
    wrong results.

    ``method`` is the method that estimated the truths.
    """

    method: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class PromisePlan(ABC):
    """One law that keeps a promise, and what it costs."""

    law: Law
    guarantee: Guarantee | AnswerGuarantee
    epsilon: float
    delta: float = 0.0
    simulated_error: Simulated | None
    participants_needed: int | None = None
    answer: int | None = None  # how many of its tasks a device should answer, if a participant is protected
    answer_noise: str | None = None  # the noise if it answers this many
    answer_gain: float | None = None  # the error if it answers all, over that if it answers this many

    @abstractmethod
    def sentence(self) -> str:
        """The promise in words."""

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        del plain["law"], plain["guarantee"]
        return {
            "noise": str(self.law),
            **{name: asdict(entry) if isinstance(entry, Simulated) else entry for name, entry in plain.items()},
            "sentence": self.sentence(),
        }
