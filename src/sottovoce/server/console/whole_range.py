"""*Any value* on the privacy page: comparisons beside noise, their errors, and how many participants they need."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sottovoce.errors import BadParameter
from sottovoce.planning.comparisons import plan_comparisons
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.privacy.sentence import answer_words, figures
from sottovoce.protocol.drafting import drafted, replaced
from sottovoce.protocol.promise import promise_of, sentence
from sottovoce.server.console.planner import PlanRequest, checked_change

_OTHER_EPSILONS = (0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class WholeRange:
    """Comparisons that keep the promise of a plan for any two values, as they would be saved."""

    noise: str
    levels: int
    answer: int  # how many of its tasks a device answers
    tasks: int  # that it could answer
    error: float  # to expect, of a truth
    to_find: int  # answers to a task that find its truth within a reading's error, in nine out of ten campaigns
    enough: bool
    people: int  # who answer each task
    warning: str | None
    wide_error: float | None  # of noise as wide as the range
    gain: float | None  # the error of answering all tasks over that of answering these

    @classmethod
    def of(cls, asked: PlanRequest) -> "WholeRange":
        whole = asked.compared()
        answer = whole.answer or asked.readings
        people = max(1, asked.participants * answer // asked.readings)
        each = asked.epsilon / answer if asked.unit == "participant" else asked.epsilon
        chosen = plan_comparisons(each, 0.0, asked.width, answer, people, error_rate=asked.error_rate, simulations=0)
        return cls(
            noise=str(chosen.law), levels=chosen.levels, answer=answer, tasks=asked.readings,
            error=chosen.predicted_error, to_find=chosen.participants_to_find, enough=chosen.enough, people=people,
            warning=chosen.warning(people), wide_error=asked.wide_error(), gain=whole.answer_gain,
        )  # fmt: skip

    @property
    def words(self) -> str:
        """What happens to an answer."""
        return answer_words(parse_answer_law(self.noise).channel(self.levels))

    def change(self, asked: PlanRequest, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """The change to the campaign, after the same check that devices will make."""
        change = {
            "noise": self.noise,
            "levels": self.levels,
            "unit": asked.unit,
            "readings": asked.readings,
            "answer": self.answer,
        }
        return checked_change(manifest, change, asked.epsilon, 0.0, "choose a larger ε")

    def sentence(self, asked: PlanRequest, manifest: Mapping[str, Any]) -> str:
        """The promise in words and figures, as devices compute it."""
        draft = drafted(replaced(dict(manifest), self.change(asked, manifest)))
        promise = promise_of(draft, 0.0)
        return f"{sentence(draft, promise)} ({figures(promise.epsilon, 0.0)})"


def comparisons_for(asked: PlanRequest) -> WholeRange | None:
    """The comparisons for a plan; None if no comparison keeps the promise."""
    try:
        return WholeRange.of(asked)
    except BadParameter:
        return None


def other_strengths(asked: PlanRequest) -> list[dict[str, Any]]:
    """What comparisons and noise as wide as the range cost at other strengths of the promise."""
    rows = [
        {"epsilon": epsilon, "found": comparisons_for(replace(asked, epsilon=epsilon)), "now": epsilon == asked.epsilon}
        for epsilon in sorted({*_OTHER_EPSILONS, asked.epsilon})
    ]
    return [row for row in rows if row["found"] is not None]
