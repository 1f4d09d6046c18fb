"""A promise for the whole range, kept by comparisons: the error to expect of them."""

import math
from dataclasses import dataclass
from typing import Any

from sottovoce.comparisons.information import answers_to_find, expected_crowd_deviation
from sottovoce.comparisons.policy import usual_levels
from sottovoce.digits import counted
from sottovoce.errors import BadParameter
from sottovoce.planning.answering import candidates
from sottovoce.planning.noise import rounded_down
from sottovoce.planning.plans import PromisePlan, Simulated
from sottovoce.privacy.answers import AnswerGuarantee
from sottovoce.privacy.laws import AnswerLaw, Response, Unit
from sottovoce.privacy.parameters import check_range
from sottovoce.worlds.sequential import SequentialCrowd

_FEW = 2  # times the answers that nine out of ten searches need: with fewer participants the error cannot be planned
_SIMULATED_ANSWERS = 20_000
_LEAST_OBJECTS, _MOST_OBJECTS = 8, 60
SPREADS_PER_RANGE = 50  # where nothing is known about the quality of readings


@dataclass(frozen=True, kw_only=True)
class ComparisonPlan(PromisePlan):
    """Comparisons that keep a promise for the whole range, and the error to expect of them."""

    law: AnswerLaw
    guarantee: AnswerGuarantee
    predicted_error: float
    levels: int
    participants_to_find: int  # to find the truth within a reading's error in nine out of ten campaigns (n90)
    enough: bool  # whether there are twice as many

    def sentence(self) -> str:
        return self.guarantee.sentence(delta=self.delta, compared=True)

    def warning(self, participants: int) -> str | None:
        """A warning if there are too few participants."""
        if self.enough:
            return None
        return (
            f"{counted(participants, 'participant')} {'is' if participants == 1 else 'are'} too few for comparisons "
            "over this range: "
            f"{self.participants_to_find:,} find the truth in nine out of ten campaigns, and for the expected error "
            "you need twice as many; choose a narrower range, a larger ε, or noise for a distance"
        )


def plan_comparisons(
    epsilon: float,
    low: float,
    high: float,
    readings: int,
    participants: int,
    *,
    unit: Unit = "reading",
    error_rate: float,
    error: float | None = None,
    simulations: int = 1,
    seed: int = 0,
) -> ComparisonPlan:
    """Comparisons that promise ε for any two values in the range: two levels, or four where ε allows it.

    >>> planned = plan_comparisons(1.0, 0.0, 100.0, 1, 500, error_rate=1.0, simulations=0)
    >>> str(planned.law), planned.levels, planned.participants_to_find, planned.enough
    ('response:1.0', 2, 88, True)
    """
    check_range(low, high)
    each = rounded_down(epsilon if unit == "reading" else epsilon / readings)
    law = Response(each)
    levels = usual_levels(each, readings)
    guarantee = law.guarantee(levels, readings, unit)
    width, spread = high - low, 1 / math.sqrt(error_rate)
    most = math.ceil(answers_to_find(each, width / spread)[1])

    def deviation(people: int) -> float:
        return expected_crowd_deviation(each, error_rate, width, people)

    few = _answering(epsilon, error_rate, width, readings, participants) if unit == "participant" else {}
    simulated = None
    if simulations and participants <= _SIMULATED_ANSWERS // _LEAST_OBJECTS:
        simulated = _simulate(law, low, high, levels, participants, error_rate, seed)
    return ComparisonPlan(
        law=law,
        guarantee=guarantee,
        levels=levels,
        epsilon=epsilon,
        predicted_error=math.sqrt(2 / math.pi) * deviation(participants),
        simulated_error=simulated,
        participants_to_find=most,
        enough=participants >= _FEW * most,
        participants_needed=_needed(lambda people: math.sqrt(2 / math.pi) * deviation(people), error)
        if error
        else None,
        **few,
    )


def _answering(epsilon: float, error_rate: float, width: float, readings: int, participants: int) -> dict[str, Any]:
    """How many of its tasks a device should answer, with what noise, and what that gains.

    This is the number with the smallest error among those with enough answers to each task for the expected error. If
    there are too few with any number, it is the number that comes closest.
    """

    def crowd(count: int) -> tuple[float, float]:
        """The ε of one answer, and the answers to each task."""
        return rounded_down(epsilon / count), participants * count / readings

    def error_of(count: int) -> float:
        each, people = crowd(count)
        return expected_crowd_deviation(each, error_rate, width, people)

    def shortage(count: int) -> float:
        each, people = crowd(count)
        return _FEW * answers_to_find(each, width * math.sqrt(error_rate))[1] / people

    numbers = candidates(readings)
    enough = [count for count in numbers if shortage(count) <= 1]
    best = min(enough, key=error_of) if enough else min(numbers, key=shortage)
    noise = str(Response(crowd(best)[0]))
    return {"answer": best, "answer_noise": noise, "answer_gain": error_of(readings) / error_of(best)}


def _simulate(
    law: AnswerLaw, low: float, high: float, levels: int, participants: int, error_rate: float, seed: int
) -> Simulated:
    objects = min(_MOST_OBJECTS, _SIMULATED_ANSWERS // participants)
    crowd = SequentialCrowd(law, participants, objects, low, high, levels, error_rate=error_rate, seed=seed)
    outcome = crowd.play()
    errors = abs(outcome.estimates - outcome.truths)
    mean, margin = float(errors.mean()), 1.96 * float(errors.std(ddof=1)) / math.sqrt(objects)
    return Simulated("comparisons", mean, mean - margin, mean + margin)


def _needed(error_of: Any, error: float) -> int:
    """The least number of people whose error is small enough, by bisection: it falls with their number."""
    high = 1
    while error_of(high) > error:
        high *= 2
        if high > 10**18:
            raise BadParameter(
                f"error {error:g}: comparisons do not reach it with any number of participants; raise it"
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if error_of(middle) > error else (low, middle)
    return high
