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
    tasks: int  # how many it could answer
    error: float  # expected error of a truth
    to_find: int  # answers per task that find the truth within a reading's error in nine out of ten campaigns
    enough: bool
    people: int  # who answer each task
    warning: str | None
    wide_error: float | None  # expected error of noise as wide as the range
    gain: float | None  # the error if all tasks were answered, divided by `error`

    @classmethod
    def of(cls, plan: PlanRequest) -> "WholeRange":
        whole = plan.compared()
        answer = whole.answer or plan.readings
        people = max(1, plan.participants * answer // plan.readings)
        each = plan.epsilon / answer if plan.unit == "participant" else plan.epsilon
        chosen = plan_comparisons(each, 0.0, plan.width, answer, people, error_rate=plan.error_rate, simulations=0)
        return cls(
            noise=str(chosen.law), levels=chosen.levels, answer=answer, tasks=plan.readings,
            error=chosen.predicted_error, to_find=chosen.participants_to_find, enough=chosen.enough, people=people,
            warning=chosen.warning(people), wide_error=plan.wide_error(), gain=whole.answer_gain,
        )  # fmt: skip

    @property
    def words(self) -> str:
        """What happens to an answer."""
        return answer_words(parse_answer_law(self.noise).channel(self.levels))

    def change(self, plan: PlanRequest, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """The change to the campaign, after the same check that devices will make."""
        change = {
            "noise": self.noise,
            "levels": self.levels,
            "unit": plan.unit,
            "readings": plan.readings,
            "answer": self.answer,
        }
        return checked_change(manifest, change, plan.epsilon, 0.0, "choose a larger ε")

    def sentence(self, plan: PlanRequest, manifest: Mapping[str, Any]) -> str:
        """The promise in words and figures, as devices compute it."""
        draft = drafted(replaced(dict(manifest), self.change(plan, manifest)))
        promise = promise_of(draft, 0.0)
        return f"{sentence(draft, promise)} ({figures(promise.epsilon, 0.0)})"


def comparisons_for(plan: PlanRequest) -> WholeRange | None:
    """The comparisons for a plan; None if no comparison keeps the promise."""
    try:
        return WholeRange.of(plan)
    except BadParameter:
        return None


def other_strengths(plan: PlanRequest) -> list[dict[str, Any]]:
    """What comparisons and noise as wide as the range cost at other strengths of the promise."""
    rows = [
        {"epsilon": epsilon, "found": comparisons_for(replace(plan, epsilon=epsilon)), "now": epsilon == plan.epsilon}
        for epsilon in sorted({*_OTHER_EPSILONS, plan.epsilon})
    ]
    return [row for row in rows if row["found"] is not None]
